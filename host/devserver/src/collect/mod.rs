//! What the controllers of a real cluster do to objects and everybody counts on: a deleted namespace ends, owned objects go with
//! their owners, a deleted definition takes its objects along, a namespace has its ServiceAccount, storage goes when nobody uses it, old Events go.
//!
//! Owns who owns whom, and what is still to be looked at. Hears of every commit, acts on a task of its own, and deletes through the
//! same verbs as everybody. Reconciles no workloads.

mod collector;
mod ends;
mod owned;
mod protect;
mod work;

pub(crate) use collector::Collector;
