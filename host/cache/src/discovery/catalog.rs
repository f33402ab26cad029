//! Everything that a server serves. Owns the reading of its discovery documents: the
//! aggregated form where the server has it, else group by group. A group that fails is noted and
//! hides no other, as in client-go.

use std::sync::Arc;

use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use wharf_core::{Gvk, Reason, ResourceKind};

use crate::classify::{Class, Failure};
use crate::source::{Source, is_segment};

/// Both aggregated forms, the newer one first, and what every server has.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// Groups and versions beyond this are left out, and noted.
const MAX_VERSIONS: usize = 4096;
/// Questions at the same time, where a server is asked group by group.
const AT_ONCE: usize = 8;

/// One resource of one group and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedResource {
    /// Its kind, its plural name and its scope.
    pub kind: ResourceKind,
    /// Its name for one object, in lower case: `configmap`.
    pub singular: Arc<str>,
    /// `cm`.
    pub short_names: Vec<Arc<str>>,
    /// Groups of kinds that it is in: `all`.
    pub categories: Vec<Arc<str>>,
    /// What can be done with it: `list`, `watch`.
    pub verbs: Vec<Arc<str>>,
}

impl ServedResource {
    /// Can this be done with it?
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| &**known == verb)
    }

    /// `plural.group`, or `plural` for the core group.
    pub fn full_name(&self) -> String {
        let Gvk { group, .. } = &self.kind.gvk;
        if group.is_empty() { self.kind.plural.to_string() } else { format!("{}.{group}", self.kind.plural) }
    }
}

/// A group, or a version of one, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogFailure {
    /// `apps/v1`, or a group's name.
    pub group_version: String,
    /// What was asked and what came back.
    pub message: Arc<str>,
}

/// All resources of a server: groups in the server's order, the versions of a group with the
/// preferred one first. What it says is true for the moment in which it was asked.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Without subresources.
    pub resources: Vec<ServedResource>,
    /// What is missing in it.
    pub failures: Vec<CatalogFailure>,
}

/// The server does not say which kinds it has at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CatalogError {
    /// `Forbidden` or `ServerUnavailable`, for example.
    pub reason: Reason,
    /// What was asked and what came back.
    pub message: Arc<str>,
    /// Whoever answered is no Kubernetes API.
    pub foreign: bool,
}

impl Catalog {
    /// Asks for everything: two requests where the server has aggregated discovery, else one for
    /// each group and version. Not remembered. Cancel safe.
    pub(crate) async fn read(source: &Source) -> Result<Self, CatalogError> {
        let mut catalog = Self::default();
        let (mut failed, mut missing) = (None, 0);
        for root in ["/api", "/apis"] {
            match catalog.read_root(source, root).await {
                // A server without the core group, or without any other, is a server; one without both is none.
                Err(failure) if failure.class == Class::NotFound && missing == 0 => missing += 1,
                Err(failure) => {
                    catalog.fail(root, &failure);
                    failed = Some(failure);
                }
                Ok(()) => {}
            }
        }
        match failed {
            // A server of something else answers so, or one of https that is spoken to without it.
            Some(Failure { class: Class::Invalid | Class::Undecodable | Class::NotFound, message }) if catalog.resources.is_empty() => {
                Err(CatalogError { reason: Reason::ServerUnavailable, message, foreign: true })
            }
            Some(Failure { class, message }) if catalog.resources.is_empty() => {
                Err(CatalogError { reason: class.reason(), message, foreign: false })
            }
            _ => Ok(catalog),
        }
    }

    async fn read_root(&mut self, source: &Source, root: &str) -> Result<(), Failure> {
        let what = format!("discover {root}");
        let body = source.get_as(&what, root, ACCEPT).await?;
        let document: Root = serde_json::from_slice(&body).map_err(|error| undecodable(&what, &error))?;
        if document.kind == "APIGroupDiscoveryList" {
            for group in document.items {
                self.take_aggregated(group);
            }
            return Ok(());
        }
        let mut versions: Vec<(Arc<str>, Arc<str>)> = document.versions.iter().map(|version| ("".into(), version.clone())).collect();
        for group in document.groups {
            // The preferred one first; the others as the server has them.
            let preferred = group.preferred_version.map(|preferred| preferred.version);
            let others = group.versions.into_iter().map(|other| other.version).filter(|other| preferred.as_ref() != Some(other));
            versions.extend(preferred.iter().cloned().chain(others).map(|version| (group.name.clone(), version)));
        }
        if versions.len() > MAX_VERSIONS {
            let failure = Failure::new(Class::Other, format_args!("{what}: more than {MAX_VERSIONS} groups and versions"));
            self.fail(root, &failure);
            versions.truncate(MAX_VERSIONS);
        }
        self.read_each(source, root, versions).await;
        Ok(())
    }

