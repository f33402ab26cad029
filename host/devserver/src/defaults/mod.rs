//! The defaults that users notice, and what the server fills in by itself, one small table by kind.
//!
//! On a write come first [`prepare_create`], [`prepare_update`] or [`prepare_status`], then [`defaults`], then validation: what an
//! update leaves out and cannot change (a Service's address) is then the old one and not made anew. Never stores or refuses anything.

mod core;
mod pod;
mod policy;
mod prepare;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod workloads;

use serde_json::Value;

use crate::kind::Resource;

pub(crate) use prepare::{
    CLAIM_PROTECTION, VOLUME_PROTECTION, bumps_generation, has_generation, prepare_create, prepare_status, prepare_update,
};

/// What the world outside of the object gives: service addresses, time.
pub(crate) trait World {
    /// A cluster address for a new Service.
    fn service_address(&self) -> Option<String>;
}

/// Fills defaults in, in place. Called on every create and update, after decoding, and after a patch. Idempotent. Custom resources are
/// left alone: their defaults stand in their schema.
pub(crate) fn defaults(resource: &Resource, object: &mut Value, world: &dyn World) {
    if resource.is_custom() {
        return;
    }
    if let Some((_, _, fill)) = KINDS.iter().find(|(group, kind, _)| *group == &*resource.group && *kind == &*resource.kind) {
        fill(object, world);
    }
}

type Fill = fn(&mut Value, &dyn World);

/// Group, kind, what fills its defaults in.
const KINDS: &[(&str, &str, Fill)] = &[
    ("", "Endpoints", core::endpoints),
    ("", "LimitRange", core::limit_range),
    ("", "Namespace", core::namespace),
    ("", "Node", core::node),
    ("", "PersistentVolume", core::persistent_volume),
    ("", "PersistentVolumeClaim", core::persistent_volume_claim),
    ("", "Pod", pod::pod),
    ("", "PodTemplate", workloads::pod_template),
    ("", "ReplicationController", workloads::replication_controller),
    ("", "Secret", core::secret),
    ("", "Service", core::service),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", policy::mutating_webhooks),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", policy::validating_webhooks),
    ("apps", "DaemonSet", workloads::daemon_set),
    ("apps", "Deployment", workloads::deployment),
    ("apps", "ReplicaSet", workloads::replica_set),
    ("apps", "StatefulSet", workloads::stateful_set),
    ("autoscaling", "HorizontalPodAutoscaler", workloads::horizontal_pod_autoscaler),
    ("batch", "CronJob", workloads::cron_job),
    ("batch", "Job", workloads::job),
    ("discovery.k8s.io", "EndpointSlice", core::endpoint_slice),
    ("networking.k8s.io", "IngressClass", policy::ingress_class),
    ("networking.k8s.io", "NetworkPolicy", policy::network_policy),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", policy::role_binding),
    ("rbac.authorization.k8s.io", "RoleBinding", policy::role_binding),
    ("scheduling.k8s.io", "PriorityClass", policy::priority_class),
    ("storage.k8s.io", "CSIDriver", policy::csi_driver),
    ("storage.k8s.io", "StorageClass", policy::storage_class),
];
