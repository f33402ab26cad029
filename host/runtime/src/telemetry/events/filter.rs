//! What became of changes that filters were asked about: a debug line for one that was dropped,
//! and a warning, at most every ten seconds per plugin and subscription, when a filter cannot be
//! evaluated.

use wharf_core::{Dropped, TargetKey};

use crate::telemetry::line::cut;
use crate::telemetry::metrics::{Metrics, kind_label};

/// Longest expression or error in a line, in bytes.
const MAX_TEXT: usize = 512;

/// A change was dropped.
#[derive(Debug)]
pub struct ChangeDropped<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// The object that changed.
    pub key: &'a TargetKey,
    /// By which filter.
    pub by: Dropped,
}

impl ChangeDropped<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.dropped(self.plugin, self.by);
        let TargetKey::Object { kind, key } = self.key else { return };
        tracing::debug!(
            target: "wharf::call",
            plugin = self.plugin,
            kind = &*kind_label(kind),
            namespace = key.namespace.as_deref().unwrap_or_default(),
            name = &*key.name,
            filter = self.by.as_str(),
            "change dropped"
        );
    }
}

/// An expression could not be evaluated; the change was delivered.
#[derive(Debug)]
pub struct FilterFailed<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Whose filter it is.
    pub subscription: &'a str,
    /// The object that changed.
    pub key: &'a TargetKey,
    /// The expression.
    pub expression: &'a str,
    /// Why it has no answer.
    pub error: &'a str,
}

impl FilterFailed<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.filter_failed(self.plugin);
        let Some(held_back) = metrics.warning(self.plugin, &format!("filter {}", self.subscription)) else { return };
        let TargetKey::Object { kind, key } = self.key else { return };
        tracing::warn!(
            target: "wharf::plugin",
            plugin = self.plugin,
            subscription = self.subscription,
            kind = &*kind_label(kind),
            namespace = key.namespace.as_deref().unwrap_or_default(),
            name = &*key.name,
            filter = &*cut(self.expression, MAX_TEXT),
            error = &*cut(self.error, MAX_TEXT),
            hint = "the change was delivered; let the filter ask has() or old == null first",
            held_back,
            "a filter cannot be evaluated"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use wharf_core::{Gvk, ObjectKey};

    use super::*;
    use crate::telemetry::logging::capture;

    fn key() -> TargetKey {
        TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("team-a", "x"))
    }

    #[test]
    fn dropped_changes_are_counted_by_filter() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let lines = capture(|| ChangeDropped { plugin: "team-a/guard", key: &key(), by: Dropped::OwnWrite }.emit(&metrics));
        assert_eq!((&lines[0]["message"], &lines[0]["filter"]), (&json!("change dropped"), &json!("ignoreOwnWrites")));
        let text = metrics.encode().unwrap();
        assert!(text.contains(r#"wharf_changes_dropped_total{plugin="team-a/guard",filter="ignoreOwnWrites"} 1"#), "{text}");
        assert!(text.contains(r#"wharf_changes_dropped_total{plugin="team-a/guard",filter="events"} 0"#), "{text}");
    }

    #[test]
    fn a_failing_filter_is_counted_each_time_and_said_once() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let failed = FilterFailed {
            plugin: "team-a/guard",
            subscription: "main",
            key: &key(),
            expression: "old.x == 1",
            error: "there is no field /x",
        };
        let lines = capture(|| (0..3).for_each(|_| failed.emit(&metrics)));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["error"], "there is no field /x");
        assert!(metrics.encode().unwrap().contains(r#"wharf_filter_errors_total{plugin="team-a/guard"} 3"#));
    }
}
