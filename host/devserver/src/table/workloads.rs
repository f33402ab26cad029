//! The columns of what runs pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and what belongs to them.
//!
//! Owns nothing but cells.

use serde_json::{Value, json};

use super::age;
use super::column::{
    AGE, CONTAINERS, Column, IMAGES, NAME, SELECTOR, boolean, containers, count, integer, labels, none_if_empty, number, plain, selector,
    string, string_or, text, wide, with_more,
};
use crate::json::Read;

pub(super) const DEPLOYMENTS: &[Column] = &[
    NAME,
    READY,
    text("Up-to-date", "Pods of the present template.", |object, _| count(object, &["status", "updatedReplicas"])),
    text("Available", "Pods that are ready for long enough.", |object, _| count(object, &["status", "availableReplicas"])),
    AGE,
    CONTAINERS,
    IMAGES,
    wide(text("Selector", "Labels of the pods that belong to the object.", |object, _| {
        json!(selector(object.path(&["spec", "selector"])))
    })),
];

pub(super) const REPLICA_SETS: &[Column] = &[NAME, DESIRED, CURRENT, READY_COUNT, AGE, CONTAINERS, IMAGES, SELECTOR];

pub(super) const REPLICATION_CONTROLLERS: &[Column] = &[
    NAME,
    DESIRED,
    CURRENT,
    READY_COUNT,
    AGE,
    CONTAINERS,
    IMAGES,
    wide(text("Selector", "Labels of the pods that belong to the object.", |object, _| labels(object.path(&["spec", "selector"])))),
];

pub(super) const STATEFUL_SETS: &[Column] = &[NAME, READY, AGE, CONTAINERS, IMAGES];

