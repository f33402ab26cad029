//! What clients do: random writes of every kind. Owns which answers are right, and what of a write must be found in the history.

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};

use super::client::{Http, Reply};
use super::history::{Key, key_of, version_of};
use super::view::{COLORS, KINDS, Kind, NAMES, NAMESPACES};

/// What is refused for a good reason: the object or its namespace is not there (404), there or changed (409), going (403), not
/// changeable so (422), or the kind of patch is not served (415).
const REFUSALS: [u16; 5] = [403, 404, 409, 415, 422];

/// A write that was answered with an object.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    pub(crate) object: Value,
    /// The version that the client said the object had.
    pub(crate) expected: Option<u64>,
}

/// Does one random operation.
pub(crate) async fn one(http: &Http, dice: &mut StdRng) -> Option<Written> {
    let kind = pick(dice, &KINDS);
    let namespace = pick(dice, &NAMESPACES);
    let name = pick(dice, &NAMES);
    let collection = kind.collection(Some(namespace));
    let path = format!("{collection}/{name}");
    let color = pick(dice, &COLORS);
    let number = dice.random_range(0..1000);
    let mut expected = None;
    let choice = dice.random_range(0..100);
    let reply = match choice {
        0..28 => http.post(&collection, object(kind, name, dice)).await,
        28..43 => {
            let mut object = http.get(&path).await.value;
            object["metadata"]["labels"] = json!({"color": color});
            match kind {
                Kind::ConfigMap => object["data"] = json!({"number": number.to_string()}),
                Kind::Pod => object["metadata"]["annotations"] = json!({"number": number.to_string()}),
                Kind::Widget => object["spec"] = json!({"color": color, "size": number}),
            }
            // A Status, if there was none, is refused.
            expected = version_of(&object);
            expected?;
            if dice.random_bool(0.1) {
                // Nobody ever had this one.
                object["metadata"]["resourceVersion"] = json!("1");
                expected = Some(1);
            }
            http.put(&path, object).await
        }
        43..53 => {
            let labels = if dice.random_bool(0.3) { json!({"color": null}) } else { json!({"color": color}) };
            http.patch(&path, "merge-patch+json", json!({"metadata": {"labels": labels}})).await
        }
        53..58 => {
            let patch = json!([{"op": "add", "path": "/metadata/labels/color", "value": color}]);
            http.patch(&path, "json-patch+json", patch).await
        }
        58..64 => {
            let patch = json!({"metadata": {"labels": {"color": color}, "annotations": {"number": number.to_string()}}});
            http.patch(&path, "strategic-merge-patch+json", patch).await
        }
        64..72 => {
            let manager = pick(dice, &["x", "y"]);
            let path = format!("{path}?fieldManager={manager}&force={}", dice.random_bool(0.7));
            http.patch(&path, "apply-patch+yaml", object(kind, name, dice)).await
        }
        72..80 => {
            let status = match kind {
                Kind::Pod => json!({"phase": pick(dice, &["Pending", "Running", "Failed"])}),
                _ => json!({"seen": number}),
            };
            http.patch(&format!("{path}/status"), "merge-patch+json", json!({"status": status, "spec": {"color": "none"}})).await
        }
        80..86 => {
            let finalizers = if dice.random_bool(0.3) { json!(["example.com/hold"]) } else { json!(null) };
            http.patch(&path, "merge-patch+json", json!({"metadata": {"finalizers": finalizers}})).await
        }
        86..93 => {
            let mut options = json!({});
            if dice.random_bool(0.5) {
                options["gracePeriodSeconds"] = json!(0);
            }
            if dice.random_bool(0.2) {
                options["propagationPolicy"] = json!(pick(dice, &["Foreground", "Background", "Orphan"]));
            }
            if dice.random_bool(0.1) {
                options["preconditions"] = json!({"resourceVersion": "1"});
            }
            http.delete(&path, options).await
        }
        93..96 => http.delete(&format!("{collection}?labelSelector=color%3D{color}"), json!({})).await,
        96 if dice.random_bool(0.5) => http.delete(&format!("/api/v1/namespaces/{namespace}"), json!({})).await,
        97 => {
            release(http).await;
            return None;
        }
        _ => http.post("/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await,
    };
    // What a delete answers is Kubernetes' choice, kind by kind.
    judge(kind, expected, reply).filter(|_| choice < 86)
}

/// Makes it possible that everything comes to rest: nothing holds objects any more.
pub(crate) async fn release(http: &Http) {
    for kind in KINDS {
        let list = http.get(&kind.collection(None)).await.value;
        for item in list["items"].as_array().unwrap() {
            let (namespace, name) = key_of(item);
            let path = format!("{}/{name}", kind.collection(Some(&namespace)));
            if item["metadata"]["finalizers"].is_array() {
                http.patch(&path, "merge-patch+json", json!({"metadata": {"finalizers": null}})).await;
            }
            if item["metadata"]["deletionTimestamp"].is_string() {
                http.delete(&path, json!({"gracePeriodSeconds": 0})).await;
            }
        }
    }
}

fn judge(kind: Kind, expected: Option<u64>, reply: Reply) -> Option<Written> {
    let Reply { code, value } = reply;
    if !matches!(code, 200..=202) {
        assert!(REFUSALS.contains(&code), "{code}: {value}");
        assert_eq!(value["kind"], "Status", "{code}: {value}");
        return None;
    }
    let ours = [("ConfigMap", Kind::ConfigMap), ("Pod", Kind::Pod), ("Widget", Kind::Widget)];
    let ours = ours.iter().any(|(name, one)| value["kind"] == *name && *one == kind);
    // An object that is going may be gone by this write.
    (ours && value["metadata"]["deletionTimestamp"].is_null()).then(|| Written { kind, key: key_of(&value), object: value, expected })
}

fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    *from.choose(dice).unwrap()
}

fn object(kind: Kind, name: &str, dice: &mut StdRng) -> Value {
    let color = pick(dice, &COLORS);
    let labels = if dice.random_bool(0.2) { json!({"other": "label"}) } else { json!({"color": color}) };
    let metadata = json!({"name": name, "labels": labels});
    let number = dice.random_range(0..1000);
    match kind {
        Kind::ConfigMap => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": number.to_string()}}),
        Kind::Pod => {
            let mut spec = json!({"containers": [{"name": "main", "image": "i"}]});
            // Assigned, it goes only when somebody confirms it.
            if dice.random_bool(0.3) {
                spec["nodeName"] = json!("node");
            }
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        }
        Kind::Widget => json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata,
            "spec": {"color": color, "size": number},
        }),
    }
}

/// The definition of the model's own kind.
pub(crate) fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"color": {"type": "string"}, "size": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}}, "selectableFields": [{"jsonPath": ".spec.color"}],
            }],
        },
    })
}
