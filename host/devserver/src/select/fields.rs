//! Which fields of a kind a field selector may name beside name and namespace, and where they are in the object.
//!
//! One small table: the real server decides this by kind too, it cannot be read off a schema. Custom resources bring theirs.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::pointer;

/// A field that may be selected by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// Where its value is, as JSON Pointers; the first that is there counts.
    places: Vec<Cow<'static, str>>,
    /// What an object without a value counts as.
    absent: &'static str,
}

impl Field {
    /// A field of a custom resource: `path` is a simple JSON path such as `.spec.color`.
    pub(super) fn custom(path: &str) -> Self {
        Self { places: vec![Cow::Owned(pointer(path))], absent: "" }
    }

    /// The value in `object`, as Go would print it.
    pub(super) fn of<'v>(&self, object: &'v Value) -> Cow<'v, str> {
        match self.places.iter().filter_map(|place| object.pointer(place)).find(|value| !value.is_null()) {
            None => Cow::Borrowed(self.absent),
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(other) => Cow::Owned(other.to_string()),
        }
    }
}

/// The fields of a built-in kind that has some.
pub(super) struct KindFields {
    fields: &'static [Entry],
}

/// What a selector calls it, its places, and what counts if it is absent.
type Entry = (&'static str, &'static [&'static str], &'static str);

impl KindFields {
    /// `None` for kinds that know name and namespace only.
    pub(super) fn of(group: &str, kind: &str) -> Option<Self> {
        KINDS.iter().find(|(of_group, of_kind, _)| *of_group == group && *of_kind == kind).map(|(_, _, fields)| Self { fields })
    }

    /// The field that a selector calls `label`.
    pub(super) fn find(&self, label: &str) -> Option<Field> {
        let (_, places, absent) = self.fields.iter().find(|(name, _, _)| *name == label)?;
        Some(Field { places: places.iter().map(|place| Cow::Borrowed(*place)).collect(), absent })
    }
}

const KINDS: &[(&str, &str, &[Entry])] = &[
    ("", "Pod", POD),
    ("", "Event", CORE_EVENT),
    ("events.k8s.io", "Event", EVENT),
    ("", "Node", &[("spec.unschedulable", &["/spec/unschedulable"], "false")]),
    ("", "Namespace", &[("status.phase", &["/status/phase"], "")]),
    ("", "Secret", &[("type", &["/type"], "")]),
    ("", "Service", &[("spec.clusterIP", &["/spec/clusterIP"], ""), ("spec.type", &["/spec/type"], "")]),
    ("batch", "Job", &[("status.successful", &["/status/succeeded"], "0")]),
    ("", "ReplicationController", &[("status.replicas", &["/status/replicas"], "0")]),
    ("certificates.k8s.io", "CertificateSigningRequest", &[("spec.signerName", &["/spec/signerName"], "")]),
];

const POD: &[Entry] = &[
    ("spec.nodeName", &["/spec/nodeName"], ""),
    // An older name of the same.
    ("spec.host", &["/spec/nodeName"], ""),
    ("spec.restartPolicy", &["/spec/restartPolicy"], ""),
    ("spec.schedulerName", &["/spec/schedulerName"], ""),
    ("spec.serviceAccountName", &["/spec/serviceAccountName"], ""),
    ("spec.hostNetwork", &["/spec/hostNetwork"], "false"),
    ("status.phase", &["/status/phase"], ""),
    ("status.podIP", &["/status/podIPs/0/ip", "/status/podIP"], ""),
    // Accepted and always empty, as on the real server.
    ("status.podIPs", &[], ""),
    ("status.nominatedNodeName", &["/status/nominatedNodeName"], ""),
];

// Events are selected in the shape in which they are kept, core's, whichever API asks.
const CORE_EVENT: &[Entry] = &[
    ("involvedObject.kind", &["/involvedObject/kind"], ""),
    ("involvedObject.namespace", &["/involvedObject/namespace"], ""),
    ("involvedObject.name", &["/involvedObject/name"], ""),
    ("involvedObject.uid", &["/involvedObject/uid"], ""),
    ("involvedObject.apiVersion", &["/involvedObject/apiVersion"], ""),
    ("involvedObject.resourceVersion", &["/involvedObject/resourceVersion"], ""),
    ("involvedObject.fieldPath", &["/involvedObject/fieldPath"], ""),
    ("reason", &["/reason"], ""),
    ("reportingComponent", &["/reportingComponent"], ""),
    ("source", &["/source/component", "/reportingComponent"], ""),
    ("type", &["/type"], ""),
];

const EVENT: &[Entry] = &[
    ("regarding.kind", &["/involvedObject/kind"], ""),
    ("regarding.namespace", &["/involvedObject/namespace"], ""),
    ("regarding.name", &["/involvedObject/name"], ""),
    ("regarding.uid", &["/involvedObject/uid"], ""),
    ("regarding.apiVersion", &["/involvedObject/apiVersion"], ""),
    ("regarding.resourceVersion", &["/involvedObject/resourceVersion"], ""),
    ("regarding.fieldPath", &["/involvedObject/fieldPath"], ""),
    ("reason", &["/reason"], ""),
    ("reportingController", &["/reportingComponent"], ""),
    ("type", &["/type"], ""),
];
