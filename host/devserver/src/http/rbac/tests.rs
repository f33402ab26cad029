//! What roles and bindings allow, as tables.

use serde_json::{Value, json};

use super::Policy;
use crate::http::authorize::Attributes;
use crate::http::identity::User;

fn user(name: &str, groups: &[&str]) -> User {
    User { name: name.to_owned(), uid: String::new(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
}

fn policy(rules: &Value) -> Policy {
    let mut policy = Policy::default();
    policy.add_cluster_role(&json!({"metadata": {"name": "r"}, "rules": rules}));
    policy.add_cluster_binding(&json!({
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob"}],
    }));
    policy.aggregate();
    policy
}

#[test]
fn rules_match_by_all_their_parts() {
    let pods = Attributes { verb: "get", resource: "pods", namespace: "a", name: "p", ..Attributes::default() };
    let scale = Attributes { verb: "patch", group: "apps", resource: "deployments", subresource: "scale", ..pods };
    let path = Attributes { verb: "get", path: "/metrics/slis", ..Attributes::default() };
    let rule = |verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]| json!([{"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names}]);
    for (rules, attributes, want) in [
        (rule(&["get"], &[""], &["pods"], &[]), pods, true),
        (rule(&["*"], &["*"], &["*"], &[]), pods, true),
        (rule(&["list"], &[""], &["pods"], &[]), pods, false),
        (rule(&["get"], &["apps"], &["pods"], &[]), pods, false),
        (rule(&["get"], &[""], &["secrets", "pods"], &[]), pods, true),
        (rule(&["get"], &[""], &["pods/log"], &[]), pods, false),
        (rule(&["get"], &[""], &["pods"], &["p", "q"]), pods, true),
        (rule(&["get"], &[""], &["pods"], &["q"]), pods, false),
        (rule(&["get"], &[""], &["pods"], &["q"]), Attributes { name: "", ..pods }, false),
        (rule(&["patch"], &["apps"], &["deployments/scale"], &[]), scale, true),
        (rule(&["patch"], &["apps"], &["*/scale"], &[]), scale, true),
        (rule(&["patch"], &["apps"], &["*"], &[]), scale, true),
        (rule(&["patch"], &["apps"], &["deployments"], &[]), scale, false),
        (rule(&["patch"], &["apps"], &["deployments/status"], &[]), scale, false),
        (rule(&["get"], &["*"], &["*"], &[]), path, false),
        (json!([{"verbs": ["get"], "nonResourceURLs": ["/metrics/*"]}]), path, true),
        (json!([{"verbs": ["get"], "nonResourceURLs": ["*"]}]), path, true),
        (json!([{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]), path, false),
        (json!([{"verbs": ["post"], "nonResourceURLs": ["*"]}]), path, false),
        (json!([{"verbs": ["get"], "nonResourceURLs": ["*"]}]), pods, false),
        (json!("no rules"), pods, false),
        (Value::Null, pods, false),
    ] {
        let policy = policy(&rules);
        assert_eq!(policy.reason(&user("bob", &[]), attributes).is_some(), want, "{rules} {attributes:?}");
        assert_eq!(policy.reason(&user("eve", &[]), attributes), None, "nobody else");
    }
}

#[test]
fn bindings_reach_their_subjects_and_no_further() {
    let mut policy = Policy::default();
    policy.add_cluster_role(
        &json!({"metadata": {"name": "reader"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}),
    );
    policy.add_role(&json!({"metadata": {"namespace": "a", "name": "writer"}, "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}]}));
    let binding = |namespace: &str, kind: &str, role: &str, subject: Value| json!({"metadata": {"name": "x", "namespace": namespace}, "roleRef": {"kind": kind, "name": role}, "subjects": [subject]});
    policy.add_binding(&binding("a", "ClusterRole", "reader", json!({"kind": "User", "name": "bob"})));
    policy.add_binding(&binding("a", "Role", "writer", json!({"kind": "Group", "name": "devs"})));
    policy.add_binding(&binding("b", "Role", "writer", json!({"kind": "Group", "name": "devs"})));
    policy.add_binding(&binding("a", "ClusterRole", "reader", json!({"kind": "ServiceAccount", "name": "sa"})));
    policy.add_cluster_binding(&binding("", "ClusterRole", "reader", json!({"kind": "ServiceAccount", "name": "sa", "namespace": "c"})));
    policy.add_cluster_binding(&binding("", "Role", "writer", json!({"kind": "User", "name": "bob"})));
    policy.aggregate();
    for (who, verb, namespace, want) in [
        (user("bob", &[]), "get", "a", true),
        (user("bob", &[]), "get", "b", false),
        (user("bob", &[]), "get", "", false),
        (user("bob", &[]), "create", "a", false),
        (user("eve", &["devs"]), "create", "a", true),
        (user("eve", &["devs"]), "create", "b", false),
        (user("eve", &[]), "create", "a", false),
        (user("system:serviceaccount:a:sa", &[]), "get", "a", true),
        (user("system:serviceaccount:b:sa", &[]), "get", "a", false),
        (user("system:serviceaccount:c:sa", &[]), "get", "z", true),
        (user("system:serviceaccount:c:sa", &[]), "get", "", true),
    ] {
        let attributes = Attributes { verb, resource: "pods", namespace, ..Attributes::default() };
        assert_eq!(policy.reason(&who, attributes).is_some(), want, "{who:?} {verb} {namespace}");
    }
    let attributes = Attributes { verb: "get", resource: "pods", namespace: "a", ..Attributes::default() };
    assert_eq!(
        policy.reason(&user("bob", &[]), attributes).as_deref(),
        Some(r#"RBAC: allowed by RoleBinding "x/a" of ClusterRole "reader" to User "bob""#)
    );
    assert_eq!(policy.rules_of(&user("bob", &["devs"]), "a").len(), 2);
    assert_eq!(policy.rules_of(&user("bob", &["devs"]), "z").len(), 0);
}

#[test]
fn aggregated_roles_are_made_of_others() {
    let mut policy = Policy::default();
    let part = |name: &str, label: &str, resource: &str| json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]});
    policy.add_cluster_role(&part("one", "view", "pods"));
    policy.add_cluster_role(&part("two", "edit", "secrets"));
    policy.add_cluster_role(&json!({
        "metadata": {"name": "r"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "view"}}, {"matchExpressions": [{"key": "to", "operator": "In", "values": ["all"]}]}]},
        "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    }));
    policy.add_cluster_binding(
        &json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": "bob"}]}),
    );
    policy.aggregate();
    for (resource, want) in [("pods", true), ("secrets", false)] {
        let attributes = Attributes { verb: "get", resource, ..Attributes::default() };
        assert_eq!(policy.reason(&user("bob", &[]), attributes).is_some(), want, "{resource}");
    }
}
