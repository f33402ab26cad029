//! What the server decides and a user cannot: the first status, what an update through the main resource or through `status` may
//! change, and when the generation goes up.
//!
//! Owns the tables of kinds that differ by nature. Whether a kind has a status of its own the resource tells. Never refuses.

use serde_json::{Map, Value, json};

use super::{pod, workloads};
use crate::json::{Read, Write};
use crate::kind::Resource;

/// The annotation by which old versions of DaemonSets count their templates; still written for every DaemonSet.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// What the server decides at creation and the user cannot: drops or resets status, sets `spec.finalizers` of a Namespace, a Job's
/// selector (which needs the object's name and uid), finalizers that protect storage. To be called before [`super::defaults`].
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    let own = of(resource);
    if resource.subresource("status").is_some() && !own.is_some_and(|own| own.keeps_status) {
        reset_status(resource, object, own);
    }
    if let Some(create) = own.and_then(|own| own.create) {
        create(object);
    }
}

/// What a write through the main resource cannot change: status stays the old one, so do a Service's address and a Namespace's
/// finalizers. To be called before [`super::defaults`].
pub(crate) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.subresource("status").is_some() {
        new.copy("status", old);
    }
    if let Some(update) = of(resource).and_then(|own| own.update) {
        update(new, old);
    }
}

/// What a write of a subresource `status` may change, by kind: built-ins take status, annotations and finalizers; custom resources
/// status only. `managedFields` and `resourceVersion` stay what the write says.
pub(crate) fn prepare_status(resource: &Resource, new: &mut Value, old: &Value) {
    let written: &[&str] = match resource.is_custom() {
        true => &["managedFields", "resourceVersion"],
        false => &["annotations", "finalizers", "managedFields", "resourceVersion"],
    };
    let mut metadata = old.at("metadata").clone();
    for name in written {
        metadata.copy(name, new.at("metadata"));
    }
    let mut result = old.clone();
    result.copy("status", new);
    result.put("metadata", metadata);
    for name in ["apiVersion", "kind"] {
        result.copy(name, new);
    }
    if let Some(status) = of(resource).and_then(|own| own.status) {
        status(&mut result, old);
    }
    *new = result;
}

/// Whether the server counts the generations of the kind's objects.
pub(crate) fn has_generation(resource: &Resource) -> bool {
    resource.is_custom() || COUNTED.contains(&(&*resource.group, &*resource.kind))
}

/// Whether `new` differs from `old` in what raises the generation: anything outside of metadata and status. A custom resource without
/// the status subresource has a status like any other field.
pub(crate) fn bumps_generation(resource: &Resource, new: &Value, old: &Value) -> bool {
    let apart = resource.subresource("status").is_some() || !resource.is_custom();
    let counts = |name: &str| !(matches!(name, "apiVersion" | "kind" | "metadata") || (apart && name == "status"));
    let counted = |object: &Value| -> Map<String, Value> {
        object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| counts(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    counted(new) != counted(old)
}

/// Kinds whose generations are counted, of Kubernetes' own.
const COUNTED: &[(&str, &str)] = &[
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
];

/// What is special about a kind. The default is nothing.
struct Own {
    /// The status of a new object, if it is not empty.
    first_status: Option<fn(&Value) -> Value>,
    /// Whether a new object keeps the status it is sent with.
    keeps_status: bool,
    create: Option<fn(&mut Value)>,
    /// New, old.
    update: Option<fn(&mut Value, &Value)>,
    /// The result of a status write, old.
    status: Option<fn(&mut Value, &Value)>,
}

fn of(resource: &Resource) -> Option<&'static Own> {
    if resource.is_custom() {
        return None;
    }
    KINDS.iter().find(|(group, kind, _)| *group == &*resource.group && *kind == &*resource.kind).map(|(_, _, own)| own)
}

/// The finalizer of a PersistentVolume, until no claim is bound to it.
pub(crate) const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
/// The finalizer of a PersistentVolumeClaim, until no pod uses it.
pub(crate) const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

const NOTHING: Own = Own { first_status: None, keeps_status: false, create: None, update: None, status: None };

const KINDS: &[(&str, &str, Own)] = &[
    (
        "",
        "Namespace",
        Own {
            first_status: Some(|_| json!({"phase": "Active"})),
            create: Some(namespace_create),
            update: Some(namespace_update),
            ..NOTHING
        },
    ),
    // A kubelet registers its node with a status.
    ("", "Node", Own { keeps_status: true, create: Some(node_create), ..NOTHING }),
    (
        "",
        "PersistentVolume",
        Own { first_status: Some(|_| json!({"phase": "Pending"})), create: Some(|object| protect(object, VOLUME_PROTECTION)), ..NOTHING },
    ),
    (
        "",
        "PersistentVolumeClaim",
        Own { first_status: Some(|_| json!({"phase": "Pending"})), create: Some(|object| protect(object, CLAIM_PROTECTION)), ..NOTHING },
    ),
    (
        "",
        "Pod",
        Own {
            first_status: Some(|pod| json!({"phase": "Pending", "qosClass": pod::quality_of_service(pod.at("spec"))})),
            status: Some(pod_status),
            ..NOTHING
        },
    ),
    ("", "ReplicationController", Own { first_status: Some(|_| json!({"replicas": 0})), ..NOTHING }),
    ("", "Secret", Own { update: Some(secret_update), ..NOTHING }),
    ("", "Service", Own { first_status: Some(|_| json!({"loadBalancer": {}})), update: Some(service_update), ..NOTHING }),
    (
        "apps",
        "DaemonSet",
        Own {
            first_status: Some(
                |_| json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}),
            ),
            create: Some(|object| count_templates(object, 1)),
            update: Some(daemon_set_update),
            ..NOTHING
        },
    ),
    ("apps", "ReplicaSet", Own { first_status: Some(|_| json!({"replicas": 0})), ..NOTHING }),
    ("apps", "StatefulSet", Own { first_status: Some(|_| json!({"replicas": 0})), ..NOTHING }),
    ("autoscaling", "HorizontalPodAutoscaler", Own { first_status: Some(autoscaler_status), ..NOTHING }),
    ("batch", "Job", Own { create: Some(workloads::select_own_pods), ..NOTHING }),
    ("networking.k8s.io", "Ingress", Own { first_status: Some(|_| json!({"loadBalancer": {}})), ..NOTHING }),
    (
        "policy",
        "PodDisruptionBudget",
        Own {
            first_status: Some(|_| json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0})),
            ..NOTHING
        },
    ),
    ("storage.k8s.io", "VolumeAttachment", Own { first_status: Some(|_| json!({"attached": false})), ..NOTHING }),
];

