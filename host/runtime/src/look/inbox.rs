//! The handler of a view: the first list, then each change, until somebody takes them. Owns
//! their order and their limit; never prints, never waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use wharf_cache::{Change, ChangeHandler};
use wharf_core::{Object, ObjectKey};

use super::failure::LookError;

/// Changes that wait may have so much JSON. Who reads more slowly than that for long is told so.
const MAX_WAITING: usize = 64 << 20;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenType {
    /// It is new, or was there when the watch began.
    Added,
    /// It is another version.
    Modified,
    /// It is gone; this is the last state that is known.
    Deleted,
}

impl SeenType {
    /// The API's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What happened.
    pub seen: SeenType,
    /// The object after it; before it, if it is gone.
    pub object: Arc<Object>,
}

/// Where an informer puts what it says.
pub(super) struct Inbox {
    follow: bool,
    inner: Mutex<Inner>,
    wake: Notify,
}

#[derive(Default)]
struct Inner {
    /// Until it is taken: what there was at the end of the first list.
    first: BTreeMap<ObjectKey, Arc<Object>>,
    synced: bool,
    waiting: VecDeque<Seen>,
    bytes: usize,
    behind: bool,
}

impl Inbox {
    pub(super) fn new(follow: bool) -> Arc<Self> {
        Arc::new(Self { follow, inner: Mutex::default(), wake: Notify::new() })
    }

    /// Is the first list complete?
    pub(super) fn synced(&self) -> bool {
        self.inner.lock().synced
    }

    /// What there was at the end of the first list; empty the second time. Changes come after it.
    pub(super) fn take_first(&self) -> Vec<Arc<Object>> {
        std::mem::take(&mut self.inner.lock().first).into_values().collect()
    }

    /// The next change that waits, if one does.
    pub(super) fn take(&self) -> Result<Option<Seen>, LookError> {
        let mut inner = self.inner.lock();
        if inner.behind {
            return Err(LookError::Behind(MAX_WAITING >> 20));
        }
        let seen = inner.waiting.pop_front();
        inner.bytes -= seen.as_ref().map_or(0, |seen| seen.object.json().len());
        Ok(seen)
    }

    /// Returns when something has happened since the last call. Cancel safe.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }
}

impl Inner {
    fn push(&mut self, seen: SeenType, object: &Arc<Object>) {
        self.bytes += object.json().len();
        if self.behind || self.bytes > MAX_WAITING {
            self.behind = true;
            self.waiting.clear();
            return;
        }
        self.waiting.push_back(Seen { seen, object: Arc::clone(object) });
    }
}

impl ChangeHandler for Inbox {
    fn on_change(&self, change: &Change<'_>) {
        let mut inner = self.inner.lock();
        if !inner.synced {
            match change.new {
                Some(new) if self.follow => {
                    inner.first.insert(change.key.clone(), Arc::clone(new));
                }
                _ => {
                    inner.first.remove(change.key);
                }
            }
            return;
        }
        if !self.follow {
            return;
        }
        match (change.old, change.new) {
            (Some(old), Some(new)) if old.uid() == new.uid() => inner.push(SeenType::Modified, new),
            (old, Some(new)) => {
                if let Some(old) = old {
                    inner.push(SeenType::Deleted, old);
                }
                inner.push(SeenType::Added, new);
            }
            (old, None) => {
                if let Some(last) = change.final_state.or(old) {
                    inner.push(SeenType::Deleted, last);
                }
            }
        }
        drop(inner);
        self.wake.notify_one();
    }

    fn on_synced(&self) {
        self.inner.lock().synced = true;
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use wharf_cache::ChangeCause;
    use wharf_core::Gvk;

    use super::*;

    fn object(name: &str, uid: &str, size: usize) -> Arc<Object> {
        let text = format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}"}},"x":"{}"}}"#, "x".repeat(size));
        Arc::new(Object::parse(&text, &Gvk::new("", "v1", "ConfigMap")).unwrap())
    }

    fn tell(inbox: &Inbox, old: Option<&Arc<Object>>, new: Option<&Arc<Object>>) {
        let key = new.or(old).unwrap().key();
        inbox.on_change(&Change {
            key,
            old,
            new,
            final_state: old.filter(|_| new.is_none()),
            final_known: true,
            slot: None,
            cause: ChangeCause::Watch,
            sequence: 1,
        });
    }

    fn all(inbox: &Inbox) -> Vec<String> {
        std::iter::from_fn(|| inbox.take().unwrap()).map(|seen| format!("{} {}", seen.seen.as_str(), seen.object.uid())).collect()
    }

    #[test]
    fn first_the_list_then_each_change() {
        let inbox = Inbox::new(true);
        let (a, b, a2, b2) = (object("a", "1", 0), object("b", "2", 0), object("a", "1", 1), object("b", "3", 0));
        for new in [&b, &a] {
            tell(&inbox, None, Some(new));
        }
        assert!(!inbox.synced());
        inbox.on_synced();
        tell(&inbox, Some(&a), Some(&a2));
        tell(&inbox, Some(&b), Some(&b2));
        tell(&inbox, Some(&a2), None);
        assert_eq!(inbox.take_first().iter().map(|object| &*object.key().name).collect::<Vec<_>>(), ["a", "b"]);
        // Made anew under the same name, without a deletion that anybody saw.
        assert_eq!(all(&inbox), ["MODIFIED 1", "DELETED 2", "ADDED 3", "DELETED 1"]);
    }

    #[test]
    fn who_only_looks_once_keeps_nothing() {
        let inbox = Inbox::new(false);
        tell(&inbox, None, Some(&object("a", "1", 0)));
        inbox.on_synced();
        tell(&inbox, None, Some(&object("b", "2", 0)));
        assert!(inbox.synced() && inbox.take_first().is_empty() && all(&inbox).is_empty());
    }

    #[test]
    fn what_waits_is_bounded() {
        let inbox = Inbox::new(true);
        inbox.on_synced();
        let large = object("a", "1", 1 << 20);
        for _ in 0..60 {
            tell(&inbox, Some(&large), Some(&large));
        }
        assert!(inbox.take().unwrap().is_some());
        for _ in 0..10 {
            tell(&inbox, Some(&large), Some(&large));
        }
        assert_eq!(inbox.take().unwrap_err(), LookError::Behind(64));
    }
}
