//! Reads the built-in resources out of the generated table: what a real API server serves. Never makes up a resource, and leaves
//! out what could only be served by converting objects between versions.

use std::collections::HashSet;
use std::sync::Arc;

use super::registry::{Group, GroupVersion};
use super::{Resource, Schema, Subresource};
use crate::schema::TypeId;

/// Resources of several groups whose objects are the same ones: group and plural, and where they lie.
const SHARED: [(&str, &str, &str); 1] = [("events.k8s.io", "events", "events")];

/// The groups in the order of discovery.
pub(super) fn groups(text: &str) -> Vec<Group> {
    let mut reader = Reader::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["group"] => reader.group(""),
            ["group", name] => reader.group(name),
            ["version", version] => reader.version(version),
            ["resource", rest @ ..] => reader.resource(rest),
            ["subresource", rest @ ..] => reader.subresource(rest),
            ["deprecated", rest @ ..] => reader.deprecated(&rest.join(" ")),
            _ => {}
        }
    }
    reader.end_resource();
    reader.groups
}

/// Where the objects of a resource lie.
pub(super) fn storage(group: &str, plural: &str) -> Arc<str> {
    if let Some((.., shared)) = SHARED.iter().find(|one| (one.0, one.1) == (group, plural)) {
        return (*shared).into();
    }
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}

#[derive(Default)]
struct Reader {
    groups: Vec<Group>,
    /// Group and plural of what is served already, in the preferred version.
    served: HashSet<(Arc<str>, Arc<str>)>,
    resource: Option<Resource>,
}

impl Reader {
    fn group(&mut self, name: &str) {
        self.end_resource();
        self.groups.push(Group { name: name.into(), versions: Vec::new() });
    }

    fn version(&mut self, version: &str) {
        self.end_resource();
        if let Some(group) = self.groups.last_mut() {
            group.versions.push(GroupVersion { version: version.into(), resources: Vec::new() });
        }
    }

    fn resource(&mut self, words: &[&str]) {
        self.end_resource();
        let Some(group) = self.groups.last() else { return };
        let Some(version) = group.versions.last() else { return };
        let [plural, kind, singular, scope, verbs, short_names, categories] = words else { return };
        let (name, version) = (group.name.clone(), version.version.clone());
        let Some(id) = TypeId::of_kind(&join(&name, &version), kind) else { return };
        let plural: Arc<str> = (*plural).into();
        // Another version of it would have to be converted.
        if !self.served.insert((name.clone(), plural.clone())) {
            return;
        }
        self.resource = Some(Resource {
            storage: storage(&name, &plural),
            group: name,
            version,
            plural,
            singular: (*singular).into(),
            kind: (*kind).into(),
            list_kind: format!("{kind}List").into(),
            namespaced: *scope == "namespaced",
            short_names: list(short_names),
            categories: list(categories),
            verbs: list(verbs),
            subresources: Vec::new(),
            deprecation: None,
            schema: Schema::Builtin(id),
        });
    }

    fn subresource(&mut self, words: &[&str]) {
        let Some(resource) = &mut self.resource else { return };
        let [name, api_version, kind, verbs] = words else { return };
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group.into(), version.into()),
            None if *api_version == "-" => (resource.group.clone(), resource.version.clone()),
            None => ("".into(), (*api_version).into()),
        };
        resource.subresources.push(Subresource { name: (*name).into(), group, version, kind: (*kind).into(), verbs: list(verbs) });
    }

    fn deprecated(&mut self, warning: &str) {
        if let Some(resource) = &mut self.resource {
            resource.deprecation = Some(warning.into());
        }
    }

    fn end_resource(&mut self) {
        let version = self.groups.last_mut().and_then(|group| group.versions.last_mut());
        if let (Some(resource), Some(version)) = (self.resource.take(), version) {
            version.resources.push(Arc::new(resource));
        }
    }
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn list(words: &str) -> Vec<Arc<str>> {
    if words == "-" { Vec::new() } else { words.split(',').map(Arc::from).collect() }
}
