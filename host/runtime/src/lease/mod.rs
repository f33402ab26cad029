//! Leader election by a Lease of `coordination.k8s.io/v1`: of several hosts one calls plugins.
//!
//! [`Elector`] runs for the lease; what is asked of the server next is decided by `machine`, which
//! has neither IO nor a clock, and said by `server`. [`Tenure`] is what everybody else looks at:
//! who leads, and until when this host may act without hearing from the server. What a host does
//! when it leads, and when it does not any more, is not decided here (`standby`).

mod elector;
mod machine;
mod record;
mod server;
mod tenure;
mod timing;

#[cfg(test)]
mod tests;

pub use elector::{Candidate, Elector};
pub use record::Lease;
pub(crate) use server::ApiLeases;
pub use server::{LeaseError, Leases};
pub use tenure::{Leadership, Phase, Tenure};
pub use timing::{Contradiction, Timing};