/// A new custom object has no status; one of Kubernetes' own has its first.
fn reset_status(resource: &Resource, object: &mut Value, own: Option<&Own>) {
    if resource.is_custom() {
        return object.cut("status");
    }
    let first = own.and_then(|own| own.first_status).map_or_else(|| json!({}), |first| first(object));
    object.put("status", first);
}

/// The newer version counts less in its status.
fn autoscaler_status(object: &Value) -> Value {
    match object.text("apiVersion") {
        "autoscaling/v1" => json!({"currentReplicas": 0, "desiredReplicas": 0}),
        _ => json!({"currentMetrics": null, "desiredReplicas": 0}),
    }
}

/// Nothing is scheduled onto a node before somebody has seen it ready.
fn node_create(object: &mut Value) {
    const TAINT: &str = "node.kubernetes.io/not-ready";
    let Some(spec) = object.open("spec") else { return };
    if spec.list("taints").iter().any(|taint| taint.text("key") == TAINT) {
        return;
    }
    let mut taints = spec.list("taints").to_vec();
    taints.push(json!({"key": TAINT, "effect": "NoSchedule"}));
    spec.put("taints", taints);
}

/// A namespace ends only when the finalizer `kubernetes` is taken away through `finalize`.
fn namespace_create(object: &mut Value) {
    const FINALIZER: &str = "kubernetes";
    let Some(spec) = object.open("spec") else { return };
    if !spec.list("finalizers").iter().any(|one| one.as_str() == Some(FINALIZER)) {
        add(spec, "finalizers", FINALIZER);
    }
}

fn namespace_update(new: &mut Value, old: &Value) {
    if let Some(spec) = new.open("spec") {
        spec.copy("finalizers", old.at("spec"));
    }
}

fn secret_update(new: &mut Value, old: &Value) {
    let kind = old.at("type").clone();
    new.fill("type", kind);
}

/// Addresses and node ports that an update leaves out are those that the service has.
fn service_update(new: &mut Value, old: &Value) {
    let before = old.at("spec");
    let Some(spec) = new.open("spec") else { return };
    let kind = |spec: &Value| Some(spec.text("type").to_owned()).filter(|kind| !kind.is_empty()).unwrap_or_else(|| "ClusterIP".to_owned());
    let (was, is) = (kind(before), kind(spec));
    if was != "ExternalName" && is != "ExternalName" {
        for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.at(name).is_void() {
                spec.copy(name, before);
            }
        }
    }
    // An address of the cluster goes with the type that has one, unless the user holds on to it.
    if was != "ExternalName" && is == "ExternalName" {
        for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if spec.at(name) == before.at(name) {
                spec.cut(name);
            }
        }
    }
    let on_nodes = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    if on_nodes(&was) && on_nodes(&is) {
        keep_node_ports(spec, before);
    }
}

fn keep_node_ports(spec: &mut Value, before: &Value) {
    let used: Vec<i64> = spec.list("ports").iter().filter_map(|port| port.int("nodePort")).collect();
    for port in spec.each("ports") {
        let same = before.list("ports").iter().find(|one| one.text("name") == port.text("name")).and_then(|one| one.int("nodePort"));
        if let Some(number) = same.filter(|number| *number != 0 && !used.contains(number))
            && port.int("nodePort").unwrap_or_default() == 0
        {
            port.put("nodePort", number);
        }
    }
}

fn daemon_set_update(new: &mut Value, old: &Value) {
    let before = old.path(&["metadata", "annotations"]).text(TEMPLATE_GENERATION).parse::<i64>().unwrap_or(1);
    let changed = new.path(&["spec", "template"]) != old.path(&["spec", "template"]);
    count_templates(new, before.saturating_add(i64::from(changed)));
}

fn count_templates(object: &mut Value, generation: i64) {
    if let Some(annotations) = object.open("metadata").and_then(|metadata| metadata.open("annotations")) {
        annotations.put(TEMPLATE_GENERATION, generation.to_string());
    }
}

/// The class of service is decided once.
fn pod_status(result: &mut Value, old: &Value) {
    let class = old.path(&["status", "qosClass"]).clone();
    if !class.is_null()
        && let Some(status) = result.open("status")
    {
        status.fill("qosClass", class);
    }
}

/// Storage in use is not removed under those who use it.
fn protect(object: &mut Value, finalizer: &str) {
    let Some(metadata) = object.open("metadata") else { return };
    if !metadata.list("finalizers").iter().any(|one| one.as_str() == Some(finalizer)) {
        add(metadata, "finalizers", finalizer);
    }
}

fn add(holder: &mut Value, list: &str, text: &str) {
    match holder.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(json!(text)),
        None => holder.put(list, json!([text])),
    }
}
