//! The label sets of all metrics, in one place so that their bounds can be seen at a
//! glance: plugins and kinds come from documents, everything else is a fixed word or a
//! reason that a plugin declared. Never the namespace, name or message of an object.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use wharf_core::Gvk;

macro_rules! label_sets {
    ($($(#[$doc:meta])+ $set:ident { $($label:ident: $kind:ty),+ })+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
            pub(super) struct $set {
                $(pub(super) $label: $kind,)+
            }
        )+
    };
}

label_sets! {
    /// One plugin, as `namespace/name`.
    OfPlugin { plugin: Arc<str> }
    /// The revision that serves.
    OfRevision { plugin: Arc<str>, revision: Arc<str>, digest: Arc<str> }
    /// How guest calls of a kind ended.
    OfCall { plugin: Arc<str>, kind: Arc<str>, event: &'static str, result: &'static str }
    /// A step of a rollout.
    OfStep { step: &'static str }
    /// Something of a plugin with a result.
    OfResult { plugin: Arc<str>, result: &'static str }
    /// Strikes: reasons of the host.
    OfStrike { plugin: Arc<str>, reason: &'static str }
    /// Failures: reasons that the plugin declared, or `Other`.
    OfFailure { plugin: Arc<str>, reason: Arc<str> }
    /// Calls of the host by the guest.
    OfHostCall { plugin: Arc<str>, capability: &'static str, result: &'static str }
    /// Changes that a filter dropped.
    OfFilter { plugin: Arc<str>, filter: &'static str }
    /// Lines that the guest logged.
    OfLevel { plugin: Arc<str>, level: &'static str }
    /// Instances by what they do.
    OfInstances { plugin: Arc<str>, state: &'static str }
    /// Memory by what it is for.
    OfPart { plugin: Arc<str>, part: &'static str }
    /// A workqueue, labelled as client-go does.
    OfQueue { name: Arc<str>, controller: Arc<str> }
    /// The waiting keys of one priority.
    OfDepth { name: Arc<str>, controller: Arc<str>, priority: i64 }
    /// A controller, labelled as controller-runtime does.
    OfController { controller: Arc<str> }
    /// Its results.
    OfReconcile { controller: Arc<str>, result: &'static str }
    /// Writes of a status.
    OfWrite { result: &'static str }
    /// Requests to an API server.
    OfRequest { code: Arc<str>, method: &'static str, host: Arc<str> }
    /// Their durations.
    OfVerb { verb: &'static str, host: Arc<str> }
    /// An election, labelled as client-go does.
    OfLease { name: Arc<str> }
    /// All informers of a kind.
    OfKind { kind: Arc<str> }
    /// Why they listed again.
    OfRelist { kind: Arc<str>, reason: &'static str }
    /// What their watches sent.
    OfWatchEvent { kind: Arc<str>, r#type: &'static str }
}

/// A kind as a label value: `ConfigMap`, `Deployment.apps`. Free of cost for the core group.
pub(in crate::telemetry) fn kind_label(kind: &Gvk) -> Arc<str> {
    if kind.group.is_empty() { Arc::clone(&kind.kind) } else { format!("{}.{}", kind.kind, kind.group).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_different_groups_differ() {
        assert_eq!(&*kind_label(&Gvk::new("", "v1", "Event")), "Event");
        assert_eq!(&*kind_label(&Gvk::new("events.k8s.io", "v1", "Event")), "Event.events.k8s.io");
    }
}
