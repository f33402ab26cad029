//! What the real server refuses, kind by kind: fields and reasons of the causes.

use serde_json::{Value, json};

use super::*;
use crate::defaults::testing::resource;
use crate::defaults::{World, defaults};
use crate::json::Write;

const REQUIRED: &str = "FieldValueRequired";
const INVALID: &str = "FieldValueInvalid";
const FORBIDDEN: &str = "FieldValueForbidden";
const NOT_SUPPORTED: &str = "FieldValueNotSupported";
const DUPLICATE: &str = "FieldValueDuplicate";

type Found<'a> = Vec<(&'a str, &'static str)>;
/// apiVersion, kind, object, what is found.
type Create<'a> = (&'a str, &'a str, Value, &'a [(&'a str, &'a str)]);
/// apiVersion, kind, old object, merge patch, what is found.
type Update<'a> = (&'a str, &'a str, Value, Value, &'a [(&'a str, &'a str)]);

struct Cluster;

impl World for Cluster {
    fn service_address(&self) -> Option<String> {
        Some("10.0.0.9".to_owned())
    }
}

/// The object as it comes to validation: named, in a namespace, defaulted.
fn prepared(resource: &Resource, mut object: Value) -> Value {
    if let Some(metadata) = object.open("metadata") {
        metadata.fill("name", "o");
        if resource.namespaced {
            metadata.fill("namespace", "n");
        }
    }
    defaults(resource, &mut object, &Cluster);
    object
}

fn pairs(causes: &[Cause]) -> Found<'_> {
    causes.iter().map(|cause| (cause.field.as_str(), cause.reason)).collect()
}

fn check_creates(cases: &[Create<'_>]) {
    for (api_version, kind, object, expected) in cases {
        let resource = resource(api_version, kind);
        let causes = create(&resource, &prepared(&resource, object.clone()));
        assert_eq!(pairs(&causes), *expected, "{kind} {object}");
    }
}

fn check_updates(cases: &[Update<'_>]) {
    for (api_version, kind, old, patch, expected) in cases {
        let resource = resource(api_version, kind);
        let old = prepared(&resource, old.clone());
        let mut new = old.clone();
        merge(&mut new, patch);
        let causes = update(&resource, &new, &old);
        assert_eq!(pairs(&causes), *expected, "{kind} {patch}");
    }
}

/// A merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    for (name, value) in members {
        if value.is_null() {
            target.cut(name);
        } else {
            if !target[name].is_object() || !value.is_object() {
                target[name] = json!({});
            }
            merge(&mut target[name], value);
        }
    }
}

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
}

fn owned(spec: Value) -> Value {
    let mut object = json!({"spec": {"selector": {"matchLabels": {"a": "d"}}, "template": template()}});
    merge(&mut object["spec"], &spec);
    object
}

fn pod(spec: Value) -> Value {
    let mut object = json!({"spec": {"containers": [{"name": "c", "image": "x"}]}});
    merge(&mut object["spec"], &spec);
    object
}

