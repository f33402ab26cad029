//! Defaults of pods and of pod templates, down to containers, probes and volumes.
//!
//! Owns also what admission adds to pods: the two tolerations and the priority; and a pod's class of service.

use serde_json::{Value, json};

use super::World;
use crate::json::{Read, Write};

/// Defaults of a Pod itself: more than those of a template.
pub(super) fn pod(pod: &mut Value, _world: &dyn World) {
    let Some(spec) = pod.open("spec") else { return };
    pod_spec(spec);
    spec.fill("enableServiceLinks", true);
    for list in ["initContainers", "containers"] {
        spec.each(list).for_each(requests_from_limits);
    }
    tolerations(spec);
    priority(spec);
}

/// Defaults of a template's `metadata` and `spec`.
pub(super) fn template(template: &mut Value) {
    if let Some(spec) = template.within("spec") {
        pod_spec(spec);
    }
}

/// Defaults of the pod template at `spec.template`.
pub(super) fn template_of(object: &mut Value) {
    if let Some(inner) = object.inside(&["spec", "template"]) {
        template(inner);
    }
}

/// `BestEffort` if nothing is requested, `Guaranteed` if every container limits cpu and memory to what it requests, else `Burstable`.
pub(super) fn quality_of_service(spec: &Value) -> &'static str {
    const COUNTED: [&str; 2] = ["cpu", "memory"];
    let amount = |resources: &Value, of: &str, name: &str| {
        Some(resources.at(of).text(name).to_owned()).filter(|amount| !amount.is_empty() && amount != "0")
    };
    let containers: Vec<&Value> = if spec.has("resources") {
        vec![spec.at("resources")]
    } else {
        spec.list("initContainers").iter().chain(spec.list("containers")).map(|container| container.at("resources")).collect()
    };
    let (mut asks, mut guaranteed) = (false, true);
    for resources in containers {
        for name in COUNTED {
            let limit = amount(resources, "limits", name);
            let request = amount(resources, "requests", name).or_else(|| limit.clone());
            asks |= request.is_some();
            guaranteed &= limit.is_some() && request == limit;
        }
    }
    match (asks, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn pod_spec(spec: &mut Value) {
    spec.fill("dnsPolicy", "ClusterFirst");
    spec.fill("restartPolicy", "Always");
    spec.fill("securityContext", json!({}));
    spec.fill("terminationGracePeriodSeconds", 30);
    spec.fill("schedulerName", "default-scheduler");
    // Two names of one field: the newer one counts, both are shown.
    let account =
        [spec.text("serviceAccountName"), spec.text("serviceAccount")].into_iter().find(|name| !name.is_empty()).map(str::to_owned);
    if let Some(account) = account {
        spec.put("serviceAccountName", account.clone());
        spec.put("serviceAccount", account);
    }
    let host_network = spec.flag("hostNetwork");
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for one in spec.each(list) {
            container(one);
            if host_network {
                one.each("ports").for_each(|port| {
                    let number = port.at("containerPort").clone();
                    port.fill("hostPort", number);
                });
            }
        }
    }
    spec.each("volumes").for_each(volume);
}

fn container(container: &mut Value) {
    let policy = pull_policy(container.text("image"));
    container.fill("imagePullPolicy", policy);
    container.fill("terminationMessagePath", "/dev/termination-log");
    container.fill("terminationMessagePolicy", "File");
    container.fill("resources", json!({}));
    container.each("ports").for_each(|port| port.fill("protocol", "TCP"));
    for variable in container.each("env") {
        if let Some(field) = variable.inside(&["valueFrom", "fieldRef"]) {
            field.fill("apiVersion", "v1");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(found) = container.within(name) {
            probe(found);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = container.inside(&["lifecycle", hook]) {
            http_get(hook);
        }
    }
}

/// Always for an image without a tag or with the tag `latest`, unless a digest pins it.
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, "latest")) => "Always",
        None if digest.is_none() && !image.is_empty() => "Always",
        _ => "IfNotPresent",
    }
}

fn probe(probe: &mut Value) {
    for (name, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)] {
        if probe.int(name).unwrap_or_default() == 0 {
            probe.put(name, value);
        }
    }
    http_get(probe);
    if let Some(grpc) = probe.within("grpc")
        && !grpc.has("service")
    {
        grpc.put("service", "");
    }
}

