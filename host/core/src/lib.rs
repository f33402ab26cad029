//! The vocabulary and the decisions of wharf.
//!
//! Everything here is pure: no IO, no async, no clock, no Kubernetes client and no
//! wasmtime. What a rule decides is written and tested here; who asks it, and when, is
//! the business of the other crates.

mod causes;
pub mod diff;
pub mod event;
pub mod explain;
pub mod filter;
#[doc(hidden)]
pub mod fuzz;
pub mod grammar;
pub mod grant;
pub mod key;
pub mod kind;
pub mod ledger;
pub mod mapping;
pub mod object;
pub mod outcome;
pub mod own;
pub mod plugin;
pub mod pointer;
mod printable;
pub mod quantity;
mod read;
pub mod reason;
pub mod selector;
pub mod trim;

pub use causes::{causes, one_line};
pub use diff::{Dropped, EventSet, Rules, State, Verdict};
pub use event::{Cause, Delivery, Event, Removal};
pub use grant::{ClusterGrant, Grants, Verb};
pub use key::{ObjectKey, TargetKey};
pub use kind::{Gvk, ResourceKind};
pub use ledger::Ledger;
pub use object::{Object, ObjectError};
pub use outcome::{Failure, Fault, Outcome, Strike};
pub use own::OwnWrites;
pub use pointer::Pointer;
pub use printable::{print, printable};
pub use reason::Reason;
pub use selector::Selector;
pub use trim::Trim;
