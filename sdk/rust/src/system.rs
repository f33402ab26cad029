//! Time and randomness from the host: the standard library has neither in a plugin.

use std::time::Duration;

use crate::backend;

/// Time since 1970-01-01T00:00:00Z.
pub fn now() -> Duration {
    backend::now()
}

/// Random bytes; at most 65,536.
pub fn random(len: u32) -> Vec<u8> {
    backend::random(len)
}
