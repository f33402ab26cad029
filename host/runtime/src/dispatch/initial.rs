//! What a plugin still has to be called for of all that was there when it was first served.
//! Owns that set, and the rule that a call counts however it ended: a broken object must not
//! keep a plugin from being ready. client-go tracks its handlers' initial lists in this way
//! (`synctrack`), but a handler that panics is never synced there.

use std::collections::HashSet;

use wharf_core::TargetKey;

/// The keys of the first lists that no worker has been through yet; nothing any more once there
/// was none left. At most the keys of the queue.
#[derive(Debug)]
pub(super) struct Initial(Option<HashSet<TargetKey>>);

impl Initial {
    /// Of a plugin that was not served yet.
    pub(super) fn new() -> Self {
        Self(Some(HashSet::new()))
    }

    /// A key is enqueued because it is in a first list.
    pub(super) fn expect(&mut self, key: &TargetKey) {
        if let Some(left) = &mut self.0 {
            left.insert(key.clone());
        }
    }

    /// A worker is through with a key.
    pub(super) fn through(&mut self, key: &TargetKey) {
        if let Some(left) = &mut self.0 {
            left.remove(key);
        }
    }

    /// Is nothing left? `known` says whether all first lists are there. Stays true.
    pub(super) fn is_over(&mut self, known: impl FnOnce() -> bool) -> bool {
        if self.0.as_ref().is_some_and(|left| left.is_empty() && known()) {
            self.0 = None;
        }
        self.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use wharf_core::{Gvk, ObjectKey};

    fn key(name: &str) -> TargetKey {
        TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("a", name))
    }

    /// Synced only after the lists are there and all of them was gone through; keys may be done
    /// before the lists are complete, in any order, and one that nobody expected does no harm.
    #[test]
    fn ci14_synced_once_all_of_the_first_lists_was_called_for() {
        let mut initial = Initial::new();
        assert!(!initial.is_over(|| false), "nothing is known yet");
        initial.expect(&key("x"));
        initial.expect(&key("y"));
        initial.through(&key("y"));
        initial.through(&key("never-expected"));
        assert!(!initial.is_over(|| true), "x is left");
        initial.through(&key("x"));
        assert!(!initial.is_over(|| false), "there may be more");
        initial.expect(&key("z"));
        initial.expect(&key("z"));
        assert!(!initial.is_over(|| true));
        initial.through(&key("z"));
        assert!(initial.is_over(|| true));
        initial.expect(&key("later"));
        assert!(initial.is_over(|| panic!("it is known")), "it stays so");
    }

    #[test]
    fn ci14_a_plugin_without_objects_has_synced_with_its_lists() {
        let mut initial = Initial::new();
        assert!(initial.is_over(|| true));
    }
}
