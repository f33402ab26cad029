//! All resources that are served now. One immutable picture, exchanged as a whole when a definition comes, changes or goes.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::Resource;
use super::builtin;
use crate::schema::TEXT;

/// The served resources.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    groups: Vec<Group>,
    /// Group, then version.
    versions: HashMap<Arc<str>, HashMap<Arc<str>, Index>>,
    storages: Vec<Arc<Resource>>,
}

/// The resources of one version of a group.
#[derive(Debug, Clone, Default)]
struct Index {
    plurals: HashMap<Arc<str>, Arc<Resource>>,
    kinds: HashMap<Arc<str>, Arc<Resource>>,
}

impl Registry {
    /// The built-in kinds, from the generated table. Parsed once per process.
    pub(crate) fn builtin() -> Arc<Self> {
        static BUILTIN: OnceLock<Arc<Registry>> = OnceLock::new();
        BUILTIN.get_or_init(|| Arc::new(Self::index(builtin::groups(TEXT)))).clone()
    }

    /// The same with these custom resources (all served versions of all established definitions) instead of the present ones. What a
    /// built-in resource serves already is not served a second time. `storages` are those of which maybe no version is served.
    pub(crate) fn with_custom(&self, resources: Vec<Arc<Resource>>, storages: Vec<Arc<Resource>>) -> Arc<Self> {
        let mut groups = Self::builtin().groups.clone();
        let own = groups.len();
        for resource in resources {
            add(&mut groups, resource);
        }
        if let Some(custom) = groups.get_mut(own..) {
            custom.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let mut registry = Self::index(groups);
        let served: HashSet<_> = registry.storages.iter().map(|one| one.storage.clone()).collect();
        registry.storages.extend(storages.into_iter().filter(|one| !served.contains(&one.storage)));
        Arc::new(registry)
    }

    /// By the parts of a path: O(1).
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.versions.get(group)?.get(version)?.plurals.get(plural)
    }

    /// By apiVersion and kind: O(1).
    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.versions.get(group)?.get(version)?.kinds.get(kind)
    }

    /// Any version of a kind, the preferred first.
    pub(crate) fn any_version(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        let indexes = self.versions.get(group)?;
        let mut found = indexes.values().filter_map(|index| index.kinds.get(kind));
        let first = found.next()?;
        Some(found.fold(first, |best, other| if order(&other.version, &best.version).is_lt() { other } else { best }))
    }

    /// Whether the group (and version) is served at all: an unknown one is a plain 404, not a Status.
    pub(crate) fn has_group_version(&self, group: &str, version: &str) -> bool {
        self.versions.get(group).is_some_and(|versions| versions.contains_key(version))
    }

    /// In the order of discovery: groups, each with its versions (preferred first), each with its resources. A version may be
    /// without resources (`autoscaling/v1`, which has only Scale).
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// One resource per storage (its preferred version, also if none is served): what garbage collection and a namespace's end walk over. Those whose objects
    /// are never kept (reviews, bindings) are not among them.
    pub(crate) fn storages(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.storages.iter()
    }

    fn index(groups: Vec<Group>) -> Self {
        let mut versions: HashMap<Arc<str>, HashMap<Arc<str>, Index>> = HashMap::new();
        let (mut storages, mut seen) = (Vec::new(), HashSet::new());
        for group in &groups {
            let indexes = versions.entry(group.name.clone()).or_default();
            for version in &group.versions {
                let index = indexes.entry(version.version.clone()).or_default();
                for resource in &version.resources {
                    index.plurals.insert(resource.plural.clone(), resource.clone());
                    index.kinds.entry(resource.kind.clone()).or_insert_with(|| resource.clone());
                    if resource.allows("delete") && seen.insert(resource.storage.clone()) {
                        storages.push(resource.clone());
                    }
                }
            }
        }
        Self { groups, versions, storages }
    }
}

/// A group of discovery.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Empty for core, which `/api` serves.
    pub(crate) name: Arc<str>,
    /// Preferred first.
    pub(crate) versions: Vec<GroupVersion>,
}

/// A version of a group, with its resources in the order of their plurals.
#[derive(Debug, Clone)]
pub(crate) struct GroupVersion {
    pub(crate) version: Arc<str>,
    pub(crate) resources: Vec<Arc<Resource>>,
}

/// Puts a custom resource into its group and version, which may be new.
fn add(groups: &mut Vec<Group>, resource: Arc<Resource>) {
    let at = groups.iter().position(|group| group.name == resource.group).unwrap_or_else(|| {
        groups.push(Group { name: resource.group.clone(), versions: Vec::new() });
        groups.len() - 1
    });
    let Some(group) = groups.get_mut(at) else { return };
    let at = group.versions.iter().position(|version| version.version == resource.version).unwrap_or_else(|| {
        let at = group.versions.partition_point(|version| order(&version.version, &resource.version).is_lt());
        group.versions.insert(at, GroupVersion { version: resource.version.clone(), resources: Vec::new() });
        at
    });
    let Some(version) = group.versions.get_mut(at) else { return };
    if let Err(at) = version.resources.binary_search_by(|known| known.plural.cmp(&resource.plural)) {
        version.resources.insert(at, resource);
    }
}

/// The order of versions by preference: stable before beta before alpha, high numbers first, then other names as text.
fn order(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn rank(version: &str) -> Option<(u8, Reverse<u32>, Reverse<u32>)> {
    let version = version.strip_prefix('v')?;
    for (stage, word) in [(1, "beta"), (2, "alpha")] {
        if let Some((major, minor)) = version.split_once(word) {
            return Some((stage, Reverse(major.parse().ok()?), Reverse(minor.parse().ok()?)));
        }
    }
    Some((0, Reverse(version.parse().ok()?), Reverse(0)))
}

#[cfg(test)]
mod tests;