#[test]
fn workloads() {
    let empty = json!({"spec": {"template": {"metadata": {}, "spec": {"containers": null}}}});
    check_creates(&[
        ("apps/v1", "Deployment", owned(json!({})), &[]),
        (
            "apps/v1",
            "Deployment",
            empty.clone(),
            &[("spec.selector", REQUIRED), ("spec.template.metadata.labels", INVALID), ("spec.template.spec.containers", REQUIRED)],
        ),
        ("apps/v1", "Deployment", owned(json!({"selector": {"matchLabels": {"a": "e"}}})), &[("spec.template.metadata.labels", INVALID)]),
        ("apps/v1", "Deployment", owned(json!({"selector": {"matchLabels": null}})), &[("spec.selector", INVALID)]),
        ("apps/v1", "Deployment", owned(json!({"replicas": -1})), &[("spec.replicas", INVALID)]),
        ("apps/v1", "Deployment", owned(json!({"strategy": {"type": "Fast"}})), &[("spec.strategy.type", NOT_SUPPORTED)]),
        (
            "apps/v1",
            "Deployment",
            owned(json!({"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}})),
            &[("spec.strategy.rollingUpdate", FORBIDDEN)],
        ),
        (
            "apps/v1",
            "Deployment",
            owned(json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}})),
            &[("spec.strategy.rollingUpdate.maxUnavailable", INVALID)],
        ),
        (
            "apps/v1",
            "Deployment",
            owned(json!({"template": {"spec": {"restartPolicy": "Never"}}})),
            &[("spec.template.spec.restartPolicy", NOT_SUPPORTED)],
        ),
        ("apps/v1", "ReplicaSet", owned(json!({})), &[]),
        ("apps/v1", "StatefulSet", owned(json!({"podManagementPolicy": "Any"})), &[("spec.podManagementPolicy", NOT_SUPPORTED)]),
        ("apps/v1", "DaemonSet", owned(json!({})), &[]),
        (
            "apps/v1",
            "DaemonSet",
            owned(json!({"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}})),
            &[("spec.updateStrategy.rollingUpdate.maxSurge", INVALID)],
        ),
        ("v1", "ReplicationController", json!({"spec": {"template": template()}}), &[]),
        ("v1", "ReplicationController", json!({"spec": {}}), &[("spec.selector", REQUIRED), ("spec.template", REQUIRED)]),
        ("batch/v1", "Job", owned(json!({"template": {"spec": {"restartPolicy": "Never"}}})), &[]),
        ("batch/v1", "Job", owned(json!({})), &[("spec.template.spec.restartPolicy", REQUIRED)]),
        (
            "batch/v1",
            "Job",
            owned(json!({"completionMode": "Indexed", "parallelism": 1, "template": {"spec": {"restartPolicy": "Never"}}})),
            &[("spec.completions", REQUIRED)],
        ),
        (
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "* * * *", "concurrencyPolicy": "Never", "jobTemplate": {"spec": {"template": template()}}}}),
            &[
                ("spec.schedule", INVALID),
                ("spec.concurrencyPolicy", NOT_SUPPORTED),
                ("spec.jobTemplate.spec.template.spec.restartPolicy", REQUIRED),
            ],
        ),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment"}}}),
            &[("spec.maxReplicas", INVALID), ("spec.scaleTargetRef.name", REQUIRED)],
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": 1, "maxUnavailable": "x"}}),
            &[("spec", INVALID), ("spec.maxUnavailable", INVALID)],
        ),
    ]);
}

#[test]
fn pods() {
    let container = |members: Value| {
        let mut one = json!({"name": "c", "image": "x"});
        merge(&mut one, &members);
        pod(json!({"containers": [one]}))
    };
    check_creates(&[
        ("v1", "Pod", pod(json!({})), &[]),
        ("v1", "Pod", json!({"spec": {}}), &[("spec.containers", REQUIRED)]),
        ("v1", "Pod", pod(json!({"containers": [{}]})), &[("spec.containers[0].name", REQUIRED), ("spec.containers[0].image", REQUIRED)]),
        ("v1", "Pod", container(json!({"name": "C"})), &[("spec.containers[0].name", INVALID)]),
        (
            "v1",
            "Pod",
            pod(json!({"containers": [{"name": "c", "image": "x"}, {"name": "c", "image": "y"}]})),
            &[("spec.containers[1].name", DUPLICATE)],
        ),
        ("v1", "Pod", pod(json!({"restartPolicy": "Sometimes"})), &[("spec.restartPolicy", NOT_SUPPORTED)]),
        ("v1", "Pod", pod(json!({"terminationGracePeriodSeconds": -1})), &[("spec.terminationGracePeriodSeconds", INVALID)]),
        ("v1", "Pod", container(json!({"imagePullPolicy": "Now"})), &[("spec.containers[0].imagePullPolicy", NOT_SUPPORTED)]),
        (
            "v1",
            "Pod",
            container(json!({"ports": [{"containerPort": 0}, {"containerPort": 70000, "protocol": "ICMP"}]})),
            &[
                ("spec.containers[0].ports[0].containerPort", REQUIRED),
                ("spec.containers[0].ports[1].containerPort", INVALID),
                ("spec.containers[0].ports[1].protocol", NOT_SUPPORTED),
            ],
        ),
        ("v1", "Pod", container(json!({"env": [{"name": "a=b"}]})), &[("spec.containers[0].env[0].name", INVALID)]),
        (
            "v1",
            "Pod",
            container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            &[("spec.containers[0].volumeMounts[0].name", "FieldValueNotFound")],
        ),
        (
            "v1",
            "Pod",
            container(json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}})),
            &[("spec.containers[0].resources.requests", INVALID)],
        ),
        (
            "v1",
            "Pod",
            container(json!({"livenessProbe": {"successThreshold": 2}})),
            &[("spec.containers[0].livenessProbe", REQUIRED), ("spec.containers[0].livenessProbe.successThreshold", INVALID)],
        ),
        ("v1", "Pod", pod(json!({"volumes": [{"name": "v"}, {"name": "v"}]})), &[("spec.volumes[1].name", DUPLICATE)]),
    ]);
    check_updates(&[
        ("v1", "Pod", pod(json!({})), json!({"spec": {"restartPolicy": "Never"}}), &[("spec", FORBIDDEN)]),
        ("v1", "Pod", pod(json!({"activeDeadlineSeconds": 9})), json!({"spec": {"activeDeadlineSeconds": 8}}), &[]),
        (
            "v1",
            "Pod",
            pod(json!({"activeDeadlineSeconds": 9})),
            json!({"spec": {"activeDeadlineSeconds": 10}}),
            &[("spec.activeDeadlineSeconds", INVALID)],
        ),
        (
            "v1",
            "Pod",
            pod(json!({})),
            json!({"spec": {"containers": [{"name": "c", "image": "x", "ports": []}, {"name": "d", "image": "x"}]}}),
            &[("spec.containers", FORBIDDEN)],
        ),
        ("v1", "Pod", pod(json!({})), json!({"spec": {"tolerations": []}}), &[("spec.tolerations", FORBIDDEN)]),
        ("v1", "Pod", pod(json!({})), json!({"metadata": {"labels": {"a": "b"}}}), &[]),
    ]);
}

