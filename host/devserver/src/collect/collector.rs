//! The collector: hears of every commit and works off what is to be looked at, on a task of its own. What is done with an object is
//! `ends`', `owned`'s and `protect`'s.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::work::{State, Work};
use super::{ends, owned, protect};
use crate::kind::Resource;
use crate::store::{Key, Store, Stored};
use crate::verbs::{Api, policy};

/// The collector. Ends when it is dropped.
pub(crate) struct Collector {
    /// Off: only definitions are cleaned up, as kube-apiserver itself does.
    controllers: bool,
    state: Arc<Mutex<State>>,
    wake: Arc<Notify>,
    task: Mutex<Option<AbortHandle>>,
}

impl Collector {
    pub(crate) fn new(controllers: bool) -> Self {
        Self { controllers, state: Arc::default(), wake: Arc::default(), task: Mutex::new(None) }
    }

    /// Looks at every object that is there already, once, before the first request.
    pub(crate) fn learn(&self, api: &Api) {
        for resource in api.registry().storages() {
            let Ok(all) = api.store().list(&resource.storage, None, None) else { continue };
            for stored in all.items {
                let (namespace, name) = (Arc::from(&*stored.namespace), Arc::from(&*stored.name));
                self.changed(api.store(), resource, &Key { storage: Arc::clone(&resource.storage), namespace, name }, &stored, None);
            }
        }
    }

    /// Hears of a create or an update. Cheap: most objects have nothing that matters here.
    pub(crate) fn changed(&self, store: &Store, resource: &Resource, key: &Key, stored: &Stored, old: Option<&Stored>) {
        if !self.controllers && !policy::is_definition(resource) {
            return;
        }
        let something = self.state.lock().changed(store, key, stored, old);
        if something {
            self.wake.notify_one();
        }
    }

    /// Hears of a removal.
    pub(crate) fn removed(&self, store: &Store, key: &Key, old: &Stored) {
        let something = self.state.lock().removed(store, key, old);
        if something {
            self.wake.notify_one();
        }
    }

    /// Starts the task.
    pub(crate) fn start(&self, api: &Arc<Api>) {
        let (weak, state, wake, controllers) = (Arc::downgrade(api), Arc::clone(&self.state), Arc::clone(&self.wake), self.controllers);
        let task = tokio::spawn(async move {
            let mut sweep = tokio::time::interval(owned::SWEEP);
            loop {
                tokio::select! {
                    () = wake.notified() => {}
                    _ = sweep.tick() => {
                        let Some(api) = weak.upgrade() else { return };
                        if controllers {
                            owned::sweep_events(&api);
                        }
                    }
                }
                loop {
                    let next = state.lock().take();
                    let (Some(work), Some(api)) = (next, weak.upgrade()) else { break };
                    Self::one(&api, &state, work, controllers).await;
                    // Deleting a large namespace must not keep a thread from its requests.
                    tokio::task::yield_now().await;
                }
            }
        });
        *self.task.lock() = Some(task.abort_handle());
    }

    async fn one(api: &Arc<Api>, state: &Arc<Mutex<State>>, work: Work, controllers: bool) {
        match work {
            Work::Look(key) => {
                let registry = api.registry();
                let found = registry.storages().find(|resource| resource.storage == key.storage).cloned();
                let Some(resource) = found else { return };
                if policy::is_definition(&resource) {
                    ends::definition(api, state, &resource, &key);
                } else if controllers && policy::is_namespace(&resource) {
                    ends::namespace(api, state, &resource, &key).await;
                }
                if controllers {
                    owned::look(api, state, &resource, &key);
                    protect::look(api, &resource, &key);
                }
            }
            Work::Orphaned(uid) => {
                let mut state = state.lock();
                for key in state.owned_by(&uid) {
                    state.push(Work::Look(key));
                }
            }
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}
