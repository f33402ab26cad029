#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::typed::errors;
use super::*;
use crate::patch::tests::{Described, anything, everything};

fn schema() -> Value {
    let port = json!({"fields": {"name": {}, "containerPort": {}, "protocol": {}}, "default": {"protocol": "TCP"}});
    let env = json!({"fields": {"name": {}, "value": {}}});
    let container = json!({"fields": {
        "name": {}, "image": {}, "args": {"list": {}},
        "ports": {"list": port, "keys": ["containerPort", "protocol"]}, "env": {"list": env, "keys": ["name"]},
    }});
    json!({"builtin": true, "fields": {
        "apiVersion": {}, "kind": {},
        "metadata": {"fields": {
            "name": {}, "namespace": {}, "uid": {}, "resourceVersion": {}, "labels": {"values": {}}, "annotations": {"values": {}},
            "finalizers": {"list": {}, "set": true}, "managedFields": {"list": {"any": true}},
        }},
        "data": {"values": {}},
        "spec": {"fields": {
            "replicas": {}, "paused": {}, "selector": {"fields": {"matchLabels": {"values": {}}}, "atomic": true},
            "strategy": {"fields": {"type": {}, "rollingUpdate": {"fields": {"maxSurge": {}}}}},
            "containers": {"list": container, "keys": ["name"]},
        }},
        "status": {"fields": {"phase": {}}},
    }})
}

fn writer<'a>(manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer { manager, api_version: "v1", subresource: None, now }
}

fn config(content: Value) -> Value {
    let mut config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ap", "namespace": "ns"}});
    for (name, value) in content.as_object().unwrap() {
        if name == "metadata" {
            config["metadata"].as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        } else {
            config[name] = value.clone();
        }
    }
    config
}

fn applied(live: Option<&Value>, manager: &str, content: Value, force: bool) -> Result<Value, Status> {
    let schema = schema();
    let mut new = configuration::apply(live, &config(content), Described(&schema), writer(manager, "2026-01-01T00:00:01Z"), force)?;
    owners::settle(live, &mut new);
    Ok(new)
}

fn updated(live: Option<&Value>, manager: &str, new: Value) -> Value {
    let schema = schema();
    let mut new = config(new);
    owners::track(live, &mut new, Described(&schema), writer(manager, "2026-01-01T00:00:02Z"));
    new
}

/// Manager and operation → fields.
fn owned(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            (format!("{} {}", entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()), entry["fieldsV1"].clone())
        })
        .collect()
}

#[test]
fn applies_of_two_managers() {
    let one = applied(None, "m1", json!({"data": {"a": "1", "b": "1"}}), false).unwrap();
    assert_eq!(one["data"], json!({"a": "1", "b": "1"}));
    let entry = json!({"manager": "m1", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:01Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}}});
    assert_eq!(one["metadata"]["managedFields"], json!([entry]));

    let status = applied(Some(&one), "m2", json!({"data": {"a": "2"}}), false).unwrap_err();
    assert_eq!((status.code, status.reason), (409, "Conflict"));
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"m1\": .data.a");
    assert_eq!(
        status.details.unwrap()["causes"],
        json!([{"reason": "FieldManagerConflict", "message": "conflict with \"m1\"", "field": ".data.a"}])
    );

    let forced = applied(Some(&one), "m2", json!({"data": {"a": "2"}}), true).unwrap();
    assert_eq!(forced["data"], json!({"a": "2", "b": "1"}));
    assert_eq!(owned(&forced), json!({"m1 Apply": {"f:data": {"f:b": {}}}, "m2 Apply": {"f:data": {"f:a": {}}}}));

    let left = applied(Some(&forced), "m2", json!({}), false).unwrap();
    assert_eq!(left["data"], json!({"b": "1"}));
    assert_eq!(owned(&left), json!({"m1 Apply": {"f:data": {"f:b": {}}}}));

    let nothing = applied(Some(&left), "m1", json!({}), false).unwrap();
    assert_eq!(nothing, config(json!({})));
}

