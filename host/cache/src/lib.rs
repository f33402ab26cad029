//! What is true in the cluster: list and watch, the store, shared informers, discovery.
//!
//! One informer per (kind, scope, selectors) serves all who ask for it; it starts with the
//! first [`Registration`] and stops with the last. Its handlers are called synchronously,
//! in order, while the change is put into the store, so there is no queue between the
//! watch and the store that could fill up. This crate never decides who is told what, never
//! waits for a guest, and knows nothing of plugins and queues.
//!
//! # What is expected of the `kube::Client`
//! The crate has its own rules for retries and deadlines. Build the client with
//! `Config::default_retry = false` (kube's retry layer would hide 429, 503 and 504 for a
//! long time, and it repeats POST requests) and `Config::read_timeout = None` (its
//! default): a quiet watch is silent for minutes, and the idle deadline here ends it.
//! A connect timeout is welcome. Authentication, TLS and base URL are the client's.

mod audience;
mod backoff;
mod budget;
mod change;
mod chunks;
mod classify;
mod decode;
mod discovery;
mod filter;
mod frame;
mod hub;
mod items;
mod metrics;
mod options;
mod reflector;
mod relocate;
mod scan;
mod seat;
mod shared;
mod source;
mod spec;
mod state;
mod store;
mod view;

pub use change::{Change, ChangeCause, ChangeHandler};
pub use discovery::{Catalog, CatalogError, CatalogFailure, Discovery, DiscoveryError, KindNames, LookupError, ServedResource};
pub use hub::{Attach, FromHandler, Informers, Registration};
pub use metrics::{CacheMetrics, NoMetrics, WatchEventType};
pub use options::{Options, Waits};
pub use spec::{Content, InformerSpec, Scope};
pub use state::{InformerState, InformerStatus};
pub use store::{
    ExpirationPolicy, ExpirationStore, IndexConflict, IndexError, IndexValue, Indexer, Lister, LocalStore, MutationCache, NoIndex,
    NotFound, Push, PutError, Reader, Store, TransactionError, TransformError, Transformer, Ttl, UndeltaStore, Write,
};
pub use view::{Look, Pending, View};
