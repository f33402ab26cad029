//! Plugins from custom resources, `plugins.wharf.dev`, in all namespaces or in some.
//!
//! Owns what the resources wish at a moment, and when that is looked at again. They are followed
//! by the shared informers, so a definition that is not installed yet is waited for, and a server
//! that does not answer changes nothing: the last wishes stay. Never decides what becomes of a
//! plugin, and never writes to a resource.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use wharf_cache::{Change, ChangeHandler, InformerSpec, InformerState, Informers, Registration, Scope};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{API_VERSION, ComponentRef, KIND, PLURAL, PluginDocument, PluginName, Problem, read_resource};
use wharf_core::{Gvk, Object, ObjectKey, Pointer, Reason};

use super::component::Component;
use super::desired::{Desired, Extent, Origin, Refusal, Wish, Wishes};
use super::quiet::quiet;
use super::shown::{GRACE, Shown};

/// Files that resources name are looked at without being told, for those in folders of the folder.
const POLL: Duration = Duration::from_secs(10);
/// Resources that a host takes; further ones are left alone.
const MAX_RESOURCES: usize = 10_000;
/// Of one namespace so many more than it may have are told why they are refused; it must not take the place of others.
const REFUSED_RESOURCES: usize = 100;

/// The resources of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Where they are looked for.
    pub namespaces: Namespaces,
    /// The folder with the files that they name.
    pub folder: PathBuf,
    /// Plugins that one namespace may have.
    pub per_namespace: usize,
    /// Those that a host has served before, which go first where there are too many.
    pub kept: Vec<PluginName>,
}

impl Cluster {
    /// Follows the resources and sends what they wish, until stopped. Nothing is sent before it is
    /// known what there is, or that this cannot be known. `files` changes with the files of the
    /// folder.
    pub fn follow(self, informers: &Informers, mut files: watch::Receiver<u64>, stop: CancellationToken) -> watch::Receiver<Wishes> {
        let (sender, receiver) = watch::channel(Wishes::default());
        let changed = Arc::new(Notify::new());
        let scopes = match &self.namespaces {
            Namespaces::All => vec![Scope::All],
            Namespaces::Some(names) => names.iter().cloned().map(Scope::Namespace).collect(),
        };
        let kind = Gvk::from_api_version(API_VERSION, KIND);
        let attach = |scope| informers.attach(InformerSpec::new(kind.clone(), scope), Arc::new(Documents(Arc::clone(&changed))));
        let registrations: Vec<Registration> = scopes.into_iter().map(attach).collect();
        let follow = async move {
            join_all(registrations.iter().map(Registration::settle)).await;
            let mut reading = Reading::new(self.folder, self.per_namespace, self.kept);
            let mut shown: Vec<Shown> = registrations.iter().map(|_| Shown::default()).collect();
            loop {
                let fewer = |shown: &[Shown]| registrations.iter().zip(shown).any(|(now, shown)| now.view().list(None).len() < shown.len());
                if fewer(&shown) {
                    // A kind that vanishes takes its objects along, and says why a moment later.
                    quiet(&changed).await;
                }
                for (shown, registration) in shown.iter_mut().zip(&registrations) {
                    shown.look(registration.view().list(None), &registration.state(), Instant::now());
                }
                let extent = reading.extent(&registrations, &shown);
                let objects = shown.iter().flat_map(|shown| shown.objects().iter().cloned()).collect();
                let until = shown.iter().filter_map(|shown| shown.until(Instant::now())).min();
                let read = tokio::task::spawn_blocking(move || {
                    let wishes = reading.read(objects, extent);
                    (reading, wishes)
                });
                // A panic would be a defect; it ends this source, and with it the host.
                let Ok((back, wishes)) = read.await else { return };
                reading = back;
                let poll = wishes.plugins.values().any(names_file);
                sender.send_if_modified(|last| {
                    let news = *last != wishes;
                    *last = wishes;
                    news
                });
                tokio::select! {
                    () = changed.notified() => quiet(&changed).await,
                    file = files.changed() => if file.is_err() { return },
                    () = tokio::time::sleep(POLL), if poll => {}
                    () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
                }
            }
        };
        tokio::spawn(async move { stop.run_until_cancelled(follow).await });
        receiver
    }
}

/// Wakes the reader when a document may be another one: not by a status, which is written often.
struct Documents(Arc<Notify>);

