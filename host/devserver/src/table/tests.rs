//! The columns and rows of common kinds, as the real server shows them.

use serde_json::{Value, json};

use super::*;
use crate::defaults::testing::resource;
use crate::json::Read;

/// Names of the columns; those for `-o wide` with a star.
fn names(api_version: &str, kind: &str) -> String {
    let name = |column: &Value| format!("{}{}", column.text("name"), if column.int("priority") == Some(1) { "*" } else { "" });
    columns(&resource(api_version, kind)).iter().map(name).collect::<Vec<_>>().join(",")
}

#[test]
fn columns_are_the_real_servers() {
    let cases = [
        ("v1", "Pod", "Name,Ready,Status,Restarts,Age,IP*,Node*,Nominated Node*,Readiness Gates*"),
        ("v1", "Service", "Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*"),
        ("v1", "ConfigMap", "Name,Data,Age"),
        ("v1", "Secret", "Name,Type,Data,Age"),
        ("v1", "Namespace", "Name,Status,Age"),
        ("v1", "Node", "Name,Status,Roles,Age,Version,Internal-IP*,External-IP*,OS-Image*,Kernel-Version*,Container-Runtime*"),
        ("v1", "Event", "Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,Count*,Name*"),
        ("events.k8s.io/v1", "Event", "Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,Count*,Name*"),
        ("v1", "ServiceAccount", "Name,Age"),
        ("v1", "PersistentVolumeClaim", "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,VolumeMode*"),
        (
            "v1",
            "PersistentVolume",
            "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,VolumeMode*",
        ),
        ("v1", "Endpoints", "Name,Endpoints,Age"),
        ("discovery.k8s.io/v1", "EndpointSlice", "Name,AddressType,Ports,Endpoints,Age"),
        ("v1", "ResourceQuota", "Name,Request,Limit,Age"),
        ("v1", "LimitRange", "Name,Created At"),
        ("apps/v1", "Deployment", "Name,Ready,Up-to-date,Available,Age,Containers*,Images*,Selector*"),
        ("apps/v1", "ReplicaSet", "Name,Desired,Current,Ready,Age,Containers*,Images*,Selector*"),
        ("apps/v1", "StatefulSet", "Name,Ready,Age,Containers*,Images*"),
        ("apps/v1", "DaemonSet", "Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,Containers*,Images*,Selector*"),
        ("apps/v1", "ControllerRevision", "Name,Controller,Revision,Age"),
        ("batch/v1", "Job", "Name,Status,Completions,Duration,Age,Containers*,Images*,Selector*"),
        ("batch/v1", "CronJob", "Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age,Containers*,Images*,Selector*"),
        ("networking.k8s.io/v1", "Ingress", "Name,Class,Hosts,Address,Ports,Age"),
        ("networking.k8s.io/v1", "IngressClass", "Name,Controller,Parameters,Age"),
        ("networking.k8s.io/v1", "NetworkPolicy", "Name,Pod-Selector,Age"),
        ("coordination.k8s.io/v1", "Lease", "Name,Holder,Age"),
        ("rbac.authorization.k8s.io/v1", "Role", "Name,Created At"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "Name,Created At"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "Name,Created At"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", "Name,Role,Age,Users*,Groups*,ServiceAccounts*"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "Name,Role,Age,Users*,Groups*,ServiceAccounts*"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "Name,Reference,Targets,MinPods,MaxPods,Replicas,Age"),
        ("policy/v1", "PodDisruptionBudget", "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"),
        ("storage.k8s.io/v1", "StorageClass", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "Name,Webhooks,Age"),
        ("scheduling.k8s.io/v1", "PriorityClass", "Name,Value,Global-Default,Age,PreemptionPolicy*"),
        ("other.example/v1", "Pod", "Name,Age"),
    ];
    for (api_version, kind, expected) in cases {
        assert_eq!(names(api_version, kind), expected, "{api_version} {kind}");
    }
}

#[test]
fn types_are_announced() {
    let kinds = |api_version: &str, kind: &str| {
        columns(&resource(api_version, kind)).iter().map(|column| column.text("type").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds("apps/v1", "ReplicaSet").get(1..4), Some(["integer"; 3].map(str::to_owned).as_slice()));
    assert_eq!(kinds("rbac.authorization.k8s.io/v1", "Role"), ["string", "date"]);
    assert_eq!(kinds("batch/v1", "CronJob").get(3..5), Some(["boolean".to_owned(), "integer".to_owned()].as_slice()));
}

#[test]
fn rows_are_the_real_servers() {
    let template = json!({"spec": {"containers": [{"name": "c", "image": "x"}, {"name": "d", "image": "y:1"}]}});
    let metadata = json!({"name": "o", "creationTimestamp": "2001-09-09T01:46:30Z"});
    let selector = json!({"matchLabels": {"b": "2"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]});
    let cases = [
        ("v1", "ConfigMap", json!({"data": {"a": "1"}, "binaryData": {"b": "eA=="}}), json!(["o", 2, "10s"])),
        ("v1", "Secret", json!({"type": "Opaque", "data": {"a": "eA=="}}), json!(["o", "Opaque", 1, "10s"])),
        ("v1", "Namespace", json!({"status": {"phase": "Active"}}), json!(["o", "Active", "10s"])),
        ("v1", "ServiceAccount", json!({}), json!(["o", "10s"])),
        ("rbac.authorization.k8s.io/v1", "Role", json!({}), json!(["o", "2001-09-09T01:46:30Z"])),
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": 1, "selector": selector, "template": template}, "status": {}}),
            json!(["o", "0/1", 0, 0, "10s", "c,d", "x,y:1", "a in (x,y),b=2,!c"]),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"replicas": 2, "template": template}, "status": {"replicas": 0, "readyReplicas": 1}}),
            json!(["o", "1/2", "10s", "c,d", "x,y:1"]),
        ),
        (
            "apps/v1",
            "ReplicaSet",
            json!({"spec": {"replicas": 2, "template": template}, "status": {"replicas": 2, "readyReplicas": 1}}),
            json!(["o", 2, 2, 1, "10s", "c,d", "x,y:1", "<none>"]),
        ),
        (
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "* * * * *", "suspend": false, "jobTemplate": {"spec": {"template": template}}}, "status": {"active": [{}], "lastScheduleTime": "2001-09-09T01:46:00Z"}}),
            json!(["o", "* * * * *", "<none>", "False", 1, "40s", "10s", "c,d", "x,y:1", "<none>"]),
        ),
        (
            "v1",
            "Service",
            json!({"spec": {"type": "ClusterIP", "clusterIPs": ["10.0.0.9"], "ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}], "selector": {"a": "b"}}}),
            json!(["o", "ClusterIP", "10.0.0.9", "<none>", "80/TCP,53/UDP", "10s", "a=b"]),
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}}),
            json!(["o", "Bound", "v", "1Gi", "RWO,RWX", "fast", "<unset>", "10s", "Filesystem"]),
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"status": {"phase": "Pending"}}),
            json!(["o", "Pending", "", "", "", "", "<unset>", "10s", "<unset>"]),
        ),
        ("coordination.k8s.io/v1", "Lease", json!({"spec": {"holderIdentity": "h"}}), json!(["o", "h", "10s"])),
        (
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({"addressType": "IPv4", "ports": [{"port": 80}, {"name": "x"}], "endpoints": [{"addresses": ["1.1.1.1"]}, {"addresses": ["2.2.2.2"]}]}),
            json!(["o", "IPv4", "80,x", "1.1.1.1,2.2.2.2", "10s"]),
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}}),
            json!(["o", "50%", "N/A", 1, "10s"]),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
            json!(["o", "Role/r", "10s", "u", "", ""]),
        ),
    ];
    for (api_version, kind, mut object, expected) in cases {
        object["metadata"] = metadata.clone();
        assert_eq!(json!(cells(&resource(api_version, kind), &object, 1_000_000_000)), expected, "{kind}");
    }
}

#[test]
fn any_object_has_as_many_cells_as_columns() {
    let odd = [
        json!(null),
        json!([]),
        json!({}),
        json!({"metadata": 1, "spec": [], "status": "x"}),
        json!({"spec": {"template": {"spec": {"containers": [1, null]}}}}),
    ];
    for (api_version, kind) in [
        ("v1", "Pod"),
        ("v1", "Node"),
        ("v1", "Event"),
        ("batch/v1", "Job"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("v1", "Service"),
    ] {
        let resource = resource(api_version, kind);
        for object in &odd {
            assert_eq!(cells(&resource, object, 0).len(), columns(&resource).len(), "{kind} {object}");
        }
    }
}
