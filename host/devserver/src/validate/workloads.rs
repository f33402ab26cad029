//! The rules of what runs pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, Jobs, CronJobs,
//! autoscalers and disruption budgets.
//!
//! Owns what of their specs may not change. Their pod templates' insides are checked as any pod's.

use serde_json::{Value, json};

use super::check::{self, Causes, at_least, int_or_percent, join, not_negative, one_of, required, unchanged};
use super::{pods, schedule};
use crate::json::{Read, Write};
use crate::status::Cause;

/// A number of pods that is nought, as an integer or a percentage.
fn is_nought(value: &Value) -> bool {
    value.as_i64() == Some(0) || matches!(value.as_str(), Some("0%" | "0"))
}

pub(super) fn deployment(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    not_negative(spec, &["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"], "spec", out);
    selected_template(spec, "deployment", "ReplicaSet", out);
    let strategy = spec.at("strategy");
    let path = "spec.strategy";
    one_of(strategy, "type", path, &["Recreate", "RollingUpdate"], out);
    let rolling = strategy.at("rollingUpdate");
    if strategy.text("type") == "Recreate" && strategy.has("rollingUpdate") {
        out.push(Cause::forbidden(join(path, "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'"));
    }
    surge(rolling, "spec.strategy.rollingUpdate", out);
    if is_nought(rolling.at("maxUnavailable")) && is_nought(rolling.at("maxSurge")) {
        let field = "spec.strategy.rollingUpdate.maxUnavailable";
        out.push(Cause::invalid(field, rolling.at("maxUnavailable"), "may not be 0 when `maxSurge` is 0"));
    }
    if let Some(deadline) =
        spec.int("progressDeadlineSeconds").filter(|deadline| *deadline <= spec.int("minReadySeconds").unwrap_or_default())
    {
        out.push(Cause::invalid("spec.progressDeadlineSeconds", &json!(deadline), "must be greater than minReadySeconds"));
    }
}

pub(super) fn replica_set(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    not_negative(spec, &["replicas", "minReadySeconds"], "spec", out);
    selected_template(spec, "deployment", "ReplicaSet", out);
}

pub(super) fn stateful_set(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    not_negative(spec, &["replicas", "minReadySeconds", "revisionHistoryLimit"], "spec", out);
    selected_template(spec, "statefulset", "StatefulSet", out);
    one_of(spec, "podManagementPolicy", "spec", &["OrderedReady", "Parallel"], out);
    one_of(spec.at("updateStrategy"), "type", "spec.updateStrategy", &["RollingUpdate", "OnDelete"], out);
    not_negative(spec.path(&["updateStrategy", "rollingUpdate"]), &["partition"], "spec.updateStrategy.rollingUpdate", out);
    let retention = spec.at("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        one_of(retention, name, "spec.persistentVolumeClaimRetentionPolicy", &["Retain", "Delete"], out);
    }
}

pub(super) fn daemon_set(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    not_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], "spec", out);
    selected_template(spec, "daemonset", "DaemonSet", out);
    one_of(spec.at("updateStrategy"), "type", "spec.updateStrategy", &["RollingUpdate", "OnDelete"], out);
    let rolling = spec.path(&["updateStrategy", "rollingUpdate"]);
    let path = "spec.updateStrategy.rollingUpdate";
    surge(rolling, path, out);
    let (unavailable, more) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
    if is_nought(unavailable) && is_nought(more) {
        out.push(Cause::required(join(path, "maxUnavailable"), "cannot be 0 when maxSurge is 0"));
    } else if !more.is_null() && !is_nought(more) && !unavailable.is_null() && !is_nought(unavailable) {
        out.push(Cause::invalid(join(path, "maxSurge"), more, "may not be set when maxUnavailable is non-zero"));
    }
}

pub(super) fn replication_controller(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    not_negative(spec, &["replicas", "minReadySeconds"], "spec", out);
    required(spec, "selector", "spec", out);
    if required(spec, "template", "spec", out) {
        let labels = spec.path(&["template", "metadata", "labels"]);
        if !spec.entries("selector").all(|(key, value)| labels.get(key) == Some(value)) {
            out.push(mismatch(labels));
        }
        pods::template(spec.at("template"), "spec.template", out);
        always_restarted(spec.at("template"), "ReplicationController", out);
    }
}

