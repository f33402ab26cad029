//! What the real server fills in, kind by kind.

use serde_json::{Value, json};

use super::testing::resource;
use super::*;

struct Cluster;

impl World for Cluster {
    fn service_address(&self) -> Option<String> {
        Some("10.0.0.9".to_owned())
    }
}

fn created(api_version: &str, kind: &str, mut object: Value) -> Value {
    let resource = resource(api_version, kind);
    prepare_create(&resource, &mut object);
    defaults(&resource, &mut object, &Cluster);
    let once = object.clone();
    defaults(&resource, &mut object, &Cluster);
    assert_eq!(object, once, "defaults are filled in once");
    object
}

fn updated(api_version: &str, kind: &str, mut new: Value, old: &Value) -> Value {
    let resource = resource(api_version, kind);
    prepare_update(&resource, &mut new, old);
    defaults(&resource, &mut new, &Cluster);
    new
}

const POD_SPEC: &str = r#"{"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler",
    "securityContext": {}, "containers": [{"name": "c", "image": "x", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File", "resources": {}, "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}"#;

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 80}], "resources": {}}]}})
}

fn filled_template() -> Value {
    json!({"metadata": {"labels": {"a": "d"}}, "spec": serde_json::from_str::<Value>(POD_SPEC).unwrap()})
}

#[test]
fn workloads() {
    let selector = json!({"matchLabels": {"a": "d"}});
    let cases = [
        (
            "Deployment",
            json!({"spec": {"selector": selector, "template": template(), "strategy": {}}, "status": {"replicas": 5}}),
            json!({"spec": {"selector": selector, "template": filled_template(), "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}}, "status": {}}),
        ),
        (
            "Deployment",
            json!({"spec": {"replicas": 0, "template": template(), "strategy": {"type": "Recreate"}}}),
            json!({"spec": {"template": filled_template(), "replicas": 0, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {"type": "Recreate"}}, "status": {}}),
        ),
        (
            "ReplicaSet",
            json!({"spec": {"template": template()}}),
            json!({"spec": {"template": filled_template(), "replicas": 1}, "status": {"replicas": 0}}),
        ),
        (
            "StatefulSet",
            json!({"spec": {"template": template(), "updateStrategy": {}}}),
            json!({"spec": {"template": filled_template(), "replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}}, "status": {"replicas": 0}}),
        ),
        (
            "DaemonSet",
            json!({"spec": {"template": template(), "updateStrategy": {}}}),
            json!({"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}},
                "spec": {"template": filled_template(), "revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}},
                "status": {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}}),
        ),
    ];
    for (kind, object, expected) in cases {
        assert_eq!(created("apps/v1", kind, object), expected, "{kind}");
    }
}

#[test]
fn jobs_select_their_own_pods() {
    let object = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"metadata": {}, "spec": {"restartPolicy": "Never"}}}, "status": {"active": 1}});
    let job = created("batch/v1", "Job", object);
    let labels =
        json!({"job-name": "j", "batch.kubernetes.io/job-name": "j", "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"});
    assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(job["metadata"]["labels"], labels);
    assert_eq!(job["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}));
    assert_eq!(job["status"], json!({}));
    for (name, value) in [
        ("parallelism", json!(1)),
        ("completions", json!(1)),
        ("backoffLimit", json!(6)),
        ("suspend", json!(false)),
        ("completionMode", json!("NonIndexed")),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        assert_eq!(job["spec"][name], value, "{name}");
    }
    let manual = created("batch/v1", "Job", json!({"spec": {"manualSelector": true, "parallelism": 2}}));
    assert_eq!(manual["spec"].get("selector"), None);
    assert_eq!(manual["spec"].get("completions"), None);
}

#[test]
fn cron_jobs_fill_the_pod_template_but_not_the_job() {
    let object = json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}}});
    let expected = json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": {"template": filled_template()}}});
    assert_eq!(created("batch/v1", "CronJob", object)["spec"], expected);
}

#[test]
fn pods_are_pending_and_tolerate() {
    let pod = created(
        "v1",
        "Pod",
        json!({"spec": {"containers": [{"name": "c", "image": "x:1", "resources": {"limits": {"cpu": "1"}}}]}, "status": {"phase": "Running"}}),
    );
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
    let spec = &pod["spec"];
    assert_eq!(spec["containers"][0]["resources"]["requests"], json!({"cpu": "1"}));
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(
        (&spec["enableServiceLinks"], &spec["priority"], &spec["preemptionPolicy"]),
        (&json!(true), &json!(0), &json!("PreemptLowerPriority"))
    );
    assert_eq!(
        spec["tolerations"][1],
        json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    );
}

#[test]
fn services_get_an_address() {
    let service = created(
        "v1",
        "Service",
        json!({"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 80, "targetPort": 0}]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}}),
    );
    let expected = json!({"type": "ClusterIP", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "sessionAffinity": "None", "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]});
    assert_eq!(service["spec"], expected);
    assert_eq!(service["status"], json!({"loadBalancer": {}}));
    let headless = created("v1", "Service", json!({"spec": {"clusterIP": "None", "selector": {"a": "b"}}}));
    assert_eq!((&headless["spec"]["clusterIPs"], &headless["spec"]["ipFamilies"]), (&json!(["None"]), &json!(["IPv4"])));
    let external = created("v1", "Service", json!({"spec": {"type": "ExternalName", "externalName": "x.example"}}));
    assert_eq!(external["spec"], json!({"type": "ExternalName", "externalName": "x.example", "sessionAffinity": "None"}));
    let node_port = created("v1", "Service", json!({"spec": {"type": "NodePort", "ports": [{"port": 80}]}}));
    assert_eq!(node_port["spec"]["externalTrafficPolicy"], "Cluster");
    assert_eq!(node_port["spec"]["ports"][0].get("nodePort"), None);
}

#[test]
fn a_service_keeps_its_address_and_node_ports() {
    let old = created(
        "v1",
        "Service",
        json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30080}]}}),
    );
    let new = updated("v1", "Service", json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 81}]}}), &old);
    assert_eq!((&new["spec"]["clusterIP"], &new["spec"]["clusterIPs"]), (&json!("10.0.0.1"), &json!(["10.0.0.1"])));
    assert_eq!(new["spec"]["ports"][0]["nodePort"], 30080);
    let mut gone = old.clone();
    gone["spec"]["type"] = json!("ExternalName");
    assert_eq!(updated("v1", "Service", gone, &old)["spec"].get("clusterIP"), None);
}

