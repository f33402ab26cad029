//! What every cluster has from its first moment: the four namespaces and the Service `kubernetes`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Api, Query, Request, Verb, create};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Makes what is not there yet. What cannot be made is said in the log; nothing of it is needed to go on.
pub(crate) async fn make(api: &Arc<Api>) {
    for name in NAMESPACES {
        one(api, "namespaces", "", &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
    });
    one(api, "services", "default", &service).await;
}

/// Makes one object if it is not there yet.
pub(crate) async fn one(api: &Arc<Api>, plural: &str, namespace: &str, object: &Value) {
    let registry = api.registry();
    let Some(resource) = registry.find("", "v1", plural) else { return };
    let request = own(resource, namespace, Verb::Create);
    match create::object(api, &request, object.clone(), Vec::new()).await {
        Ok(_) => {}
        Err(status) if status.code == 409 => {}
        Err(status) => tracing::warn!(plural, error = %status.message, "a part of every cluster could not be made"),
    }
}

/// A request of the server itself.
pub(crate) fn own(resource: &Arc<crate::kind::Resource>, namespace: &str, verb: Verb) -> Request {
    Request {
        verb,
        user_agent: "kube-apiserver".to_owned(),
        resource: Arc::clone(resource),
        subresource: None,
        namespace: Arc::from(namespace),
        name: None,
        query: Query::default(),
        body: None,
    }
}
