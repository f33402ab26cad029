//! The objects of the little cluster.

use std::fmt;
use std::sync::Arc;

use wharf_core::State;

pub(crate) type Key = &'static str;

/// The keys there are.
pub(crate) const KEYS: [Key; 3] = ["a", "b", "c"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) key: Key,
    pub(crate) uid: u64,
    pub(crate) version: u64,
    pub(crate) label: char,
    pub(crate) spec: u64,
    pub(crate) status: u64,
    /// Only uid and version are known.
    pub(crate) bare: bool,
    /// `uid` and `version` as the ledger sees them.
    text: (String, String),
}

/// One state of an object.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Obj(Arc<Body>);

impl Obj {
    /// `blind` hides the uid from the ledger: all objects of a name look like one.
    pub(crate) fn new(key: Key, uid: u64, version: u64, (label, spec, status): (char, u64, u64), blind: bool) -> Self {
        let text = (if blind { String::new() } else { uid.to_string() }, version.to_string());
        Self(Arc::new(Body { key, uid, version, label, spec, status, bare: false, text }))
    }

    /// One that was read back without its body.
    pub(crate) fn bare(key: Key, uid: &str, version: &str) -> Self {
        let number = |text: &str| text.parse().unwrap_or_default();
        let text = (uid.to_owned(), version.to_owned());
        Self(Arc::new(Body { key, uid: number(uid), version: number(version), label: ' ', spec: 0, status: 0, bare: true, text }))
    }
}

impl std::ops::Deref for Obj {
    type Target = Body;
    fn deref(&self) -> &Body {
        &self.0
    }
}

impl State for Obj {
    fn uid(&self) -> &str {
        &self.text.0
    }
    fn resource_version(&self) -> &str {
        &self.text.1
    }
}

impl fmt::Display for Obj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Body { key, uid, version, label, spec, status, .. } = &*self.0;
        write!(f, "{key}(uid {uid} rv {version} {label} spec {spec} status {status})")
    }
}

impl fmt::Debug for Obj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
