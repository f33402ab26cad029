//! Every change of every key, in order: client-go's `DeltaFIFO`, with a bound. Owns the
//! order of keys and of the deltas within a key; never knows what an object is.

mod apply;
mod delta;
mod fifo;
mod items;
mod popped;
mod state;

pub use apply::{Applied, DeltaStore, apply_deltas};
pub use delta::{Deletion, Delta, DeltaKind};
pub use fifo::{DeltaFifo, DeltaOptions, FifoError, Full, KnownObjects, TransformError};
pub use items::{DELTA_OVERHEAD, Evicted};
pub use popped::Popped;
