//! One informer, looked at. Owns the waiting for its first list and for what comes after.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;
use wharf_cache::{ChangeHandler, Content, InformerSpec, Informers, Registration, Scope};
use wharf_core::{Object, Pointer};

use super::Ask;
use super::failure::{LookError, Watchful};
use super::inbox::{Inbox, Seen, SeenType};

/// The informer's state, which nobody announces, is looked at so often.
const LOOK: Duration = Duration::from_millis(250);

/// Objects of one kind, and what happens to them.
pub struct View {
    registration: Registration,
    inbox: Arc<Inbox>,
    watchful: Watchful,
}

impl View {
    pub(super) fn open(informers: &Informers, ask: &Ask, follow: bool) -> Self {
        let namespace = ask.namespace.as_deref().filter(|_| ask.kind.namespaced);
        let spec = InformerSpec {
            kind: ask.kind.gvk.clone(),
            scope: namespace.map_or(Scope::All, |namespace| Scope::Namespace(namespace.into())),
            label_selector: ask.label_selector.clone(),
            field_selector: ask.field_selector.clone(),
            // Who looks has the server's leave: this shows what kubectl shows.
            content: Content::Full,
        };
        let inbox = Inbox::new(follow);
        let handler: Arc<dyn ChangeHandler> = Arc::<Inbox>::clone(&inbox);
        Self { registration: informers.attach(spec, handler), inbox, watchful: Watchful::default() }
    }

    /// Waits for the first list. Cancel safe.
    ///
    /// # Errors
    /// The server refuses the list, or does not answer for 30 s.
    pub async fn settle(&mut self) -> Result<(), LookError> {
        while !self.inbox.synced() {
            if let Some(error) = self.watchful.before_list(&self.registration.state()) {
                return Err(error);
            }
            // Elapsed: the state is looked at again.
            let _elapsed = timeout(LOOK, self.inbox.changed()).await;
        }
        self.watchful.works();
        Ok(())
    }

    /// The objects there are now, by namespace and name.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.registration.view().list(None)
    }

    /// The first list of a view that follows; a second call has none. [`Self::next`] goes on where it ends.
    pub fn first(&self) -> Vec<Seen> {
        let seen = |object| Seen { seen: SeenType::Added, object };
        self.inbox.take_first().into_iter().map(seen).collect()
    }

    /// The next change. Cancel safe.
    ///
    /// # Errors
    /// The server refuses to go on for 30 s, or changes came faster than they were taken. A server that
    /// does not answer is no error here: the informer goes on as soon as it does.
    pub async fn next(&mut self) -> Result<Seen, LookError> {
        loop {
            if let Some(seen) = self.inbox.take()? {
                self.watchful.works();
                return Ok(seen);
            }
            if let Some(error) = self.watchful.after_list(&self.registration.state()) {
                return Err(error);
            }
            let _elapsed = timeout(LOOK, self.inbox.changed()).await;
        }
    }
}

/// Time since an object was made, in whole seconds; `None` if it does not say.
pub fn age(object: &Object) -> Option<u64> {
    let text = object.get(&Pointer::parse("/metadata/creationTimestamp").ok()?)?;
    let created: Timestamp = serde_json::from_str::<String>(text).ok()?.parse().ok()?;
    u64::try_from(Timestamp::now().duration_since(created).as_secs()).ok()
}
