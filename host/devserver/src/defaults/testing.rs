//! Resources made by hand, for unit tests that need no generated table.

use crate::kind::{Resource, Schema, Subresource};
use crate::schema::TypeId;

/// A built-in resource `group/version` of a kind, with a status subresource; cluster-scoped kinds are told by name.
pub(crate) fn resource(api_version: &str, kind: &str) -> Resource {
    const CLUSTER_SCOPED: [&str; 8] =
        ["Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "StorageClass", "PriorityClass", "IngressClass"];
    const WITHOUT_STATUS: [&str; 8] =
        ["ConfigMap", "Secret", "ServiceAccount", "Lease", "Role", "ClusterRole", "RoleBinding", "StorageClass"];
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let plural = format!("{}s", kind.to_lowercase());
    let status = Subresource { name: "status".into(), group: group.into(), version: version.into(), kind: kind.into(), verbs: vec![] };
    Resource {
        group: group.into(),
        version: version.into(),
        plural: plural.as_str().into(),
        singular: kind.to_lowercase().into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        namespaced: !CLUSTER_SCOPED.contains(&kind),
        short_names: vec![],
        categories: vec![],
        verbs: vec![],
        subresources: if WITHOUT_STATUS.contains(&kind) { vec![] } else { vec![status] },
        deprecation: None,
        schema: Schema::Builtin(TypeId(0)),
        storage: format!("{group}/{plural}").into(),
    }
}