#[test]
fn a_shared_value_is_no_conflict_and_stays_for_the_other() {
    let one = applied(None, "m1", json!({"data": {"a": "1"}}), false).unwrap();
    let both = applied(Some(&one), "m2", json!({"data": {"a": "1"}}), false).unwrap();
    assert_eq!(owned(&both), json!({"m1 Apply": {"f:data": {"f:a": {}}}, "m2 Apply": {"f:data": {"f:a": {}}}}));
    let left = applied(Some(&both), "m1", json!({}), false).unwrap();
    assert_eq!(left["data"], json!({"a": "1"}));
}

#[test]
fn conflicts_name_every_manager() {
    let one = applied(None, "m1", json!({"spec": {"containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 80}]}]}}), false)
        .unwrap();
    let mut by_hand = one.clone();
    by_hand["spec"]["replicas"] = json!(3);
    by_hand["data"] = json!({"a": "1"});
    let two = updated(Some(&one), "edit", by_hand);
    let change = json!({"spec": {"replicas": 1, "containers": [{"name": "c", "image": "y", "ports": [{"containerPort": 80, "name": "http"}]}]}, "data": {"a": "2"}});
    let status = applied(Some(&two), "m2", change.clone(), false).unwrap_err();
    let want = "Apply failed with 3 conflicts: conflicts with \"edit\" using v1:\n- .data.a\n- .spec.replicas\nconflicts with \"m1\":\n- .spec.containers[name=\"c\"].image";
    assert_eq!(status.message, want);
    let forced = applied(Some(&two), "m2", change, true).unwrap();
    assert_eq!(owned(&forced)["edit Update"], json!({"f:data": {}}));
    assert_eq!(
        owned(&forced)["m1 Apply"],
        json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}})
    );
}

#[test]
fn items_that_are_left_out_go() {
    let content = |names: &[&str]| json!({"spec": {"containers": names.iter().map(|name| json!({"name": name, "image": "x"})).collect::<Vec<_>>()}, "metadata": {"finalizers": names}});
    let one = applied(None, "m1", content(&["a", "b"]), false).unwrap();
    let two = applied(Some(&one), "m2", json!({"metadata": {"finalizers": ["b", "c"]}}), false).unwrap();
    assert_eq!(two["metadata"]["finalizers"], json!(["a", "b", "c"]));
    let mut defaulted = two.clone();
    defaulted["spec"]["containers"][1]["args"] = json!(["default"]);
    let three = applied(Some(&defaulted), "m1", content(&["a"]), false).unwrap();
    assert_eq!(three["spec"]["containers"], json!([{"name": "a", "image": "x"}]));
    assert_eq!(three["metadata"]["finalizers"], json!(["a", "b", "c"]), "b is also m2's");
}

#[test]
fn structs_and_atomic_values_go_as_a_whole() {
    let one = applied(
        None,
        "m1",
        json!({"spec": {"replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": 1}}, "selector": {"matchLabels": {"a": "1"}}}}),
        false,
    )
    .unwrap();
    assert_eq!(
        owned(&one)["m1 Apply"],
        json!({"f:spec": {"f:replicas": {}, "f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}, "f:selector": {}}})
    );
    let mut defaulted = one.clone();
    defaulted["spec"]["strategy"]["type"] = json!("RollingUpdate");
    let two = applied(Some(&defaulted), "m1", json!({"spec": {"replicas": 1, "selector": {"matchLabels": {"b": "1"}}}}), false).unwrap();
    assert_eq!(two["spec"], json!({"replicas": 1, "selector": {"matchLabels": {"b": "1"}}}));
}

#[test]
fn updates_own_what_they_change() {
    let schema = schema();
    let created = updated(
        None,
        "kubectl-create",
        json!({"metadata": {"labels": {"a": "1"}, "uid": "u"}, "spec": {"replicas": 1, "containers": [{"name": "c"}]}, "status": {"phase": "x"}}),
    );
    let all = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:replicas": {}, "f:containers": {".": {}, "k:{\"name\":\"c\"}": {".": {}, "f:name": {}}}},
    });
    assert_eq!(owned(&created), json!({"kubectl-create Update": all}));

    // Through scale: the field moves, with the subresource; managedFields that are sent along do not count.
    let mut scaled = created.clone();
    scaled["spec"]["replicas"] = json!(4);
    scaled["metadata"]["managedFields"] = json!([{}]);
    let through = Writer { manager: "kubectl", api_version: "v1", subresource: Some("scale"), now: "2026-01-01T00:00:03Z" };
    owners::track(Some(&created), &mut scaled, Described(&schema), through);
    let entries = scaled["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["fieldsV1"]["f:spec"]["f:replicas"], Value::Null);
    assert_eq!((&entries[1]["subresource"], &entries[1]["fieldsV1"]), (&json!("scale"), &json!({"f:spec": {"f:replicas": {}}})));
    let status = applied(Some(&scaled), "m", json!({"spec": {"replicas": 2}}), false).unwrap_err();
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using v1: .spec.replicas"
    );

    // Nothing changed: entries and times stay. What is removed leaves all.
    let mut same = scaled.clone();
    same["metadata"]["managedFields"] = Value::Null;
    owners::track(Some(&scaled), &mut same, Described(&schema), writer("other", "2026-01-01T00:00:09Z"));
    assert_eq!(same, scaled);
    let mut fewer = scaled.clone();
    fewer["spec"].as_object_mut().unwrap().remove("replicas");
    owners::track(Some(&scaled), &mut fewer, Described(&schema), writer("other", "2026-01-01T00:00:09Z"));
    assert_eq!(fewer["metadata"]["managedFields"], json!([entries[0]]));
}

