//! The columns of what connects pods: Services, Endpoints, EndpointSlices, Ingresses, NetworkPolicies and their classes.
//!
//! Owns nothing but cells.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::column::{AGE, Column, NAME, labels, none_if_empty, plain, selector, string, string_or, text, wide, with_more};
use crate::json::Read;

pub(super) const SERVICES: &[Column] = &[
    NAME,
    text("Type", "How the service is reached.", |object, _| string(object, &["spec", "type"])),
    text("Cluster-IP", "Address inside of the cluster.", |object, _| {
        none_if_empty(object.at("spec").list("clusterIPs").first().and_then(Value::as_str).unwrap_or_default())
    }),
    text("External-IP", "Addresses outside of the cluster.", |object, _| json!(external_address(object))),
    text("Port(s)", "Ports of the service.", |object, _| {
        let ports: Vec<String> = object.at("spec").list("ports").iter().map(port).collect();
        none_if_empty(&ports.join(","))
    }),
    AGE,
    wide(text("Selector", "Labels of the pods that serve.", |object, _| labels(object.path(&["spec", "selector"])))),
];

pub(super) const ENDPOINTS: &[Column] = &[NAME, text("Endpoints", "Addresses and ports.", |object, _| json!(endpoints(object))), AGE];

pub(super) const ENDPOINT_SLICES: &[Column] = &[
    NAME,
    text("AddressType", "Kind of the addresses.", |object, _| string(object, &["addressType"])),
    text("Ports", "Ports of each endpoint.", |object, _| {
        let number = |port: &Value| match (port.at("port"), port.at("name")) {
            (Value::Null, Value::Null) => "*".to_owned(),
            (Value::Null, name) => plain(name),
            (number, _) => plain(number),
        };
        unset_if_empty(&object.list("ports").iter().map(number).collect::<Vec<_>>())
    }),
    text("Endpoints", "Addresses.", |object, _| {
        unset_if_empty(&object.list("endpoints").iter().flat_map(|one| one.list("addresses")).map(plain).collect::<Vec<_>>())
    }),
    AGE,
];

pub(super) const INGRESSES: &[Column] = &[
    NAME,
    text("Class", "Class of the ingress.", |object, _| string_or(object, &["spec", "ingressClassName"], "<none>")),
    text("Hosts", "Hosts of the rules.", |object, _| json!(hosts(object.at("spec").list("rules")))),
    text("Address", "Addresses of the load balancer.", |object, _| json!(balancer(object))),
    text("Ports", "Ports that are open.", |object, _| json!(if object.at("spec").list("tls").is_empty() { "80" } else { "80, 443" })),
    AGE,
];

pub(super) const INGRESS_CLASSES: &[Column] = &[
    Column {
        cell: |object, _| {
            let default = object.path(&["metadata", "annotations"]).text("ingressclass.kubernetes.io/is-default-class") == "true";
            json!(format!("{}{}", object.at("metadata").text("name"), if default { " (default)" } else { "" }))
        },
        ..NAME
    },
    text("Controller", "Controller of the class.", |object, _| string(object, &["spec", "controller"])),
    text("Parameters", "Object with further parameters.", |object, _| {
        let parameters = object.path(&["spec", "parameters"]);
        if parameters.is_null() {
            return json!("<none>");
        }
        let group = if parameters.has("apiGroup") { format!(".{}", parameters.text("apiGroup")) } else { String::new() };
        json!(format!("{}{group}/{}", parameters.text("kind"), parameters.text("name")))
    }),
    AGE,
];

pub(super) const NETWORK_POLICIES: &[Column] = &[
    NAME,
    text("Pod-Selector", "Labels of the pods it is about.", |object, _| none_if_empty(&selector(object.path(&["spec", "podSelector"])))),
    AGE,
];

pub(super) const SERVICE_CIDRS: &[Column] = &[
    NAME,
    text("CIDRs", "Ranges of addresses of services.", |object, _| {
        json!(object.at("spec").list("cidrs").iter().map(plain).collect::<Vec<_>>().join(","))
    }),
    AGE,
];

pub(super) const IP_ADDRESSES: &[Column] = &[
    NAME,
    text("ParentRef", "Object that has the address.", |object, _| {
        let parent = object.path(&["spec", "parentRef"]);
        if parent.is_null() {
            return json!("<none>");
        }
        let parts =
            [("", parent.text("resource")), (".", parent.text("group")), ("/", parent.text("namespace")), ("/", parent.text("name"))];
        json!(parts.iter().filter(|(_, part)| !part.is_empty()).map(|(before, part)| format!("{before}{part}")).collect::<String>())
    }),
    AGE,
];

