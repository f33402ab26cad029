//! Which kinds the server has. [`Discovery`] answers for one kind at a time, from memory where it
//! can; [`Catalog`] is everything at once, for names as people type them.

mod by_kind;
mod catalog;
mod lookup;

pub use by_kind::{Discovery, DiscoveryError, KindNames};
pub use catalog::{Catalog, CatalogError, CatalogFailure, ServedResource};
pub use lookup::LookupError;
