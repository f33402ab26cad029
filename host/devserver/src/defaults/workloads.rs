//! Defaults of what runs pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, ReplicationControllers, autoscalers.
//!
//! Owns also what the server makes of a Job at creation: the selector and labels that tell its pods from all others.

use serde_json::{Value, json};

use super::World;
use super::pod::{template, template_of};
use crate::json::{Read, Write};

pub(super) fn deployment(object: &mut Value, _world: &dyn World) {
    template_of(object);
    let Some(spec) = object.open("spec") else { return };
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    spec.fill("progressDeadlineSeconds", 600);
    if let Some(strategy) = spec.open("strategy") {
        rolling(strategy, &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))]);
    }
}

pub(super) fn replica_set(object: &mut Value, _world: &dyn World) {
    template_of(object);
    if let Some(spec) = object.open("spec") {
        spec.fill("replicas", 1);
    }
}

pub(super) fn replication_controller(object: &mut Value, world: &dyn World) {
    replica_set(object, world);
    let labels = object.path(&["spec", "template", "metadata", "labels"]).clone();
    if labels.is_void() {
        return;
    }
    if let Some(spec) = object.open("spec")
        && spec.at("selector").is_void()
    {
        spec.put("selector", labels);
    }
    labels_from_template(object);
}

pub(super) fn stateful_set(object: &mut Value, _world: &dyn World) {
    template_of(object);
    let Some(spec) = object.open("spec") else { return };
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    spec.fill("podManagementPolicy", "OrderedReady");
    if let Some(strategy) = spec.open("updateStrategy") {
        // A given type without parameters stays without.
        let parameters = strategy.text("type").is_empty() || strategy.has("rollingUpdate");
        strategy.fill("type", "RollingUpdate");
        if parameters {
            rolling(strategy, &[("partition", json!(0))]);
        }
    }
    if let Some(policy) = spec.open("persistentVolumeClaimRetentionPolicy") {
        policy.fill("whenDeleted", "Retain");
        policy.fill("whenScaled", "Retain");
    }
    for claim in spec.each("volumeClaimTemplates") {
        claim.fill("apiVersion", "v1");
        claim.fill("kind", "PersistentVolumeClaim");
        if let Some(status) = claim.open("status") {
            status.fill("phase", "Pending");
        }
        if let Some(spec) = claim.open("spec") {
            spec.fill("volumeMode", "Filesystem");
        }
    }
}

pub(super) fn daemon_set(object: &mut Value, _world: &dyn World) {
    template_of(object);
    let Some(spec) = object.open("spec") else { return };
    spec.fill("revisionHistoryLimit", 10);
    if let Some(strategy) = spec.open("updateStrategy") {
        rolling(strategy, &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
    }
}

pub(super) fn job(object: &mut Value, _world: &dyn World) {
    template_of(object);
    labels_from_template(object);
    let Some(spec) = object.open("spec") else { return };
    if !spec.has("completions") && !spec.has("parallelism") {
        spec.put("completions", 1);
    }
    spec.fill("parallelism", 1);
    let retries = if spec.has("backoffLimitPerIndex") { i32::MAX } else { 6 };
    spec.fill("backoffLimit", retries);
    spec.fill("completionMode", "NonIndexed");
    spec.fill("suspend", false);
    spec.fill("manualSelector", false);
    let replace = if spec.has("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    spec.fill("podReplacementPolicy", replace);
    if let Some(policy) = spec.within("podFailurePolicy") {
        for rule in policy.each("rules") {
            rule.each("onPodConditions").for_each(|condition| condition.fill("status", "True"));
        }
    }
}

pub(super) fn cron_job(object: &mut Value, _world: &dyn World) {
    let Some(spec) = object.open("spec") else { return };
    spec.fill("concurrencyPolicy", "Allow");
    spec.fill("suspend", false);
    spec.fill("successfulJobsHistoryLimit", 3);
    spec.fill("failedJobsHistoryLimit", 1);
    if let Some(job) = spec.inside(&["jobTemplate", "spec", "template"]) {
        template(job);
    }
}

pub(super) fn pod_template(object: &mut Value, _world: &dyn World) {
    if let Some(inner) = object.within("template") {
        template(inner);
    }
}

pub(super) fn horizontal_pod_autoscaler(object: &mut Value, _world: &dyn World) {
    if let Some(spec) = object.open("spec") {
        spec.fill("minReplicas", 1);
    }
}

/// The selector of a new Job and the labels of its pods, by the Job's uid and name; not if `manualSelector` is set.
pub(super) fn select_own_pods(job: &mut Value) {
    if job.at("spec").flag("manualSelector") {
        return;
    }
    let metadata = job.at("metadata");
    let (name, uid) = (metadata.text("name").to_owned(), metadata.text("uid").to_owned());
    let Some(spec) = job.open("spec") else { return };
    if let Some(labels) = spec.open("template").and_then(|template| template.open("metadata")).and_then(|metadata| metadata.open("labels"))
    {
        for (label, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            if !labels.has(label) {
                labels.put(label, value.clone());
            }
        }
    }
    if let Some(selector) = spec.open("selector").and_then(|selector| selector.open("matchLabels"))
        && !selector.has("batch.kubernetes.io/controller-uid")
    {
        selector.put("batch.kubernetes.io/controller-uid", uid);
    }
}

/// A rolling update is the default; its parameters are filled in only if it is one.
fn rolling(strategy: &mut Value, parameters: &[(&str, Value)]) {
    strategy.fill("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate"
        && let Some(update) = strategy.open("rollingUpdate")
    {
        for (name, value) in parameters {
            update.fill(name, value.clone());
        }
    }
}

/// An object without labels gets those of its pods.
fn labels_from_template(object: &mut Value) {
    let labels = object.path(&["spec", "template", "metadata", "labels"]).clone();
    if !labels.is_void()
        && let Some(metadata) = object.open("metadata")
        && metadata.at("labels").is_void()
    {
        metadata.put("labels", labels);
    }
}
