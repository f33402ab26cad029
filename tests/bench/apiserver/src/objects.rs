//! The objects that are written.

use bytes::Bytes;
use serde_json::{Value, json};

/// Half a kilobyte, as most ConfigMaps of operators have.
pub(crate) fn config_map(name: &str, round: usize) -> Bytes {
    text(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "back"}, "annotations": {"example.com/round": round.to_string()}},
        "data": {"round": round.to_string(), "settings": "colour = blue\nsize = large\n".repeat(6), "more": "x".repeat(100)},
    }))
}

/// Changes one value of a ConfigMap.
pub(crate) fn change(round: usize) -> Bytes {
    text(&json!({"data": {"round": round.to_string()}}))
}

/// About 8 KB with the managedFields that the server adds.
pub(crate) fn pod(i: usize) -> Bytes {
    let env: Vec<Value> =
        (0..48).map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value of setting {n} of pod {i}")})).collect();
    text(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("p{i}"), "labels": {"app": format!("app-{}", i % 50), "tier": "back"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/team/service:1.2.3", "env": env, "ports": [{"containerPort": 8080}]}]},
    }))
}

fn text(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
