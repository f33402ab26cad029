//! Defaults of what is not about running pods: Services, Secrets, namespaces, volumes and claims, nodes, limits, endpoints.
//!
//! Owns no rule about updates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::World;
use crate::json::{Read, Write};

pub(super) fn service(object: &mut Value, world: &dyn World) {
    let Some(spec) = object.open("spec") else { return };
    spec.fill("type", "ClusterIP");
    spec.fill("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "ClientIP" => {
            if let Some(client) = spec.open("sessionAffinityConfig").and_then(|affinity| affinity.open("clientIP")) {
                client.fill("timeoutSeconds", 10_800);
            }
        }
        _ => spec.cut("sessionAffinityConfig"),
    }
    for port in spec.each("ports") {
        port.fill("protocol", "TCP");
        if port.at("targetPort").is_void() || port.int("targetPort") == Some(0) {
            let number = port.at("port").clone();
            port.put("targetPort", number);
        }
    }
    let kind = spec.text("type").to_owned();
    let external_ips = !spec.list("externalIPs").is_empty();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && external_ips) {
        spec.fill("externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.fill("allocateLoadBalancerNodePorts", true);
    }
    if kind != "ExternalName" {
        spec.fill("internalTrafficPolicy", "Cluster");
        address(spec, world);
    }
}

/// `clusterIP`, `clusterIPs` and the families of addresses. An address is asked for only if there is none.
fn address(spec: &mut Value, world: &dyn World) {
    if spec.text("clusterIP").is_empty() {
        let first = spec.list("clusterIPs").first().and_then(Value::as_str).map(str::to_owned);
        let Some(address) = first.or_else(|| world.service_address()) else { return };
        spec.put("clusterIP", address);
    }
    let address = spec.text("clusterIP").to_owned();
    if spec.at("clusterIPs").is_void() {
        spec.put("clusterIPs", json!([address]));
    }
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    // Nobody but the maker of its endpoints knows what families a headless service without a selector has.
    let both = address == "None" && spec.at("selector").is_void();
    spec.fill("ipFamilyPolicy", if both { "RequireDualStack" } else { "SingleStack" });
    let families = if both && spec.text("ipFamilyPolicy") != "SingleStack" { json!(["IPv4", "IPv6"]) } else { json!([family]) };
    if spec.at("ipFamilies").is_void() {
        spec.put("ipFamilies", families);
    }
}

/// The label by which selectors find a namespace.
pub(super) fn namespace(object: &mut Value, _world: &dyn World) {
    let name = object.at("metadata").text("name").to_owned();
    if !name.is_empty()
        && let Some(labels) = object.open("metadata").and_then(|metadata| metadata.open("labels"))
    {
        labels.put("kubernetes.io/metadata.name", name);
    }
    phase(object, "Active");
}

/// The plain texts of `stringData` become `data`; they are never read back.
pub(super) fn secret(object: &mut Value, _world: &dyn World) {
    object.fill("type", "Opaque");
    let plain = object.at("stringData").clone();
    object.cut("stringData");
    if plain.is_void() {
        return;
    }
    if let Some(data) = object.open("data") {
        for (key, text) in plain.as_object().into_iter().flatten() {
            data.put(key, STANDARD.encode(text.as_str().unwrap_or_default()));
        }
    }
}

pub(super) fn persistent_volume_claim(object: &mut Value, _world: &dyn World) {
    phase(object, "Pending");
    if let Some(spec) = object.open("spec") {
        spec.fill("volumeMode", "Filesystem");
    }
}

pub(super) fn persistent_volume(object: &mut Value, world: &dyn World) {
    persistent_volume_claim(object, world);
    if let Some(spec) = object.open("spec") {
        spec.fill("persistentVolumeReclaimPolicy", "Retain");
        if let Some(path) = spec.within("hostPath")
            && !path.has("type")
        {
            path.put("type", "");
        }
    }
}

pub(super) fn node(object: &mut Value, _world: &dyn World) {
    if let Some(status) = object.within("status")
        && status.has("capacity")
        && !status.has("allocatable")
    {
        let capacity = status.at("capacity").clone();
        status.put("allocatable", capacity);
    }
}

/// Of a container, the greatest amount is the default one, and that is what is requested.
pub(super) fn limit_range(object: &mut Value, _world: &dyn World) {
    let Some(spec) = object.within("spec") else { return };
    for item in spec.each("limits").filter(|item| item.text("type") == "Container") {
        for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let source = item.at(from).clone();
            if source.is_void() {
                continue;
            }
            if let Some(target) = item.open(to) {
                for (name, amount) in source.as_object().into_iter().flatten() {
                    target.fill(name, amount.clone());
                }
            }
        }
    }
}

pub(super) fn endpoints(object: &mut Value, _world: &dyn World) {
    for subset in object.each("subsets") {
        subset.each("ports").for_each(|port| port.fill("protocol", "TCP"));
    }
}

pub(super) fn endpoint_slice(object: &mut Value, _world: &dyn World) {
    for port in object.each("ports") {
        if !port.has("name") {
            port.put("name", "");
        }
        port.fill("protocol", "TCP");
    }
}

fn phase(object: &mut Value, phase: &str) {
    if let Some(status) = object.open("status") {
        status.fill("phase", phase);
    }
}
