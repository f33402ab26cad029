//! The rules of what is not about running pods: Services, volumes and claims, events, leases, endpoints, quotas.
//!
//! Owns what of them may not change.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::check::{self, Causes, at_least, format, invalid_all, join, not_negative, one_of, required, unchanged};
use super::names;
use crate::json::{Read, Write};
use crate::schema::Quantity;
use crate::status::Cause;

pub(super) fn service(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    let kind = spec.text("type");
    let headless = spec.text("clusterIP") == "None";
    if spec.list("ports").is_empty() && !headless && kind != "ExternalName" {
        out.push(Cause::required("spec.ports", ""));
    }
    one_of(spec, "type", "spec", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], out);
    one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"], out);
    one_of(spec, "externalTrafficPolicy", "spec", &["Cluster", "Local"], out);
    one_of(spec, "internalTrafficPolicy", "spec", &["Cluster", "Local"], out);
    one_of(spec, "ipFamilyPolicy", "spec", &["SingleStack", "PreferDualStack", "RequireDualStack"], out);
    check::labels(spec.at("selector"), "spec.selector", out);
    if headless && matches!(kind, "NodePort" | "LoadBalancer") {
        let why = format!("may not be set to 'None' for {kind} services");
        out.push(Cause::invalid("spec.clusterIPs[0]", &json!("None"), &why));
    }
    if kind == "ExternalName" {
        if spec.has("clusterIP") && !spec.text("clusterIP").is_empty() {
            out.push(Cause::forbidden("spec.clusterIPs", "may not be set when `type` is 'ExternalName'"));
        }
        if required(spec, "externalName", "spec", out) {
            format(spec, "externalName", "spec", |name| names::subdomain(name.strip_suffix('.').unwrap_or(name)), out);
        }
    } else {
        let address = spec.text("clusterIP");
        if !address.is_empty() && !headless && address.parse::<std::net::IpAddr>().is_err() {
            out.push(Cause::invalid(
                "spec.clusterIPs[0]",
                &json!(address),
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ));
        }
    }
    service_ports(spec, kind, out);
}

fn service_ports(spec: &Value, kind: &str, out: &mut Causes) {
    const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
    let ports = spec.list("ports");
    let (mut seen_names, mut seen) = (HashSet::new(), HashSet::new());
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let name = port.text("name");
        if name.is_empty() {
            if ports.len() > 1 {
                out.push(Cause::required(join(&path, "name"), ""));
            }
        } else {
            invalid_all(&join(&path, "name"), &json!(name), names::label(name), out);
            if !seen_names.insert(name) {
                out.push(Cause::duplicate(join(&path, "name"), &json!(name)));
            }
        }
        let number = port.int("port").unwrap_or_default();
        invalid_all(&join(&path, "port"), &json!(number), names::port_number(number), out);
        if required(port, "protocol", &path, out) {
            one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], out);
        }
        match port.at("targetPort") {
            Value::Number(number) => {
                invalid_all(
                    &join(&path, "targetPort"),
                    port.at("targetPort"),
                    names::port_number(number.as_i64().unwrap_or_default()),
                    out,
                );
            }
            Value::String(name) => invalid_all(&join(&path, "targetPort"), &json!(name), names::port_name(name), out),
            _ => {}
        }
        if !seen.insert((port.text("protocol"), number)) {
            out.push(Cause::duplicate(path.as_str(), &json!({"port": number, "protocol": port.text("protocol")})));
        }
        match port.int("nodePort").filter(|number| *number != 0) {
            Some(_) if kind == "ClusterIP" => {
                out.push(Cause::forbidden(join(&path, "nodePort"), "may not be used when `type` is 'ClusterIP'"))
            }
            Some(number) if !NODE_PORTS.contains(&number) => {
                let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                out.push(Cause::invalid(join(&path, "nodePort"), &json!(number), why));
            }
            _ => {}
        }
    }
}

/// A service keeps its first address as long as it has one.
pub(super) fn service_update(new: &Value, old: &Value, out: &mut Causes) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let external = |spec: &Value| spec.text("type") == "ExternalName";
    let (Some(was), false) = (before.list("clusterIPs").first(), external(spec) || external(before)) else { return };
    match spec.list("clusterIPs").first() {
        None => out.push(Cause::invalid("spec.clusterIPs[0]", spec.at("clusterIPs"), "primary clusterIP can not be unset")),
        Some(is) if is != was => out.push(Cause::invalid("spec.clusterIPs[0]", spec.at("clusterIPs"), "may not change once set")),
        Some(is) if spec.has("clusterIP") && spec.at("clusterIP") != is => {
            out.push(Cause::invalid("spec.clusterIPs", spec.at("clusterIPs"), "first value must match `clusterIP`"));
        }
        Some(_) => {}
    }
}

