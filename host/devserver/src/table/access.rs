//! The columns of who may do what: role bindings, certificate requests and trust bundles.
//!
//! Owns nothing but cells.

use serde_json::{Value, json};

use super::age;
use super::column::{AGE, Column, NAME, labels, string, string_or, text, wide};
use crate::json::Read;

pub(super) const ROLE_BINDINGS: &[Column] = &[
    NAME,
    text("Role", "Role that is given.", |object, _| {
        json!(format!("{}/{}", object.at("roleRef").text("kind"), object.at("roleRef").text("name")))
    }),
    AGE,
    wide(text("Users", "Users that have the role.", |object, _| subjects(object, "User"))),
    wide(text("Groups", "Groups that have the role.", |object, _| subjects(object, "Group"))),
    wide(text("ServiceAccounts", "Service accounts that have the role.", |object, _| subjects(object, "ServiceAccount"))),
];

pub(super) const CERTIFICATE_SIGNING_REQUESTS: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", "Who should sign.", |object, _| string_or(object, &["spec", "signerName"], "<none>")),
    text("Requestor", "Who asks.", |object, _| string(object, &["spec", "username"])),
    text("RequestedDuration", "How long the certificate should hold.", |object, _| {
        json!(object.at("spec").int("expirationSeconds").map_or_else(|| "<none>".to_owned(), age::human))
    }),
    text("Condition", "What became of the request.", |object, _| json!(request_state(object))),
];

pub(super) const CLUSTER_TRUST_BUNDLES: &[Column] =
    &[NAME, text("SignerName", "Who signs with these roots.", |object, _| string_or(object, &["spec", "signerName"], "<none>"))];

pub(super) const POD_CERTIFICATE_REQUESTS: &[Column] = &[
    NAME,
    text("PodName", "Pod that asks.", |object, _| string(object, &["spec", "podName"])),
    text("ServiceAccountName", "Service account of the pod.", |object, _| string(object, &["spec", "serviceAccountName"])),
    text("NodeName", "Node of the pod.", |object, _| string(object, &["spec", "nodeName"])),
    text("SignerName", "Who should sign.", |object, _| string(object, &["spec", "signerName"])),
    text("State", "What became of the request.", |object, _| {
        let last = object
            .at("status")
            .list("conditions")
            .iter()
            .map(|one| one.text("type"))
            .rfind(|kind| matches!(*kind, "Issued" | "Denied" | "Failed"));
        json!(last.unwrap_or("Pending"))
    }),
    wide(text("UnverifiedUserAnnotations", "What the pod says of itself.", |object, _| {
        labels(object.path(&["spec", "unverifiedUserAnnotations"]))
    })),
];

/// Names of the subjects of a kind; service accounts with their namespace.
fn subjects(binding: &Value, kind: &str) -> Value {
    let name = |subject: &Value| match subject.text("namespace") {
        "" => subject.text("name").to_owned(),
        namespace => format!("{namespace}/{}", subject.text("name")),
    };
    json!(binding.list("subjects").iter().filter(|one| one.text("kind") == kind).map(name).collect::<Vec<_>>().join(", "))
}

fn request_state(request: &Value) -> String {
    let is = |kind: &str| request.at("status").list("conditions").iter().any(|one| one.text("type") == kind);
    let mut state = if is("Denied") {
        "Denied"
    } else if is("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if is("Failed") {
        state.push_str(",Failed");
    }
    if !request.at("status").text("certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_by_kind() {
        let binding = json!({"subjects": [
            {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "v"},
        ]});
        assert_eq!(subjects(&binding, "User"), "u, v");
        assert_eq!(subjects(&binding, "Group"), "g");
        assert_eq!(subjects(&binding, "ServiceAccount"), "n/s");
    }

    #[test]
    fn requests_are_denied_before_they_are_approved() {
        let with = |kinds: &[&str]| json!({"status": {"conditions": kinds.iter().map(|kind| json!({"type": kind})).collect::<Vec<_>>()}});
        assert_eq!(request_state(&json!({})), "Pending");
        assert_eq!(request_state(&with(&["Approved", "Denied"])), "Denied");
        assert_eq!(request_state(&with(&["Approved", "Failed"])), "Approved,Failed");
        assert_eq!(request_state(&json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}})), "Approved,Issued");
    }
}
