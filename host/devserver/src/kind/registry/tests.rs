//! What is served, against what the reference server serves.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn custom(group: &str, version: &str, plural: &str) -> Arc<Resource> {
    let mut resource = Resource::clone(Registry::builtin().find("", "v1", "configmaps").unwrap());
    resource.group = group.into();
    resource.version = version.into();
    resource.plural = plural.into();
    resource.kind = plural.to_uppercase().into();
    resource.storage = format!("{plural}.{group}").into();
    Arc::new(resource)
}

#[test]
fn resources_are_found_as_the_real_server_serves_them() {
    let registry = Registry::builtin();
    let pods = registry.find("", "v1", "pods").unwrap();
    assert_eq!((&*pods.kind, &*pods.singular, &*pods.list_kind, &*pods.storage), ("Pod", "pod", "PodList", "pods"));
    assert_eq!((pods.namespaced, pods.verbs.len(), &*pods.short_names[0], &*pods.categories[0]), (true, 8, "po", "all"));
    let binding = pods.subresource("binding").unwrap();
    assert_eq!((&*binding.group, &*binding.version, &*binding.kind), ("", "v1", "Binding"));
    let eviction = pods.subresource("eviction").unwrap();
    assert_eq!((&*eviction.group, &*eviction.version, &*eviction.kind), ("policy", "v1", "Eviction"));
    let deployments = registry.by_kind("apps", "v1", "Deployment").unwrap();
    assert_eq!((&*deployments.plural, &*deployments.storage), ("deployments", "deployments.apps"));
    let scale = deployments.subresource("scale").unwrap();
    assert_eq!((&*scale.group, &*scale.version, &*scale.kind, scale.verbs.len()), ("autoscaling", "v1", "Scale", 3));
    let status = deployments.subresource("status").unwrap();
    assert_eq!((&*status.group, &*status.version, &*status.kind), ("apps", "v1", "Deployment"));
    assert!(!registry.find("", "v1", "nodes").unwrap().namespaced);
    assert!(registry.find("apps", "v1beta1", "deployments").is_none() && registry.find("", "v1", "things").is_none());
}

#[test]
fn every_resource_of_the_table_is_served_once() {
    let registry = Registry::builtin();
    let served: usize = registry.groups().iter().flat_map(|group| &group.versions).map(|version| version.resources.len()).sum();
    let lines = TEXT.lines().filter(|line| line.starts_with("resource ")).count();
    assert_eq!(served, lines - 1, "all but HorizontalPodAutoscaler of autoscaling/v1");
    assert!(registry.has_group_version("autoscaling", "v1") && registry.find("autoscaling", "v1", "horizontalpodautoscalers").is_none());
    assert_eq!(&*registry.any_version("autoscaling", "HorizontalPodAutoscaler").unwrap().version, "v2");
    assert!(!registry.has_group_version("autoscaling", "v3") && !registry.has_group_version("nope", "v1"));
    assert_eq!(&*registry.groups()[0].name, "");
}

#[test]
fn storages_come_once_and_hold_objects() {
    let registry = Registry::builtin();
    let events: Vec<_> = registry.storages().filter(|one| &*one.storage == "events").collect();
    assert_eq!(events.len(), 1);
    assert_eq!(&*events[0].group, "");
    assert_eq!(&*registry.find("events.k8s.io", "v1", "events").unwrap().storage, "events");
    assert!(registry.storages().all(|one| &*one.plural != "tokenreviews" && &*one.plural != "bindings"));
}

#[test]
fn custom_resources_come_and_go() {
    let builtin = Registry::builtin();
    let with = builtin.with_custom(
        vec![
            custom("z.test", "v1beta1", "widgets"),
            custom("z.test", "v2", "widgets"),
            custom("a.test", "v1", "things"),
            custom("z.test", "v2", "gadgets"),
        ],
        vec![custom("z.test", "v2", "widgets"), custom("z.test", "v1", "unserved")],
    );
    let names: Vec<_> = with.groups().iter().skip(builtin.groups().len()).map(|group| &*group.name).collect();
    assert_eq!(names, ["a.test", "z.test"]);
    let versions: Vec<_> = with.groups().last().unwrap().versions.iter().map(|one| &*one.version).collect();
    assert_eq!(versions, ["v2", "v1beta1"]);
    let plurals: Vec<_> = with.groups().last().unwrap().versions[0].resources.iter().map(|one| &*one.plural).collect();
    assert_eq!(plurals, ["gadgets", "widgets"]);
    assert_eq!(&*with.any_version("z.test", "WIDGETS").unwrap().version, "v2");
    assert_eq!(with.storages().filter(|one| &*one.storage == "widgets.z.test").count(), 1);
    assert_eq!(with.storages().filter(|one| &*one.storage == "unserved.z.test").count(), 1);
    assert!(with.find("z.test", "v1", "unserved").is_none());
    assert!(with.find("", "v1", "pods").is_some());
    let without = with.with_custom(Vec::new(), Vec::new());
    assert!(!without.has_group_version("z.test", "v2"));
    assert_eq!(without.groups().len(), builtin.groups().len());
}

#[test]
fn versions_are_ordered_by_preference() {
    let mut versions = ["foo1", "v1alpha1", "v1", "v11beta2", "v10", "v3beta1", "v12alpha1", "v11alpha2", "foo10", "v2"];
    versions.sort_by(|a, b| order(a, b));
    assert_eq!(versions, ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10"]);
}