pub(super) fn persistent_volume_claim(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    access_modes(spec, out);
    const STORAGE: &str = "spec.resources.requests.storage";
    match Quantity::of(spec.path(&["resources", "requests", "storage"])) {
        None => out.push(Cause::required("spec.resources[storage]", "")),
        Some(amount) if amount <= Quantity::ZERO => {
            out.push(Cause::invalid(STORAGE, spec.path(&["resources", "requests", "storage"]), "must be greater than zero"));
        }
        Some(_) => {}
    }
    one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"], out);
    format(spec, "storageClassName", "spec", names::subdomain, out);
    if spec.has("selector") {
        check::label_selector(spec.at("selector"), "spec.selector", out);
    }
}

pub(super) fn persistent_volume_claim_update(new: &Value, old: &Value, out: &mut Causes) {
    let before = old.at("spec");
    let mut spec = new.at("spec").clone();
    let storage = before.path(&["resources", "requests", "storage"]).clone();
    if old.path(&["status", "phase"]) == "Bound" {
        spec.copy("volumeAttributesClassName", before);
        if let Some(requests) = spec.inside(&["resources", "requests"]) {
            requests.put("storage", storage.clone());
        }
    }
    // A volume and a class may be given once.
    for name in ["volumeName", "storageClassName"] {
        if before.at(name).is_void() {
            spec.copy(name, before);
        }
    }
    if !check::same(&spec, before) {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        out.push(Cause::forbidden("spec", why));
    }
    let is = Quantity::of(new.path(&["spec", "resources", "requests", "storage"]));
    let least = Quantity::of(old.path(&["status", "capacity", "storage"])).unwrap_or(Quantity::ZERO);
    if let (Some(is), Some(was)) = (is, Quantity::of(&storage))
        && is < was
        && is <= least
    {
        out.push(Cause::forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
    }
}

pub(super) fn persistent_volume(object: &Value, out: &mut Causes) {
    /// All other members are where the volume lies.
    const NO_SOURCE: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let spec = object.at("spec");
    access_modes(spec, out);
    if spec.at("capacity").is_void() {
        out.push(Cause::required("spec.capacity", ""));
    } else if !spec.at("capacity").has("storage") {
        out.push(Cause::not_supported("spec.capacity", spec.at("capacity"), &["storage"]));
    }
    match spec.as_object().into_iter().flatten().filter(|(name, value)| !NO_SOURCE.contains(&name.as_str()) && !value.is_null()).count() {
        0 => out.push(Cause::required("spec", "must specify a volume type")),
        1 => {}
        _ => out.push(Cause::forbidden("spec", "may not specify more than 1 volume type")),
    }
    one_of(spec, "persistentVolumeReclaimPolicy", "spec", &["Delete", "Recycle", "Retain"], out);
    one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"], out);
}

fn access_modes(spec: &Value, out: &mut Causes) {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = spec.list("accessModes");
    if modes.is_empty() {
        out.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode))) {
        out.push(Cause::not_supported("spec.accessModes", mode, &MODES));
    }
}

pub(super) fn lease(object: &Value, out: &mut Causes) {
    at_least(object.at("spec"), &["leaseDurationSeconds"], 1, "spec", out);
    not_negative(object.at("spec"), &["leaseTransitions"], "spec", out);
}

/// An event is told in the namespace of what it is about. One with `eventTime` must say who reports it.
pub(super) fn event(object: &Value, out: &mut Causes) {
    let core = !object.has("regarding");
    let about = if core { object.at("involvedObject") } else { object.at("regarding") };
    let (namespace, own, timed) = (about.text("namespace"), object.at("metadata").text("namespace"), object.has("eventTime"));
    let fits = match (namespace, timed) {
        ("", false) => matches!(own, "" | "default"),
        ("", true) => matches!(own, "default" | "kube-system"),
        (namespace, false) => namespace == own,
        (_, true) => true,
    };
    if !fits {
        out.push(Cause::invalid("involvedObject.namespace", &json!(namespace), "does not match event.namespace"));
    }
    if !timed {
        return;
    }
    let reporter = if core { "reportingComponent" } else { "reportingController" };
    if required(object, reporter, "", out) {
        format(object, reporter, "", names::qualified, out);
    }
    for name in ["reportingInstance", "action", "reason"] {
        if required(object, name, "", out) && object.text(name).len() > 128 {
            out.push(Cause::invalid(name, &json!(""), "can have at most 128 characters"));
        }
    }
    let message = if core { "message" } else { "note" };
    if object.text(message).len() > 1024 {
        out.push(Cause::invalid("message", &json!(""), "can have at most 1024 characters"));
    }
}

