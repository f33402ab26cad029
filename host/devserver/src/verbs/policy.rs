//! What kinds differ in by nature when they are written and deleted: one line per kind that is not like the rest.
//! Seen on a real 1.36 API server; most of it is `AllowCreateOnUpdate`, `AllowUnconditionalUpdate` and the like of its strategies.

use crate::kind::Resource;

/// The ways of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// PUT of an absent object makes it.
    pub(crate) put_creates: bool,
    /// PUT without a resourceVersion is taken.
    pub(crate) unconditional: bool,
    /// A delete is answered with the object, not with a Status.
    pub(crate) answers_object: bool,
    /// Without a propagationPolicy dependents are orphaned.
    pub(crate) orphans: bool,
    /// What is said of that.
    pub(crate) orphan_warning: Option<&'static str>,
}

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

const USUAL: Policy = Policy { put_creates: false, unconditional: true, answers_object: false, orphans: false, orphan_warning: None };
const PUT_CREATES: Policy = Policy { put_creates: true, ..USUAL };
const ANSWERS: Policy = Policy { answers_object: true, ..USUAL };

const KINDS: [(&str, &str, Policy); 19] = [
    ("", "Endpoints", PUT_CREATES),
    ("", "Event", PUT_CREATES),
    ("", "LimitRange", PUT_CREATES),
    ("", "PersistentVolumeClaim", ANSWERS),
    ("", "Pod", ANSWERS),
    ("", "PodTemplate", ANSWERS),
    ("", "ReplicationController", Policy { orphans: true, ..USUAL }),
    ("", "ResourceQuota", ANSWERS),
    ("", "Service", Policy { put_creates: true, ..ANSWERS }),
    ("", "ServiceAccount", ANSWERS),
    ("apiextensions.k8s.io", "CustomResourceDefinition", Policy { unconditional: false, ..USUAL }),
    ("batch", "Job", Policy { orphans: true, orphan_warning: Some(JOB_WARNING), ..USUAL }),
    ("coordination.k8s.io", "Lease", Policy { put_creates: true, unconditional: false, ..USUAL }),
    ("events.k8s.io", "Event", PUT_CREATES),
    ("policy", "PodDisruptionBudget", Policy { unconditional: false, ..USUAL }),
    ("rbac.authorization.k8s.io", "ClusterRole", PUT_CREATES),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", PUT_CREATES),
    ("rbac.authorization.k8s.io", "Role", PUT_CREATES),
    ("rbac.authorization.k8s.io", "RoleBinding", PUT_CREATES),
];

/// The ways of a resource's kind. Custom resources want a resourceVersion in every PUT.
pub(crate) fn of(resource: &Resource) -> Policy {
    if resource.is_custom() {
        return Policy { unconditional: false, ..USUAL };
    }
    let known = KINDS.iter().find(|(group, kind, _)| *group == &*resource.group && *kind == &*resource.kind);
    known.map_or(USUAL, |(_, _, policy)| *policy)
}

/// Where namespaces lie.
pub(crate) const NAMESPACES: &str = "namespaces";
/// Where the definitions of custom resources lie.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Whether this is the definition of custom resources.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    is(resource, "apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Whether this is the Namespace kind.
pub(crate) fn is_namespace(resource: &Resource) -> bool {
    is(resource, "", "Namespace")
}

/// Whether this is the Pod kind.
pub(crate) fn is_pod(resource: &Resource) -> bool {
    is(resource, "", "Pod")
}

/// Whether this is the PersistentVolumeClaim kind.
pub(crate) fn is_claim(resource: &Resource) -> bool {
    is(resource, "", "PersistentVolumeClaim")
}

/// Whether this is the PersistentVolume kind.
pub(crate) fn is_volume(resource: &Resource) -> bool {
    is(resource, "", "PersistentVolume")
}

fn is(resource: &Resource, group: &str, kind: &str) -> bool {
    &*resource.group == group && &*resource.kind == kind
}
