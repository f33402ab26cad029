//! Role-based access control as pure data: rules, roles and bindings, and what they say about a request.
//!
//! Nothing is denied: what no rule allows is not allowed. Knows neither the store nor HTTP.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::account;
use super::authorize::Attributes;
use super::identity::User;
use crate::json::Read;

/// One rule of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub(crate) non_resource_urls: Vec<String>,
}

/// To whom a binding gives a role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Subject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: String,
}

/// A binding: subjects and the name of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    name: String,
    /// `ClusterRole` or `Role`.
    role_kind: String,
    role: String,
    subjects: Vec<Subject>,
}

/// All roles and bindings at one time.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    cluster_roles: HashMap<String, Vec<Rule>>,
    /// By namespace and name.
    roles: HashMap<(String, String), Vec<Rule>>,
    cluster_bindings: Vec<Binding>,
    /// By namespace.
    bindings: HashMap<String, Vec<Binding>>,
    /// Roles that are made of others: name and selectors.
    aggregated: Vec<(String, Vec<Value>)>,
    /// Labels of cluster roles, for those.
    labels: HashMap<String, Value>,
}

impl Policy {
    pub(crate) fn add_cluster_role(&mut self, object: &Value) {
        let name = object.at("metadata").text("name").to_owned();
        if let Some(labels) = object.pointer("/metadata/labels") {
            self.labels.insert(name.clone(), labels.clone());
        }
        if let Some(selectors) = object.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array) {
            self.aggregated.push((name.clone(), selectors.clone()));
        }
        self.cluster_roles.insert(name, rules(object));
    }

    pub(crate) fn add_role(&mut self, object: &Value) {
        let metadata = object.at("metadata");
        self.roles.insert((metadata.text("namespace").to_owned(), metadata.text("name").to_owned()), rules(object));
    }

    pub(crate) fn add_cluster_binding(&mut self, object: &Value) {
        self.cluster_bindings.push(binding(object));
    }

    pub(crate) fn add_binding(&mut self, object: &Value) {
        self.bindings.entry(object.at("metadata").text("namespace").to_owned()).or_default().push(binding(object));
    }

    /// Fills the roles that are made of others. Once, after all roles were added.
    pub(crate) fn aggregate(&mut self) {
        for (name, selectors) in std::mem::take(&mut self.aggregated) {
            let mut parts: Vec<&String> = self
                .labels
                .iter()
                .filter(|(part, labels)| **part != name && selectors.iter().any(|one| selects(one, labels)))
                .map(|(part, _)| part)
                .collect();
            parts.sort();
            let rules = parts.into_iter().filter_map(|part| self.cluster_roles.get(part)).flatten().cloned().collect();
            self.cluster_roles.insert(name, rules);
        }
    }

    /// The words of the binding that allows it; none if nothing does.
    pub(crate) fn reason(&self, user: &User, attributes: Attributes<'_>) -> Option<String> {
        let mut found = None;
        self.visit(user, attributes.namespace, |rule, words| {
            let allowed = rule.allows(attributes);
            if allowed {
                found = Some(words());
            }
            !allowed
        });
        found
    }

    /// All rules that hold for a user in a namespace and everywhere.
    pub(crate) fn rules_of(&self, user: &User, namespace: &str) -> Vec<Rule> {
        let mut found = Vec::new();
        self.visit(user, namespace, |rule, _| {
            found.push(rule.clone());
            true
        });
        found
    }

    /// Calls `each` with every rule of a user until it says false.
    fn visit(&self, user: &User, namespace: &str, mut each: impl FnMut(&Rule, &dyn Fn() -> String) -> bool) {
        let local = self.bindings.get(namespace).map(Vec::as_slice).unwrap_or_default();
        let everywhere = self.cluster_bindings.iter().map(|binding| (binding, ""));
        for (binding, place) in everywhere.chain(local.iter().map(|binding| (binding, namespace))) {
            let Some(subject) = binding.subjects.iter().find(|subject| subject.is(user, place)) else { continue };
            let rules = match binding.role_kind.as_str() {
                "ClusterRole" => self.cluster_roles.get(&binding.role),
                _ => self.roles.get(&(place.to_owned(), binding.role.clone())),
            };
            let words = || {
                let (kind, full) = if place.is_empty() {
                    ("ClusterRoleBinding", binding.name.clone())
                } else {
                    ("RoleBinding", format!("{}/{place}", binding.name))
                };
                format!(
                    "RBAC: allowed by {kind} {full:?} of {} {:?} to {} {:?}",
                    binding.role_kind, binding.role, subject.kind, subject.name
                )
            };
            for rule in rules.into_iter().flatten() {
                if !each(rule, &words) {
                    return;
                }
            }
        }
    }
}

impl Rule {
    pub(crate) fn allows(&self, attributes: Attributes<'_>) -> bool {
        if !has(&self.verbs, attributes.verb) {
            return false;
        }
        if !attributes.path.is_empty() {
            return self.non_resource_urls.iter().any(|url| match url.strip_suffix('*') {
                Some(prefix) => attributes.path.starts_with(prefix),
                None => url == attributes.path,
            });
        }
        has(&self.api_groups, attributes.group) && self.has_resource(attributes) && self.has_name(attributes.name)
    }

    fn has_resource(&self, attributes: Attributes<'_>) -> bool {
        self.resources.iter().any(|known| {
            known == "*"
                || match known.split_once('/') {
                    Some((resource, subresource)) => {
                        !attributes.subresource.is_empty()
                            && subresource == attributes.subresource
                            && (resource == "*" || resource == attributes.resource)
                    }
                    None => attributes.subresource.is_empty() && known == attributes.resource,
                }
        })
    }

    fn has_name(&self, name: &str) -> bool {
        self.resource_names.is_empty() || self.resource_names.iter().any(|known| known == name)
    }
}

impl Subject {
    /// `place` is the namespace of the binding, in which service accounts are meant that name none.
    fn is(&self, user: &User, place: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { place } else { &self.namespace };
                !namespace.is_empty() && account::user_name(namespace, &self.name) == user.name
            }
            _ => false,
        }
    }
}

fn has(known: &[String], wanted: &str) -> bool {
    known.iter().any(|one| one == "*" || one == wanted)
}

fn rules(object: &Value) -> Vec<Rule> {
    // What cannot be read allows nothing.
    object.get("rules").and_then(|rules| Vec::deserialize(rules).ok()).unwrap_or_default()
}

fn binding(object: &Value) -> Binding {
    Binding {
        name: object.at("metadata").text("name").to_owned(),
        role_kind: object.at("roleRef").text("kind").to_owned(),
        role: object.at("roleRef").text("name").to_owned(),
        subjects: object.get("subjects").and_then(|subjects| Vec::deserialize(subjects).ok()).unwrap_or_default(),
    }
}

/// A LabelSelector on labels.
fn selects(selector: &Value, labels: &Value) -> bool {
    let same = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    same && expressions.is_none_or(|all| all.iter().all(|one| expression(one, labels)))
}

fn expression(expression: &Value, labels: &Value) -> bool {
    let found = labels.get(expression.text("key"));
    let listed =
        || expression.get("values").and_then(Value::as_array).is_some_and(|values| found.is_some_and(|found| values.contains(found)));
    match expression.text("operator") {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
