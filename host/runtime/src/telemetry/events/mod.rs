//! The facts that wharf tells. An event is a struct with `emit`: it writes the log line and
//! counts, so that logs and metrics cannot drift apart.
//!
//! Messages are constant, values stand in fields, and the names of messages, targets and
//! fields are a contract: tests and other people's queries rely on them.
//! Events borrow what they tell and cost next to nothing when nobody listens.

mod breaker;
mod call;
mod checkpoint;
mod filter;
mod guest;
mod host;
mod lease;
mod plugin;
mod status;

pub use breaker::{BreakerClosed, BreakerOpened, BreakerTries};
pub use call::CallFinished;
pub use checkpoint::{CheckpointFailed, CheckpointFull, CheckpointSetAside, CheckpointTakenOver, PluginResumed};
pub use filter::{ChangeDropped, FilterFailed};
pub use guest::GuestLog;
pub use host::{EventWriteFailed, HostReady, HostStopped, HostStopping};
pub use lease::{LeaderChanged, LeaseAcquired, LeaseLost, LeaseNotReleased, LeaseReleased, LeaseUnanswered};
pub use plugin::{GrantDenied, PluginHeld, PluginRefused, PluginRemoved, PluginServing, PluginWithdrawn};
pub use status::StatusNotWritten;
