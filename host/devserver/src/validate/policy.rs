//! The rules of networking, access control, classes and webhooks.
//!
//! Owns what of them may not change.

use serde_json::{Value, json};

use super::check::{self, Causes, format, invalid_all, join, one_of, required, unchanged};
use super::names;
use crate::json::Read;
use crate::status::Cause;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn ingress(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    if spec.list("rules").is_empty() && !spec.has("defaultBackend") {
        out.push(Cause::invalid("spec", spec.at("rules"), "either `defaultBackend` or `rules` must be specified"));
    }
    if spec.has("defaultBackend") {
        backend(spec.at("defaultBackend"), "spec.defaultBackend", out);
    }
    format(spec, "ingressClassName", "spec", names::subdomain, out);
    for (index, rule) in spec.list("rules").iter().enumerate() {
        let host = rule.text("host");
        if !host.is_empty() {
            let field = format!("spec.rules[{index}].host");
            if host.parse::<std::net::IpAddr>().is_ok() {
                out.push(Cause::invalid(field.as_str(), &json!(host), "must be a DNS name, not an IP address"));
            }
            invalid_all(&field, &json!(host), names::subdomain(host.strip_prefix("*.").unwrap_or(host)), out);
        }
        if !rule.has("http") {
            continue;
        }
        let path = format!("spec.rules[{index}].http");
        if rule.at("http").list("paths").is_empty() {
            out.push(Cause::required(join(&path, "paths"), ""));
        }
        for (index, one) in rule.at("http").list("paths").iter().enumerate() {
            ingress_path(one, &format!("{path}.paths[{index}]"), out);
        }
    }
}

fn ingress_path(one: &Value, path: &str, out: &mut Causes) {
    let text = one.text("path");
    match one.text("pathType") {
        "" => return out.push(Cause::required(join(path, "pathType"), "pathType must be specified")),
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                out.push(Cause::invalid(join(path, "path"), &json!(text), "must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|part| text.contains(**part)) {
                out.push(Cause::invalid(join(path, "path"), &json!(text), &format!("must not contain '{part}'")));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                out.push(Cause::invalid(join(path, "path"), &json!(text), "must be an absolute path"));
            }
        }
        _ => out.push(Cause::not_supported(join(path, "pathType"), one.at("pathType"), &["Exact", "ImplementationSpecific", "Prefix"])),
    }
    backend(one.at("backend"), &join(path, "backend"), out);
}

fn backend(backend: &Value, path: &str, out: &mut Causes) {
    let (service, resource) = (backend.at("service"), backend.has("resource"));
    match (service.is_null(), resource) {
        (true, false) => out.push(Cause::invalid(path, &json!(""), "resource or service backend is required")),
        (false, true) => out.push(Cause::invalid(path, &json!(""), "cannot set both resource and service backends")),
        (true, true) => {}
        (false, false) => {
            if required(service, "name", &join(path, "service"), out) {
                format(service, "name", &join(path, "service"), names::label, out);
            }
            let (name, number) = (service.at("port").text("name"), service.at("port").int("number").unwrap_or_default());
            match (name.is_empty(), number) {
                (true, 0) => out.push(Cause::required(path, "port name or number is required")),
                (false, 0) => invalid_all(&format!("{path}.service.port.name"), &json!(name), names::port_name(name), out),
                (true, number) => invalid_all(&format!("{path}.service.port.number"), &json!(number), names::port_number(number), out),
                (false, _) => out.push(Cause::invalid(path, &json!(""), "cannot set both port name & port number")),
            }
        }
    }
}

pub(super) fn ingress_class(object: &Value, out: &mut Causes) {
    let parameters = object.path(&["spec", "parameters"]);
    required(object.at("spec"), "controller", "spec", out);
    if !parameters.is_null() {
        required(parameters, "kind", "spec.parameters", out);
        required(parameters, "name", "spec.parameters", out);
        one_of(parameters, "scope", "spec.parameters", &["Cluster", "Namespace"], out);
    }
}

pub(super) fn ingress_class_update(new: &Value, old: &Value, out: &mut Causes) {
    unchanged(new.at("spec"), old.at("spec"), &["controller"], "spec", out);
}