#[test]
fn status_is_owned_through_its_subresource() {
    let schema = schema();
    let one = updated(None, "create", json!({"spec": {"replicas": 1}}));
    let mut two = one.clone();
    two["status"] = json!({"phase": "Running"});
    let through = Writer { manager: "create", api_version: "v1", subresource: Some("status"), now: "2026-01-01T00:00:03Z" };
    owners::track(Some(&one), &mut two, Described(&schema), through);
    let entries = two["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!((&entries[1]["subresource"], &entries[1]["fieldsV1"]), (&json!("status"), &json!({"f:status": {".": {}, "f:phase": {}}})));

    let content = config(json!({"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 9}, "status": {"phase": "Failed"}}));
    let result = configuration::apply(Some(&two), &content, Described(&schema), through, true).unwrap();
    assert_eq!(
        (&result["spec"], &result["status"], &result["metadata"]["labels"]),
        (&json!({"replicas": 1}), &json!({"phase": "Failed"}), &Value::Null)
    );
    let result = applied(Some(&two), "m", json!({"spec": {"paused": true}, "status": {"phase": "Failed"}}), false).unwrap();
    assert_eq!((&result["spec"], &result["status"]), (&json!({"replicas": 1, "paused": true}), &json!({"phase": "Running"})));
    assert_eq!(owned(&result)["m Apply"], json!({"f:spec": {"f:paused": {}}}));
}

#[test]
fn managed_fields_that_clients_send() {
    let one = updated(None, "m", json!({"data": {"a": "1"}}));
    let kept = &one["metadata"]["managedFields"];
    let with = |fields: Value| updated(Some(&one), "x", json!({"metadata": {"managedFields": fields}, "data": {"a": "1"}}));
    for (sent, want) in
        [(json!(null), kept.clone()), (json!([{"manager": "x"}]), kept.clone()), (json!([{}]), Value::Null), (json!([]), Value::Null)]
    {
        assert_eq!(with(sent.clone())["metadata"].get("managedFields").unwrap_or(&Value::Null), &want, "{sent}");
    }
    // kubectl rewrites the entries when it goes over to server-side apply.
    let mut mine = kept.clone();
    mine[0]["manager"] = json!("mine");
    assert_eq!(with(mine.clone())["metadata"]["managedFields"], mine);
    // Without owners nobody becomes one by an update; the first apply finds one.
    let cleared = with(json!([{}]));
    let more = updated(Some(&cleared), "x", json!({"data": {"a": "2"}}));
    assert_eq!(owned(&more), json!([]).as_array().unwrap().iter().map(|_| (String::new(), json!(0))).collect::<Value>());
    let status = applied(Some(&more), "m", json!({"data": {"a": "3"}}), false).unwrap_err();
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
    let same = applied(Some(&more), "m", json!({"data": {"a": "2"}}), false).unwrap();
    assert_eq!(owned(&same), json!({"m Apply": {"f:data": {"f:a": {}}}, "before-first-apply Update": {"f:data": {".": {}, "f:a": {}}}}));
}

#[test]
fn configurations_that_cannot_be_applied() {
    let cases = [
        (json!({"foo": 1}), 500, "failed to create typed patch object (ns/ap; /v1, Kind=ConfigMap): .foo: field not declared in schema"),
        (
            json!({"foo": 1, "spec": {"bar": 1}}),
            500,
            "failed to create typed patch object (ns/ap; /v1, Kind=ConfigMap): errors:\n  .foo: field not declared in schema\n  .spec.bar: field not declared in schema",
        ),
        (json!({"metadata": {"managedFields": [{"manager": "x"}]}}), 400, "metadata.managedFields must be nil"),
    ];
    for (content, code, message) in cases {
        let status = applied(None, "m", content, true).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
    let schema = schema();
    let status =
        configuration::apply(None, &json!({"apiVersion": "apps/v1", "kind": "D", "x": 1}), Described(&schema), writer("m", ""), true)
            .unwrap_err();
    assert!(status.message.contains("(/; apps/v1, Kind=D)"), "{}", status.message);
}

#[test]
fn kubectl_takes_over_from_client_side_apply() {
    let last = config(json!({"data": {"a": "1", "b": "1"}})).to_string();
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    let live = updated(None, "kubectl-client-side-apply", json!({"metadata": {"annotations": annotations}, "data": {"a": "1", "b": "1"}}));
    let change = json!({"data": {"a": "2", "b": "1"}});
    assert_eq!(applied(Some(&live), "flux", change.clone(), false).unwrap_err().code, 409);
    let taken = applied(Some(&live), "kubectl", change, false).unwrap();
    assert_eq!(taken["data"]["a"], json!("2"));
    let text = taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].as_str().unwrap();
    assert_eq!(text, format!("{}\n", config(json!({"data": {"a": "2", "b": "1"}}))));
    // A value that somebody changed since is not kubectl's.
    let edited = updated(Some(&live), "edit", json!({"metadata": {"annotations": annotations}, "data": {"a": "9", "b": "1"}}));
    let status = applied(Some(&edited), "kubectl", json!({"data": {"a": "2", "b": "2"}}), false).unwrap_err();
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.a");
}

#[test]
fn an_apply_that_changes_nothing_changes_no_time() {
    let schema = schema();
    let content = config(json!({"data": {"a": "1"}}));
    let one = configuration::apply(None, &content, Described(&schema), writer("m", "2026-01-01T00:00:01Z"), false).unwrap();
    let mut two = configuration::apply(Some(&one), &content, Described(&schema), writer("m", "2026-01-01T00:00:05Z"), false).unwrap();
    assert_ne!(one, two);
    owners::settle(Some(&one), &mut two);
    assert_eq!(one, two);
}

/// A configuration of the schema of [`everything`] that can be applied.
fn any_config() -> impl Strategy<Value = Value> {
    anything().prop_filter_map("an object that the schema allows", |value| {
        let schema = everything();
        let mut value = Value::Object(prune(value.as_object()?.clone(), Described(&schema)));
        // As every object has a name, nobody owns nothing.
        value["name"] = json!("x");
        value["metadata"] = value.get("metadata").filter(|metadata| metadata.is_object()).cloned().unwrap_or_else(|| json!({}));
        errors(&value, Described(&schema)).is_empty().then_some(value)
    })
}

/// Without what the schema does not know, so that enough is left to apply.
fn prune(members: serde_json::Map<String, Value>, place: Described<'_>) -> serde_json::Map<String, Value> {
    use crate::patch::Structure;
    let known = members.into_iter().filter(|(name, _)| name != "managedFields" && name != "status");
    known
        .filter_map(|(name, value)| {
            let inner = place.member(&name)?;
            let value = match value {
                Value::Object(members) if !inner.is_list() => Value::Object(prune(members, inner)),
                Value::Array(items) if inner.is_list() => {
                    let mut items: Vec<Value> = items
                        .into_iter()
                        .filter_map(|item| match (inner.list_kind(), item) {
                            (crate::schema::ListKind::Map(_), Value::Object(item)) => Some(Value::Object(prune(item, inner.items()))),
                            (crate::schema::ListKind::Map(_), _) => None,
                            (_, item) => Some(item),
                        })
                        .collect();
                    let mut seen = std::collections::BTreeSet::new();
                    items.retain(|item| {
                        inner.list_kind() == crate::schema::ListKind::Atomic
                            || typed::element(&inner.list_kind(), inner, item).is_ok_and(|element| seen.insert(element))
                    });
                    Value::Array(items)
                }
                value if inner.is_list() && !value.is_null() => return None,
                value => value,
            };
            Some((name, value))
        })
        .collect()
}

fn owns_nothing_somewhere(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(owns_nothing_somewhere),
        Value::Object(members) => members.values().any(owns_nothing_somewhere),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn applying_twice_is_applying_once(first in any_config(), second in any_config()) {
        let schema = everything();
        let place = Described(&schema);
        let live = configuration::apply(None, &first, place, writer("m1", "2026-01-01T00:00:01Z"), false).unwrap();
        let once = configuration::apply(Some(&live), &second, place, writer("m2", "2026-01-01T00:00:02Z"), true).unwrap();
        let mut twice = configuration::apply(Some(&once), &second, place, writer("m2", "2026-01-01T00:00:03Z"), false).unwrap();
        owners::settle(Some(&once), &mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn applied_fields_are_there_and_those_of_others_stay(first in any_config(), second in any_config(), third in any_config()) {
        let schema = everything();
        let place = Described(&schema);
        let live = configuration::apply(None, &first, place, writer("m1", "2026-01-01T00:00:01Z"), false).unwrap();
        let live = configuration::apply(Some(&live), &second, place, writer("m2", "2026-01-01T00:00:02Z"), true).unwrap();
        let new = configuration::apply(Some(&live), &third, place, writer("m2", "2026-01-01T00:00:03Z"), true).unwrap();
        // What is applied changes nothing when it is merged once more. (Null and an
        // empty list own no members, so that these may be left or gone.)
        if !owns_nothing_somewhere(&third) {
            prop_assert_eq!(&merge::merge(&new, &third, Some(place)), &new);
        }
        // What m1 owned before and after has the value that it had.
        let entries = |object: &Value| managed::of(object).unwrap().into_iter().find(|entry| entry.manager.name == "m1").map(|entry| entry.fields).unwrap_or_default();
        let change = compare::Comparison::of(&live, &new, place);
        let kept = entries(&new);
        prop_assert!(kept.difference(&entries(&live)).is_empty());
        prop_assert!(kept.intersection(&change.modified).is_empty());
        prop_assert!(kept.intersection(&change.removed).is_empty());
        // Whoever owns a field finds it: leaves that are gone have no owner.
        let there = compare::Comparison::of(&json!({}), &new, place).added;
        prop_assert!(entries(&new).difference(&there).is_empty());
    }

    #[test]
    fn nothing_panics(live in anything(), new in anything(), config in anything(), force: bool) {
        let schema = everything();
        let place = Described(&schema);
        for live in [None, Some(&live)] {
            let _ = configuration::apply(live, &config, place, writer("m", "2026-01-01T00:00:01Z"), force);
            let mut new = new.clone();
            owners::track(live, &mut new, place, writer("m", "2026-01-01T00:00:01Z"));
            owners::settle(live, &mut new);
        }
    }
}
