//! The shapes of discovery documents, for hand-made groups.

use std::sync::Arc;

use serde_json::json;

use super::{aggregated, core_versions, group, group_list, resources};
use crate::kind::{Group, GroupVersion, Resource, Schema, Subresource};
use crate::schema::TypeId;

fn texts(words: &str) -> Vec<Arc<str>> {
    words.split_whitespace().map(Arc::from).collect()
}

pub(crate) fn configmaps() -> Resource {
    Resource {
        group: "".into(),
        version: "v1".into(),
        plural: "configmaps".into(),
        singular: "configmap".into(),
        kind: "ConfigMap".into(),
        list_kind: "ConfigMapList".into(),
        namespaced: true,
        short_names: texts("cm"),
        categories: vec![],
        verbs: texts("create delete deletecollection get list patch update watch"),
        subresources: vec![],
        deprecation: None,
        schema: Schema::Builtin(TypeId(0)),
        storage: "configmaps".into(),
    }
}

fn deployments() -> Resource {
    let part = |name: &str, group: &str, version: &str, kind: &str| Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: texts("get patch update"),
    };
    Resource {
        group: "apps".into(),
        plural: "deployments".into(),
        singular: "deployment".into(),
        kind: "Deployment".into(),
        list_kind: "DeploymentList".into(),
        short_names: texts("deploy"),
        categories: texts("all"),
        subresources: vec![part("scale", "autoscaling", "v1", "Scale"), part("status", "apps", "v1", "Deployment")],
        deprecation: None,
        ..configmaps()
    }
}

pub(crate) fn served(resources: Vec<Resource>) -> GroupVersion {
    GroupVersion { version: "v1".into(), resources: resources.into_iter().map(Arc::new).collect() }
}

fn groups() -> Vec<Group> {
    let beta = GroupVersion { version: "v1beta1".into(), resources: vec![] };
    vec![
        Group { name: "".into(), versions: vec![served(vec![configmaps()])] },
        Group { name: "apps".into(), versions: vec![served(vec![deployments()]), beta] },
    ]
}

#[test]
fn the_old_documents() {
    let groups = groups();
    let versions = json!([{"groupVersion": "apps/v1", "version": "v1"}, {"groupVersion": "apps/v1beta1", "version": "v1beta1"}]);
    assert_eq!(
        core_versions(&groups, "127.0.0.1:1"),
        json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:1"}]})
    );
    assert_eq!(
        group_list(&groups),
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "preferredVersion": versions[0], "versions": versions}]})
    );
    assert_eq!(
        group(&groups, "apps"),
        Some(json!({"kind": "APIGroup", "apiVersion": "v1", "name": "apps", "preferredVersion": versions[0], "versions": versions}))
    );
    assert_eq!((group(&groups, ""), group(&groups, "nope")), (None, None));
}

#[test]
fn resources_and_their_parts() {
    let groups = groups();
    let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let some = ["get", "patch", "update"];
    assert_eq!(
        resources(&groups, "", "v1"),
        Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
            {"name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap", "verbs": all, "shortNames": ["cm"]},
        ]}))
    );
    assert_eq!(
        resources(&groups, "apps", "v1").unwrap()["resources"],
        json!([
            {"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment", "verbs": all, "shortNames": ["deploy"], "categories": ["all"]},
            {"name": "deployments/scale", "singularName": "", "namespaced": true, "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": some},
            {"name": "deployments/status", "singularName": "", "namespaced": true, "kind": "Deployment", "verbs": some},
        ])
    );
    assert_eq!((resources(&groups, "apps", "v2"), resources(&groups, "nope", "v1")), (None, None));
}

#[test]
fn the_aggregated_document() {
    let groups = groups();
    let core = aggregated(&groups, true, "v2");
    assert_eq!((&core["kind"], &core["apiVersion"]), (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2")));
    assert_eq!(core["items"][0]["metadata"], json!({}));
    assert_eq!(core["items"].as_array().unwrap().len(), 1);
    let apps = aggregated(&groups, false, "v2beta1");
    assert_eq!(apps["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    assert_eq!(
        apps["items"],
        json!([{"metadata": {"name": "apps"}, "versions": [
            {"version": "v1", "freshness": "Current", "resources": [{
                "resource": "deployments",
                "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                "scope": "Namespaced",
                "singularResource": "deployment",
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "shortNames": ["deploy"],
                "categories": ["all"],
                "subresources": [
                    {"subresource": "scale", "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}, "verbs": ["get", "patch", "update"]},
                    {"subresource": "status", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"}, "verbs": ["get", "patch", "update"]},
                ],
            }]},
            {"version": "v1beta1", "freshness": "Current", "resources": []},
        ]}])
    );
}
