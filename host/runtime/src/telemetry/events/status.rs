//! What happens when a resource is told what became of it.

use wharf_core::Reason;

/// The status of a resource was not written. It is tried again. Said of one for many.
#[derive(Debug)]
pub struct StatusNotWritten<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// `Forbidden` or `ServerUnavailable`.
    pub reason: Reason,
    /// What came back.
    pub error: &'a str,
}

impl StatusNotWritten<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { plugin, reason, error } = *self;
        let hint = match reason {
            Reason::Forbidden => "the host needs patch of plugins/status: `wharf rbac --cluster-plugins` prints the role",
            other => other.hint(),
        };
        tracing::warn!(target: "wharf::plugin", plugin, %reason, error, hint, "status not written");
    }
}
