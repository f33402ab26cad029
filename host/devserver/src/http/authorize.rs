//! Whether a user may do something: everybody everything, or as roles and bindings say. Also the words of a refusal.

use serde_json::Map;

use super::identity::{MASTERS, User};
use super::policies::Policies;
use super::rbac::Policy;
use crate::server::Authorization;
use crate::status::{About, Status};
use crate::verbs::Api;

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    /// `get`, `list`, … or, for a path, the method in lower case.
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    /// Empty for cluster-scoped resources and for all namespaces.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// A path outside of all resources; empty for a resource.
    pub(crate) path: &'a str,
}

/// Decides.
pub(crate) enum Authorizer {
    AlwaysAllow,
    Rbac(Policies),
}

impl Authorizer {
    pub(crate) fn new(authorization: Authorization, api: &std::sync::Arc<Api>) -> Self {
        match authorization {
            Authorization::AlwaysAllow => Self::AlwaysAllow,
            Authorization::Rbac => Self::Rbac(Policies::new(std::sync::Arc::clone(api))),
        }
    }

    pub(crate) fn allows(&self, user: &User, attributes: Attributes<'_>) -> bool {
        self.reason(user, attributes).is_some()
    }

    /// Why it is allowed; none if it is not.
    pub(crate) fn reason(&self, user: &User, attributes: Attributes<'_>) -> Option<String> {
        match self {
            Self::AlwaysAllow => Some(String::new()),
            // Masters need no rule, so that a server without any can be set up.
            Self::Rbac(_) if user.groups.iter().any(|group| group == MASTERS) => Some(String::new()),
            Self::Rbac(policies) => policies.now().reason(user, attributes),
        }
    }

    /// All that is said about a user in a namespace; none where everybody may do everything.
    pub(crate) fn policy(&self, user: &User) -> Option<std::sync::Arc<Policy>> {
        match self {
            Self::Rbac(policies) if !user.groups.iter().any(|group| group == MASTERS) => Some(policies.now()),
            _ => None,
        }
    }
}

/// 403 in the real server's words.
pub(crate) fn refusal(user: &User, attributes: Attributes<'_>) -> Status {
    let Attributes { verb, group, resource, subresource, namespace, name, path, .. } = attributes;
    if !path.is_empty() {
        let mut status = Status::new(403, "Forbidden", format!("forbidden: User {:?} cannot {verb} path {path:?}", user.name));
        status.details = Some(Map::new());
        return status;
    }
    let part = if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
    let place = if namespace.is_empty() { "at the cluster scope".to_owned() } else { format!("in the namespace {namespace:?}") };
    let why = format!("User {:?} cannot {verb} resource {part:?} in API group {group:?} {place}", user.name);
    Status::forbidden(About { group, kind: resource }, name, &why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Attributes, refusal};
    use crate::http::identity::User;

    #[test]
    fn words_of_a_refusal() {
        let bob = User { name: "bob".to_owned(), uid: String::new(), groups: vec![] };
        let base = Attributes { verb: "list", resource: "configmaps", namespace: "x", ..Attributes::default() };
        for (attributes, message, details) in [
            (
                base,
                r#"configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "x""#,
                json!({"kind": "configmaps"}),
            ),
            (
                Attributes { verb: "get", name: "n", ..base },
                r#"configmaps "n" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "x""#,
                json!({"kind": "configmaps", "name": "n"}),
            ),
            (
                Attributes {
                    verb: "patch",
                    group: "apps",
                    resource: "deployments",
                    subresource: "scale",
                    namespace: "",
                    name: "d",
                    ..base
                },
                r#"deployments.apps "d" is forbidden: User "bob" cannot patch resource "deployments/scale" in API group "apps" at the cluster scope"#,
                json!({"kind": "deployments", "name": "d", "group": "apps"}),
            ),
            (
                Attributes { verb: "get", path: "/metrics", ..Attributes::default() },
                r#"forbidden: User "bob" cannot get path "/metrics""#,
                json!({}),
            ),
        ] {
            let status = refusal(&bob, attributes);
            assert_eq!((status.code, status.reason, status.message.as_str()), (403, "Forbidden", message));
            assert_eq!(status.details.map(serde_json::Value::Object), Some(details));
        }
    }
}