fn http_get(handler: &mut Value) {
    if let Some(get) = handler.within("httpGet") {
        get.fill("path", "/");
        get.fill("scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    const MODE: i32 = 0o644;
    if volume.as_object().is_some_and(|members| members.iter().all(|(name, value)| name == "name" || value.is_null())) {
        volume.put("emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.within(source) {
            source.fill("defaultMode", MODE);
        }
    }
    if let Some(path) = volume.within("hostPath")
        && !path.has("type")
    {
        path.put("type", "");
    }
    if let Some(image) = volume.within("image") {
        let policy = pull_policy(image.text("reference"));
        image.fill("pullPolicy", policy);
    }
    if let Some(claim) = volume.inside(&["ephemeral", "volumeClaimTemplate", "spec"]) {
        claim.fill("volumeMode", "Filesystem");
    }
    let fields = |holder: &mut Value| {
        for item in holder.each("items") {
            if let Some(field) = item.within("fieldRef") {
                field.fill("apiVersion", "v1");
            }
        }
    };
    if let Some(source) = volume.within("downwardAPI") {
        fields(source);
    }
    if let Some(projected) = volume.within("projected") {
        for source in projected.each("sources") {
            if let Some(token) = source.within("serviceAccountToken") {
                token.fill("expirationSeconds", 3600);
            }
            if let Some(source) = source.within("downwardAPI") {
                fields(source);
            }
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.within("resources") else { return };
    let limits = resources.at("limits").clone();
    if limits.is_void() {
        return;
    }
    if let Some(requests) = resources.open("requests") {
        for (name, limit) in limits.as_object().into_iter().flatten() {
            requests.fill(name, limit.clone());
        }
    }
}

/// A pod stays five minutes on a node that is not ready or not reachable, unless it says otherwise.
fn tolerations(spec: &mut Value) {
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerates = spec.list("tolerations").iter().any(|one| {
            let (key, effect) = (one.text("key"), one.text("effect"));
            (key == taint || key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if tolerates {
            continue;
        }
        let added = json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
        match spec.get_mut("tolerations").and_then(Value::as_array_mut) {
            Some(list) => list.push(added),
            None => spec.put("tolerations", json!([added])),
        }
    }
}

/// The priority of the classes that every cluster has; that of others is known to the cluster only.
fn priority(spec: &mut Value) {
    let value = match spec.text("priorityClassName") {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        _ => return,
    };
    spec.fill("priority", value);
    spec.fill("preemptionPolicy", "PreemptLowerPriority");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_pulled_always_or_if_not_present() {
        let cases = [
            ("x", "Always"),
            ("x:latest", "Always"),
            ("x:1", "IfNotPresent"),
            ("reg:5000/x", "Always"),
            ("reg:5000/x:1.2", "IfNotPresent"),
            ("x@sha256:00", "IfNotPresent"),
            ("x:latest@sha256:00", "Always"),
            ("", "IfNotPresent"),
        ];
        for (image, expected) in cases {
            assert_eq!(pull_policy(image), expected, "{image}");
        }
    }

    #[test]
    fn classes_of_service() {
        let with = |resources: &[Value]| json!({"containers": resources.iter().map(|one| json!({"resources": one})).collect::<Vec<_>>()});
        let limited = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        let cases = [
            (with(&[json!({})]), "BestEffort"),
            (with(&[json!({"requests": {"ephemeral-storage": "1Gi"}})]), "BestEffort"),
            (with(std::slice::from_ref(&limited)), "Guaranteed"),
            (with(&[limited.clone(), json!({})]), "Burstable"),
            (with(&[json!({"requests": {"cpu": "1"}})]), "Burstable"),
            (with(&[json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}})]), "Burstable"),
            (json!({"resources": limited, "containers": [{"resources": {}}]}), "Guaranteed"),
        ];
        for (spec, expected) in cases {
            assert_eq!(quality_of_service(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn volumes_and_probes_are_filled() {
        let mut spec = json!({
            "volumes": [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/x"}},
                {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}}],
            "containers": [{"name": "c", "image": "x", "livenessProbe": {"httpGet": {"port": 80}}, "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
        });
        pod_spec(&mut spec);
        assert_eq!(spec["volumes"][0], json!({"name": "a", "emptyDir": {}}));
        assert_eq!(spec["volumes"][1]["secret"]["defaultMode"], 420);
        assert_eq!(spec["volumes"][2]["hostPath"]["type"], "");
        assert_eq!(spec["volumes"][3]["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"], 3600);
        assert_eq!(spec["volumes"][3]["projected"]["sources"][1]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"], "v1");
        let expected = json!({"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3});
        assert_eq!(spec["containers"][0]["livenessProbe"], expected);
        assert_eq!(spec["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    }

    #[test]
    fn tolerations_are_added_unless_tolerated() {
        let keys = |mut spec: Value| {
            tolerations(&mut spec);
            tolerations(&mut spec);
            spec.list("tolerations").iter().map(|one| one.text("key").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(keys(json!({})), ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
        assert_eq!(keys(json!({"tolerations": [{"operator": "Exists"}]})), [""]);
        assert_eq!(
            keys(json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]})),
            ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        );
    }
}
