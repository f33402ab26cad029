//! One test per rule of the ledger, named after it. That the rules together keep the
//! promises is what the crate's `tests/model` shows.

mod bench;
mod due;
mod failing;
mod filters;
mod objects;
mod restored;
mod settled;
