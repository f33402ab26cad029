//! Which columns a built-in kind has: one table.
//!
//! Owns no cell. Kinds that are not in the table show their name and age.

use super::column::{AGE, CREATED_AT, Column, NAME};
use super::{access, cluster, network, pods, storage, workloads};

/// The columns of a kind of Kubernetes' own.
pub(super) fn of(group: &str, kind: &str) -> &'static [Column] {
    TABLES
        .iter()
        .find(|(known_group, known_kind, _)| *known_group == group && *known_kind == kind)
        .map_or(NAME_AND_AGE, |(_, _, columns)| columns)
}

const NAME_AND_AGE: &[Column] = &[NAME, AGE];
const NAME_AND_CREATED: &[Column] = &[NAME, CREATED_AT];

/// Group, kind, columns.
const TABLES: &[(&str, &str, &[Column])] = &[
    ("", "ComponentStatus", cluster::COMPONENT_STATUSES),
    ("", "ConfigMap", cluster::CONFIG_MAPS),
    ("", "Endpoints", network::ENDPOINTS),
    ("", "Event", cluster::EVENTS),
    ("", "LimitRange", NAME_AND_CREATED),
    ("", "Namespace", cluster::NAMESPACES),
    ("", "Node", cluster::NODES),
    ("", "PersistentVolume", storage::PERSISTENT_VOLUMES),
    ("", "PersistentVolumeClaim", storage::PERSISTENT_VOLUME_CLAIMS),
    ("", "Pod", pods::PODS),
    ("", "PodTemplate", workloads::POD_TEMPLATES),
    ("", "ReplicationController", workloads::REPLICATION_CONTROLLERS),
    ("", "ResourceQuota", cluster::RESOURCE_QUOTAS),
    ("", "Secret", cluster::SECRETS),
    ("", "Service", network::SERVICES),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", cluster::MUTATING_POLICIES),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", cluster::POLICY_BINDINGS),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", cluster::WEBHOOKS),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", cluster::VALIDATING_POLICIES),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", cluster::POLICY_BINDINGS),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", cluster::WEBHOOKS),
    ("apiextensions.k8s.io", "CustomResourceDefinition", NAME_AND_CREATED),
    ("apiregistration.k8s.io", "APIService", cluster::API_SERVICES),
    ("apps", "ControllerRevision", workloads::CONTROLLER_REVISIONS),
    ("apps", "DaemonSet", workloads::DAEMON_SETS),
    ("apps", "Deployment", workloads::DEPLOYMENTS),
    ("apps", "ReplicaSet", workloads::REPLICA_SETS),
    ("apps", "StatefulSet", workloads::STATEFUL_SETS),
    ("autoscaling", "HorizontalPodAutoscaler", workloads::HORIZONTAL_POD_AUTOSCALERS),
    ("batch", "CronJob", workloads::CRON_JOBS),
    ("batch", "Job", workloads::JOBS),
    ("certificates.k8s.io", "CertificateSigningRequest", access::CERTIFICATE_SIGNING_REQUESTS),
    ("certificates.k8s.io", "ClusterTrustBundle", access::CLUSTER_TRUST_BUNDLES),
    ("certificates.k8s.io", "PodCertificateRequest", access::POD_CERTIFICATE_REQUESTS),
    ("coordination.k8s.io", "Lease", cluster::LEASES),
    ("coordination.k8s.io", "LeaseCandidate", cluster::LEASE_CANDIDATES),
    ("discovery.k8s.io", "EndpointSlice", network::ENDPOINT_SLICES),
    ("events.k8s.io", "Event", cluster::EVENTS),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", cluster::FLOW_SCHEMAS),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", cluster::PRIORITY_LEVELS),
    ("networking.k8s.io", "IPAddress", network::IP_ADDRESSES),
    ("networking.k8s.io", "Ingress", network::INGRESSES),
    ("networking.k8s.io", "IngressClass", network::INGRESS_CLASSES),
    ("networking.k8s.io", "NetworkPolicy", network::NETWORK_POLICIES),
    ("networking.k8s.io", "ServiceCIDR", network::SERVICE_CIDRS),
    ("node.k8s.io", "RuntimeClass", cluster::RUNTIME_CLASSES),
    ("policy", "PodDisruptionBudget", workloads::POD_DISRUPTION_BUDGETS),
    ("rbac.authorization.k8s.io", "ClusterRole", NAME_AND_CREATED),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", access::ROLE_BINDINGS),
    ("rbac.authorization.k8s.io", "Role", NAME_AND_CREATED),
    ("rbac.authorization.k8s.io", "RoleBinding", access::ROLE_BINDINGS),
    ("scheduling.k8s.io", "PriorityClass", workloads::PRIORITY_CLASSES),
    ("storage.k8s.io", "CSIDriver", storage::CSI_DRIVERS),
    ("storage.k8s.io", "CSINode", storage::CSI_NODES),
    ("storage.k8s.io", "CSIStorageCapacity", storage::CSI_STORAGE_CAPACITIES),
    ("storage.k8s.io", "StorageClass", storage::STORAGE_CLASSES),
    ("storage.k8s.io", "VolumeAttachment", storage::VOLUME_ATTACHMENTS),
    ("storage.k8s.io", "VolumeAttributesClass", storage::VOLUME_ATTRIBUTES_CLASSES),
];
