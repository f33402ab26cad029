//! The answers of the table as strategic merge patch and server-side apply ask for them.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::schema::TypeId;

fn at(version: &str, kind: &str, path: &[&str]) -> Shape<'static> {
    let root = Shape::Builtin(Place::of(TypeId::of_kind(version, kind).unwrap()));
    path.iter().fold(root, |shape, name| if *name == "*" { shape.items() } else { shape.member(name).unwrap() })
}

fn keys(list: &[&str]) -> ListKind {
    ListKind::Map(list.iter().map(|key| (*key).to_owned()).collect())
}

fn by(key: &str) -> MergeKind {
    MergeKind::ByKey(key.to_owned())
}

#[test]
fn lists_as_both_kinds_of_merging_see_them() {
    let pod = ["spec", "template", "spec"];
    let in_pod = |more: &[&str]| at("apps/v1", "Deployment", &[&pod, more].concat());
    for (shape, list, merge) in [
        (in_pod(&["containers"]), keys(&["name"]), by("name")),
        (in_pod(&["containers", "*", "ports"]), keys(&["containerPort", "protocol"]), by("containerPort")),
        (in_pod(&["containers", "*", "env"]), keys(&["name"]), by("name")),
        (in_pod(&["containers", "*", "args"]), ListKind::Atomic, MergeKind::Replace),
        (in_pod(&["topologySpreadConstraints"]), keys(&["topologyKey", "whenUnsatisfiable"]), by("topologyKey")),
        (in_pod(&["tolerations"]), ListKind::Atomic, MergeKind::Replace),
        (in_pod(&["ephemeralContainers", "*", "volumeMounts"]), keys(&["mountPath"]), by("mountPath")),
        (at("v1", "Service", &["spec", "ports"]), keys(&["port", "protocol"]), by("port")),
        (at("v1", "Node", &["spec", "podCIDRs"]), ListKind::Set, MergeKind::Union),
        (at("v1", "ConfigMap", &["metadata", "finalizers"]), ListKind::Set, MergeKind::Union),
        (at("v1", "ConfigMap", &["metadata", "ownerReferences"]), keys(&["uid"]), by("uid")),
        (at("rbac.authorization.k8s.io/v1", "Role", &["rules"]), ListKind::Atomic, MergeKind::Replace),
    ] {
        assert!(shape.is_list());
        assert_eq!((shape.list_kind(), shape.merge_kind()), (list, merge), "{shape:?}");
    }
}

#[test]
fn parts_that_are_owned_as_one() {
    for (version, kind, path, atomic) in [
        ("apps/v1", "Deployment", &["spec", "selector"][..], true),
        ("apps/v1", "Deployment", &["spec"], false),
        ("v1", "Pod", &["spec", "nodeSelector"], true),
        ("v1", "Service", &["spec", "selector"], true),
        ("v1", "Pod", &["spec", "imagePullSecrets", "*"], true),
        ("v1", "ConfigMap", &["data"], false),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", &["roleRef"], true),
    ] {
        assert_eq!(at(version, kind, path).is_atomic_map(), atomic, "{kind} {path:?}");
    }
}

#[test]
fn strategies_that_only_few_places_have() {
    assert!(at("policy/v1", "PodDisruptionBudget", &["spec", "selector"]).is_replaced());
    assert!(!at("apps/v1", "Deployment", &["spec", "selector"]).is_replaced());
}

#[test]
fn keys_have_defaults() {
    let ports = at("v1", "Pod", &["spec", "containers", "*", "ports"]);
    assert_eq!(ports.key_default("protocol").as_deref(), Some(&json!("TCP")));
    assert_eq!(ports.key_default("hostIP"), None);
    assert_eq!(at("v1", "Service", &["spec", "ports"]).key_default("protocol").as_deref(), Some(&json!("TCP")));
    assert_eq!(at("v1", "Pod", &["spec", "tolerations"]).key_default("key"), None);
}

#[test]
fn members_are_known_or_not() {
    let map = at("v1", "ConfigMap", &[]);
    assert!(map.member("data").unwrap().member("anything").unwrap().member("more").is_none());
    assert!(map.member("apiVersion").is_some() && map.member("metadata").is_some() && map.member("Data").is_none());
    let revision = at("apps/v1", "ControllerRevision", &["data"]);
    assert!(matches!(revision, Shape::Free) && matches!(revision.member("a"), Some(Shape::Free)) && !revision.is_list());
    assert!(matches!(builtin_meta().member("labels"), Some(Shape::Builtin(_))));
}