/// The newer events must say when, and leave the older fields alone.
pub(super) fn new_event(object: &Value, out: &mut Causes) {
    event(object, out);
    required(object, "eventTime", "", out);
    if !matches!(object.text("type"), "Normal" | "Warning") {
        out.push(Cause::invalid("type", &json!(""), &format!("has invalid value: {}", object.text("type"))));
    }
    for (name, internal) in [("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp")] {
        if object.has(name) {
            out.push(Cause::invalid(internal, &json!(""), "needs to be unset"));
        }
    }
    if object.int("deprecatedCount").unwrap_or_default() != 0 {
        out.push(Cause::invalid("count", &json!(""), "needs to be unset"));
    }
}

pub(super) fn endpoints(object: &Value, out: &mut Causes) {
    for (index, subset) in object.list("subsets").iter().enumerate() {
        let path = format!("subsets[{index}]");
        if subset.list("addresses").is_empty() && subset.list("notReadyAddresses").is_empty() {
            out.push(Cause::required(path.as_str(), "must specify `addresses` or `notReadyAddresses`"));
        }
        for (index, address) in subset.list("addresses").iter().enumerate() {
            if address.text("ip").parse::<std::net::IpAddr>().is_err() {
                let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
                out.push(Cause::invalid(format!("{path}.addresses[{index}].ip"), address.at("ip"), why));
            }
        }
        for (index, port) in subset.list("ports").iter().enumerate() {
            let number = port.int("port").unwrap_or_default();
            invalid_all(&format!("{path}.ports[{index}].port"), &json!(number), names::port_number(number), out);
        }
    }
}

pub(super) fn endpoint_slice(object: &Value, out: &mut Causes) {
    if required(object, "addressType", "", out) {
        one_of(object, "addressType", "", &["FQDN", "IPv4", "IPv6"], out);
    }
    for (index, endpoint) in object.list("endpoints").iter().enumerate() {
        if endpoint.list("addresses").is_empty() {
            out.push(Cause::required(format!("endpoints[{index}].addresses"), "must contain at least 1 address"));
        }
    }
}

pub(super) fn endpoint_slice_update(new: &Value, old: &Value, out: &mut Causes) {
    unchanged(new, old, &["addressType"], "", out);
}

pub(super) fn resource_quota(object: &Value, out: &mut Causes) {
    for (name, value) in object.at("spec").entries("hard") {
        if Quantity::of(value).is_some_and(|amount| amount < Quantity::ZERO) {
            out.push(Cause::invalid(format!("spec.hard[{name}]"), value, "must be greater than or equal to 0"));
        }
    }
}

/// The least is not more than the greatest, and the defaults lie between.
pub(super) fn limit_range(object: &Value, out: &mut Causes) {
    let mut seen = HashSet::new();
    for (index, item) in object.at("spec").list("limits").iter().enumerate() {
        let path = format!("spec.limits[{index}]");
        if required(item, "type", &path, out) && !seen.insert(item.text("type")) {
            out.push(Cause::duplicate(join(&path, "type"), item.at("type")));
        }
        for (lower, upper) in
            [("min", "max"), ("min", "default"), ("min", "defaultRequest"), ("defaultRequest", "default"), ("default", "max")]
        {
            for (name, value) in item.entries(lower) {
                let bound = item.at(upper).at(name);
                if Quantity::of(value).zip(Quantity::of(bound)).is_some_and(|(low, high)| low > high) {
                    let why = format!(
                        "{lower} value {} is greater than {upper} value {}",
                        value.as_str().unwrap_or_default(),
                        bound.as_str().unwrap_or_default()
                    );
                    out.push(Cause::invalid(format!("{path}.{lower}[{name}]"), value, &why));
                }
            }
        }
    }
}
