//! The last failed calls of one plugin with what they were told, so that they can be made again at
//! a desk. Owns which are kept, and what of Secrets; never asks why a call failed, and nothing is
//! decided by what is here.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use wharf_core::trim::Trim;
use wharf_core::{Delivery, Gvk, Object, Reason, TargetKey};
use wharf_engine::CallReport;

use super::dispatcher::Dispatcher;

/// Bytes of the objects of one call; of larger ones only the sizes are kept.
const MAX_INPUT: usize = 256 << 10;
/// What a call costs beside its objects and its message.
const OWN_BYTES: usize = 2 << 10;

static REDACTED: LazyLock<Trim> = LazyLock::new(|| Trim::new(&[], true));

/// What of failed calls is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepFailed {
    /// So many calls of each plugin, the newest of each key; 0: none.
    pub calls: usize,
    /// Most bytes of all of them.
    pub bytes: usize,
    /// The values of Secrets too.
    pub secret_data: bool,
}

/// A call that failed.
#[derive(Debug)]
pub struct FailedCall {
    /// When it ended, since the host's start.
    pub at: Duration,
    /// Short name of the revision.
    pub revision: Arc<str>,
    /// What it was told. Without the states of the object if they were too large.
    pub delivery: Delivery,
    /// So many bytes were too large.
    pub too_large: Option<usize>,
    /// The object is a Secret, and its values were left out.
    pub redacted: bool,
    /// How it ended, and what it did.
    pub report: CallReport,
}

impl FailedCall {
    /// Which key it was for.
    pub fn key(&self) -> TargetKey {
        TargetKey::Object { kind: Arc::clone(&self.delivery.kind), key: self.delivery.key.clone() }
    }

    fn is_of(&self, other: &Self) -> bool {
        self.delivery.key == other.delivery.key && self.delivery.kind == other.delivery.kind
    }

    fn bytes(&self) -> usize {
        input_bytes(&self.delivery).saturating_add(message(&self.report).len()).saturating_add(OWN_BYTES)
    }
}

/// The failed calls that are kept of a plugin, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<VecDeque<Arc<FailedCall>>>);

impl Kept {
    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.0.lock().iter().map(|call| call.bytes()).sum()
    }

    /// Of each key the newest one, of all as many as there is room for.
    fn push(&self, limits: &KeepFailed, call: FailedCall) {
        let mut kept = self.0.lock();
        kept.retain(|old| !old.is_of(&call));
        kept.push_back(Arc::new(call));
        let mut bytes = kept.iter().fold(0_usize, |all, call| all.saturating_add(call.bytes()));
        while kept.len() > limits.calls || bytes > limits.bytes {
            let Some(oldest) = kept.pop_front() else { break };
            bytes = bytes.saturating_sub(oldest.bytes());
        }
    }
}

impl Dispatcher {
    /// The failed calls that are kept, the newest first.
    pub fn failed_calls(&self) -> Vec<Arc<FailedCall>> {
        self.kept.0.lock().iter().rev().cloned().collect()
    }

    /// A call ended; keeps it if it failed. That the host gave it up is no failure.
    pub(super) fn keep_failed(&self, revision: &Arc<str>, delivery: &Delivery, report: &CallReport) {
        let limits = &self.shared.keep_failed;
        let failed = match &report.result {
            Ok(answer) => answer.is_err(),
            Err(strike) => strike.reason != Reason::Cancelled,
        };
        if failed && limits.calls > 0 {
            self.kept.push(limits, failed_call(limits, self.shared.clock.now(), revision, delivery, report));
        }
    }
}

fn failed_call(limits: &KeepFailed, at: Duration, revision: &Arc<str>, delivery: &Delivery, report: &CallReport) -> FailedCall {
    let mut delivery = delivery.clone();
    let bytes = input_bytes(&delivery);
    let room = limits.bytes.saturating_sub(OWN_BYTES).saturating_sub(message(report).len());
    let too_large = (bytes > room.min(MAX_INPUT)).then_some(bytes);
    let redacted = is_secret(&delivery.kind) && !limits.secret_data;
    for state in [&mut delivery.current, &mut delivery.previous] {
        if too_large.is_some() {
            *state = None;
        } else if redacted {
            // What cannot be redacted is not kept.
            *state = state.take().and_then(|object| Object::parse_trimmed(object.json(), &delivery.kind, &REDACTED).ok()).map(Arc::new);
        }
    }
    FailedCall { at, revision: Arc::clone(revision), delivery, too_large, redacted, report: report.clone() }
}

/// The objects are those of the store, or were until they changed: to keep one here keeps its bytes.
fn input_bytes(delivery: &Delivery) -> usize {
    let of = |object: &Option<Arc<Object>>| object.as_ref().map_or(0, |object| object.json().len());
    of(&delivery.current).saturating_add(of(&delivery.previous))
}

fn message(report: &CallReport) -> &str {
    match &report.result {
        Ok(Ok(_)) => "",
        Ok(Err(wharf_core::Failure::Retry(fault) | wharf_core::Failure::Permanent(fault))) => &fault.message,
        Err(strike) => &strike.message,
    }
}

fn is_secret(kind: &Gvk) -> bool {
    kind.group.is_empty() && *kind.kind == *"Secret"
}

#[cfg(test)]
mod tests;
