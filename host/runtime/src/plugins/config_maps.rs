//! The ConfigMaps that wishes name, followed one by one. Owns a registration for each, by name and
//! without the data: the bytes of a component are read when a revision is made of them, and are not
//! kept. Never reads an entry, and never decides what becomes of a plugin.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::select_all;
use tokio::sync::Notify;
use wharf_cache::{Change, ChangeHandler, Content, InformerSpec, InformerState, Informers, Registration, Scope};
use wharf_core::{Gvk, ObjectKey, Reason};

use super::component::{Component, ConfigMapName, Seen};
use super::desired::{Refusal, Wishes};
use super::quiet::quiet;

/// Those that are followed; as many as there are plugins, at most.
pub(super) struct ConfigMaps {
    informers: Informers,
    followed: BTreeMap<ConfigMapName, Registration>,
    changed: Arc<Notify>,
}

/// Tells that something has changed.
struct Tell(Arc<Notify>);

impl ChangeHandler for Tell {
    fn on_change(&self, _: &Change<'_>) {
        self.0.notify_one();
    }

    fn on_synced(&self) {
        self.0.notify_one();
    }

    fn on_recovered(&self) {
        self.0.notify_one();
    }
}

/// A handler that only wakes somebody.
pub(super) fn teller(tell: &Arc<Notify>) -> Arc<dyn ChangeHandler> {
    Arc::new(Tell(Arc::clone(tell)))
}

impl ConfigMaps {
    /// Follows none yet.
    pub(super) fn new(informers: Informers) -> Self {
        Self { informers, followed: BTreeMap::new(), changed: Arc::default() }
    }

    /// Follows those that the wishes name and no others, and notes in the wishes what is known of
    /// them.
    pub(super) fn note(&mut self, wishes: &mut Wishes) {
        let mut followed = std::mem::take(&mut self.followed);
        for wish in wishes.plugins.values_mut() {
            let Ok(desired) = &mut wish.desired else { continue };
            let Component::ConfigMap { config_map, seen, .. } = &mut desired.component else { continue };
            let registration = self.followed.entry(config_map.clone()).or_insert_with(|| {
                let known = followed.remove(config_map);
                known.unwrap_or_else(|| self.informers.attach(spec(config_map), teller(&self.changed)))
            });
            *seen = look(config_map, registration);
        }
    }

    /// Waits until something else may be known. Cancel safe.
    pub(super) async fn changed(&self) {
        let unknown = self.followed.values().filter(|registration| !registration.settled());
        let settling: Vec<_> = unknown.map(|registration| Box::pin(registration.settle())).collect();
        let settled = async {
            if settling.is_empty() {
                return std::future::pending().await;
            }
            select_all(settling).await;
        };
        tokio::select! {
            () = self.changed.notified() => {}
            () = settled => {}
        }
    }

    /// Waits until they have been quiet for a moment: each look compares all wishes, and what has changed is read again.
    pub(super) async fn quiet(&self) {
        quiet(&self.changed).await;
    }
}

fn spec(config_map: &ConfigMapName) -> InformerSpec {
    InformerSpec {
        field_selector: format!("metadata.name={}", config_map.name),
        content: Content::Metadata,
        ..InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), Scope::Namespace(Arc::clone(&config_map.namespace)))
    }
}

/// What the informer knows. What it once knew stays while the server does not answer.
fn look(config_map: &ConfigMapName, registration: &Registration) -> Seen {
    let key = ObjectKey::new(&config_map.namespace, &config_map.name);
    if let Some(object) = registration.view().get(&key) {
        return Seen::At(format!("{}/{}", object.uid(), object.resource_version()).into());
    }
    if registration.has_synced() {
        return Seen::Missing;
    }
    match registration.state() {
        InformerState::Failing { reason, message } if reason.is_refusal() => refused(config_map, reason, &message),
        _ => Seen::NotYet,
    }
}

fn refused(config_map: &ConfigMapName, reason: Reason, message: &str) -> Seen {
    let hint = "let the host get, list and watch it; `wharf rbac` prints the role";
    Seen::Refused(Refusal::new(reason, format!("{config_map}: the host may not follow it: {message}")).hint(hint))
}
