//! Exit codes, once, for all commands. People script against them, so none changes its meaning.

/// Success; `run`: asked to stop and drained.
pub const OK: u8 = 0;
/// The answer is no: validation failed, or what was asked for is not there.
pub const NO: u8 = 1;
/// Wrong usage, or an unexpected error of a command.
pub const USAGE: u8 = 2;
/// `run`: the API server cannot be reached within the deadline (EX_UNAVAILABLE).
pub const UNAVAILABLE: u8 = 69;
/// `run`: an error inside the host (EX_SOFTWARE).
pub const SOFTWARE: u8 = 70;
/// `run`: the host led and lost its lease; started again it stands by (EX_TEMPFAIL).
pub const LEASE_LOST: u8 = 75;
/// `run`: the configuration is not valid (EX_CONFIG).
pub const CONFIG: u8 = 78;
