//! The end of a guest call: one debug line per call, and a warning, at most every ten
//! seconds per plugin and reason, when calls fail.

use std::time::Duration;

use wharf_core::{Cause, Delivery, Failure, Outcome, Reason};
use wharf_engine::{CallReport, Requests};

use crate::telemetry::line::cut;
use crate::telemetry::metrics::{CallCount, CallResult, Metrics, kind_label};

/// Longest detail of a failure in a line, in bytes.
const MAX_DETAIL: usize = 4 << 10;
/// Longest reason of a failure in a line, in bytes.
const MAX_REASON: usize = 64;

/// A guest call ended.
#[derive(Debug)]
pub struct CallFinished<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Short name of the revision that was called.
    pub revision: &'a str,
    /// What it was told.
    pub delivery: &'a Delivery,
    /// How it ended and what it cost.
    pub report: &'a CallReport,
    /// The key waits for a change now.
    pub parked: bool,
}

/// What a report says, in words.
struct Ending<'a> {
    result: CallResult,
    reason: &'a str,
    detail: &'a str,
    after: Option<Duration>,
}

impl CallFinished<'_> {
    /// Logs and counts. `label_of` maps a failure's reason to itself if the plugin declared
    /// it, and to `Other` if not, so that a guest cannot invent series.
    pub fn emit(&self, metrics: &Metrics, label_of: impl for<'r> FnOnce(&'r str) -> &'r str) {
        let ending = ending(self.report);
        let failure = matches!(ending.result, CallResult::Retry | CallResult::Permanent).then(|| label_of(ending.reason));
        metrics.call(
            self.plugin,
            &CallCount {
                kind: &self.delivery.kind,
                event: self.delivery.event,
                result: ending.result,
                failure,
                duration: self.report.wall,
                cpu: self.report.cpu,
                waited_instance: self.report.waited_instance,
                waited_turns: self.report.waited_turns,
                peak_memory: Some(self.report.peak_memory),
                log_dropped: self.report.log_dropped,
                lag: (self.delivery.cause == Cause::Watch).then_some(self.delivery.queued),
                parked: self.parked,
            },
        );
        self.line(&ending);
        if !matches!(ending.result, CallResult::Done | CallResult::RequeueAfter | CallResult::Strike(Reason::Cancelled)) {
            self.warn(metrics, &ending, failure);
        }
    }

    fn line(&self, ending: &Ending<'_>) {
        let delivery = self.delivery;
        tracing::debug!(
            target: "wharf::call",
            plugin = self.plugin,
            revision = self.revision,
            event = delivery.event.as_str(),
            kind = &*delivery.kind.kind,
            group = &*delivery.kind.group,
            namespace = delivery.key.namespace.as_deref().unwrap_or_default(),
            name = &*delivery.key.name,
            uid = &*delivery.uid,
            resource_version = delivery.current.as_ref().map_or("", |object| object.resource_version()),
            subscription = &*delivery.subscription,
            cause = delivery.cause.as_str(),
            attempt = delivery.attempt,
            removal = delivery.removal.as_str(),
            final_state_unknown = delivery.final_state_unknown,
            outcome = ending.result.as_str(),
            reason = &*cut(ending.reason, MAX_REASON),
            detail = &*cut(ending.detail, MAX_DETAIL),
            after_ms = ending.after.map(milliseconds),
            parked = self.parked,
            queued_ms = milliseconds(delivery.queued),
            duration_ms = milliseconds(self.report.wall),
            cpu_ms = milliseconds(self.report.cpu),
            own_ms = milliseconds(self.report.own),
            waited_answers_ms = milliseconds(self.report.activity.waited),
            waited_instance_ms = milliseconds(self.report.waited_instance),
            waited_turns_ms = milliseconds(self.report.waited_turns),
            peak_memory_bytes = self.report.peak_memory,
            host_calls = %self.report.activity,
            requests = %Requests(&self.report.activity),
            log_lines = self.report.log_lines,
            log_dropped = self.report.log_dropped,
            reused = self.report.reused,
            "guest call finished"
        );
    }

    fn warn(&self, metrics: &Metrics, ending: &Ending<'_>, failure: Option<&str>) {
        let topic = failure.unwrap_or(ending.reason);
        let Some(held_back) = metrics.warning(self.plugin, topic) else { return };
        let hint = match ending.result {
            CallResult::Strike(reason) => reason.hint(),
            _ if self.parked => "the key is parked until its object changes",
            _ => "",
        };
        tracing::warn!(
            target: "wharf::plugin",
            plugin = self.plugin,
            revision = self.revision,
            event = self.delivery.event.as_str(),
            kind = &*kind_label(&self.delivery.kind),
            namespace = self.delivery.key.namespace.as_deref().unwrap_or_default(),
            name = &*self.delivery.key.name,
            outcome = ending.result.as_str(),
            reason = &*cut(ending.reason, MAX_REASON),
            error = &*cut(ending.detail, MAX_DETAIL),
            hint,
            attempt = self.delivery.attempt,
            parked = self.parked,
            held_back,
            "guest calls fail"
        );
    }
}