#[test]
fn a_pods_image_may_change() {
    let resource = resource("v1", "Pod");
    let old = prepared(&resource, pod(json!({})));
    let mut new = old.clone();
    new["spec"]["containers"][0]["image"] = json!("y");
    assert_eq!(update(&resource, &new, &old), []);
}

#[test]
fn services() {
    let of = |spec: Value| json!({"spec": spec});
    check_creates(&[
        ("v1", "Service", of(json!({"ports": [{"port": 80}]})), &[]),
        ("v1", "Service", of(json!({})), &[("spec.ports", REQUIRED)]),
        ("v1", "Service", of(json!({"clusterIP": "None"})), &[]),
        ("v1", "Service", of(json!({"type": "ExternalName"})), &[("spec.externalName", REQUIRED)]),
        ("v1", "Service", of(json!({"type": "Own", "ports": [{"port": 80}]})), &[("spec.type", NOT_SUPPORTED)]),
        (
            "v1",
            "Service",
            of(json!({"ports": [{"port": 0}, {"port": 80, "name": "a", "targetPort": 70000}]})),
            &[
                ("spec.ports[0].name", REQUIRED),
                ("spec.ports[0].port", INVALID),
                ("spec.ports[0].targetPort", INVALID),
                ("spec.ports[1].targetPort", INVALID),
            ],
        ),
        ("v1", "Service", of(json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]})), &[("spec.ports[1]", DUPLICATE)]),
        ("v1", "Service", of(json!({"ports": [{"port": 80, "nodePort": 30000}]})), &[("spec.ports[0].nodePort", FORBIDDEN)]),
        ("v1", "Service", of(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]})), &[("spec.ports[0].nodePort", INVALID)]),
    ]);
    let old = of(json!({"ports": [{"port": 80}]}));
    check_updates(&[
        (
            "v1",
            "Service",
            old.clone(),
            json!({"spec": {"clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8"]}}),
            &[("spec.clusterIPs[0]", INVALID)],
        ),
        ("v1", "Service", old, json!({"spec": {"selector": {"a": "b"}}}), &[]),
    ]);
}

