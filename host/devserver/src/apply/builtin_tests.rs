//! Apply and strategic merge patch by the generated table: what the real server answers for its own kinds.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::patch::strategic_merge_patch;
use crate::schema::{Place, TypeId, decode};

fn shape(object: &Value) -> Shape<'static> {
    Shape::Builtin(Place::of(id(object)))
}

fn id(object: &Value) -> TypeId {
    TypeId::of_kind(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap()
}

fn writer<'a>(manager: &'a str, api_version: &'a str) -> Writer<'a> {
    Writer { manager, api_version, subresource: None, now: "2026-01-01T00:00:01Z" }
}

fn deployment(container: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"},
        "spec": {
            "selector": {"matchLabels": {"a": "d"}},
            "template": {"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [container]}},
        },
    })
}

fn decoded(object: Value) -> Value {
    decode(id(&object), object).unwrap().value
}

#[test]
fn the_entry_of_a_created_deployment() {
    let container = json!({"name": "c", "image": "x", "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": "1"}}});
    let mut new = deployment(container);
    new["metadata"]["labels"] = json!({"a": "b"});
    new["metadata"]["finalizers"] = json!(["x/y"]);
    new["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}]);
    new["spec"]["replicas"] = json!(1);
    new["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}});
    let mut new = decoded(new);
    let place = shape(&new);
    track(None, &mut new, place, writer("kubectl-create", "apps/v1"));
    let want = json!({
        "f:metadata": {
            "f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, "v:\"x/y\"": {}}, "f:ownerReferences": {".": {}, "k:{\"uid\":\"u-1\"}": {}},
        },
        "f:spec": {
            "f:replicas": {}, "f:selector": {},
            "f:strategy": {"f:type": {}, "f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {}, "f:name": {}, "f:image": {},
                    "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                    "f:env": {".": {}, "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                    "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                }}},
            },
        },
    });
    assert_eq!(new["metadata"]["managedFields"][0]["fieldsV1"], want);
}

#[test]
fn applying_a_deployment() {
    let one = deployment(json!({"name": "c", "image": "x", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}));
    let live = apply(None, &one, shape(&one), writer("m1", "apps/v1"), false).unwrap();
    let want = json!({"f:spec": {
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
                ".": {}, "f:name": {}, "f:image": {},
                "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
            }}},
        },
    }});
    assert_eq!(live["metadata"]["managedFields"][0]["fieldsV1"], want);

    let mut live = decoded(live);
    live["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = json!("TCP");
    let mut again = decoded(apply(Some(&live), &one, shape(&one), writer("m1", "apps/v1"), false).unwrap());
    settle(Some(&live), &mut again);
    assert_eq!(again, live);

    let two = deployment(json!({"name": "c", "image": "y", "env": [{"name": "B", "value": "2"}]}));
    let status = apply(Some(&live), &two, shape(&two), writer("m2", "apps/v1"), false).unwrap_err();
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"m1\": .spec.template.spec.containers[name=\"c\"].image");
    let two = apply(Some(&live), &two, shape(&two), writer("m1", "apps/v1"), false).unwrap();
    assert_eq!(
        two["spec"]["template"]["spec"]["containers"],
        json!([{"name": "c", "image": "y", "env": [{"name": "B", "value": "2"}], "resources": {}}])
    );

    let mut bad = one.clone();
    bad["spec"]["template"]["spec"]["containers"][0]["foo"] = json!(1);
    let status = apply(None, &bad, shape(&bad), writer("m1", "apps/v1"), false).unwrap_err();
    let want = "failed to create typed patch object (ns/d; apps/v1, Kind=Deployment): .spec.template.spec.containers[name=\"c\"].foo: field not declared in schema";
    assert_eq!((status.code, status.message.as_str()), (500, want));
}

#[test]
fn patching_a_deployment() {
    let mut live = deployment(json!({"name": "c", "image": "x", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}));
    live["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}});
    live["metadata"]["finalizers"] = json!(["a/b"]);
    let live = decoded(live);
    let pods = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let containers = |object: &Value| object["spec"]["template"]["spec"]["containers"].clone();
    let patched = |patch: &Value| strategic_merge_patch(live.clone(), patch, shape(&live));

    let env = patched(&pods(json!({"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}))).unwrap();
    assert_eq!(containers(&env)[0]["env"], json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]));
    let image =
        patched(&pods(json!({"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c", "image": "y"}]}))).unwrap();
    assert_eq!((&containers(&image)[0]["image"], &containers(&image)[0]["ports"]), (&json!("y"), &json!([{"containerPort": 80}])));
    let replaced = patched(&pods(json!({"containers": [{"$patch": "replace"}, {"name": "n", "image": "n"}]}))).unwrap();
    assert_eq!(containers(&replaced), json!([{"name": "n", "image": "n"}]));
    let strategy =
        patched(&json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}, "metadata": {"finalizers": ["c/d"]}}))
            .unwrap();
    assert_eq!(strategy["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(strategy["metadata"]["finalizers"], json!(["c/d", "a/b"]));
    let status = patched(&pods(json!({"containers": [{"image": "z"}]}))).unwrap_err();
    assert_eq!(
        (status.code, status.reason, status.message.as_str()),
        (500, "", "map: map[image:z] does not contain declared merge key: name")
    );

    let budget =
        |labels: Value| json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"selector": {"matchLabels": labels}}});
    let live = budget(json!({"a": "1"}));
    let patch = json!({"spec": {"selector": {"matchLabels": {"b": "1"}}}});
    assert_eq!(strategic_merge_patch(live.clone(), &patch, shape(&live)).unwrap(), budget(json!({"b": "1"})));
}

#[test]
fn the_status_of_a_creation_is_the_servers() {
    let mut pod = decoded(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Pending"}}),
    );
    let place = shape(&pod);
    track(None, &mut pod, place, writer("m", "v1"));
    let fields = &pod["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields, &json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:resources": {}}}}}));
}