impl ChangeHandler for Documents {
    fn on_change(&self, change: &Change<'_>) {
        let same = |old: &Object, new: &Object| {
            let generation = generation(new);
            old.uid() == new.uid() && generation.is_some() && generation == self::generation(old) && old.deleting() == new.deleting()
        };
        if !change.old.zip(change.new).is_some_and(|(old, new)| same(old, new)) {
            self.0.notify_one();
        }
    }

    fn on_synced(&self) {
        self.0.notify_one();
    }

    fn on_recovered(&self) {
        self.0.notify_one();
    }
}

/// What was read of the resources so far.
struct Reading {
    folder: PathBuf,
    /// By key, with uid and generation: what else changes in a resource is not the document.
    known: HashMap<ObjectKey, Known>,
    /// What was said last of resources that cannot be read.
    told: Option<Reason>,
    per_namespace: usize,
    /// Whom the host before has served: like those that are known, they are not left alone.
    kept: HashSet<ObjectKey>,
    /// Resources that were left alone last.
    left: usize,
}

struct Known {
    uid: Arc<str>,
    generation: Option<u64>,
    document: Result<Arc<PluginDocument>, Refusal>,
}

impl Reading {
    fn new(folder: PathBuf, per_namespace: usize, kept: impl IntoIterator<Item = PluginName>) -> Self {
        let kept = kept.into_iter().map(|kept| ObjectKey::new(&kept.namespace, &kept.name)).collect();
        Self { folder, known: HashMap::new(), told: None, per_namespace, kept, left: 0 }
    }

    /// Is everything known? Says it once if not.
    fn extent(&mut self, registrations: &[Registration], shown: &[Shown]) -> Extent {
        let known = |r: &Registration| r.has_synced() || matches!(r.state(), InformerState::Sleeping { .. });
        let unknown = registrations.iter().find(|registration| !known(registration));
        let trouble = registrations.iter().find_map(|registration| match registration.state() {
            InformerState::Sleeping { reason } => {
                let kept: usize = shown.iter().map(Shown::len).sum();
                let goes_on = format!("; {kept} plugins go on for {} minutes", GRACE.as_secs() / 60);
                Some((reason, format!("there is no such kind in the cluster{}", if kept > 0 { &goes_on } else { "" })))
            }
            InformerState::Failing { reason, message } if reason.is_refusal() => Some((reason, message.to_string())),
            _ => None,
        });
        let reason = trouble.as_ref().map(|(reason, _)| *reason);
        if let Some((reason, error)) = trouble.filter(|_| reason != self.told) {
            let hint = match reason {
                Reason::KindNotFound => "install it: wharf crd | kubectl apply --server-side -f -",
                other => other.hint(),
            };
            tracing::warn!(target: "wharf::plugin", resource = PLURAL, %reason, error, hint, "plugin resources cannot be read");
        }
        self.told = reason;
        let missing = shown.iter().any(Shown::is_missing);
        match unknown {
            Some(_) => Extent::Part,
            None if missing => Extent::Missing,
            None => Extent::Whole,
        }
    }

    /// What the resources wish. Looks at the files that they name.
    fn read(&mut self, mut objects: Vec<Arc<Object>>, extent: Extent) -> Wishes {
        let mut wishes = Wishes { extent, ..Wishes::default() };
        let mut known = std::mem::take(&mut self.known);
        // One that is being deleted is gone for its owner already.
        objects.retain(|object| !object.deleting());
        let stays = |object: &&Arc<Object>| known.contains_key(object.key()) || self.kept.contains(object.key());
        let (first, others): (Vec<_>, Vec<_>) = objects.iter().partition(stays);
        let most = self.per_namespace.saturating_add(REFUSED_RESOURCES);
        let mut room = MAX_RESOURCES.saturating_sub(first.len());
        let mut taken = HashMap::<Option<Arc<str>>, usize>::new();
        for object in &first {
            *taken.entry(object.key().namespace.clone()).or_default() += 1;
        }
        let fits = |object: &&&Arc<Object>| {
            let taken = taken.entry(object.key().namespace.clone()).or_default();
            let fits = room > 0 && *taken < most;
            if fits {
                room -= 1;
                *taken += 1;
            }
            fits
        };
        let rest: Vec<_> = others.iter().filter(fits).copied().collect();
        for object in first.into_iter().chain(rest) {
            let now = document(object, known.remove(object.key()));
            self.add(object, &now, &mut wishes);
            self.known.insert(object.key().clone(), now);
        }
        // Who was kept may be seen later still.
        if extent == Extent::Whole {
            self.kept.clear();
        }
        let left = objects.len() - self.known.len();
        if left > 0 && std::mem::replace(&mut self.left, left) != left {
            tracing::error!(
                target: "wharf::plugin", left, most_of_namespace = most, most = MAX_RESOURCES,
                "too many plugin resources, the newest are left alone"
            );
        }
        wishes
    }

