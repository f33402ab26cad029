//! The resource of a kind. Owns what was learned of kinds, and how often it may be
//! asked; never guesses a plural name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;
use wharf_core::{Gvk, Reason, ResourceKind};

use super::catalog::{Catalog, CatalogError};
use crate::classify::{Class, Failure};
use crate::source::{Source, is_segment};

/// Finds the resource of a kind. Answers are remembered; what is not known is asked for.
pub struct Discovery {
    source: Source,
    groups: Mutex<HashMap<GroupVersion, Arc<tokio::sync::Mutex<Known>>>>,
    /// What the server said last of each group and version that it had something to say of. Never waits for an answer, and is left as it
    /// is when a group goes.
    names: Mutex<HashMap<GroupVersion, Arc<Kinds>>>,
}

/// By kind.
type Kinds = HashMap<Arc<str>, KindNames>;

/// A kind's resource, and what else it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindNames {
    /// The resource.
    pub resource: ResourceKind,
    /// `cm`.
    pub short_names: Vec<Arc<str>>,
}

/// Why a kind could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The server answered and does not have the kind.
    #[error("the server has no kind {kind}")]
    NotFound {
        /// The kind that was asked for.
        kind: Gvk,
    },
    /// The server did not answer, or with an error.
    #[error("discovery of {kind}: {message}")]
    Unavailable {
        /// The kind that was asked for.
        kind: Gvk,
        /// What was asked and what came back.
        message: Arc<str>,
    },
    /// The server does not accept the credentials.
    #[error("discovery of {kind}: {message}")]
    Unauthorized {
        /// The kind that was asked for.
        kind: Gvk,
        /// What was asked and what came back.
        message: Arc<str>,
    },
    /// The server refuses to say.
    #[error("discovery of {kind}: {message}")]
    Forbidden {
        /// The kind that was asked for.
        kind: Gvk,
        /// What was asked and what came back.
        message: Arc<str>,
    },
}

impl DiscoveryError {
    /// The reason shown to users.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::NotFound { .. } => Reason::KindNotFound,
            Self::Unavailable { .. } => Reason::ServerUnavailable,
            Self::Unauthorized { .. } => Reason::Unauthorized,
            Self::Forbidden { .. } => Reason::Forbidden,
        }
    }
}

type GroupVersion = (Arc<str>, Arc<str>);

/// What is known of one group and version.
#[derive(Default)]
struct Known {
    /// Empty if the group does not exist.
    kinds: Arc<Kinds>,
    /// The last question's time, and its failure.
    asked: Option<(Instant, Option<Failure>)>,
    /// Do not trust `kinds` before it has been asked for again.
    stale: bool,
}

/// The server is asked about one group and version at most this often.
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);

/// Groups come from users' documents, so they are bounded; beyond this the unused ones are
/// forgotten, and asked for again when needed.
const MAX_GROUPS: usize = 1024;

impl Discovery {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, groups: Mutex::default(), names: Mutex::default() }
    }

    /// The resource of a kind. Costs nothing if the kind is known; else one request, shared
    /// by all who ask for its group and version, and at most one per second: in between,
    /// the last answer is repeated. Cancel safe.
    ///
    /// # Errors
    /// [`DiscoveryError`] says whether the server answered.
    pub async fn resolve(&self, gvk: &Gvk) -> Result<ResourceKind, DiscoveryError> {
        if !is_segment(&gvk.version) || (!gvk.group.is_empty() && !is_segment(&gvk.group)) {
            return Err(DiscoveryError::NotFound { kind: gvk.clone() });
        }
        let group = self.group(gvk);
        let mut known = group.lock().await;
        if let Some(kind) = known.kinds.get(&gvk.kind).filter(|_| !known.stale) {
            return Ok(kind.resource.clone());
        }
        if known.asked.as_ref().is_none_or(|(asked, _)| asked.elapsed() >= BETWEEN_QUESTIONS) {
            let answer = self.ask(gvk).await;
            known.take(answer);
            self.keep(gvk, &known.kinds);
        }
        let failed = known.asked.as_ref().and_then(|(_, failure)| failure.as_ref());
        match (known.kinds.get(&gvk.kind), failed) {
            (Some(kind), _) if !known.stale => Ok(kind.resource.clone()),
            (_, Some(failure)) => {
                let (kind, message) = (gvk.clone(), failure.message.clone());
                Err(match failure.class {
                    Class::Unauthorized => DiscoveryError::Unauthorized { kind, message },
                    Class::Forbidden => DiscoveryError::Forbidden { kind, message },
                    _ => DiscoveryError::Unavailable { kind, message },
                })
            }
            (Some(kind), None) => Ok(kind.resource.clone()),
            (None, None) => Err(DiscoveryError::NotFound { kind: gvk.clone() }),
        }
    }

    /// What is remembered of a kind's names, also if it is old or the kind is gone; nobody is asked.
    pub fn remembered(&self, gvk: &Gvk) -> Option<KindNames> {
        let kinds = self.names.lock().get(&(gvk.group.clone(), gvk.version.clone())).cloned()?;
        kinds.get(&gvk.kind).cloned()
    }

    /// Everything that the server serves, asked for now.
    ///
    /// # Errors
    /// The server says nothing at all; what it does not say of single groups is noted in the
    /// catalog.
    pub async fn catalog(&self) -> Result<Catalog, CatalogError> {
        Catalog::read(&self.source).await
    }

    /// Forgets what is known of the kind's group and version: the next question goes to
    /// the server, if it was not asked within the last second.
    pub fn invalidate(&self, gvk: &Gvk) {
        let group = self.group(gvk);
        // Somebody who holds the lock is asking the server just now, which is as good.
        if let Ok(mut known) = group.try_lock() {
            known.stale = true;
        }
    }

    fn keep(&self, gvk: &Gvk, kinds: &Arc<Kinds>) {
        if kinds.is_empty() {
            return;
        }
        let mut names = self.names.lock();
        if names.len() >= MAX_GROUPS {
            names.clear();
        }
        names.insert((gvk.group.clone(), gvk.version.clone()), Arc::clone(kinds));
    }

    fn group(&self, gvk: &Gvk) -> Arc<tokio::sync::Mutex<Known>> {
        let mut groups = self.groups.lock();
        if groups.len() >= MAX_GROUPS {
            groups.retain(|_, known| Arc::strong_count(known) > 1);
        }
        groups.entry((gvk.group.clone(), gvk.version.clone())).or_default().clone()
    }

    async fn ask(&self, gvk: &Gvk) -> Result<Kinds, Failure> {
        let api_version = gvk.api_version();
        let what = format!("discover {api_version}");
        let root = if gvk.group.is_empty() { "/api" } else { "/apis" };
        let body = match self.source.get(&what, &format!("{root}/{api_version}")).await {
            Err(failure) if failure.class == Class::NotFound => return Ok(Kinds::new()),
            body => body?,
        };
        parse(&body, gvk).map_err(|error| Failure::new(Class::Undecodable, format_args!("{what}: {error}")))
    }
}

