//! What a store of checkpoints must do. Owns the words between the task that writes, the file on
//! disk and the tests' stores; keeps nothing itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use wharf_core::{Object, TargetKey};

use super::header::Header;
use super::key::Part;

/// A place where checkpoints survive. All calls block; one at a time may write.
pub trait Store: Send + Sync + 'static {
    /// Everything that is kept of a plugin but the bodies.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn load(&self, plugin: &str) -> Result<Option<Saved>, StoreError>;

    /// Last states of some keys, where they were kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn bodies(&self, plugin: &str, keys: &[TargetKey]) -> Result<HashMap<TargetKey, Body>, StoreError>;

    /// Writes batches, all of them or nothing; they survive the process and the machine when this
    /// returns. `now` is the time of day.
    ///
    /// # Errors
    /// When they were not written.
    fn commit(&self, batches: &[Batch], now: Duration) -> Result<Usage, StoreError>;

    /// The plugins that something is kept of.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn plugins(&self) -> Result<Vec<(String, Header)>, StoreError>;

    /// Forgets a plugin.
    ///
    /// # Errors
    /// When it was not forgotten.
    fn forget(&self, plugin: &str) -> Result<Usage, StoreError>;
}

/// What is kept of a plugin.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// Revision and subscriptions.
    pub header: Header,
    /// When the store was written last, by the time of day.
    pub written: Duration,
    /// Key and record, as bytes.
    pub records: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A last state of an object.
#[derive(Clone, Debug)]
pub struct Body(pub Arc<Object>);

/// What changed of one plugin.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The plugin, `namespace/name`.
    pub plugin: Arc<str>,
    /// Its header, if that changed.
    pub header: Option<Header>,
    /// Its keys that changed, each part once.
    pub changes: Vec<Change>,
}

/// What changed of one key.
#[derive(Clone, Debug)]
pub struct Change {
    /// The key.
    pub key: TargetKey,
    /// Which of its two records.
    pub part: Part,
    /// Its record; `None`: nothing is to be kept.
    pub record: Option<Vec<u8>>,
    /// Its last state, where that may be kept; without one, an older one stays.
    pub body: Option<Body>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Keys of all plugins.
    pub keys: u64,
    /// Bytes of these keys and their records.
    pub bytes: u64,
    /// Bytes of last states, compressed.
    pub body_bytes: u64,
    /// Keys of the last commit that there was no room for.
    pub left_out: u64,
}

/// Why a store did not do what it should.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);
