//! The roles and bindings that every cluster has without anybody making them: discovery and health for those who are known, self reviews,
//! and the roles that people bind: cluster-admin, admin, edit, view. Objects of the same names take their place.

use serde_json::{Value, json};

use super::identity::{AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use super::rbac::Policy;
use crate::kind::Registry;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// What the roles for people never cover: it decides who may do what.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
/// Namespaced resources that a reader does not see.
const SECRET: [&str; 1] = ["secrets"];
/// Namespaced resources that only whoever runs the cluster writes.
const OPERATED: [&str; 2] = ["resourcequotas", "limitranges"];

/// Adds them all.
pub(crate) fn add(policy: &mut Policy, registry: &Registry) {
    let discovery =
        ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"];
    let public = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let everything = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]);
    let reviews = json!([
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ]);
    bound(policy, "cluster-admin", everything, &[MASTERS]);
    bound(policy, "system:discovery", json!([{"verbs": ["get"], "nonResourceURLs": discovery}]), &[AUTHENTICATED]);
    bound(policy, "system:public-info-viewer", json!([{"verbs": ["get"], "nonResourceURLs": public}]), &[AUTHENTICATED, UNAUTHENTICATED]);
    bound(policy, "system:basic-user", reviews, &[AUTHENTICATED]);
    for (name, rules) in people(registry) {
        role(policy, name, Value::Array(rules));
    }
}

fn bound(policy: &mut Policy, name: &str, rules: Value, groups: &[&str]) {
    role(policy, name, rules);
    let subjects: Vec<Value> = groups.iter().map(|group| json!({"kind": "Group", "name": group})).collect();
    policy
        .add_cluster_binding(&json!({"metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": subjects}));
}

fn role(policy: &mut Policy, name: &str, rules: Value) {
    policy.add_cluster_role(&json!({"metadata": {"name": name}, "rules": rules}));
}

/// `view`, `edit` and `admin`, from the built-in resources that are served in namespaces.
fn people(registry: &Registry) -> [(&'static str, Vec<Value>); 3] {
    let (mut view, mut edit, mut admin) = (Vec::new(), Vec::new(), Vec::new());
    for resource in registry.storages().filter(|resource| resource.namespaced && !resource.is_custom()) {
        let plural: &str = &resource.plural;
        let all = [plural.to_owned(), format!("{plural}/*")];
        let rule = |verbs: &[&str]| json!({"verbs": verbs, "apiGroups": [&*resource.group], "resources": all});
        if &*resource.group == RBAC_GROUP || !resource.allows("get") {
            // Who administers a namespace decides who may do what in it, and may ask.
            admin.extend([rule(&READ), rule(&WRITE)]);
            continue;
        }
        if !SECRET.contains(&plural) {
            view.push(rule(&READ));
        }
        edit.push(rule(&READ));
        admin.push(rule(&READ));
        if !OPERATED.contains(&plural) {
            edit.push(rule(&WRITE));
            admin.push(rule(&WRITE));
        }
    }
    [("view", view), ("edit", edit), ("admin", admin)]
}