pub(super) fn pod_template(object: &Value, out: &mut Causes) {
    pods::template(object.at("template"), "template", out);
}

pub(super) fn job(object: &Value, out: &mut Causes) {
    job_spec(object.at("spec"), "spec", true, out);
}

pub(super) fn cron_job(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    let name = object.at("metadata").at("name");
    if name.as_str().is_some_and(|name| name.len() > 52) {
        out.push(Cause::invalid("metadata.name", name, "must be no more than 52 characters"));
    }
    if required(spec, "schedule", "spec", out) {
        let text = spec.text("schedule");
        if text.contains("TZ") {
            out.push(Cause::invalid(
                "spec.schedule",
                spec.at("schedule"),
                "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            ));
        } else if let Err(why) = schedule::parse(text) {
            out.push(Cause::invalid("spec.schedule", spec.at("schedule"), &why));
        }
    }
    if spec.at("timeZone").as_str() == Some("") {
        out.push(Cause::invalid("spec.timeZone", spec.at("timeZone"), "timeZone must be nil or non-empty string"));
    }
    one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], out);
    not_negative(spec, &["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"], "spec", out);
    job_spec(spec.path(&["jobTemplate", "spec"]), "spec.jobTemplate.spec", false, out);
}

pub(super) fn horizontal_pod_autoscaler(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    at_least(spec, &["minReplicas"], 1, "spec", out);
    match (spec.int("maxReplicas").unwrap_or_default(), spec.int("minReplicas")) {
        (0, _) => out.push(Cause::required("spec.maxReplicas", "must be set and greater than 0")),
        (most, _) if most < 1 => out.push(Cause::invalid("spec.maxReplicas", &json!(most), "must be greater than or equal to 1")),
        (most, Some(least)) if most < least => {
            out.push(Cause::invalid("spec.maxReplicas", &json!(most), "must be greater than or equal to `minReplicas`"));
        }
        _ => {}
    }
    required(spec.at("scaleTargetRef"), "kind", "spec.scaleTargetRef", out);
    required(spec.at("scaleTargetRef"), "name", "spec.scaleTargetRef", out);
    for (index, metric) in spec.list("metrics").iter().enumerate() {
        let path = format!("spec.metrics[{index}]");
        let known = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        if metric.text("type").is_empty() {
            out.push(Cause::required(join(&path, "type"), "must specify a metric source type"));
        }
        one_of(metric, "type", &path, &known, out);
    }
}

pub(super) fn pod_disruption_budget(object: &Value, out: &mut Causes) {
    let spec = object.at("spec");
    if spec.has("minAvailable") && spec.has("maxUnavailable") {
        out.push(Cause::invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
    }
    int_or_percent(spec, "minAvailable", "spec", out);
    int_or_percent(spec, "maxUnavailable", "spec", out);
    check::label_selector(spec.at("selector"), "spec.selector", out);
    one_of(spec, "unhealthyPodEvictionPolicy", "spec", &["AlwaysAllow", "IfHealthyBudget"], out);
}

/// Deployments, ReplicaSets and DaemonSets never change whose pods are theirs.
pub(super) fn keeps_selector(new: &Value, old: &Value, out: &mut Causes) {
    unchanged(new.at("spec"), old.at("spec"), &["selector"], "spec", out);
}

pub(super) fn stateful_set_update(new: &Value, old: &Value, out: &mut Causes) {
    const MUTABLE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let mut rest = new.at("spec").clone();
    for name in MUTABLE {
        rest.copy(name, old.at("spec"));
    }
    if !check::same(&rest, old.at("spec")) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
                   'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        out.push(Cause::forbidden("spec", why));
    }
}

