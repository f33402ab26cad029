//! The cells of Pods: which container is ready, what state the pod is in, how often it restarted.
//!
//! Owns how one word is made of phase, conditions and the states of all containers, as Kubernetes' own printer does.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::column::{AGE, Column, NAME, string_or, text, wide};
use crate::json::Read;

/// The columns of Pods.
pub(super) const PODS: &[Column] = &[
    NAME,
    text("Ready", "Containers that are ready, of all that should run.", |pod, _| {
        let summary = Summary::of(pod);
        json!(format!("{}/{}", summary.ready, summary.containers))
    }),
    text("Status", "State of the pod and its containers in one word.", |pod, _| json!(Summary::of(pod).reason)),
    text("Restarts", "How often containers restarted, and when last.", |pod, now| json!(Summary::of(pod).restarts(now))),
    AGE,
    wide(text("IP", "Address of the pod.", |pod, _| {
        let first = pod.at("status").list("podIPs").first().map(|one| one.text("ip")).unwrap_or_default();
        super::column::none_if_empty(first)
    })),
    wide(text("Node", "Node the pod is bound to.", |pod, _| string_or(pod, &["spec", "nodeName"], "<none>"))),
    wide(text("Nominated Node", "Node on which other pods make place for this one.", |pod, _| {
        string_or(pod, &["status", "nominatedNodeName"], "<none>")
    })),
    wide(text("Readiness Gates", "Further conditions of readiness that are true, of all.", |pod, _| json!(readiness_gates(pod)))),
];