pub(super) fn network_policy(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    check::label_selector(spec.at("podSelector"), "spec.podSelector", out);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in spec.list(rules).iter().enumerate() {
            let path = format!("spec.{rules}[{index}]");
            for (index, port) in rule.list("ports").iter().enumerate() {
                policy_port(port, &format!("{path}.ports[{index}]"), out);
            }
            for (index, peer) in rule.list(peers).iter().enumerate() {
                policy_peer(peer, &format!("{path}.{peers}[{index}]"), out);
            }
        }
    }
    for (index, kind) in spec.list("policyTypes").iter().enumerate() {
        if !matches!(kind.as_str(), Some("Ingress" | "Egress")) {
            out.push(Cause::not_supported(format!("spec.policyTypes[{index}]"), kind, &["Ingress", "Egress"]));
        }
    }
}

fn policy_port(port: &Value, path: &str, out: &mut Causes) {
    one_of(port, "protocol", path, &["TCP", "UDP", "SCTP"], out);
    match port.at("port") {
        Value::Number(number) => {
            let first = number.as_i64().unwrap_or_default();
            invalid_all(&join(path, "port"), port.at("port"), names::port_number(first), out);
            if port.int("endPort").is_some_and(|last| last < first) {
                out.push(Cause::invalid(join(path, "endPort"), port.at("port"), "must be greater than or equal to `port`"));
            }
        }
        Value::String(name) => invalid_all(&join(path, "port"), port.at("port"), names::port_name(name), out),
        _ if port.has("endPort") => {
            out.push(Cause::invalid(join(path, "endPort"), port.at("endPort"), "may not be specified when `port` is not specified"));
        }
        _ => {}
    }
}

fn policy_peer(peer: &Value, path: &str, out: &mut Causes) {
    let selects = peer.has("podSelector") || peer.has("namespaceSelector");
    match (selects, peer.has("ipBlock")) {
        (false, false) => out.push(Cause::required(path, "must specify a peer")),
        (true, true) => out.push(Cause::forbidden(path, "may not specify both ipBlock and another peer")),
        (true, false) => {
            for name in ["podSelector", "namespaceSelector"] {
                check::label_selector(peer.at(name), &join(path, name), out);
            }
        }
        (false, true) => {
            required(peer.at("ipBlock"), "cidr", &join(path, "ipBlock"), out);
        }
    }
}

pub(super) fn role(object: &Value, out: &mut Causes) {
    rules(object, true, out);
}

pub(super) fn cluster_role(object: &Value, out: &mut Causes) {
    rules(object, false, out);
    if object.has("aggregationRule") && object.at("aggregationRule").list("clusterRoleSelectors").is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        out.push(Cause::required("aggregationRule.clusterRoleSelectors", why));
    }
}

fn rules(object: &Value, namespaced: bool, out: &mut Causes) {
    for (index, rule) in object.list("rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        let (groups, resources) = (rule.list("apiGroups").is_empty(), rule.list("resources").is_empty());
        if rule.list("verbs").is_empty() {
            out.push(Cause::required(join(&path, "verbs"), "verbs must contain at least one value"));
        }
        if !rule.list("nonResourceURLs").is_empty() {
            let why = match (namespaced, groups && resources && rule.list("resourceNames").is_empty()) {
                (true, _) => "namespaced rules cannot apply to non-resource URLs",
                (false, false) => "rules cannot apply to both regular resources and non-resource URLs",
                (false, true) => continue,
            };
            out.push(Cause::invalid(join(&path, "nonResourceURLs"), rule.at("nonResourceURLs"), why));
            continue;
        }
        if groups {
            out.push(Cause::required(join(&path, "apiGroups"), "resource rules must supply at least one api group"));
        }
        if resources {
            out.push(Cause::required(join(&path, "resources"), "resource rules must supply at least one resource"));
        }
    }
}

pub(super) fn role_binding(object: &Value, out: &mut Causes) {
    binding(object, &["Role", "ClusterRole"], true, out);
}

pub(super) fn cluster_role_binding(object: &Value, out: &mut Causes) {
    binding(object, &["ClusterRole"], false, out);
}

