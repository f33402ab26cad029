//! What the measured Rust programs count, and the line of JSON in which they report it:
//! the same words and signals as `tests/bench/peers/internal/record` has for those in Go.
//! Owns the words; never knows what is measured, and judges nothing.

mod content;
mod counts;
mod latency;
mod process;
mod reads;
mod report;

pub use content::Content;
pub use counts::{Counts, timestamp};
pub use reads::{Lists, measure, measure_late};
pub use report::{Program, Recorder};