    fn add(&self, object: &Object, known: &Known, wishes: &mut Wishes) {
        let ObjectKey { namespace, name } = object.key();
        let namespace: Arc<str> = namespace.clone().unwrap_or_default();
        let origin = Origin::Resource { namespace: Arc::clone(&namespace), name: Arc::from(&**name) };
        let Some(name) = PluginName::new(&namespace, name) else {
            // Its name is among what is wrong with it.
            if let Err(refusal) = &known.document {
                wishes.unreadable.insert(origin, refusal.clone());
            }
            return;
        };
        let desired = known.document.clone().and_then(|document| {
            let component = Component::of(&document, &self.folder)?;
            Ok(Desired { document, component })
        });
        wishes.add(name, Wish { origin, generation: known.generation, desired });
    }
}

/// The document in a resource, read again only if it may have changed.
fn document(object: &Object, known: Option<Known>) -> Known {
    let generation = generation(object);
    if let Some(known) = known.filter(|known| known.uid == *object.uid() && known.generation == generation && generation.is_some()) {
        return known;
    }
    Known { uid: Arc::clone(object.uid()), generation, document: read(object).map(Arc::new) }
}

fn generation(object: &Object) -> Option<u64> {
    object.get(&Pointer::of(["metadata", "generation"])).and_then(|text| text.parse().ok())
}

fn read(object: &Object) -> Result<PluginDocument, Refusal> {
    let refusal = |reason, message| Refusal { reason, message, hint: String::new() };
    // It was read as JSON before: this cannot fail.
    let value: Value = serde_json::from_str(object.json()).map_err(|error| refusal(Reason::Undecodable, error.to_string()))?;
    read_resource(&value).map_err(|problems| {
        let reason = problems.first().map_or(Reason::DocumentInvalid, |problem| problem.reason);
        refusal(reason, problems.iter().map(line).collect::<Vec<_>>().join("\n"))
    })
}

fn line(problem: &Problem) -> String {
    if problem.hint.is_empty() { problem.to_string() } else { format!("{problem}\n  hint: {}", problem.hint) }
}

