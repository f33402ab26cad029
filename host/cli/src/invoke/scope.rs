//! Which kinds live in namespaces, without a server to ask. Owns the built-in kinds that do
//! not; custom kinds are judged by the objects that were given.

use std::collections::BTreeSet;
use std::sync::Arc;

use wharf_core::Gvk;

use super::given::Given;

/// API groups that are built into Kubernetes, with their kinds outside of namespaces. All
/// other kinds of these groups are in namespaces.
const BUILT_IN: [(&str, &[&str]); 23] = [
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("apps", &[]),
    ("authentication.k8s.io", &["SelfSubjectReview", "TokenReview"]),
    ("authorization.k8s.io", &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]),
    ("autoscaling", &[]),
    ("batch", &[]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("coordination.k8s.io", &[]),
    ("discovery.k8s.io", &[]),
    ("events.k8s.io", &[]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &[]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"]),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// What is known of kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes {
    /// Custom kinds of which objects were given, all of them without a namespace.
    outside: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Scopes {
    /// Learns from all objects that were given.
    pub(super) fn of<'a>(given: impl IntoIterator<Item = &'a Given>) -> Self {
        let (mut outside, mut inside) = (BTreeSet::new(), BTreeSet::new());
        for object in given {
            let name = (Arc::clone(&object.kind.group), Arc::clone(&object.kind.kind));
            if object.key.namespace.is_some() {
                inside.insert(name)
            } else {
                outside.insert(name)
            };
        }
        Self { outside: outside.difference(&inside).cloned().collect() }
    }

    /// Does a kind live in namespaces? A kind that nothing is known of does.
    pub(super) fn namespaced(&self, kind: &Gvk) -> bool {
        match BUILT_IN.iter().find(|(group, _)| *group == &*kind.group) {
            Some((_, outside)) => !outside.contains(&&*kind.kind),
            None => !self.outside.contains(&(Arc::clone(&kind.group), Arc::clone(&kind.kind))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn built_in_kinds_are_known_and_others_are_seen() {
        let given = [("example.com/v1", "Flat", None), ("example.com/v1", "Mixed", None), ("example.com/v1", "Mixed", Some("a"))].map(
            |(version, kind, namespace)| {
                let value = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}});
                Given::read(Path::new("x"), &value.to_string()).unwrap()
            },
        );
        let scopes = Scopes::of(&given);
        for (api_version, kind, want) in [
            ("v1", "ConfigMap", true),
            ("v1", "Namespace", false),
            ("apps/v1", "Deployment", true),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", false),
            ("rbac.authorization.k8s.io/v1", "Role", true),
            ("example.com/v1", "Flat", false),
            ("example.com/v2", "Flat", false),
            ("example.com/v1", "Mixed", true),
            ("example.com/v1", "Unseen", true),
            ("example.com/v1", "Namespace", true),
        ] {
            assert_eq!(scopes.namespaced(&Gvk::from_api_version(api_version, kind)), want, "{api_version} {kind}");
        }
    }
}
