//! Which rules a built-in kind has: one table. Knows no rule itself.

use serde_json::Value;

use super::check::Causes;
use super::{config, core, pods, policy, workloads};
use crate::kind::Resource;

/// The rules of a whole object, and those of a change of it.
pub(super) type Rules = (fn(&Value, &mut Causes), fn(&Value, &Value, &mut Causes));

/// The rules of a built-in kind; none for one that has no rules, and for custom resources.
pub(super) fn rules(resource: &Resource) -> Option<Rules> {
    if resource.is_custom() {
        return None;
    }
    KINDS
        .iter()
        .find(|(group, kind, _, _)| *group == &*resource.group && *kind == &*resource.kind)
        .map(|(_, _, whole, change)| (*whole, *change))
}

fn anything(_new: &Value, _old: &Value, _out: &mut Causes) {}

type Kind = (&'static str, &'static str, fn(&Value, &mut Causes), fn(&Value, &Value, &mut Causes));

/// Group, kind, rules of the object, rules of a change.
const KINDS: &[Kind] = &[
    ("", "ConfigMap", config::config_map, config::config_map_update),
    ("", "Endpoints", core::endpoints, anything),
    ("", "Event", core::event, anything),
    ("", "LimitRange", core::limit_range, anything),
    ("", "PersistentVolume", core::persistent_volume, anything),
    ("", "PersistentVolumeClaim", core::persistent_volume_claim, core::persistent_volume_claim_update),
    ("", "Pod", pods::create, pods::update),
    ("", "PodTemplate", workloads::pod_template, anything),
    ("", "ReplicationController", workloads::replication_controller, anything),
    ("", "ResourceQuota", core::resource_quota, anything),
    ("", "Secret", config::secret, config::secret_update),
    ("", "Service", core::service, core::service_update),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", policy::webhooks, anything),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", policy::webhooks, anything),
    ("apps", "DaemonSet", workloads::daemon_set, workloads::keeps_selector),
    ("apps", "Deployment", workloads::deployment, workloads::keeps_selector),
    ("apps", "ReplicaSet", workloads::replica_set, workloads::keeps_selector),
    ("apps", "StatefulSet", workloads::stateful_set, workloads::stateful_set_update),
    ("autoscaling", "HorizontalPodAutoscaler", workloads::horizontal_pod_autoscaler, anything),
    ("batch", "CronJob", workloads::cron_job, anything),
    ("batch", "Job", workloads::job, workloads::job_update),
    ("coordination.k8s.io", "Lease", core::lease, anything),
    ("discovery.k8s.io", "EndpointSlice", core::endpoint_slice, core::endpoint_slice_update),
    ("events.k8s.io", "Event", core::new_event, anything),
    ("networking.k8s.io", "Ingress", policy::ingress, anything),
    ("networking.k8s.io", "IngressClass", policy::ingress_class, policy::ingress_class_update),
    ("networking.k8s.io", "NetworkPolicy", policy::network_policy, anything),
    ("policy", "PodDisruptionBudget", workloads::pod_disruption_budget, anything),
    ("rbac.authorization.k8s.io", "ClusterRole", policy::cluster_role, anything),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", policy::cluster_role_binding, policy::binding_update),
    ("rbac.authorization.k8s.io", "Role", policy::role, anything),
    ("rbac.authorization.k8s.io", "RoleBinding", policy::role_binding, policy::binding_update),
    ("scheduling.k8s.io", "PriorityClass", policy::priority_class, policy::priority_class_update),
    ("storage.k8s.io", "StorageClass", policy::storage_class, policy::storage_class_update),
];