/// Does the wish depend on a file, or on one that is missing?
fn names_file(wish: &Wish) -> bool {
    match &wish.desired {
        Ok(desired) => matches!(desired.document.component, ComponentRef::File(_)),
        Err(refusal) => refusal.reason == Reason::ComponentNotFound,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wharf_cache::ChangeCause;

    use super::*;

    fn resource(name: &str, generation: u64, version: u64, spec: &Value, more: &Value) -> Arc<Object> {
        let mut metadata = json!({
            "name": name, "namespace": "team-a", "uid": format!("uid-{name}"), "generation": generation,
            "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z",
        });
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec, "status": {"revision": version.to_string()},
        });
        Arc::new(Object::parse(&text.to_string(), &Gvk::from_api_version(API_VERSION, KIND)).unwrap())
    }

    fn reading(folder: PathBuf) -> Reading {
        Reading::new(folder, 2, [])
    }

    fn name(name: &str) -> PluginName {
        PluginName::new("team-a", name).unwrap()
    }

    #[test]
    fn what_resources_wish() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.wasm"), "").unwrap();
        let (file, gone) = (json!({"component": {"file": "a.wasm"}}), json!({"component": {"file": "b.wasm"}}));
        let config_map = json!({"component": {"configMap": {"name": "parts", "key": "a.wasm"}}});
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]});
        let objects = vec![
            resource("deleted", 1, 1, &file, &deleted),
            resource("dotted.name", 1, 1, &file, &json!({})),
            resource("from-file", 4, 1, &file, &json!({"ownerReferences": []})),
            resource("from-map", 1, 1, &config_map, &json!({})),
            resource("gone", 1, 1, &gone, &json!({})),
            resource("wrong", 2, 1, &json!({"component": {"file": "a.wasm"}, "limit": {}}), &json!({})),
        ];
        let wishes = reading(folder.path().to_owned()).read(objects, Extent::Whole);
        let reasons: Vec<_> =
            wishes.plugins.iter().map(|(name, wish)| (&*name.name, wish.desired.as_ref().err().map(|refusal| refusal.reason))).collect();
        let want =
            [("from-file", None), ("from-map", None), ("gone", Some(Reason::ComponentNotFound)), ("wrong", Some(Reason::DocumentInvalid))];
        assert_eq!(reasons, want);
        assert_eq!(wishes.plugins[&name("from-file")].generation, Some(4));
        let message = wishes.plugins[&name("wrong")].desired.as_ref().unwrap_err().to_string();
        assert_eq!(message, "/spec/limit: unknown field limit [DocumentInvalid]\n  hint: did you mean limits?");
        let unreadable: Vec<String> = wishes.unreadable.keys().map(ToString::to_string).collect();
        assert_eq!(unreadable, ["Plugin resource team-a/dotted.name"]);
    }

    /// A status is written often: that wakes nobody.
    #[tokio::test(start_paused = true)]
    async fn only_another_document_wakes_the_reader() {
        let object = |generation, version, more| resource("a", generation, version, &json!({}), &more);
        let ending = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]});
        let (old, other) = (object(1, 1, json!({})), object(1, 2, json!({"uid": "other"})));
        let (written, edited, ended) = (object(1, 2, json!({})), object(2, 2, json!({})), object(1, 2, ending));
        for (old, new, wakes) in [
            (Some(&old), Some(&written), false),
            (Some(&old), Some(&edited), true),
            (Some(&old), Some(&ended), true),
            (Some(&old), Some(&other), true),
            (None, Some(&old), true),
            (Some(&old), None, true),
        ] {
            let changed = Arc::new(Notify::new());
            let key = written.key();
            let (final_state, final_known, slot, cause) = (None, true, None, ChangeCause::Watch);
            Documents(Arc::clone(&changed)).on_change(&Change { key, old, new, final_state, final_known, slot, cause, sequence: 1 });
            assert_eq!(tokio::time::timeout(Duration::from_secs(1), changed.notified()).await.is_ok(), wakes, "{old:?} {new:?}");
        }
    }

    /// A status that is written, by this host or by another, is no news.
    #[test]
    fn a_document_is_read_again_when_its_generation_changes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.wasm"), "").unwrap();
        let spec = json!({"component": {"file": "a.wasm"}});
        let mut reading = reading(folder.path().to_owned());
        let mut read = |generation, version| {
            let wishes = reading.read(vec![resource("a", generation, version, &spec, &json!({}))], Extent::Whole);
            let document = Arc::clone(&wishes.plugins[&name("a")].desired.as_ref().unwrap().document);
            (wishes, document)
        };
        let (first, document) = read(1, 1);
        let (second, same) = read(1, 2);
        assert!(first == second && Arc::ptr_eq(&document, &same));
        let (third, _) = read(2, 3);
        assert_ne!(second, third, "its status must say so, though nothing else changed");
    }

    /// A namespace with very many resources takes nobody's place.
    #[test]
    fn one_namespace_is_not_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut reading = reading(folder.path().to_owned());
        let spec = json!({"component": {"file": "a.wasm"}});
        let mut objects: Vec<_> = (0..200).map(|i| resource(&format!("p{i:03}"), 1, 1, &spec, &json!({}))).collect();
        objects.push(resource("other", 1, 1, &spec, &json!({"namespace": "team-b"})));
        let wishes = reading.read(objects.clone(), Extent::Whole);
        let of = |namespace: &str| wishes.plugins.keys().filter(|name| *name.namespace == *namespace).count();
        assert_eq!((of("team-a"), of("team-b")), (2 + REFUSED_RESOURCES, 1));
        // Who is known stays, and who goes makes room.
        objects.remove(0);
        assert_eq!(reading.read(objects.clone(), Extent::Whole).plugins.len(), 2 + REFUSED_RESOURCES + 1);
        // After a restart it is those who have served who have a place.
        let mut reading = Reading::new(folder.path().to_owned(), 2, ["p190", "p199", "gone"].map(name));
        for extent in [Extent::Missing, Extent::Whole] {
            let objects = if extent == Extent::Whole { objects.clone() } else { Vec::new() };
            let wishes = reading.read(objects, extent);
            let served = ["p190", "p199"].map(|served| wishes.plugins.contains_key(&name(served)));
            assert_eq!((served, wishes.plugins.len()), if extent == Extent::Whole { ([true; 2], 103) } else { ([false; 2], 0) });
        }
    }
}
