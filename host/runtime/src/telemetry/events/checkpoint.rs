//! What becomes of checkpoints: taken up, set aside, full, or not written.

use std::path::Path;

use wharf_core::Reason;

use crate::telemetry::metrics::Metrics;

/// A plugin goes on where an earlier host left it.
#[derive(Debug)]
pub struct PluginResumed<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Objects that it was told of and that are as they were: no call.
    pub unchanged: usize,
    /// Objects that changed or went while no host ran.
    pub changed: usize,
    /// Objects that wait for a time, failed or are parked.
    pub open: usize,
    /// Objects that its subscriptions do not cover any more.
    pub dropped: usize,
    /// Objects that a new revision is told of once more.
    pub replayed: usize,
}

impl PluginResumed<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { plugin, unchanged, changed, open, dropped, replayed } = *self;
        tracing::info!(target: "wharf::plugin", plugin, unchanged, changed, open, dropped, replayed, "plugin taken up from its checkpoint");
    }
}

/// A checkpoint file cannot be read and was renamed: everything is new to every plugin.
#[derive(Debug)]
pub struct CheckpointSetAside<'a> {
    /// What is wrong with it.
    pub error: &'a str,
    /// The data folder.
    pub directory: &'a Path,
}

impl CheckpointSetAside<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.checkpoint_set_aside();
        tracing::warn!(
            target: "wharf::host",
            reason = Reason::CheckpointUnusable.as_str(),
            error = self.error,
            data = %self.directory.display(),
            "checkpoint set aside, every plugin is told of everything anew"
        );
    }
}

/// What plugins were told cannot be written down or read. The host goes on.
#[derive(Debug)]
pub struct CheckpointFailed<'a> {
    /// Why.
    pub error: &'a str,
    /// Whether it worked before: it is said once.
    pub first: bool,
}

impl CheckpointFailed<'_> {
    /// Logs, the first time, and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.checkpoint_failed();
        if self.first {
            let (reason, hint) = (Reason::CheckpointUnusable.as_str(), Reason::CheckpointUnusable.hint());
            tracing::warn!(target: "wharf::host", reason, error = self.error, hint, "checkpoint not written");
        }
    }
}

/// There is no room for more keys.
#[derive(Debug)]
pub struct CheckpointFull {
    /// Keys that are kept.
    pub keys: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl CheckpointFull {
    /// Logs.
    pub fn emit(&self) {
        let hint = "raise checkpoint.maxBytes: objects that there is no room for are new to the next host";
        let (keys, bytes) = (self.keys, self.bytes);
        tracing::warn!(target: "wharf::host", reason = Reason::CheckpointUnusable.as_str(), keys, bytes, hint, "checkpoint full");
    }
}

/// The leader before has the checkpoint open although its lease has run out. This host goes on
/// with a copy.
#[derive(Debug)]
pub struct CheckpointTakenOver<'a> {
    /// The checkpoint's folder.
    pub folder: &'a Path,
    /// What opening it came to.
    pub error: &'a str,
}

impl CheckpointTakenOver<'_> {
    /// Logs.
    pub fn emit(&self) {
        let (folder, error) = (self.folder.display(), self.error);
        tracing::warn!(target: "wharf::host", %folder, error, "checkpoint taken over from a leader that has not ended");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telemetry::logging::capture;

    #[test]
    fn failures_are_counted_each_and_said_once() {
        let metrics = Metrics::new();
        let lines = capture(|| {
            CheckpointFailed { error: "no space left", first: true }.emit(&metrics);
            CheckpointFailed { error: "no space left", first: false }.emit(&metrics);
            CheckpointSetAside { error: "damaged", directory: Path::new("/d") }.emit(&metrics);
            CheckpointFull { keys: 3, bytes: 9 }.emit();
            CheckpointTakenOver { folder: Path::new("/c"), error: "in use" }.emit();
            PluginResumed { plugin: "a/p", unchanged: 5, changed: 1, open: 2, dropped: 0, replayed: 0 }.emit();
        });
        let messages: Vec<_> = lines.iter().map(|line| line["message"].clone()).collect();
        assert_eq!(
            messages,
            [
                json!("checkpoint not written"),
                json!("checkpoint set aside, every plugin is told of everything anew"),
                json!("checkpoint full"),
                json!("checkpoint taken over from a leader that has not ended"),
                json!("plugin taken up from its checkpoint")
            ]
        );
        assert_eq!(
            (&lines[0]["reason"], &lines[1]["data"], &lines[4]["unchanged"]),
            (&json!("CheckpointUnusable"), &json!("/d"), &json!(5))
        );
        let text = metrics.encode().unwrap();
        assert!(text.contains("wharf_checkpoint_failures_total 2") && text.contains("wharf_checkpoint_set_aside_total 1"), "{text}");
    }
}