pub(super) const DAEMON_SETS: &[Column] = &[
    NAME,
    integer("Desired", "Nodes that should run the pod.", |object, _| count(object, &["status", "desiredNumberScheduled"])),
    integer("Current", "Nodes that run the pod and should.", |object, _| count(object, &["status", "currentNumberScheduled"])),
    integer("Ready", "Nodes on which the pod is ready.", |object, _| count(object, &["status", "numberReady"])),
    integer("Up-to-date", "Nodes that run the pod of the present template.", |object, _| {
        count(object, &["status", "updatedNumberScheduled"])
    }),
    integer("Available", "Nodes on which the pod is ready for long enough.", |object, _| count(object, &["status", "numberAvailable"])),
    text("Node Selector", "Labels that a node must have.", |object, _| labels(object.path(&["spec", "template", "spec", "nodeSelector"]))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const CONTROLLER_REVISIONS: &[Column] = &[
    NAME,
    text("Controller", "Object whose revision it is.", |object, _| json!(controller(object))),
    text("Revision", "Number of the revision.", |object, _| count(object, &["revision"])),
    AGE,
];

pub(super) const POD_TEMPLATES: &[Column] = &[
    NAME,
    text("Containers", "Names of each container in the template.", |object, _| containers(object.at("template"), "name")),
    text("Images", "Images of each container in the template.", |object, _| containers(object.at("template"), "image")),
    text("Pod Labels", "Labels of the template.", |object, _| labels(object.path(&["template", "metadata", "labels"]))),
];

pub(super) const JOBS: &[Column] = &[
    NAME,
    text("Status", "Status of the job.", |object, _| json!(job_status(object))),
    text("Completions", "Pods that succeeded, of those that must.", |object, _| json!(completions(object))),
    text("Duration", "Time the job took or takes.", |object, now| json!(job_duration(object, now))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const CRON_JOBS: &[Column] = &[
    NAME,
    text("Schedule", "When jobs are started, in cron's format.", |object, _| string(object, &["spec", "schedule"])),
    text("Timezone", "Time zone of the schedule.", |object, _| string_or(object, &["spec", "timeZone"], "<none>")),
    boolean("Suspend", "Whether no further jobs are started.", |object, _| {
        json!(match object.path(&["spec", "suspend"]) {
            Value::Bool(true) => "True",
            Value::Bool(false) => "False",
            _ => "<unset>",
        })
    }),
    integer("Active", "Jobs that run.", |object, _| json!(object.at("status").list("active").len())),
    text("Last Schedule", "Time since a job was last started.", |object, now| match object.path(&["status", "lastScheduleTime"]) {
        Value::Null => json!("<none>"),
        time => json!(age::since(time, now)),
    }),
    AGE,
    wide(text("Containers", "Names of each container in the template.", |object, _| containers(job_template(object), "name"))),
    wide(text("Images", "Images of each container in the template.", |object, _| containers(job_template(object), "image"))),
    wide(text("Selector", "Labels of the pods that belong to the object.", |object, _| {
        none_if_empty(&selector(object.path(&["spec", "jobTemplate", "spec", "selector"])))
    })),
];

pub(super) const HORIZONTAL_POD_AUTOSCALERS: &[Column] = &[
    NAME,
    text("Reference", "Object that is scaled.", |object, _| {
        let target = object.path(&["spec", "scaleTargetRef"]);
        json!(format!("{}/{}", target.text("kind"), target.text("name")))
    }),
    text("Targets", "Metrics as they are and as they should be.", |object, _| json!(targets(object))),
    text("MinPods", "Least number of replicas.", |object, _| match object.path(&["spec", "minReplicas"]) {
        Value::Null => json!("<unset>"),
        least => json!(plain(least)),
    }),
    text("MaxPods", "Greatest number of replicas.", |object, _| count(object, &["spec", "maxReplicas"])),
    text("Replicas", "Replicas that were last seen.", |object, _| count(object, &["status", "currentReplicas"])),
    AGE,
];

pub(super) const POD_DISRUPTION_BUDGETS: &[Column] = &[
    NAME,
    text("Min Available", "Pods that must stay available.", |object, _| amount(object, "minAvailable")),
    text("Max Unavailable", "Pods that may be unavailable.", |object, _| amount(object, "maxUnavailable")),
    integer("Allowed Disruptions", "Pods that may be evicted now.", |object, _| count(object, &["status", "disruptionsAllowed"])),
    AGE,
];

pub(super) const PRIORITY_CLASSES: &[Column] = &[
    NAME,
    integer("Value", "The priority of pods of the class.", |object, _| count(object, &["value"])),
    boolean("Global-Default", "Whether pods without a class belong to it.", |object, _| json!(object.flag("globalDefault"))),
    AGE,
    wide(text("PreemptionPolicy", "Whether its pods make others go.", |object, _| string(object, &["preemptionPolicy"]))),
];

const READY: Column = text("Ready", "Pods that are ready, of those wanted.", |object, _| {
    json!(format!("{}/{}", number(object, &["status", "readyReplicas"]), number(object, &["spec", "replicas"])))
});
const DESIRED: Column = integer("Desired", "Pods that are wanted.", |object, _| count(object, &["spec", "replicas"]));
const CURRENT: Column = integer("Current", "Pods that exist.", |object, _| count(object, &["status", "replicas"]));
const READY_COUNT: Column = integer("Ready", "Pods that are ready.", |object, _| count(object, &["status", "readyReplicas"]));

/// `deployment.apps/name` of the controlling owner.
fn controller(object: &Value) -> String {
    let Some(owner) = object.at("metadata").list("ownerReferences").iter().find(|owner| owner.flag("controller")) else {
        return "<none>".to_owned();
    };
    let kind = owner.text("kind").to_lowercase();
    match owner.text("apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", owner.text("name")),
        None => format!("{kind}/{}", owner.text("name")),
    }
}

fn job_template(object: &Value) -> &Value {
    object.path(&["spec", "jobTemplate", "spec", "template"])
}

fn completions(job: &Value) -> String {
    let (spec, succeeded) = (job.at("spec"), number(job, &["status", "succeeded"]));
    match (spec.int("completions"), spec.int("parallelism").unwrap_or_default()) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn job_duration(job: &Value, now: i64) -> String {
    let time = |name| age::instant(job.path(&["status", name])).map(jiff::Timestamp::as_second);
    match (time("startTime"), time("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => age::human(end.unwrap_or(now).saturating_sub(start)),
    }
}

fn job_status(job: &Value) -> &'static str {
    let holds = |kind: &str| {
        job.at("status").list("conditions").iter().find(|one| one.text("type") == kind).is_some_and(|one| one.text("status") == "True")
    };
    if holds("Complete") {
        return "Complete";
    }
    if holds("Failed") {
        return "Failed";
    }
    if job.at("metadata").has("deletionTimestamp") {
        return "Terminating";
    }
    ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(|kind| holds(kind)).unwrap_or("Running")
}

fn amount(budget: &Value, name: &str) -> Value {
    match budget.at("spec").at(name) {
        Value::Null => json!("N/A"),
        amount => json!(plain(amount)),
    }
}

/// The metrics of an autoscaler of v2, or the one percentage of v1.
fn targets(object: &Value) -> String {
    let (spec, status) = (object.at("spec"), object.at("status"));
    if let Some(target) = spec.int("targetCPUUtilizationPercentage") {
        let current = status.int("currentCPUUtilizationPercentage");
        return format!("cpu: {}/{target}%", current.map_or_else(|| "<unknown>".to_owned(), |current| format!("{current}%")));
    }
    let current = status.list("currentMetrics");
    let all: Vec<String> =
        spec.list("metrics").iter().enumerate().map(|(index, metric)| target(metric, current.get(index).unwrap_or(&Value::Null))).collect();
    if all.is_empty() { "<none>".to_owned() } else { with_more(&all, 2, ", ") }
}

/// One metric: the member that its type names holds what is wanted and what there is.
fn target(metric: &Value, status: &Value) -> String {
    let kind = metric.text("type");
    let (member, named) = match kind {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, current) = (metric.path(&[member, "target"]), status.path(&[member, "current"]));
    let known = |name: &str| if current.has(name) { plain(current.at(name)) } else { "<unknown>".to_owned() };
    let percent = |value: &Value, or: &str| value.as_i64().map_or_else(|| or.to_owned(), |value| format!("{value}%"));
    let text = match (wanted.has("averageValue"), named) {
        (true, false) if kind != "Pods" => format!("{}/{} (avg)", known("averageValue"), plain(wanted.at("averageValue"))),
        (true, _) => format!("{}/{}", known("averageValue"), plain(wanted.at("averageValue"))),
        (false, false) => format!("{}/{}", known("value"), plain(wanted.at("value"))),
        (false, true) => {
            format!("{}/{}", percent(current.at("averageUtilization"), "<unknown>"), percent(wanted.at("averageUtilization"), "<auto>"))
        }
    };
    if named { format!("{}: {text}", metric.at(member).text("name")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_status_is_its_first_true_condition() {
        let with = |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status}]}});
        let cases = [
            (json!({}), "Running"),
            (with("Complete", "True"), "Complete"),
            (with("Complete", "False"), "Running"),
            (with("Failed", "True"), "Failed"),
            (with("Suspended", "True"), "Suspended"),
            (json!({"metadata": {"deletionTimestamp": "x"}}), "Terminating"),
        ];
        for (job, expected) in cases {
            assert_eq!(job_status(&job), expected, "{job}");
        }
    }

    #[test]
    fn completions_and_durations() {
        assert_eq!(completions(&json!({"spec": {"completions": 3}, "status": {"succeeded": 1}})), "1/3");
        assert_eq!(completions(&json!({"spec": {"parallelism": 4}})), "0/1 of 4");
        assert_eq!(completions(&json!({})), "0/1");
        assert_eq!(job_duration(&json!({"status": {"startTime": "2001-09-09T01:46:30Z"}}), 1_000_000_000), "10s");
        assert_eq!(
            job_duration(
                &json!({"status": {"startTime": "2001-09-09T01:46:30Z", "completionTime": "2001-09-09T01:46:33Z"}}),
                1_000_000_000
            ),
            "3s"
        );
        assert_eq!(job_duration(&json!({}), 1_000_000_000), "");
    }

    #[test]
    fn targets_of_autoscalers() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "1k"}}});
        let external = json!({"type": "External", "external": {"target": {"averageValue": "5"}}});
        let cases = [
            (json!({}), "<none>"),
            (json!({"spec": {"targetCPUUtilizationPercentage": 70}}), "cpu: <unknown>/70%"),
            (json!({"spec": {"metrics": [cpu]}}), "cpu: <unknown>/80%"),
            (
                json!({"spec": {"metrics": [cpu]}, "status": {"currentMetrics": [{"resource": {"current": {"averageUtilization": 12}}}]}}),
                "cpu: 12%/80%",
            ),
            (json!({"spec": {"metrics": [pods, external]}}), "<unknown>/1k, <unknown>/5 (avg)"),
            (json!({"spec": {"metrics": [pods, external, cpu]}}), "<unknown>/1k, <unknown>/5 (avg) + 1 more..."),
        ];
        for (object, expected) in cases {
            assert_eq!(targets(&object), expected);
        }
    }

    #[test]
    fn a_revision_names_its_controller() {
        let owned =
            json!({"metadata": {"ownerReferences": [{"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "s", "controller": true}]}});
        assert_eq!(controller(&owned), "statefulset.apps/s");
        assert_eq!(controller(&json!({})), "<none>");
    }
}