fn ending(report: &CallReport) -> Ending<'_> {
    let of = |result, reason, detail, after| Ending { result, reason, detail, after };
    match &report.result {
        Ok(Ok(Outcome::Done)) => of(CallResult::Done, "", "", None),
        Ok(Ok(Outcome::RequeueAfter(after))) => of(CallResult::RequeueAfter, "", "", Some(*after)),
        Ok(Err(Failure::Retry(fault))) => of(CallResult::Retry, &fault.reason, &fault.message, fault.retry_after),
        Ok(Err(Failure::Permanent(fault))) => of(CallResult::Permanent, &fault.reason, &fault.message, None),
        // The server did not answer in time: tried again, and no strike of the guest's.
        Err(strike) if strike.reason.is_excused() => of(CallResult::Retry, strike.reason.as_str(), &strike.message, None),
        Err(strike) => of(CallResult::Strike(strike.reason), strike.reason.as_str(), &strike.message, None),
    }
}

/// Milliseconds with three decimals.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use wharf_core::{Event, Fault, Gvk, Object, ObjectKey, Removal, Strike};
    use wharf_engine::Activity;

    use super::*;
    use crate::telemetry::logging::capture;

    fn delivery() -> Delivery {
        let kind = Gvk::new("", "v1", "ConfigMap");
        let text = r#"{"metadata":{"namespace":"team-a","name":"secret-name","uid":"u1","resourceVersion":"7"}}"#;
        Delivery {
            event: Event::Update,
            current: Some(Arc::new(Object::parse(text, &kind).unwrap())),
            kind: Arc::new(kind),
            key: ObjectKey::new("team-a", "secret-name"),
            uid: "u1".into(),
            subscription: "main".into(),
            removal: Removal::None,
            final_state_unknown: false,
            cause: Cause::Watch,
            attempt: 2,
            queued: Duration::from_micros(1500),
            previous: None,
        }
    }

    fn report(result: Result<Result<Outcome, Failure>, Strike>) -> CallReport {
        CallReport {
            result,
            wall: Duration::from_millis(12),
            cpu: Duration::from_millis(3),
            own: Duration::from_millis(4),
            peak_memory: 1 << 20,
            activity: Activity::default(),
            log_lines: 1,
            log_dropped: 0,
            reused: false,
            waited_instance: Duration::ZERO,
            waited_turns: Duration::ZERO,
            core_dump: None,
        }
    }

    fn fault(reason: &str) -> Fault {
        Fault { reason: reason.to_owned(), message: "no such owner\nin team-a".to_owned(), retry_after: None }
    }

    fn emit(metrics: &Metrics, report: &CallReport, parked: bool) -> Vec<Value> {
        let delivery = delivery();
        let finished = CallFinished { plugin: "team-a/guard", revision: "1-abc", delivery: &delivery, report, parked };
        capture(|| finished.emit(metrics, |reason| if reason == "OwnerMissing" { "OwnerMissing" } else { "Other" }))
    }

    #[test]
    fn one_debug_line_with_the_agreed_fields() {
        let metrics = Metrics::new();
        let lines = emit(&metrics, &report(Ok(Ok(Outcome::Done))), false);
        assert_eq!(lines.len(), 1);
        let mut line = lines[0].clone();
        line.as_object_mut().unwrap().remove("timestamp").unwrap();
        let expected = json!({
            "level": "debug", "target": "wharf::call", "message": "guest call finished", "plugin": "team-a/guard", "revision": "1-abc",
            "event": "update", "kind": "ConfigMap", "group": "", "namespace": "team-a", "name": "secret-name", "uid": "u1",
            "resource_version": "7", "subscription": "main", "cause": "watch", "attempt": 2, "removal": "none",
            "final_state_unknown": false, "outcome": "done", "reason": "", "detail": "", "parked": false, "queued_ms": 1.5,
            "duration_ms": 12, "cpu_ms": 3, "own_ms": 4, "waited_answers_ms": 0, "waited_instance_ms": 0, "waited_turns_ms": 0,
            "peak_memory_bytes": 1 << 20, "host_calls": "", "requests": "", "log_lines": 1, "log_dropped": 0, "reused": false,
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn cc10_counts_by_bounded_labels_only() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let strike = |reason| report(Err(Strike { reason, message: String::new() }));
        for report in [
            report(Ok(Ok(Outcome::Done))),
            report(Ok(Ok(Outcome::RequeueAfter(Duration::from_secs(1))))),
            report(Ok(Err(Failure::Retry(fault("OwnerMissing"))))),
            report(Ok(Err(Failure::Permanent(fault("invented-by-the-guest"))))),
            strike(Reason::Trap),
            strike(Reason::DeadlineExceeded),
            strike(Reason::Cancelled),
        ] {
            emit(&metrics, &report, false);
        }
        let text = metrics.encode().unwrap();
        for line in [
            r#"wharf_guest_calls_total{plugin="team-a/guard",kind="ConfigMap",event="update",result="done"} 1"#,
            r#"wharf_guest_calls_total{plugin="team-a/guard",kind="ConfigMap",event="update",result="strike"} 3"#,
            r#"wharf_guest_traps_total{plugin="team-a/guard",reason="Trap"} 1"#,
            r#"wharf_guest_traps_total{plugin="team-a/guard",reason="HostError"} 0"#,
            r#"wharf_guest_failures_total{plugin="team-a/guard",reason="OwnerMissing"} 1"#,
            r#"wharf_guest_failures_total{plugin="team-a/guard",reason="Other"} 1"#,
            r#"controller_runtime_reconcile_total{controller="team-a/guard",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="team-a/guard",result="requeue_after"} 1"#,
            r#"controller_runtime_reconcile_total{controller="team-a/guard",result="requeue"} 1"#,
            r#"controller_runtime_reconcile_total{controller="team-a/guard",result="error"} 4"#,
            r#"controller_runtime_reconcile_errors_total{controller="team-a/guard"} 4"#,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="team-a/guard"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="team-a/guard"} 1"#,
            r#"controller_runtime_reconcile_timeouts_total{controller="team-a/guard"} 1"#,
            r#"wharf_event_lag_seconds_count{plugin="team-a/guard"} 7"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("secret-name") && !text.contains("invented"), "{text}");
    }

    #[test]
    fn parkings_are_counted_by_reason() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let permanent = |reason| report(Ok(Err(Failure::Permanent(fault(reason)))));
        let trap = report(Err(Strike { reason: Reason::Trap, message: "unreachable".to_owned() }));
        for (report, parked) in [(permanent("OwnerMissing"), true), (permanent("invented"), true), (trap.clone(), false), (trap, true)] {
            emit(&metrics, &report, parked);
        }
        let text = metrics.encode().unwrap();
        for (reason, count) in [("OwnerMissing", 1), ("Other", 1), ("Trap", 1), ("CpuExceeded", 0)] {
            let line = format!(r#"wharf_parkings_total{{plugin="team-a/guard",reason="{reason}"}} {count}"#);
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn failing_calls_warn_once_per_reason() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let failing = report(Ok(Err(Failure::Permanent(fault("OwnerMissing")))));
        let warnings = |report: &CallReport| {
            let lines = emit(&metrics, report, true);
            lines.into_iter().filter(|line| line["level"] == "warn").collect::<Vec<_>>()
        };
        let first = warnings(&failing);
        assert_eq!(first.len(), 1);
        assert_eq!((&first[0]["message"], &first[0]["reason"]), (&json!("guest calls fail"), &json!("OwnerMissing")));
        assert_eq!(first[0]["hint"], "the key is parked until its object changes");
        assert!(warnings(&failing).is_empty(), "not again so soon");
        let strike = report(Err(Strike { reason: Reason::Trap, message: "unreachable".to_owned() }));
        assert_eq!(warnings(&strike)[0]["hint"], Reason::Trap.hint());
        assert!(warnings(&report(Err(Strike { reason: Reason::Cancelled, message: String::new() }))).is_empty());
    }

    #[test]
    fn a_plugin_that_is_gone_gets_no_series() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        metrics.remove_plugin("team-a/guard");
        emit(&metrics, &report(Ok(Ok(Outcome::Done))), false);
        assert!(!metrics.encode().unwrap().contains("team-a/guard"));
    }
}