impl Known {
    fn take(&mut self, answer: Result<Kinds, Failure>) {
        let failure = match answer {
            Ok(kinds) => {
                self.kinds = Arc::new(kinds);
                self.stale = false;
                None
            }
            Err(failure) => Some(failure),
        };
        self.asked = Some((Instant::now(), failure));
    }
}

/// Reads an APIResourceList; subresources have a slash in their name.
fn parse(body: &[u8], gvk: &Gvk) -> Result<Kinds, serde_json::Error> {
    #[derive(Deserialize)]
    struct List {
        resources: Vec<Resource>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Resource {
        name: Arc<str>,
        kind: Arc<str>,
        namespaced: bool,
        #[serde(default)]
        short_names: Vec<Arc<str>>,
    }
    let list: List = serde_json::from_slice(body)?;
    let resources = list.resources.into_iter().filter(|resource| is_segment(&resource.name));
    Ok(resources
        .map(|Resource { name, kind, namespaced, short_names }| {
            let gvk = Gvk { kind: kind.clone(), ..gvk.clone() };
            (kind, KindNames { resource: ResourceKind { gvk, plural: name, namespaced }, short_names })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_are_not_resources() {
        let body = br#"{"resources":[{"name":"pods","kind":"Pod","namespaced":true,"shortNames":["po"]},{"name":"pods/status","kind":"Pod","namespaced":true},
            {"name":"nodes","kind":"Node","namespaced":false}]}"#;
        let kinds = parse(body, &Gvk::new("", "v1", "Pod")).unwrap();
        assert_eq!(kinds.len(), 2);
        let (pod, node) = (&kinds["Pod"], &kinds["Node"]);
        assert_eq!((&*pod.resource.plural, pod.resource.namespaced, &*pod.short_names[0]), ("pods", true, "po"));
        assert_eq!((&*node.resource.plural, node.resource.namespaced, node.short_names.len()), ("nodes", false, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn names_are_remembered_while_nobody_answers() {
        use std::sync::atomic::{AtomicBool, Ordering};

        use http::{Request, Response};
        use kube::client::Body;

        let answers = Arc::new(AtomicBool::new(true));
        let up = Arc::clone(&answers);
        let service = tower::service_fn(move |_: Request<Body>| {
            let body = br#"{"resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"shortNames":["cm"]}]}"#.to_vec();
            let code = if up.load(Ordering::SeqCst) { 200 } else { 503 };
            std::future::ready(Ok::<_, std::io::Error>(Response::builder().status(code).body(Body::from(body)).unwrap()))
        });
        let source = Source::new(kube::Client::new(service, "default"), &crate::options::Options::default());
        let (discovery, gvk) = (Discovery::new(source), Gvk::new("", "v1", "ConfigMap"));
        assert_eq!(discovery.remembered(&gvk), None);
        discovery.resolve(&gvk).await.unwrap();
        answers.store(false, Ordering::SeqCst);
        discovery.invalidate(&gvk);
        tokio::time::advance(2 * BETWEEN_QUESTIONS).await;
        assert!(matches!(discovery.resolve(&gvk).await, Err(DiscoveryError::Unavailable { .. })));
        assert_eq!(*discovery.remembered(&gvk).unwrap().short_names[0], *"cm");
        assert_eq!(discovery.remembered(&Gvk::new("", "v1", "Pod")), None);
    }
}
