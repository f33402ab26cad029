//! Where a queue has a key, for people who ask why nothing happens. Owns the words; nothing is
//! decided by it.

use std::time::Duration;

/// Where a key is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In work for so long. It may be wanted again after that.
    Working(Duration),
    /// It could be handed out now, after so many others.
    Ready {
        /// Keys that come first, as things are now.
        ahead: usize,
    },
    /// It waits for its time, which comes after this.
    Later(Duration),
}