#[test]
fn configuration() {
    let large = "x".repeat(1024 * 1024 + 1);
    check_creates(&[
        ("v1", "ConfigMap", json!({"data": {"a": "1"}, "binaryData": {"b": "eA=="}}), &[]),
        ("v1", "ConfigMap", json!({"data": {"a b": "1"}}), &[("data[a b]", INVALID)]),
        ("v1", "ConfigMap", json!({"data": {"a": "1"}, "binaryData": {"a": "eA=="}}), &[("binaryData[a]", INVALID)]),
        ("v1", "ConfigMap", json!({"data": {"a": large}}), &[("", "FieldValueTooLong")]),
        ("v1", "Secret", json!({"stringData": {"a": large}}), &[("data", "FieldValueTooLong")]),
        ("v1", "Secret", json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "eA=="}}), &[("data[tls.key]", REQUIRED)]),
        ("v1", "Secret", json!({"type": "example.test/own"}), &[]),
    ]);
    let frozen = json!({"data": {"a": "MQ=="}, "immutable": true});
    check_updates(&[
        ("v1", "ConfigMap", frozen.clone(), json!({"data": {"a": "Mg=="}}), &[("data", FORBIDDEN)]),
        ("v1", "ConfigMap", frozen.clone(), json!({"immutable": null}), &[("immutable", FORBIDDEN)]),
        ("v1", "ConfigMap", frozen.clone(), json!({"metadata": {"labels": {"a": "b"}}}), &[]),
        ("v1", "ConfigMap", json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}), &[]),
        ("v1", "Secret", frozen, json!({"data": {"a": "Mg=="}}), &[("data", FORBIDDEN)]),
        ("v1", "Secret", json!({}), json!({"type": "example.test/own"}), &[("type", INVALID)]),
    ]);
}

#[test]
fn storage_events_and_leases() {
    let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    check_creates(&[
        ("v1", "PersistentVolumeClaim", claim.clone(), &[]),
        ("v1", "PersistentVolumeClaim", json!({"spec": {}}), &[("spec.accessModes", REQUIRED), ("spec.resources[storage]", REQUIRED)]),
        (
            "v1",
            "PersistentVolume",
            json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["Any"]}}),
            &[("spec.accessModes", NOT_SUPPORTED), ("spec", REQUIRED)],
        ),
        ("v1", "Event", json!({"involvedObject": {"namespace": "n"}}), &[]),
        ("v1", "Event", json!({"involvedObject": {"namespace": "other"}}), &[("involvedObject.namespace", INVALID)]),
        (
            "events.k8s.io/v1",
            "Event",
            json!({"regarding": {"namespace": "n"}, "type": "Normal", "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "R"}),
            &[("reportingController", REQUIRED), ("reportingInstance", REQUIRED), ("action", REQUIRED)],
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}),
            &[("spec.leaseDurationSeconds", INVALID), ("spec.leaseTransitions", INVALID)],
        ),
        (
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, {"type": "Pod"}]}}),
            &[("spec.limits[0].min[cpu]", INVALID), ("spec.limits[1].type", DUPLICATE)],
        ),
        ("v1", "ResourceQuota", json!({"spec": {"hard": {"pods": "-1"}}}), &[("spec.hard[pods]", INVALID)]),
    ]);
    let mut bound = claim.clone();
    bound["status"] = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
    check_updates(&[
        ("v1", "PersistentVolumeClaim", claim.clone(), json!({"spec": {"volumeName": "v"}}), &[]),
        ("v1", "PersistentVolumeClaim", claim.clone(), json!({"spec": {"accessModes": ["ReadWriteMany"]}}), &[("spec", FORBIDDEN)]),
        ("v1", "PersistentVolumeClaim", claim, json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}), &[("spec", FORBIDDEN)]),
        ("v1", "PersistentVolumeClaim", bound.clone(), json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}), &[]),
        (
            "v1",
            "PersistentVolumeClaim",
            bound,
            json!({"spec": {"resources": {"requests": {"storage": "1Mi"}}}}),
            &[("spec.resources.requests.storage", FORBIDDEN)],
        ),
    ]);
}

