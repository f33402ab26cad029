//! The family of stores. Owns what is kept of objects and how it is found again: the raw
//! store of an informer, indexes, and the small stores that client-go has beside it. Never
//! asks the server for anything and never announces a change.
//!
//! | client-go | here |
//! |---|---|
//! | `Store`, `Indexer`, `ThreadSafeStore` of an informer | [`Store`], for reading |
//! | the same, of one's own (`NewStore`, `NewIndexer`) | [`LocalStore`], for reading and writing |
//! | `Indexers`, `IndexFunc` | [`Indexer`] under a name, [`Store::add_indexer`] |
//! | `GenericLister` | [`Lister`] |
//! | `ExpirationCache`, `TTLPolicy` | [`ExpirationStore`], [`Ttl`] |
//! | `UndeltaStore` | [`UndeltaStore`] |
//! | `MutationCache` | [`MutationCache`] |
//! | mutation detector | the type [`Object`](wharf_core::Object), which cannot be changed |

mod expiration;
mod index;
mod lister;
mod local;
mod mutation;
mod objects;
mod raw;
mod reader;
mod slots;
#[cfg(test)]
mod testing;
mod undelta;

pub use expiration::{ExpirationPolicy, ExpirationStore, Ttl};
pub use index::{IndexConflict, IndexError, IndexValue, Indexer, NoIndex};
pub use lister::{Lister, NotFound};
pub use local::{LocalStore, PutError, TransactionError, TransformError, Transformer, Write};
pub use mutation::MutationCache;
pub(crate) use objects::{Put, Removed};
pub use raw::Store;
pub use reader::Reader;
pub use undelta::{Push, UndeltaStore};