fn binding(object: &Value, kinds: &[&str], namespaced: bool, out: &mut Causes) {
    let role = object.at("roleRef");
    if role.text("apiGroup") != RBAC {
        out.push(Cause::not_supported("roleRef.apiGroup", &json!(role.text("apiGroup")), &[RBAC]));
    }
    if !kinds.contains(&role.text("kind")) {
        out.push(Cause::not_supported("roleRef.kind", &json!(role.text("kind")), kinds));
    }
    if required(role, "name", "roleRef", out) {
        format(role, "name", "roleRef", names::path_segment, out);
    }
    for (index, subject) in object.list("subjects").iter().enumerate() {
        let path = format!("subjects[{index}]");
        required(subject, "name", &path, out);
        let group = subject.text("apiGroup");
        match subject.text("kind") {
            "ServiceAccount" => {
                format(subject, "name", &path, names::subdomain, out);
                if !group.is_empty() {
                    out.push(Cause::not_supported(join(&path, "apiGroup"), &json!(group), &[""]));
                }
                if !namespaced {
                    required(subject, "namespace", &path, out);
                }
            }
            "User" | "Group" if group != RBAC => out.push(Cause::not_supported(join(&path, "apiGroup"), &json!(group), &[RBAC])),
            "User" | "Group" => {}
            kind => out.push(Cause::not_supported(join(&path, "kind"), &json!(kind), &["ServiceAccount", "User", "Group"])),
        }
    }
}

pub(super) fn binding_update(new: &Value, old: &Value, out: &mut Causes) {
    if !check::same(new.at("roleRef"), old.at("roleRef")) {
        out.push(Cause::invalid("roleRef", new.at("roleRef"), "cannot change roleRef"));
    }
}

pub(super) fn storage_class(object: &Value, out: &mut Causes) {
    required(object, "provisioner", "", out);
    one_of(object, "reclaimPolicy", "", &["Delete", "Retain"], out);
    one_of(object, "volumeBindingMode", "", &["Immediate", "WaitForFirstConsumer"], out);
}

pub(super) fn storage_class_update(new: &Value, old: &Value, out: &mut Causes) {
    for name in ["parameters", "provisioner"] {
        if !check::same(new.at(name), old.at(name)) {
            out.push(Cause::forbidden(name, &format!("updates to {name} are forbidden.")));
        }
    }
    unchanged(new, old, &["reclaimPolicy", "volumeBindingMode"], "", out);
}

pub(super) fn priority_class(object: &Value, out: &mut Causes) {
    const MOST: i64 = 1_000_000_000;
    let name = object.at("metadata").text("name");
    let of_the_system = matches!(name, "system-cluster-critical" | "system-node-critical");
    if name.starts_with("system-") && !of_the_system {
        let why = "priority class names with 'system-' prefix are reserved for system use only. error: not a system priority class";
        out.push(Cause::forbidden("metadata.name", why));
    }
    if object.int("value").unwrap_or_default() > MOST && !of_the_system {
        out.push(Cause::forbidden("value", &format!("maximum allowed value of a user defined priority is {MOST}")));
    }
    one_of(object, "preemptionPolicy", "", &["Never", "PreemptLowerPriority"], out);
}

pub(super) fn priority_class_update(new: &Value, old: &Value, out: &mut Causes) {
    if new.int("value").unwrap_or_default() != old.int("value").unwrap_or_default() {
        out.push(Cause::forbidden("value", "may not be changed in an update."));
    }
    unchanged(new, old, &["preemptionPolicy"], "", out);
}

pub(super) fn webhooks(object: &Value, out: &mut Causes) {
    for (index, webhook) in object.list("webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        if required(webhook, "name", &path, out) && webhook.text("name").split('.').count() < 3 {
            out.push(Cause::invalid(
                join(&path, "name"),
                webhook.at("name"),
                "should be a domain with at least three segments separated by dots",
            ));
        }
        if webhook.list("admissionReviewVersions").is_empty() {
            out.push(Cause::required(join(&path, "admissionReviewVersions"), "must specify one of v1, v1beta1"));
        }
        if webhook.has("sideEffects") {
            one_of(webhook, "sideEffects", &path, &["None", "NoneOnDryRun"], out);
        } else {
            out.push(Cause::required(join(&path, "sideEffects"), "must specify one of None, NoneOnDryRun"));
        }
        one_of(webhook, "failurePolicy", &path, &["Fail", "Ignore"], out);
        one_of(webhook, "matchPolicy", &path, &["Equivalent", "Exact"], out);
        if let Some(seconds) = webhook.int("timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
            out.push(Cause::invalid(join(&path, "timeoutSeconds"), &json!(seconds), "the timeout value must be between 1 and 30 seconds"));
        }
        let client = webhook.at("clientConfig");
        if client.has("url") == client.has("service") {
            out.push(Cause::required(join(&path, "clientConfig"), "exactly one of url or service is required"));
        }
    }
}
