//! The life of a plugin: serving, refused, removed, denied something.

use std::time::Duration;

use wharf_core::Reason;

use crate::telemetry::metrics::Metrics;

/// A revision of a plugin went into service.
#[derive(Debug)]
pub struct PluginServing<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Short name of the revision.
    pub revision: &'a str,
    /// `sha256:…` of its component.
    pub digest: &'a str,
    /// From the wish to serving.
    pub duration: Duration,
    /// Whether it took the place of another revision.
    pub swapped: bool,
}

impl PluginServing<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.serving(self.plugin, self.revision, self.digest);
        tracing::info!(
            target: "wharf::plugin",
            plugin = self.plugin,
            revision = self.revision,
            digest = self.digest,
            duration_ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            swapped = self.swapped,
            "plugin revision serving"
        );
    }
}

/// A plugin is told of nothing for a while, or is told of things again.
#[derive(Debug)]
pub struct PluginHeld<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// The message: `plugin suspended`, `plugin paused` or `plugin resumed`.
    pub how: &'static str,
}

impl PluginHeld<'_> {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::plugin", plugin = self.plugin, "{}", self.how);
    }
}

/// A revision of a plugin is withdrawn, and one that served before comes back.
#[derive(Debug)]
pub struct PluginWithdrawn<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Number of the revision.
    pub number: u64,
    /// Number of the one that comes back.
    pub back_to: u64,
    /// Why.
    pub why: &'a str,
}

impl PluginWithdrawn<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.withdrawn(self.plugin);
        tracing::error!(
            target: "wharf::plugin",
            plugin = self.plugin,
            reason = Reason::RolledBack.as_str(),
            revision = self.number,
            back_to = self.back_to,
            error = self.why,
            "plugin revision withdrawn"
        );
    }
}

/// A revision of a plugin was refused; what served before goes on.
#[derive(Debug)]
pub struct PluginRefused<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Why.
    pub reason: Reason,
    /// What is wrong, in detail.
    pub error: &'a str,
    /// What to do; the reason's own hint if empty.
    pub hint: &'a str,
    /// Whether an earlier revision goes on serving.
    pub serving: bool,
}

impl PluginRefused<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.refused(self.plugin);
        tracing::error!(
            target: "wharf::plugin",
            plugin = self.plugin,
            reason = self.reason.as_str(),
            error = self.error,
            hint = if self.hint.is_empty() { self.reason.hint() } else { self.hint },
            serving = self.serving,
            "plugin revision refused"
        );
    }
}

/// A plugin is gone from its source, and its calls have ended.
#[derive(Debug)]
pub struct PluginRemoved<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// How long it took until nothing of it ran any more.
    pub duration: Duration,
    /// Calls that did not end in time.
    pub cancelled: usize,
}

impl PluginRemoved<'_> {
    /// Logs, and removes the plugin's series.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remove_plugin(self.plugin);
        let drain_ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(target: "wharf::plugin", plugin = self.plugin, drain_ms, cancelled = self.cancelled, "plugin removed");
    }
}

/// A guest used something that its plugin was not granted. Said at most every ten seconds
/// per plugin and capability.
#[derive(Debug)]
pub struct GrantDenied<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// The function, for example `cluster.apply`.
    pub capability: &'static str,
    /// What it was to be used on.
    pub what: &'a str,
    /// The grant to add, in the document's own syntax.
    pub hint: &'a str,
}

impl GrantDenied<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.host_call(self.plugin, self.capability, "not-granted");
        let Some(held_back) = metrics.warning(self.plugin, self.capability) else { return };
        tracing::warn!(
            target: "wharf::plugin",
            plugin = self.plugin,
            capability = self.capability,
            what = self.what,
            reason = Reason::GrantMissing.as_str(),
            hint = self.hint,
            held_back,
            "guest denied"
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telemetry::logging::capture;

    const PLUGIN: &str = "team-a/guard";

    fn serving(metrics: &Metrics, revision: &str, swapped: bool) {
        let duration = Duration::from_millis(42);
        PluginServing { plugin: PLUGIN, revision, digest: "sha256:abc", duration, swapped }.emit(metrics);
    }

    #[test]
    fn a_life_in_lines_and_numbers() {
        let metrics = Metrics::new();
        let mut lines = capture(|| {
            serving(&metrics, "1-abc", false);
            PluginRefused { plugin: PLUGIN, reason: Reason::ComponentInvalid, error: "not a component", hint: "", serving: true }
                .emit(&metrics);
        });
        for line in &mut lines {
            line.as_object_mut().unwrap().remove("timestamp").unwrap();
        }
        assert_eq!(
            lines,
            [
                json!({
                    "level": "info", "target": "wharf::plugin", "message": "plugin revision serving", "plugin": PLUGIN, "revision": "1-abc",
                    "digest": "sha256:abc", "duration_ms": 42, "swapped": false,
                }),
                json!({
                    "level": "error", "target": "wharf::plugin", "message": "plugin revision refused", "plugin": PLUGIN,
                    "reason": "ComponentInvalid", "error": "not a component", "hint": Reason::ComponentInvalid.hint(), "serving": true,
                }),
            ]
        );
        let text = metrics.encode().unwrap();
        for line in [
            r#"wharf_plugin_info{plugin="team-a/guard",revision="1-abc",digest="sha256:abc"} 1"#,
            r#"wharf_plugin_ready{plugin="team-a/guard"} 0"#,
            r#"wharf_reloads_total{plugin="team-a/guard",result="refused"} 1"#,
            r#"wharf_reloads_total{plugin="team-a/guard",result="success"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn one_revision_is_shown_and_none_after_removal() {
        let metrics = Metrics::new();
        serving(&metrics, "1-abc", false);
        serving(&metrics, "2-def", true);
        let text = metrics.encode().unwrap();
        assert!(text.contains("2-def") && !text.contains("1-abc"), "{text}");
        let lines = capture(|| PluginRemoved { plugin: PLUGIN, duration: Duration::from_millis(7), cancelled: 1 }.emit(&metrics));
        assert_eq!((&lines[0]["message"], &lines[0]["plugin"]), (&json!("plugin removed"), &json!(PLUGIN)));
        assert_eq!((&lines[0]["drain_ms"], &lines[0]["cancelled"]), (&json!(7), &json!(1)));
        assert!(!metrics.encode().unwrap().contains(PLUGIN));
    }

    #[test]
    fn denials_are_counted_each_and_said_once() {
        let metrics = Metrics::new();
        metrics.add_plugin(PLUGIN);
        let hint = "add to spec.grants: cluster: {apiVersion: v1, kind: Secret, verbs: [get]}";
        let denied = GrantDenied { plugin: PLUGIN, capability: "cluster.get", what: "v1 Secret", hint };
        let lines = capture(|| (0..3).for_each(|_| denied.emit(&metrics)));
        assert_eq!(lines.len(), 1);
        assert_eq!((&lines[0]["reason"], &lines[0]["hint"]), (&json!("GrantMissing"), &json!(hint)));
        let series = r#"wharf_guest_host_calls_total{plugin="team-a/guard",capability="cluster.get",result="not-granted"} 3"#;
        assert!(metrics.encode().unwrap().contains(series));
    }
}