/// What the columns say, computed together.
struct Summary {
    containers: usize,
    ready: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (pod.at("spec"), pod.at("status"));
        let sidecars: Vec<&str> =
            spec.list("initContainers").iter().filter(|one| one.text("restartPolicy") == "Always").map(|one| one.text("name")).collect();
        let mut summary = Self {
            containers: spec.list("containers").len() + sidecars.len(),
            ready: 0,
            reason: first_reason(status),
            restarts: 0,
            last_restart: None,
        };
        let initializing = summary.init_containers(status, spec.list("initContainers").len(), &sidecars);
        if !initializing || condition(status, "Initialized") == Some("True") {
            summary.start_counting_anew(status, &sidecars);
            summary.main_containers(status);
        }
        let phase = status.text("phase");
        if pod.at("metadata").has("deletionTimestamp") {
            if status.text("reason") == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Walks the init containers up to the first that is not done; true if there is one.
    fn init_containers(&mut self, status: &Value, total: usize, sidecars: &[&str]) -> bool {
        for (index, container) in status.list("initContainerStatuses").iter().enumerate() {
            self.count_restarts(container);
            let state = container.at("state");
            let (terminated, waiting) = (state.at("terminated"), state.path(&["waiting", "reason"]).as_str().unwrap_or_default());
            if state.has("terminated") && terminated.int("exitCode").unwrap_or_default() == 0 {
                continue;
            }
            if sidecars.contains(&container.text("name")) && container.flag("started") {
                self.ready += usize::from(container.flag("ready"));
                continue;
            }
            self.reason = if state.has("terminated") {
                format!("Init:{}", ended(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{total}")
            };
            return true;
        }
        false
    }

    /// Once the init containers are done, only those count that go on beside the main containers.
    fn start_counting_anew(&mut self, status: &Value, sidecars: &[&str]) {
        (self.restarts, self.last_restart) = (0, None);
        for container in status.list("initContainerStatuses").iter().filter(|one| sidecars.contains(&one.text("name"))) {
            self.count_restarts(container);
        }
    }

    fn main_containers(&mut self, status: &Value) {
        let (mut running, mut error) = (false, None);
        for container in status.list("containerStatuses").iter().rev() {
            self.count_restarts(container);
            let state = container.at("state");
            let waiting = state.path(&["waiting", "reason"]).as_str().unwrap_or_default();
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if state.has("terminated") {
                self.reason = ended(state.at("terminated"));
                if state.at("terminated").int("exitCode").unwrap_or_default() != 0 {
                    error = Some(self.reason.clone());
                }
            } else if container.flag("ready") && state.has("running") {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && condition(status, "Ready") == Some("True") {
                self.reason = "Running".to_owned();
            } else if let Some(error) = error {
                self.reason = error;
            } else if running {
                self.reason = "NotReady".to_owned();
            }
        }
    }

    fn count_restarts(&mut self, container: &Value) {
        self.restarts += container.int("restartCount").unwrap_or_default();
        let ended = age::instant(container.path(&["lastState", "terminated", "finishedAt"]));
        self.last_restart = self.last_restart.max(ended);
    }

    fn restarts(&self, now: i64) -> String {
        match self.last_restart {
            Some(last) if self.restarts != 0 => format!("{} ({} ago)", self.restarts, age::since(&json!(last.to_string()), now)),
            _ => self.restarts.to_string(),
        }
    }
}

/// What the status says before any container is looked at.
fn first_reason(status: &Value) -> String {
    const GATED: &str = "SchedulingGated";
    let gated = status.list("conditions").iter().any(|one| one.text("type") == "PodScheduled" && one.text("reason") == GATED);
    match status.text("reason") {
        _ if gated => GATED.to_owned(),
        "" => status.text("phase").to_owned(),
        reason => reason.to_owned(),
    }
}

/// Why a container ended: its reason, signal or exit code.
fn ended(terminated: &Value) -> String {
    match (terminated.text("reason"), terminated.int("signal").unwrap_or_default()) {
        ("", 0) => format!("ExitCode:{}", terminated.int("exitCode").unwrap_or_default()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// The status of the first condition of a type.
fn condition<'v>(status: &'v Value, kind: &str) -> Option<&'v str> {
    status.list("conditions").iter().find(|one| one.text("type") == kind).map(|one| one.text("status"))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.at("spec").list("readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let met = gates.iter().filter(|gate| condition(pod.at("status"), gate.text("conditionType")) == Some("True")).count();
    format!("{met}/{}", gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(pod: &Value) -> Vec<String> {
        PODS.iter().skip(1).take(3).map(|column| (column.cell)(pod, 1_000_000_000).as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_pod_is_summed_up_as_the_real_printer_does() {
        let two = json!([{"name": "a"}, {"name": "b"}]);
        let sidecar = json!([{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]);
        let deleted = "2001-01-01T00:00:00Z";
        let cases = [
            ("nothing reported", json!({"spec": {"containers": two}, "status": {"phase": "Pending"}}), ["0/2", "Pending", "0"]),
            (
                "a reason wins over the phase",
                json!({"spec": {"containers": two}, "status": {"phase": "Failed", "reason": "Evicted"}}),
                ["0/2", "Evicted", "0"],
            ),
            (
                "gated",
                json!({"spec": {"containers": two}, "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}}),
                ["0/2", "SchedulingGated", "0"],
            ),
            (
                "one running, one crashing",
                json!({"spec": {"containers": two}, "status": {"phase": "Running", "containerStatuses": [
                    {"name": "a", "ready": true, "state": {"running": {}}},
                    {"name": "b", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                     "lastState": {"terminated": {"finishedAt": "2001-09-09T01:45:40Z"}}},
                ]}}),
                ["1/2", "CrashLoopBackOff", "4 (60s ago)"],
            ),
            (
                "one completed, one running and the pod ready",
                json!({"spec": {"containers": two}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                    {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                    {"name": "b", "ready": true, "state": {"running": {}}},
                ]}}),
                ["1/2", "Running", "0"],
            ),
            (
                "one completed, one failed",
                json!({"spec": {"containers": two}, "status": {"phase": "Failed", "containerStatuses": [
                    {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                    {"name": "b", "state": {"terminated": {"exitCode": 3}}},
                ]}}),
                ["0/2", "ExitCode:3", "0"],
            ),
            (
                "waiting for the second init container",
                json!({"spec": {"containers": two, "initContainers": [{"name": "i"}, {"name": "j"}]}, "status": {"phase": "Pending", "initContainerStatuses": [
                    {"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 0}}},
                    {"name": "j", "state": {"waiting": {"reason": "PodInitializing"}}},
                ]}}),
                ["0/2", "Init:1/2", "1"],
            ),
            (
                "an init container failed by a signal",
                json!({"spec": {"containers": two, "initContainers": [{"name": "i"}]}, "status": {"phase": "Pending", "initContainerStatuses": [
                    {"name": "i", "state": {"terminated": {"exitCode": 137, "signal": 9}}},
                ]}}),
                ["0/2", "Init:Signal:9", "0"],
            ),
            (
                "a sidecar counts as a container",
                json!({"spec": {"containers": two, "initContainers": sidecar}, "status": {"phase": "Running",
                    "initContainerStatuses": [
                        {"name": "s", "restartCount": 2, "started": true, "ready": true, "state": {"running": {}}},
                        {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
                    ],
                    "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}, {"name": "b", "ready": true, "state": {"running": {}}}],
                }}),
                ["3/3", "Running", "2"],
            ),
            (
                "being deleted",
                json!({"metadata": {"deletionTimestamp": deleted}, "spec": {"containers": two}, "status": {"phase": "Running"}}),
                ["0/2", "Terminating", "0"],
            ),
            (
                "deleted but done",
                json!({"metadata": {"deletionTimestamp": deleted}, "spec": {"containers": two}, "status": {"phase": "Succeeded"}}),
                ["0/2", "Succeeded", "0"],
            ),
            (
                "deleted on a lost node",
                json!({"metadata": {"deletionTimestamp": deleted}, "spec": {"containers": two}, "status": {"phase": "Running", "reason": "NodeLost"}}),
                ["0/2", "Unknown", "0"],
            ),
        ];
        for (what, pod, expected) in cases {
            assert_eq!(cells(&pod), expected, "{what}");
        }
    }

    #[test]
    fn readiness_gates_count_the_conditions_that_are_true() {
        let pod = json!({"spec": {"readinessGates": [{"conditionType": "A"}, {"conditionType": "B"}]}, "status": {"conditions": [{"type": "A", "status": "True"}]}});
        assert_eq!(readiness_gates(&pod), "1/2");
        assert_eq!(readiness_gates(&json!({})), "<none>");
    }
}