#[test]
fn networking_and_access() {
    let rbac = "rbac.authorization.k8s.io/v1";
    let path = |members: Value| json!({"spec": {"rules": [{"host": "a.example", "http": {"paths": [members]}}]}});
    let right = json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
    check_creates(&[
        ("networking.k8s.io/v1", "Ingress", path(right), &[]),
        ("networking.k8s.io/v1", "Ingress", json!({"spec": {}}), &[("spec", INVALID)]),
        ("networking.k8s.io/v1", "Ingress", path(json!({"path": "/"})), &[("spec.rules[0].http.paths[0].pathType", REQUIRED)]),
        (
            "networking.k8s.io/v1",
            "Ingress",
            path(json!({"path": "a", "pathType": "Exact", "backend": {"service": {"port": {}}}})),
            &[
                ("spec.rules[0].http.paths[0].path", INVALID),
                ("spec.rules[0].http.paths[0].backend.service.name", REQUIRED),
                ("spec.rules[0].http.paths[0].backend", REQUIRED),
            ],
        ),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "policyTypes": ["Both"], "ingress": [{"from": [{}], "ports": [{"port": 0}]}]}}),
            &[("spec.ingress[0].ports[0].port", INVALID), ("spec.ingress[0].from[0]", REQUIRED), ("spec.policyTypes[0]", NOT_SUPPORTED)],
        ),
        (rbac, "Role", json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}), &[]),
        (rbac, "Role", json!({"rules": [{"apiGroups": [""]}]}), &[("rules[0].verbs", REQUIRED), ("rules[0].resources", REQUIRED)]),
        (rbac, "Role", json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}), &[("rules[0].nonResourceURLs", INVALID)]),
        (rbac, "ClusterRole", json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}), &[]),
        (
            rbac,
            "ClusterRoleBinding",
            json!({"roleRef": {"kind": "Role"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}, {"kind": "Robot", "name": "r"}]}),
            &[
                ("roleRef.kind", NOT_SUPPORTED),
                ("roleRef.name", REQUIRED),
                ("subjects[0].namespace", REQUIRED),
                ("subjects[1].kind", NOT_SUPPORTED),
            ],
        ),
        ("storage.k8s.io/v1", "StorageClass", json!({}), &[("provisioner", REQUIRED)]),
        (
            "scheduling.k8s.io/v1",
            "PriorityClass",
            json!({"metadata": {"name": "system-x"}, "value": 2_000_000_000}),
            &[("metadata.name", FORBIDDEN), ("value", FORBIDDEN)],
        ),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            json!({"webhooks": [{"name": "a"}]}),
            &[
                ("webhooks[0].name", INVALID),
                ("webhooks[0].admissionReviewVersions", REQUIRED),
                ("webhooks[0].sideEffects", REQUIRED),
                ("webhooks[0].clientConfig", REQUIRED),
            ],
        ),
    ]);
    check_updates(&[
        (
            rbac,
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}}),
            json!({"roleRef": {"name": "s"}}),
            &[("roleRef", INVALID)],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            json!({"provisioner": "p"}),
            json!({"provisioner": "q", "reclaimPolicy": "Retain"}),
            &[("provisioner", FORBIDDEN), ("reclaimPolicy", INVALID)],
        ),
        ("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 1}), json!({"value": 2}), &[("value", FORBIDDEN)]),
    ]);
}

#[test]
fn what_of_workloads_may_not_change() {
    let other = json!({"spec": {"selector": {"matchLabels": {"a": "e"}}}});
    let job = owned(json!({"template": {"spec": {"restartPolicy": "Never"}}}));
    let mut suspended = job.clone();
    suspended["spec"]["suspend"] = json!(true);
    check_updates(&[
        (
            "apps/v1",
            "Deployment",
            owned(json!({})),
            other.clone(),
            &[("spec.selector", INVALID), ("spec.template.metadata.labels", INVALID)],
        ),
        ("apps/v1", "Deployment", owned(json!({})), json!({"spec": {"replicas": 3}}), &[]),
        ("apps/v1", "StatefulSet", owned(json!({})), json!({"spec": {"serviceName": "s"}}), &[("spec", FORBIDDEN)]),
        (
            "apps/v1",
            "StatefulSet",
            owned(json!({})),
            json!({"spec": {"replicas": 3, "template": {"metadata": {"annotations": {"a": "b"}}}}}),
            &[],
        ),
        ("batch/v1", "Job", job.clone(), json!({"spec": {"template": {"spec": {"schedulerName": "s"}}}}), &[("spec.template", INVALID)]),
        ("batch/v1", "Job", job.clone(), json!({"spec": {"completions": 5}}), &[("spec.completions", INVALID)]),
        ("batch/v1", "Job", job.clone(), json!({"spec": {"parallelism": 5, "suspend": true}}), &[]),
        ("batch/v1", "Job", job, json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}), &[("spec.template", INVALID)]),
        ("batch/v1", "Job", suspended, json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}), &[]),
    ]);
    let resource = resource("apps/v1", "Deployment");
    let old = prepared(&resource, owned(json!({})));
    let mut new = old.clone();
    merge(&mut new, &other);
    let first = update(&resource, &new, &old).into_iter().next().map(|cause| cause.message);
    assert_eq!(first, Some("Invalid value: {\"matchLabels\":{\"a\":\"e\"}}: field is immutable".to_owned()));
}
