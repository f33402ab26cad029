//! What queues, stores and ledgers are keyed by. Owns the two key types; never holds a
//! uid or a state: one key may stand for several objects, one after the other.

use std::fmt;
use std::sync::Arc;

use crate::kind::Gvk;

/// Namespace and name of an object within one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// `None` for cluster-scoped kinds.
    pub namespace: Option<Arc<str>>,
    /// The object's name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Makes a key; an empty namespace means cluster scope.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: (!namespace.is_empty()).then(|| namespace.into()), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    /// Prints `namespace/name`, or `name` alone for cluster-scoped kinds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// What a plugin's queue and ledger hold: the target of its calls.
///
/// Every object of a subscribed kind is one. Targets that are no object (the times of a
/// plugin's schedule) will be variants beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TargetKey {
    /// An object of the cluster.
    Object {
        /// Its kind, shared by all keys of that kind.
        kind: Arc<Gvk>,
        /// Its namespace and name.
        key: ObjectKey,
    },
}

impl TargetKey {
    /// The key of an object.
    pub fn object(kind: Arc<Gvk>, key: ObjectKey) -> Self {
        Self::Object { kind, key }
    }
}

impl fmt::Display for TargetKey {
    /// Prints `ConfigMap team-a/settings`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { kind, key } => write!(f, "{} {key}", kind.kind),
        }
    }
}
