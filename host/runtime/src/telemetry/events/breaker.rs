//! A plugin's circuit breaker opens, tries a call, and closes.

use std::time::Duration;

use wharf_core::Reason;

use crate::telemetry::metrics::Metrics;

/// So many calls struck that the plugin is not called for a while.
#[derive(Debug)]
pub struct BreakerOpened<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// How the last strike ended.
    pub last: Reason,
    /// For how long no call is made.
    pub wait: Duration,
}

impl BreakerOpened<'_> {
    /// Logs and counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.breaker_opened(self.plugin);
        let (reason, last) = (Reason::BreakerOpen, self.last.as_str());
        let wait_ms = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(target: "wharf::plugin", plugin = self.plugin, %reason, last, wait_ms, hint = reason.hint(), "circuit breaker opened");
    }
}

/// The time is over: one call is tried.
#[derive(Debug)]
pub struct BreakerTries<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
}

impl BreakerTries<'_> {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::plugin", plugin = self.plugin, "circuit breaker tries a call");
    }
}

/// The plugin is called again.
#[derive(Debug)]
pub struct BreakerClosed<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
}

impl BreakerClosed<'_> {
    /// Logs.
    pub fn emit(&self) {
        tracing::info!(target: "wharf::plugin", plugin = self.plugin, "circuit breaker closed");
    }
}