    fn take_aggregated(&mut self, group: AggregatedGroup) {
        for version in group.versions {
            let gvk = Gvk::new(&group.metadata.name, &version.version, "");
            if version.freshness == "Stale" {
                let message = format_args!("the server behind {} does not answer; what is known of it is old", gvk.api_version());
                self.fail(&gvk.api_version(), &Failure::new(Class::Other, message));
            }
            for resource in version.resources {
                // Some aggregated servers leave the kind out of what has only subresources.
                let Some(kind) = resource.response_kind.map(|response| response.kind).filter(|kind| !kind.is_empty()) else { continue };
                let namespaced = resource.scope == "Namespaced";
                self.add(&gvk, kind, resource.resource, namespaced, resource.singular_resource, resource.names);
            }
        }
    }

    async fn read_each(&mut self, source: &Source, root: &str, versions: Vec<(Arc<str>, Arc<str>)>) {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for (at, (group, version)) in versions.into_iter().enumerate() {
            if !is_segment(&version) || (!group.is_empty() && !is_segment(&group)) {
                continue;
            }
            let gvk = Gvk { group, version, kind: "".into() };
            let (source, turns, uri) = (source.clone(), Arc::clone(&turns), format!("{root}/{}", gvk.api_version()));
            tasks.spawn(async move {
                // The semaphore is never closed.
                let _turn = turns.acquire().await;
                let what = format!("discover {}", gvk.api_version());
                let list = match source.get(&what, &uri).await {
                    Ok(body) => serde_json::from_slice::<LegacyList>(&body).map_err(|error| undecodable(&what, &error)),
                    Err(failure) => Err(failure),
                };
                (at, gvk, list)
            });
        }
        let mut answers = tasks.join_all().await;
        answers.sort_by_key(|(at, ..)| *at);
        for (_, gvk, list) in answers {
            match list {
                // Listed a moment ago, gone now.
                Err(failure) if failure.class == Class::NotFound => {}
                Err(failure) => self.fail(&gvk.api_version(), &failure),
                Ok(list) => {
                    for resource in list.resources {
                        self.add(&gvk, resource.kind, resource.name, resource.namespaced, resource.singular_name, resource.names);
                    }
                }
            }
        }
    }

    fn add(&mut self, gvk: &Gvk, kind: Arc<str>, plural: Arc<str>, namespaced: bool, singular: Arc<str>, names: Names) {
        // Subresources have a slash.
        if !is_segment(&plural) {
            return;
        }
        let singular = if singular.is_empty() { kind.to_lowercase().into() } else { singular };
        let Names { short_names, categories, verbs } = names;
        let kind = ResourceKind { gvk: Gvk { kind, ..gvk.clone() }, plural, namespaced };
        self.resources.push(ServedResource { kind, singular, short_names, categories, verbs });
    }

    fn fail(&mut self, group_version: &str, failure: &Failure) {
        self.failures.push(CatalogFailure { group_version: group_version.to_owned(), message: failure.message.clone() });
    }
}

fn undecodable(what: &str, error: &serde_json::Error) -> Failure {
    Failure::new(Class::Undecodable, format_args!("{what}: {error}"))
}

/// `/api` or `/apis`, in whichever form the server answers.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Root {
    kind: String,
    items: Vec<AggregatedGroup>,
    versions: Vec<Arc<str>>,
    groups: Vec<LegacyGroup>,
}

#[derive(Deserialize)]
struct AggregatedGroup {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<AggregatedVersion>,
}

/// The core group has none, or one without a name.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: Arc<str>,
}

#[derive(Deserialize)]
struct AggregatedVersion {
    version: Arc<str>,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<AggregatedResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedResource {
    resource: Arc<str>,
    response_kind: Option<ResponseKind>,
    scope: String,
    #[serde(default)]
    singular_resource: Arc<str>,
    #[serde(flatten)]
    names: Names,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: Arc<str>,
}

/// What both forms call alike.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Names {
    short_names: Vec<Arc<str>>,
    categories: Vec<Arc<str>>,
    verbs: Vec<Arc<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyGroup {
    name: Arc<str>,
    versions: Vec<LegacyVersion>,
    preferred_version: Option<LegacyVersion>,
}

#[derive(Deserialize)]
struct LegacyVersion {
    version: Arc<str>,
}

#[derive(Deserialize)]
struct LegacyList {
    #[serde(default)]
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyResource {
    name: Arc<str>,
    #[serde(default)]
    singular_name: Arc<str>,
    namespaced: bool,
    kind: Arc<str>,
    #[serde(flatten)]
    names: Names,
}

#[cfg(test)]
mod tests;
