//! From a change in a store to a call of a guest: the only room that mentions a plugin and
//! an object together.
//!
//! One [`Dispatcher`] per plugin owns the plugin's queue and ledger. The stores announce
//! into it (`announcer`), its workers take keys out, decide late and call the revision
//! that serves at that moment (`worker`). Which call is made is decided by the pure
//! table in `wharf_core::diff`; when a key comes back is decided by the queue. What was decided is
//! noted in a `history`, for people who ask (`explain`, `failures`); failed calls are `kept` with what they were told.
//! Whether calls are made at all is the `gate`'s, with the plugin's `breaker` before it.
//! What survives the host is in `remember` and `sources`, how the next one takes it up in `recall`.

mod admission;
mod announcer;
mod breaker;
mod callee;
mod dispatcher;
mod drain;
mod every;
mod explain;
mod failures;
mod gate;
pub mod history;
mod initial;
mod judge;
mod kept;
mod memory;
mod note;
mod own_writes;
mod passed;
mod recall;
mod refusals;
mod related;
mod remember;
mod sources;
mod streak;
mod subscribed;
mod swap;
mod tally;
mod worker;

pub use breaker::{BreakerPolicy, Tripped};
pub use callee::Callee;
pub use dispatcher::{Dispatcher, DispatcherStats, Serving, Shared};
pub use explain::Explained;
pub use failures::{Failed, Failures, Retried};
pub use kept::{FailedCall, KeepFailed};
pub use memory::Memory;
pub use own_writes::OwnWrite;
pub use refusals::Refusals;
pub use streak::InVain;
pub use subscribed::Subscribed;
pub use swap::Replaying;
pub use tally::{Ended, Numbers, Tally};