#[test]
fn namespaces_secrets_and_claims() {
    let namespace = created("v1", "Namespace", json!({"metadata": {"name": "n"}, "spec": {}, "status": {"phase": "Terminating"}}));
    assert_eq!(
        namespace,
        json!({"metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    );
    let changed = updated("v1", "Namespace", json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}, "status": {}}), &namespace);
    assert_eq!(changed, namespace);

    let secret = created("v1", "Secret", json!({"data": {"a": "eA==", "k": "eA=="}, "stringData": {"k": "v"}}));
    assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "eA==", "k": "dg=="}}));

    let claim = created("v1", "PersistentVolumeClaim", json!({"metadata": {"name": "c"}, "spec": {}}));
    assert_eq!(
        claim,
        json!({"metadata": {"name": "c", "finalizers": ["kubernetes.io/pvc-protection"]}, "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})
    );
    let node = created("v1", "Node", json!({"status": {"capacity": {"cpu": "1"}}}));
    assert_eq!(node["status"], json!({"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}));
}

#[test]
fn small_fills() {
    let rbac = "rbac.authorization.k8s.io";
    let cases = [
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"egress": [{"ports": [{"port": 1}]}]}}),
            json!({"spec": {"egress": [{"ports": [{"port": 1, "protocol": "TCP"}]}], "policyTypes": ["Ingress", "Egress"]}, "status": {}}),
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            json!({"spec": {}, "status": {"loadBalancer": {"ingress": []}}}),
            json!({"spec": {}, "status": {"loadBalancer": {}}}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
            json!({"roleRef": {"kind": "Role", "name": "r", "apiGroup": rbac}, "subjects": [{"kind": "User", "name": "u", "apiGroup": rbac}, {"kind": "ServiceAccount", "name": "s"}]}),
        ),
        ("storage.k8s.io/v1", "StorageClass", json!({}), json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})),
        (
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}, {"type": "Pod", "max": {"cpu": "2"}}]}, "status": {}}),
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}, {"type": "Pod", "max": {"cpu": "2"}}]}, "status": {}}),
        ),
        ("v1", "ConfigMap", json!({"data": {"a": "1"}}), json!({"data": {"a": "1"}})),
    ];
    for (api_version, kind, object, expected) in cases {
        assert_eq!(created(api_version, kind, object), expected, "{kind}");
    }
}

#[test]
fn a_status_write_takes_status_annotations_and_finalizers() {
    let old = json!({"metadata": {"name": "d", "labels": {"a": "d"}, "resourceVersion": "1"}, "spec": {"replicas": 1}, "status": {}});
    let mut new = json!({"metadata": {"name": "d", "labels": {"st": "1"}, "annotations": {"an": "1"}, "finalizers": ["x.test/y"], "ownerReferences": [{}], "resourceVersion": "2"}, "spec": {"replicas": 9}, "status": {"replicas": 3}});
    prepare_status(&resource("apps/v1", "Deployment"), &mut new, &old);
    let expected = json!({"metadata": {"name": "d", "labels": {"a": "d"}, "annotations": {"an": "1"}, "finalizers": ["x.test/y"], "resourceVersion": "2"}, "spec": {"replicas": 1}, "status": {"replicas": 3}});
    assert_eq!(new, expected);
}

#[test]
fn status_stays_on_other_writes() {
    let old = json!({"spec": {"replicas": 1}, "status": {"replicas": 1}});
    let new = updated("apps/v1", "ReplicaSet", json!({"spec": {"replicas": 2}, "status": {"replicas": 7}}), &old);
    assert_eq!((&new["status"], &new["spec"]["replicas"]), (&json!({"replicas": 1}), &json!(2)));
    let daemons = created("apps/v1", "DaemonSet", json!({"spec": {"template": template()}}));
    let mut changed = daemons.clone();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("y");
    assert_eq!(
        updated("apps/v1", "DaemonSet", changed, &daemons)["metadata"]["annotations"]["deprecated.daemonset.template.generation"],
        "2"
    );
}

#[test]
fn generations_rise_with_the_spec() {
    let old = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {}});
    let deployment = resource("apps/v1", "Deployment");
    assert!(has_generation(&deployment));
    assert!(!has_generation(&resource("v1", "Service")));
    assert!(!has_generation(&resource("v1", "ConfigMap")));
    for (new, expected) in [
        (json!({"metadata": {}, "spec": {"replicas": 1}, "status": {"replicas": 1}}), false),
        (json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"replicas": 1}, "status": {}}), false),
        (json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2}, "status": {}}), true),
    ] {
        assert_eq!(bumps_generation(&deployment, &new, &old), expected, "{new}");
    }
}
