//! The life of the host, and what its own work outside of plugins runs into.

use std::time::Duration;

use wharf_core::Gvk;

use crate::telemetry::metrics::{Metrics, kind_label};

/// The host serves: its first plugins were read, and their informers are settled.
#[derive(Debug)]
pub struct HostReady {
    /// Plugins that serve.
    pub plugins: usize,
    /// From the start of the process.
    pub duration: Duration,
}

impl HostReady {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::host", plugins = self.plugins, duration_ms = milliseconds(self.duration), "host ready");
    }
}

/// The host was asked to stop and drains.
#[derive(Debug)]
pub struct HostStopping<'a> {
    /// What asked, for example `SIGTERM`.
    pub cause: &'a str,
    /// How long calls may go on.
    pub deadline: Duration,
}

impl HostStopping<'_> {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::host", cause = self.cause, deadline_ms = milliseconds(self.deadline), "host stopping");
    }
}

/// The host has stopped; the process ends.
#[derive(Debug)]
pub struct HostStopped {
    /// Calls that did not end by themselves.
    pub cancelled: usize,
    /// Time of the draining.
    pub duration: Duration,
}

impl HostStopped {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::host", cancelled = self.cancelled, duration_ms = milliseconds(self.duration), "host stopped");
    }
}

/// A Kubernetes Event that a plugin asked for was not written. Said at most every ten
/// seconds per plugin.
#[derive(Debug)]
pub struct EventWriteFailed<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// The kind that the Event is about.
    pub kind: &'a Gvk,
    /// The Event's reason.
    pub event_reason: &'a str,
    /// Why it was not written.
    pub error: &'a str,
}

impl EventWriteFailed<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.event(self.plugin, "failed");
        let Some(held_back) = metrics.warning(self.plugin, "EventWriteFailed") else { return };
        tracing::warn!(
            target: "wharf::plugin",
            plugin = self.plugin,
            kind = &*kind_label(self.kind),
            event_reason = self.event_reason,
            error = self.error,
            held_back,
            "Event not written"
        );
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telemetry::logging::capture;

    #[test]
    fn host_lines() {
        let lines = capture(|| {
            HostReady { plugins: 3, duration: Duration::from_millis(900) }.emit();
            HostStopping { cause: "SIGTERM", deadline: Duration::from_secs(25) }.emit();
            HostStopped { cancelled: 0, duration: Duration::from_millis(12) }.emit();
        });
        let told: Vec<_> = lines.iter().map(|line| (line["target"].clone(), line["message"].clone())).collect();
        let of_host = |message: &str| (json!("wharf::host"), json!(message));
        assert_eq!(told, [of_host("host ready"), of_host("host stopping"), of_host("host stopped")]);
        assert_eq!((&lines[0]["plugins"], &lines[1]["deadline_ms"], &lines[2]["duration_ms"]), (&json!(3), &json!(25_000), &json!(12)));
    }

    #[test]
    fn unwritten_events_are_counted_each_and_said_once() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let kind = Gvk::new("", "v1", "ConfigMap");
        let failed = EventWriteFailed { plugin: "team-a/guard", kind: &kind, event_reason: "LabelMissing", error: "403" };
        assert_eq!(capture(|| (0..3).for_each(|_| failed.emit(&metrics))).len(), 1);
        assert!(metrics.encode().unwrap().contains(r#"wharf_kubernetes_events_total{plugin="team-a/guard",result="failed"} 3"#));
    }
}
