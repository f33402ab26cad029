use serde_json::{Value, json};
use wharf_sdk::testing::{Call, Host, Operation};
use wharf_sdk::{Gvk, Removal};

use super::*;

fn source(targets: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "team-a", "name": "settings", "uid": "u1",
            "labels": {"wharf.dev/replicate": "true"}, "annotations": {TARGETS: targets},
        },
        "data": data,
    })
}

fn copy_in<'a>(host: &'a Host, namespace: &str) -> Option<&'a Value> {
    host.get("v1", "ConfigMap", Some(namespace), "settings")
}

fn operations(host: &Host) -> Vec<(Operation, &str)> {
    host.writes().iter().map(|write| (write.operation, write.target.namespace.as_deref().unwrap())).collect()
}

#[test]
fn copies_follow_the_source() {
    let mut host = Host::new();
    let mut first = source("team-b, team-c,", json!({"a": "1", "b": "2"}));
    first["binaryData"] = json!({"logo": "AAEC"});
    assert_eq!(host.add::<Replicator>(&first), Ok(Outcome::Done));
    for namespace in ["team-b", "team-c"] {
        let copy = copy_in(&host, namespace).unwrap();
        assert_eq!((&copy["data"], &copy["binaryData"]), (&json!({"a": "1", "b": "2"}), &json!({"logo": "AAEC"})));
        assert_eq!(copy["metadata"]["labels"], json!({"wharf.dev/replica-of": "team-a.settings"}));
        assert_eq!(copy["metadata"]["annotations"], json!({"wharf.dev/source-uid": "u1"}));
    }
    let second = source("team-b, team-c", json!({"b": "3"}));
    host.update::<Replicator>(&first, &second).unwrap();
    let copy = copy_in(&host, "team-b").unwrap();
    assert_eq!((&copy["data"], copy.get("binaryData")), (&json!({"b": "3"}), None));
}

#[test]
fn unchanged_copies_are_not_written_again() {
    let mut host = Host::new();
    let object = source("team-b", json!({"a": "1"}));
    host.add::<Replicator>(&object).unwrap();
    host.clear().update::<Replicator>(&object, &object).unwrap();
    assert_eq!(host.writes(), []);
}

#[test]
fn drifted_copies_are_put_right() {
    let mut host = Host::new();
    let object = source("team-b", json!({"a": "1"}));
    host.add::<Replicator>(&object).unwrap();
    let mut drifted = copy_in(&host, "team-b").unwrap().clone();
    drifted["data"]["a"] = json!("changed by hand");
    host.object(&drifted).update::<Replicator>(&object, &object).unwrap();
    assert_eq!(copy_in(&host, "team-b").unwrap()["data"], json!({"a": "1"}));
}

#[test]
fn dropped_namespaces_lose_their_copy() {
    let mut host = Host::new();
    let both = source("team-b,team-c", json!({"a": "1"}));
    host.add::<Replicator>(&both).unwrap();
    host.clear().update::<Replicator>(&both, &source("team-c", json!({"a": "1"}))).unwrap();
    assert_eq!(operations(&host), [(Operation::Delete, "team-b")]);
    assert!(copy_in(&host, "team-b").is_none() && copy_in(&host, "team-c").is_some());
}

#[test]
fn copies_go_with_the_source_and_with_the_label() {
    for removal in [Removal::Gone, Removal::Unmatched, Removal::Replaced] {
        let mut host = Host::new();
        let object = source("team-b,team-c", json!({"a": "1"}));
        host.add::<Replicator>(&object).unwrap();
        host.call::<Replicator>(Call::delete(&object).removal(removal).without_object()).unwrap();
        assert!(copy_in(&host, "team-b").is_none() && copy_in(&host, "team-c").is_none(), "{removal}");
        assert_eq!(host.call::<Replicator>(Call::delete(&object).removal(removal)), Ok(Outcome::Done));
    }
}

#[test]
fn what_is_no_copy_is_left_alone_and_does_not_stop_the_others() {
    let mut host = Host::new();
    let foreign =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-b", "name": "settings"}, "data": {"mine": "1"}});
    host.object(&foreign);
    let object = source("team-b,team-c", json!({"a": "1"}));
    let failure = host.add::<Replicator>(&object).unwrap_err();
    assert_eq!((failure.is_permanent(), failure.reason()), (true, "NotACopy"));
    assert_eq!(copy_in(&host, "team-b").unwrap()["data"], json!({"mine": "1"}));
    assert_eq!(copy_in(&host, "team-c").unwrap()["data"], json!({"a": "1"}));
    host.delete::<Replicator>(&object).unwrap();
    assert!(copy_in(&host, "team-b").is_some());
}

#[test]
fn source_is_never_its_own_copy() {
    let mut host = Host::new();
    let failure = host.add::<Replicator>(&source("team-a", json!({"a": "1"}))).unwrap_err();
    assert_eq!(failure.reason(), "NotACopy");
    assert_eq!(host.writes(), []);
}

#[test]
fn missing_namespace_is_a_retry_even_beside_a_permanent_failure() {
    let mut host = Host::new();
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-b", "name": "settings"}});
    host.object(&foreign).missing_namespace("team-c");
    let object = source("team-b,team-c,team-d", json!({"a": "1"}));
    let failure = host.add::<Replicator>(&object).unwrap_err();
    assert_eq!((failure.is_permanent(), failure.reason(), failure.message()), (false, "NamespaceMissing", "there is no namespace team-c"));
    assert!(copy_in(&host, "team-d").is_some());
    host.existing_namespace("team-c");
    assert_eq!(host.add::<Replicator>(&object).unwrap_err().reason(), "NotACopy");
    assert!(copy_in(&host, "team-c").is_some());
}

#[test]
fn failures_of_the_cluster_are_retries() {
    for (operation, error, reason) in [
        (Operation::List, ApiError::Forbidden("list".to_owned()), "Forbidden"),
        (Operation::Get, ApiError::Unavailable("down".to_owned()), "ServerUnavailable"),
        (Operation::Apply, ApiError::Conflict("held".to_owned()), "Conflict"),
    ] {
        let mut host = Host::new();
        host.fail(operation, error);
        let failure = host.add::<Replicator>(&source("team-b", json!({"a": "1"}))).unwrap_err();
        assert_eq!((failure.is_permanent(), failure.reason()), (false, reason));
    }
}

#[test]
fn marker_fits_a_label() {
    let key = |namespace: &str, name: &str| ObjectRef::namespaced(Gvk::new("v1", "ConfigMap"), namespace, name);
    assert_eq!(marker::value(&key("team-a", "settings")), "team-a.settings");
    let long = marker::value(&key("team-a", &"n".repeat(253)));
    assert_eq!(long.len(), 63);
    assert!(long.starts_with("team-a.nnn") && long.ends_with(|c: char| c.is_ascii_hexdigit()), "{long}");
    assert_ne!(long, marker::value(&key("team-a", &"n".repeat(252))));
}
