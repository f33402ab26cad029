//! Defaults of networking, access control, classes and admission.
//!
//! Owns nothing but these small fills.

use serde_json::{Value, json};

use super::World;
use crate::json::{Read, Write};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn network_policy(object: &mut Value, _world: &dyn World) {
    let Some(spec) = object.open("spec") else { return };
    if spec.at("policyTypes").is_void() {
        let types = if spec.list("egress").is_empty() { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.put("policyTypes", types);
    }
    for rules in ["ingress", "egress"] {
        for rule in spec.each(rules) {
            rule.each("ports").for_each(|port| port.fill("protocol", "TCP"));
        }
    }
}

pub(super) fn ingress_class(object: &mut Value, _world: &dyn World) {
    if let Some(parameters) = object.inside(&["spec", "parameters"]) {
        parameters.fill("scope", "Cluster");
    }
}

/// Roles are of one group; so are users and groups, but not service accounts.
pub(super) fn role_binding(object: &mut Value, _world: &dyn World) {
    if let Some(role) = object.within("roleRef") {
        role.fill("apiGroup", RBAC);
    }
    for subject in object.each("subjects") {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.fill("apiGroup", RBAC);
        }
    }
}

pub(super) fn priority_class(object: &mut Value, _world: &dyn World) {
    object.fill("preemptionPolicy", "PreemptLowerPriority");
}

pub(super) fn storage_class(object: &mut Value, _world: &dyn World) {
    object.fill("reclaimPolicy", "Delete");
    object.fill("volumeBindingMode", "Immediate");
}

pub(super) fn csi_driver(object: &mut Value, _world: &dyn World) {
    let Some(spec) = object.open("spec") else { return };
    spec.fill("attachRequired", true);
    for name in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
        spec.fill(name, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.at("volumeLifecycleModes").is_void() {
        spec.put("volumeLifecycleModes", json!(["Persistent"]));
    }
}

pub(super) fn validating_webhooks(object: &mut Value, _world: &dyn World) {
    object.each("webhooks").for_each(webhook);
}

pub(super) fn mutating_webhooks(object: &mut Value, _world: &dyn World) {
    for one in object.each("webhooks") {
        webhook(one);
        one.fill("reinvocationPolicy", "Never");
    }
}

fn webhook(webhook: &mut Value) {
    webhook.fill("failurePolicy", "Fail");
    webhook.fill("matchPolicy", "Equivalent");
    webhook.fill("namespaceSelector", json!({}));
    webhook.fill("objectSelector", json!({}));
    webhook.fill("timeoutSeconds", 10);
    webhook.each("rules").for_each(|rule| rule.fill("scope", "*"));
    if let Some(service) = webhook.inside(&["clientConfig", "service"]) {
        service.fill("port", 443);
    }
}
