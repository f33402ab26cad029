//! Writes of a plugin to objects that it is told of, where it asked not to be told of its own.
//! Owns which writes are remembered and for how long they are in flight; which changes count as
//! own is `wharf_core::own`'s.

use std::sync::Arc;

use wharf_core::{Gvk, ObjectKey, TargetKey};

use super::dispatcher::Dispatcher;

/// A write in flight. Dropped without [`OwnWrite::done`] nothing is known of it, and what it
/// changed is delivered.
pub struct OwnWrite {
    dispatcher: Arc<Dispatcher>,
    key: TargetKey,
    upon: Box<str>,
    link: Option<(String, String)>,
}

impl Dispatcher {
    /// The plugin is about to write to an object. `None` where it does not ignore its own
    /// writes, or the store does not have the object: then nothing needs to be known of it.
    pub fn begin_write(self: &Arc<Self>, kind: &Gvk, namespace: Option<&str>, name: &str) -> Option<OwnWrite> {
        let mut state = self.state.lock();
        let kind = state.subscribed.ignoring_own_writes(kind)?;
        let key = TargetKey::object(kind, ObjectKey::new(namespace.unwrap_or_default(), name));
        let stored = state.subscribed.object(&key).latest()?;
        let upon = state.own.begin(&key, stored.object.resource_version())?;
        drop(state);
        Some(OwnWrite { dispatcher: Arc::clone(self), key, upon, link: None })
    }
}

impl OwnWrite {
    /// The version that the write should insist on: only then it is known what it was made upon.
    pub fn upon(&self) -> &str {
        &self.upon
    }

    /// It was made upon one version, which the server has checked, and led to another.
    pub fn done(mut self, upon: &str, to: &str) {
        self.link = Some((upon.to_owned(), to.to_owned()));
    }
}

impl Drop for OwnWrite {
    fn drop(&mut self) {
        let link = self.link.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
        let awaited = self.dispatcher.state.lock().own.end(&self.key, link);
        if awaited {
            self.dispatcher.queue.add(self.key.clone());
        }
    }
}
