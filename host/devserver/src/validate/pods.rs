//! The rules of pods and pod templates: containers, ports, variables, volumes, probes; and what of a pod may change.
//!
//! Owns a pod's spec wherever it stands. Templates' owners are checked elsewhere.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::check::{self, Causes, format, invalid_all, join, not_negative, one_of, required};
use super::{metadata, names};
use crate::json::{Read, Write};
use crate::schema::Quantity;
use crate::status::Cause;

/// A new Pod.
pub(super) fn create(pod: &Value, out: &mut Causes) {
    spec(pod.at("spec"), "spec", out);
}

/// A pod template's metadata and spec.
pub(super) fn template(template: &Value, path: &str, out: &mut Causes) {
    check::labels(template.path(&["metadata", "labels"]), &join(path, "labels"), out);
    metadata::annotations(template.path(&["metadata", "annotations"]), &join(path, "annotations"), out);
    spec(template.at("spec"), &join(path, "spec"), out);
}

/// An update of a Pod: images, a deadline that comes nearer, added tolerations, removed gates.
pub(super) fn update(new: &Value, old: &Value, out: &mut Causes) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    for list in ["containers", "initContainers"] {
        if spec.list(list).len() != before.list(list).len() {
            out.push(Cause::forbidden(format!("spec.{list}"), "pod updates may not add or remove containers"));
            return;
        }
        for (index, container) in spec.list(list).iter().enumerate() {
            required(container, "image", &format!("spec.{list}[{index}]"), out);
        }
    }
    deadline(spec, before, out);
    if before.list("tolerations").iter().any(|old| !spec.list("tolerations").iter().any(|new| same_toleration(old, new))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        out.push(Cause::forbidden("spec.tolerations", why));
    }
    for (index, gate) in spec.list("schedulingGates").iter().enumerate() {
        if !before.list("schedulingGates").contains(gate) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.text("name"));
            out.push(Cause::forbidden(format!("spec.schedulingGates[{index}]"), &why));
        }
    }
    let mut allowed = spec.clone();
    for name in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        allowed.copy(name, before);
    }
    // A pod that waits for its gates may still be told where to run.
    if !before.list("schedulingGates").is_empty()
        && before.entries("nodeSelector").all(|(key, value)| spec.at("nodeSelector").get(key) == Some(value))
    {
        allowed.copy("nodeSelector", before);
    }
    if before.int("terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0)
        && spec.int("terminationGracePeriodSeconds") == Some(1)
    {
        allowed.copy("terminationGracePeriodSeconds", before);
    }
    for list in ["containers", "initContainers"] {
        for (container, old) in allowed.each(list).zip(before.list(list)) {
            container.copy("image", old);
        }
    }
    if !check::same(&allowed, before) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                   `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        out.push(Cause::forbidden("spec", why));
    }
}

fn deadline(spec: &Value, before: &Value, out: &mut Causes) {
    const FIELD: &str = "spec.activeDeadlineSeconds";
    match (spec.int("activeDeadlineSeconds"), before.int("activeDeadlineSeconds")) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            out.push(Cause::invalid(FIELD, &json!(new), "must be between 0 and 2147483647, inclusive"));
        }
        (Some(new), Some(old)) if old < new => out.push(Cause::invalid(FIELD, &json!(new), "must be less than or equal to previous value")),
        (None, Some(_)) => out.push(Cause::invalid(FIELD, &Value::Null, "must not update from a positive integer to nil value")),
        _ => {}
    }
}

fn same_toleration(a: &Value, b: &Value) -> bool {
    ["key", "operator", "value", "effect"].iter().all(|name| check::same(a.at(name), b.at(name)))
}

fn spec(spec: &Value, path: &str, out: &mut Causes) {
    let volumes = volumes(spec.list("volumes"), &join(path, "volumes"), out);
    if spec.list("containers").is_empty() {
        out.push(Cause::required(join(path, "containers"), ""));
    }
    let mut seen = HashSet::new();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (index, one) in spec.list(list).iter().enumerate() {
            let path = format!("{path}.{list}[{index}]");
            container(one, &path, &volumes, out);
            let name = one.text("name");
            if !name.is_empty() && !seen.insert(name) {
                out.push(Cause::duplicate(join(&path, "name"), &json!(name)));
            }
        }
    }
    one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"], out);
    one_of(spec, "dnsPolicy", path, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], out);
    one_of(spec, "preemptionPolicy", path, &["PreemptLowerPriority", "Never"], out);
    not_negative(spec, &["terminationGracePeriodSeconds"], path, out);
    if let Some(seconds) = spec.int("activeDeadlineSeconds").filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds)) {
        out.push(Cause::invalid(join(path, "activeDeadlineSeconds"), &json!(seconds), "must be between 1 and 2147483647, inclusive"));
    }
    check::labels(spec.at("nodeSelector"), &join(path, "nodeSelector"), out);
    for (name, rule) in [
        ("serviceAccountName", names::subdomain as names::Format),
        ("nodeName", names::subdomain),
        ("priorityClassName", names::subdomain),
        ("hostname", names::label),
        ("subdomain", names::label),
    ] {
        format(spec, name, path, rule, out);
    }
    for (index, one) in spec.list("tolerations").iter().enumerate() {
        toleration(one, &format!("{path}.tolerations[{index}]"), out);
    }
}

fn toleration(one: &Value, path: &str, out: &mut Causes) {
    let operator = one.text("operator");
    if one.text("key").is_empty() && operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        out.push(Cause::invalid(join(path, "operator"), one.at("operator"), why));
    }
    if operator == "Exists" && !one.text("value").is_empty() {
        out.push(Cause::invalid(join(path, "operator"), one.at("value"), "value must be empty when `operator` is 'Exists'"));
    }
    one_of(one, "operator", path, &["Equal", "Exists", "Lt", "Gt"], out);
    one_of(one, "effect", path, &["NoSchedule", "PreferNoSchedule", "NoExecute"], out);
    if one.has("tolerationSeconds") && one.text("effect") != "NoExecute" {
        out.push(Cause::invalid(join(path, "effect"), one.at("effect"), "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
}

/// Checks volumes; their names.
fn volumes<'v>(volumes: &'v [Value], path: &str, out: &mut Causes) -> HashSet<&'v str> {
    let mut seen = HashSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if required(volume, "name", &path, out) {
            format(volume, "name", &path, names::label, out);
            if !seen.insert(volume.text("name")) {
                out.push(Cause::duplicate(join(&path, "name"), volume.at("name")));
            }
        }
        let sources = volume.as_object().into_iter().flatten().filter(|(name, value)| *name != "name" && !value.is_null()).count();
        match sources {
            0 => out.push(Cause::required(path.as_str(), "must specify a volume type")),
            1 => {}
            _ => out.push(Cause::forbidden(path.as_str(), "may not specify more than 1 volume type")),
        }
        for (source, name) in
            [("persistentVolumeClaim", "claimName"), ("secret", "secretName"), ("configMap", "name"), ("hostPath", "path")]
        {
            if volume.has(source) {
                required(volume.at(source), name, &join(&path, source), out);
            }
        }
    }
    seen
}

fn container(container: &Value, path: &str, volumes: &HashSet<&str>, out: &mut Causes) {
    if required(container, "name", path, out) {
        format(container, "name", path, names::label, out);
    }
    let image = container.text("image");
    if required(container, "image", path, out) && image.trim() != image {
        out.push(Cause::invalid(join(path, "image"), container.at("image"), "must not have leading or trailing whitespace"));
    }
    one_of(container, "imagePullPolicy", path, &["Always", "IfNotPresent", "Never"], out);
    one_of(container, "terminationMessagePolicy", path, &["File", "FallbackToLogsOnError"], out);
    ports(container, path, out);
    for (index, variable) in container.list("env").iter().enumerate() {
        env(variable, &format!("{path}.env[{index}]"), out);
    }
    let mut mounted = HashSet::new();
    for (index, mount) in container.list("volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        if required(mount, "name", &path, out) && !volumes.contains(mount.text("name")) {
            let message = format!("Not found: {:?}", mount.text("name"));
            out.push(Cause { reason: "FieldValueNotFound", message, field: join(&path, "name") });
        }
        if required(mount, "mountPath", &path, out) && !mounted.insert(mount.text("mountPath")) {
            out.push(Cause::invalid(join(&path, "mountPath"), mount.at("mountPath"), "must be unique"));
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container.has(name) {
            probe(container.at(name), &join(path, name), name == "readinessProbe", out);
        }
    }
    resources(container.at("resources"), &join(path, "resources"), out);
}

fn ports(container: &Value, path: &str, out: &mut Causes) {
    let mut seen = HashSet::new();
    for (index, port) in container.list("ports").iter().enumerate() {
        let path = format!("{path}.ports[{index}]");
        let name = port.text("name");
        format(port, "name", &path, names::port_name, out);
        if !name.is_empty() && !seen.insert(name) {
            out.push(Cause::duplicate(join(&path, "name"), &json!(name)));
        }
        match port.int("containerPort").unwrap_or_default() {
            0 => out.push(Cause::required(join(&path, "containerPort"), "")),
            number => invalid_all(&join(&path, "containerPort"), &json!(number), names::port_number(number), out),
        }
        if let Some(number) = port.int("hostPort").filter(|number| *number != 0) {
            invalid_all(&join(&path, "hostPort"), &json!(number), names::port_number(number), out);
        }
        if required(port, "protocol", &path, out) {
            one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], out);
        }
    }
}

fn env(variable: &Value, path: &str, out: &mut Causes) {
    if required(variable, "name", path, out) {
        format(variable, "name", path, names::variable, out);
    }
    if !variable.has("valueFrom") {
        return;
    }
    let (source, path) = (variable.at("valueFrom"), join(path, "valueFrom"));
    let sources: Vec<&str> =
        source.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str()).collect();
    match sources.len() {
        0 => out.push(Cause::invalid(
            path.as_str(),
            &json!(""),
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        )),
        1 => {}
        _ => out.push(Cause::invalid(path.as_str(), &json!(""), "may not have more than one field specified at a time")),
    }
    if !variable.text("value").is_empty() {
        out.push(Cause::invalid(path.as_str(), &json!(""), "may not be specified when `value` is not empty"));
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if source.has(name) {
            required(source.at(name), "name", &join(&path, name), out);
            required(source.at(name), "key", &join(&path, name), out);
        }
    }
    if source.has("fieldRef") {
        required(source.at("fieldRef"), "fieldPath", &join(&path, "fieldRef"), out);
    }
}

fn probe(probe: &Value, path: &str, readiness: bool, out: &mut Causes) {
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"].iter().filter(|name| probe.has(name)).count();
    match handlers {
        0 => out.push(Cause::required(path, "must specify a handler type")),
        1 => {}
        _ => out.push(Cause::forbidden(path, "may not specify more than 1 handler type")),
    }
    not_negative(probe, &["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"], path, out);
    if let Some(number) = probe.int("successThreshold").filter(|number| !readiness && *number != 1) {
        out.push(Cause::invalid(join(path, "successThreshold"), &json!(number), "must be 1"));
    }
    for handler in ["httpGet", "tcpSocket", "grpc"] {
        if let Some(number) = probe.at(handler).int("port") {
            invalid_all(&format!("{path}.{handler}.port"), &json!(number), names::port_number(number), out);
        }
    }
}

/// Nothing negative, and nothing requested beyond its limit.
pub(super) fn resources(resources: &Value, path: &str, out: &mut Causes) {
    for list in ["limits", "requests"] {
        for (name, value) in resources.entries(list) {
            if Quantity::of(value).is_some_and(|amount| amount < Quantity::ZERO) {
                out.push(Cause::invalid(format!("{path}.{list}[{name}]"), value, "must be greater than or equal to 0"));
            }
        }
    }
    for (name, request) in resources.entries("requests") {
        let limit = resources.at("limits").at(name);
        if Quantity::of(request).zip(Quantity::of(limit)).is_some_and(|(request, limit)| request > limit) {
            let why = format!("must be less than or equal to {name} limit of {}", limit.as_str().unwrap_or_default());
            out.push(Cause::invalid(join(path, "requests"), request, &why));
        }
    }
}
