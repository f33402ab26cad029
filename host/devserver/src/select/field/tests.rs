//! Field selectors as the real server reads them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::schema::TypeId;
use crate::store::Key;

fn resource(group: &str, kind: &str, namespaced: bool) -> Resource {
    let plural: Arc<str> = format!("{}s", kind.to_lowercase()).into();
    Resource {
        group: group.into(),
        version: "v1".into(),
        plural: Arc::clone(&plural),
        singular: kind.to_lowercase().into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        namespaced,
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: Vec::new(),
        subresources: Vec::new(),
        deprecation: None,
        schema: Schema::Builtin(TypeId(0)),
        storage: plural,
    }
}

fn object(value: Value) -> Stored {
    let key = Key { storage: "x".into(), namespace: "n".into(), name: "a".into() };
    Stored::new(&key, value, 1)
}

#[test]
fn fields_are_found_by_kind() {
    let pod = json!({"spec": {"nodeName": "n1", "hostNetwork": true}, "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}});
    let event = json!({"involvedObject": {"name": "p", "kind": "Pod"}, "source": {"component": "kubelet"}, "reason": "R"});
    for (group, kind, value, selector, expected) in [
        ("", "ConfigMap", json!({}), "", true),
        ("", "ConfigMap", json!({}), ",", true),
        ("", "ConfigMap", json!({}), "metadata.name=a", true),
        ("", "ConfigMap", json!({}), "metadata.name==a,metadata.namespace=n", true),
        ("", "ConfigMap", json!({}), "metadata.name=a,metadata.namespace=m", false),
        ("", "ConfigMap", json!({}), "metadata.name!=a", false),
        ("", "ConfigMap", json!({}), "metadata.name!=b", true),
        ("", "Pod", pod.clone(), "spec.nodeName=n1,status.phase!=Pending", true),
        ("", "Pod", pod.clone(), "spec.host=n1", true),
        ("", "Pod", pod.clone(), "spec.hostNetwork=true,status.podIP=10.0.0.1", true),
        ("", "Pod", json!({}), "spec.nodeName=", true),
        ("", "Pod", json!({}), "spec.hostNetwork=false", true),
        ("", "Pod", pod, "status.podIPs=", true),
        ("", "Event", event.clone(), "involvedObject.name=p,involvedObject.kind=Pod,involvedObject.uid=,source=kubelet,reason=R", true),
        ("events.k8s.io", "Event", event, "regarding.name=p,regarding.kind=Pod", true),
        ("", "Event", json!({"reportingComponent": "c"}), "source=c,reportingComponent=c", true),
        ("", "Node", json!({}), "spec.unschedulable=false", true),
        ("", "Node", json!({"spec": {"unschedulable": true}}), "spec.unschedulable=true", true),
        ("", "Secret", json!({"type": "a,b=c\\"}), r"type=a\,b\=c\\", true),
        ("", "Service", json!({"spec": {"clusterIP": "None", "type": "ClusterIP"}}), "spec.clusterIP=None,spec.type=ClusterIP", true),
        ("batch", "Job", json!({"status": {"succeeded": 2}}), "status.successful=2", true),
        ("batch", "Job", json!({}), "status.successful=0", true),
        ("", "ReplicationController", json!({"status": {"replicas": 3}}), "status.replicas=3", true),
    ] {
        let parsed = FieldSelector::parse(selector, &resource(group, kind, true)).unwrap();
        assert_eq!(parsed.matches(&object(value)), expected, "{kind} {selector}");
        assert_eq!(parsed.is_empty(), selector.trim_matches(',').is_empty(), "{selector}");
    }
}

#[test]
fn errors_are_the_real_servers() {
    let only = "is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    for (group, kind, namespaced, selector, error) in [
        ("", "ConfigMap", true, "data.x=1", format!("\"data.x\" {only}")),
        ("apps", "Deployment", true, "status.replicas=1", format!("\"status.replicas\" {only}")),
        ("", "Pod", true, "spec.foo=1", "field label not supported: spec.foo".to_owned()),
        ("", "Pod", true, "z=1,spec.foo=1", "field label not supported: spec.foo".to_owned()),
        ("", "Node", false, "metadata.namespace=x", "field label not supported: metadata.namespace".to_owned()),
        ("", "Pod", true, "=1", "field label not supported: ".to_owned()),
        ("", "Pod", true, "a", "invalid selector: 'a'; can't understand 'a'".to_owned()),
        ("", "Pod", true, "metadata.name=a,b", "invalid selector: 'metadata.name=a,b'; can't understand 'b'".to_owned()),
        ("", "Pod", true, r"metadata.name=\x", r"invalid field selector: invalid escape sequence: \x".to_owned()),
        ("", "Pod", true, r"metadata.name=\", r"invalid field selector: invalid escape sequence: \".to_owned()),
        ("", "Pod", true, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61".to_owned()),
    ] {
        let status = FieldSelector::parse(selector, &resource(group, kind, namespaced)).unwrap_err();
        assert_eq!((status.code, status.reason, status.message), (400, "BadRequest", error), "{selector}");
    }
}

#[test]
fn cluster_scoped_kinds_without_own_fields_take_an_empty_namespace() {
    let parsed = FieldSelector::parse("metadata.namespace=", &resource("rbac.authorization.k8s.io", "ClusterRole", false)).unwrap();
    let key = Key { storage: "x".into(), namespace: "".into(), name: "a".into() };
    assert!(parsed.matches(&Stored::new(&key, json!({}), 1)));
    assert!(!parsed.matches(&object(json!({}))));
}

#[test]
fn custom_fields_are_dotted_paths() {
    let field = Field::custom(".spec.color");
    for (value, expected) in [
        (json!({"spec": {"color": "blue"}}), "blue"),
        (json!({"spec": {"color": 3}}), "3"),
        (json!({"spec": {"color": true}}), "true"),
        (json!({"spec": {}}), ""),
        (json!({"spec": {"color": null}}), ""),
    ] {
        assert_eq!(field.of(&value), expected, "{value}");
    }
}

#[test]
fn the_only_name_is_known() {
    let of = |text: &str| FieldSelector::parse(text, &resource("", "ConfigMap", true)).unwrap().name().map(str::to_owned);
    assert_eq!(of("metadata.namespace=x,metadata.name=a"), Some("a".to_owned()));
    assert_eq!(of("metadata.name!=a"), None);
    assert_eq!(FieldSelector::of_name("q").name(), Some("q"));
}