pub(super) fn job_update(new: &Value, old: &Value, out: &mut Causes) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    unchanged(
        spec,
        before,
        &["selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"],
        "spec",
        out,
    );
    match (spec.text("completionMode"), spec.at("completions")) {
        ("Indexed", Value::Null) => {}
        ("Indexed", completions) => {
            if completions != before.at("completions") && completions != spec.at("parallelism") {
                out.push(Cause::invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism"));
            }
        }
        _ => unchanged(spec, before, &["completions"], "spec", out),
    }
    let mut template = spec.at("template").clone();
    let was = before.at("template");
    // Where pods run may be decided until the first of them is made.
    if before.flag("suspend") && !old.at("status").has("startTime") {
        for (holder, names) in [("metadata", ["annotations", "labels", ""]), ("spec", ["nodeSelector", "tolerations", "schedulingGates"])] {
            if let Some(part) = template.open(holder) {
                names.iter().filter(|name| !name.is_empty()).for_each(|name| part.copy(name, was.at(holder)));
            }
        }
        let node = was.path(&["spec", "affinity", "nodeAffinity"]).clone();
        if let Some(affinity) = template.open("spec").and_then(|spec| spec.open("affinity")) {
            affinity.put("nodeAffinity", node);
        }
    }
    if !check::same(&template, was) {
        out.push(Cause::invalid("spec.template", spec.at("template"), check::IMMUTABLE));
    }
}

fn job_spec(spec: &Value, path: &str, selected: bool, out: &mut Causes) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    not_negative(spec, &numbers, path, out);
    one_of(spec, "completionMode", path, &["NonIndexed", "Indexed"], out);
    one_of(spec, "podReplacementPolicy", path, &["Failed", "TerminatingOrFailed"], out);
    if spec.text("completionMode") == "Indexed" && !spec.has("completions") {
        out.push(Cause::required(join(path, "completions"), "when completion mode is Indexed"));
    }
    let template = spec.at("template");
    if selected {
        if spec.has("selector") {
            check::label_selector(spec.at("selector"), &join(path, "selector"), out);
            let labels = template.path(&["metadata", "labels"]);
            if !check::matches(spec.at("selector"), labels) {
                let field = format!("{path}.template.metadata.labels");
                out.push(Cause::invalid(field, labels, "`selector` does not match template `labels`"));
            }
        } else {
            out.push(Cause::required(join(path, "selector"), ""));
        }
    }
    pods::template(template, &join(path, "template"), out);
    let field = format!("{path}.template.spec.restartPolicy");
    match template.at("spec").text("restartPolicy") {
        "Always" => out.push(Cause::required(field, "valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if spec.has("podFailurePolicy") => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            out.push(Cause::invalid(field, &json!("OnFailure"), why));
        }
        _ => {}
    }
}

/// The selector must be there and select the template's pods, which are always restarted. `kind` and `owner` are how the texts name it.
fn selected_template(spec: &Value, kind: &str, owner: &str, out: &mut Causes) {
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    if selector.is_null() {
        out.push(Cause::required("spec.selector", ""));
    } else {
        check::label_selector(selector, "spec.selector", out);
        if selector.at("matchLabels").is_void() && selector.at("matchExpressions").is_void() {
            out.push(Cause::invalid("spec.selector", selector, &format!("empty selector is invalid for {kind}")));
        }
    }
    let labels = template.path(&["metadata", "labels"]);
    if !check::matches(selector, labels) {
        out.push(mismatch(labels));
    }
    pods::template(template, "spec.template", out);
    always_restarted(template, owner, out);
}

fn mismatch(labels: &Value) -> Cause {
    Cause::invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
}

fn always_restarted(template: &Value, owner: &str, out: &mut Causes) {
    let policy = template.path(&["spec", "restartPolicy"]);
    if matches!(policy.as_str(), Some("OnFailure" | "Never")) {
        out.push(Cause::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if template.at("spec").has("activeDeadlineSeconds") {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        out.push(Cause::forbidden("spec.template.spec.activeDeadlineSeconds", &why));
    }
}

fn surge(rolling: &Value, path: &str, out: &mut Causes) {
    for name in ["maxUnavailable", "maxSurge"] {
        int_or_percent(rolling, name, path, out);
    }
    let unavailable = rolling.at("maxUnavailable");
    if unavailable.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok()).is_some_and(|percent| percent > 100) {
        out.push(Cause::invalid(join(path, "maxUnavailable"), unavailable, "must not be greater than 100%"));
    }
}