fn unset_if_empty(texts: &[String]) -> Value {
    let text = with_more(texts, 3, ",");
    json!(if text.is_empty() { "<unset>".to_owned() } else { text })
}

/// `80/TCP`, `80:30080/TCP`.
fn port(port: &Value) -> String {
    let (number, protocol) = (port.int("port").unwrap_or_default(), port.text("protocol"));
    match port.int("nodePort").unwrap_or_default() {
        0 => format!("{number}/{protocol}"),
        node => format!("{number}:{node}/{protocol}"),
    }
}

fn external_address(service: &Value) -> String {
    let spec = service.at("spec");
    let mut external: Vec<String> = spec.list("externalIPs").iter().map(plain).collect();
    let or = |addresses: Vec<String>, or: &str| if addresses.is_empty() { or.to_owned() } else { addresses.join(",") };
    match spec.text("type") {
        "ClusterIP" | "NodePort" => or(external, "<none>"),
        "LoadBalancer" => {
            let balancer = balancer(service);
            if !balancer.is_empty() {
                external.insert(0, balancer);
            }
            or(external, "<pending>")
        }
        "ExternalName" => spec.text("externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// Addresses or host names of `status.loadBalancer`, sorted.
fn balancer(object: &Value) -> String {
    let ingress = object.path(&["status", "loadBalancer"]).list("ingress");
    let all: BTreeSet<&str> = ingress
        .iter()
        .map(|one| if one.text("ip").is_empty() { one.text("hostname") } else { one.text("ip") })
        .filter(|one| !one.is_empty())
        .collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

fn hosts(rules: &[Value]) -> String {
    const MOST: usize = 3;
    let named: Vec<&str> = rules.iter().map(|rule| rule.text("host")).filter(|host| !host.is_empty()).collect();
    let shown = named.iter().take(MOST).copied().collect::<Vec<_>>().join(",");
    // A rule after the third host counts, be it for a host or for all.
    let full_at = rules.iter().enumerate().filter(|(_, rule)| !rule.text("host").is_empty()).nth(MOST - 1).map(|(index, _)| index);
    match full_at {
        Some(index) if rules.len() > index + 1 => format!("{shown} + {} more...", rules.len() - MOST),
        _ if shown.is_empty() => "*".to_owned(),
        _ => shown,
    }
}

fn endpoints(object: &Value) -> String {
    let subsets = object.list("subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || subset.list("addresses").iter().map(|address| address.text("ip"));
        if subset.list("ports").is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in subset.list("ports") {
            let port = port.int("port").unwrap_or_default();
            all.extend(addresses().map(|ip| if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }));
        }
    }
    with_more(&all, 3, ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_addresses_by_type() {
        let of = |spec: Value, status: Value| external_address(&json!({"spec": spec, "status": status}));
        let balanced = json!({"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "b.example"}]}});
        assert_eq!(of(json!({"type": "ClusterIP"}), json!({})), "<none>");
        assert_eq!(of(json!({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}), json!({})), "1.1.1.1,2.2.2.2");
        assert_eq!(of(json!({"type": "LoadBalancer"}), json!({})), "<pending>");
        assert_eq!(of(json!({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}), balanced), "9.9.9.9,b.example,1.1.1.1");
        assert_eq!(of(json!({"type": "ExternalName", "externalName": "x.example"}), json!({})), "x.example");
    }

    #[test]
    fn ports_hosts_and_endpoints() {
        assert_eq!(port(&json!({"port": 80, "protocol": "TCP"})), "80/TCP");
        assert_eq!(port(&json!({"port": 80, "nodePort": 30080, "protocol": "UDP"})), "80:30080/UDP");
        let rules = |hosts: &[&str]| hosts.iter().map(|host| json!({"host": host})).collect::<Vec<_>>();
        assert_eq!(hosts(&rules(&[])), "*");
        assert_eq!(hosts(&rules(&["", ""])), "*");
        assert_eq!(hosts(&rules(&["a", "b", "c"])), "a,b,c");
        assert_eq!(hosts(&rules(&["a", "b", "c", "d", "e"])), "a,b,c + 2 more...");
        assert_eq!(endpoints(&json!({})), "<none>");
        let subset = json!({"addresses": [{"ip": "1.1.1.1"}, {"ip": "fe80::1"}], "ports": [{"port": 80}, {"port": 443}]});
        assert_eq!(endpoints(&json!({"subsets": [subset]})), "1.1.1.1:80,[fe80::1]:80,1.1.1.1:443 + 1 more...");
    }
}
