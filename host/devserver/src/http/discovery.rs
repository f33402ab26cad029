//! Discovery: which groups, versions and resources there are, in the old documents and in the aggregated one.
//!
//! Pure functions from the registry's groups to JSON.

use serde_json::{Map, Value, json};

use crate::kind::{Group, GroupVersion, Resource, Subresource};

/// The kind and group of the aggregated document.
pub(crate) const AGGREGATED: (&str, &str) = ("apidiscovery.k8s.io", "APIGroupDiscoveryList");

/// `/api`.
pub(crate) fn core_versions(groups: &[Group], address: &str) -> Value {
    let versions: Vec<&str> =
        groups.iter().filter(|group| group.name.is_empty()).flat_map(|group| &group.versions).map(|one| &*one.version).collect();
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis`.
pub(crate) fn group_list(groups: &[Group]) -> Value {
    let groups: Vec<Value> = groups.iter().filter(|group| !group.name.is_empty()).map(|group| Value::Object(versions(group))).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/G`; none for a group that is not served.
pub(crate) fn group(groups: &[Group], name: &str) -> Option<Value> {
    let group = groups.iter().find(|group| &*group.name == name && !name.is_empty())?;
    let mut document = versions(group);
    document.insert("kind".to_owned(), json!("APIGroup"));
    document.insert("apiVersion".to_owned(), json!("v1"));
    Some(Value::Object(document))
}

/// `/api/v1`, `/apis/G/V`; none for a version that is not served.
pub(crate) fn resources(groups: &[Group], name: &str, version: &str) -> Option<Value> {
    let group = groups.iter().find(|group| &*group.name == name)?;
    let served = group.versions.iter().find(|one| &*one.version == version)?;
    let mut entries = Vec::new();
    for resource in &served.resources {
        entries.push(entry(resource));
        entries.extend(resource.subresources.iter().map(|part| part_entry(resource, part)));
    }
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version(name, version), "resources": entries}))
}

/// The aggregated form of `/api` (`core`) or `/apis`, in version `v2` or `v2beta1` of it.
pub(crate) fn aggregated(groups: &[Group], core: bool, version: &str) -> Value {
    let items: Vec<Value> = groups.iter().filter(|group| group.name.is_empty() == core).map(aggregated_group).collect();
    json!({"kind": AGGREGATED.1, "apiVersion": format!("{}/{version}", AGGREGATED.0), "metadata": {}, "items": items})
}

/// `v1`, `apps/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn versions(group: &Group) -> Map<String, Value> {
    let all: Vec<Value> = group
        .versions
        .iter()
        .map(|one| json!({"groupVersion": group_version(&group.name, &one.version), "version": &*one.version}))
        .collect();
    let mut document = Map::new();
    document.insert("name".to_owned(), json!(&*group.name));
    if let Some(preferred) = all.first() {
        document.insert("preferredVersion".to_owned(), preferred.clone());
    }
    document.insert("versions".to_owned(), Value::Array(all));
    document
}

fn entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": &*resource.plural,
        "singularName": &*resource.singular,
        "namespaced": resource.namespaced,
        "kind": &*resource.kind,
        "verbs": texts(&resource.verbs),
    });
    add_names(&mut entry, resource);
    entry
}

fn part_entry(resource: &Resource, part: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, part.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": &*part.kind,
        "verbs": texts(&part.verbs),
    });
    let other = (&part.group, &part.version) != (&resource.group, &resource.version);
    if let (true, Some(entry)) = (other, entry.as_object_mut()) {
        entry.insert("group".to_owned(), json!(&*part.group));
        entry.insert("version".to_owned(), json!(&*part.version));
    }
    entry
}

fn aggregated_group(group: &Group) -> Value {
    // The core group has no name, and then no metadata.
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": &*group.name}) };
    json!({"metadata": metadata, "versions": group.versions.iter().map(aggregated_version).collect::<Vec<_>>()})
}

fn aggregated_version(served: &GroupVersion) -> Value {
    let resources: Vec<Value> = served.resources.iter().map(|resource| aggregated_resource(resource)).collect();
    json!({"version": &*served.version, "freshness": "Current", "resources": resources})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": &*resource.plural,
        "responseKind": {"group": &*resource.group, "version": &*resource.version, "kind": &*resource.kind},
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*resource.singular,
        "verbs": texts(&resource.verbs),
    });
    add_names(&mut entry, resource);
    let parts: Vec<Value> = resource
        .subresources
        .iter()
        .map(|part| {
            json!({
                "subresource": &*part.name,
                "responseKind": {"group": &*part.group, "version": &*part.version, "kind": &*part.kind},
                "verbs": texts(&part.verbs),
            })
        })
        .collect();
    if let (false, Some(entry)) = (parts.is_empty(), entry.as_object_mut()) {
        entry.insert("subresources".to_owned(), Value::Array(parts));
    }
    entry
}

/// Short names and categories, which are left out where there are none.
fn add_names(entry: &mut Value, resource: &Resource) {
    let Some(entry) = entry.as_object_mut() else { return };
    for (name, values) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !values.is_empty() {
            entry.insert(name.to_owned(), json!(texts(values)));
        }
    }
}

fn texts(values: &[std::sync::Arc<str>]) -> Vec<&str> {
    values.iter().map(|value| &**value).collect()
}

#[cfg(test)]
pub(crate) mod tests;
