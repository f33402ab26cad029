//! What goes with what, over HTTP: owners and what they own, storage and its users, definitions and their objects and names. Owns the
//! stories; how a client asks is `client`'s.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use wharf_devserver::{ApiOptions, Running, Server, ServerOptions, StoreOptions};

use super::client::{Http, Lines, Reply};
use super::history::{Event, version_of};
use super::operations;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const NODES: &str = "/api/v1/nodes";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const PATIENCE: Duration = Duration::from_secs(20);

async fn start() -> (Running, Http) {
    let store = StoreOptions { history: 1000, data: None, first_version: None };
    let server = Server::start(ServerOptions::plain(ApiOptions { store, controllers: true })).await.unwrap();
    let http = Http::new(server.address());
    (server, http)
}

async fn make(http: &Http, path: &str, object: Value) -> Value {
    let Reply { code, value } = http.post(path, object).await;
    assert_eq!(code, 201, "{value}");
    value
}

async fn event(lines: &mut Lines) -> Option<Event> {
    timeout(PATIENCE, lines.next()).await.expect("something happens").map(|line| Event::read(&line).unwrap())
}

/// Follows an object from the state in which it is given until `done` holds.
async fn until(http: &Http, path: &str, object: &Value, done: impl Fn(&Event) -> bool) -> Event {
    let (name, version) = (object["metadata"]["name"].as_str().unwrap(), version_of(object).unwrap());
    let mut lines = http.watch(&format!("{path}?watch=1&fieldSelector=metadata.name%3D{name}&resourceVersion={version}")).await;
    loop {
        let event = event(&mut lines).await.expect("the watch goes on");
        if done(&event) {
            return event;
        }
    }
}

async fn gone(http: &Http, path: &str, object: &Value) {
    until(http, path, object, |event| event.kind == "DELETED").await;
}

fn owned(name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": references}})
}

fn named(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
}

#[tokio::test]
async fn what_another_owner_keeps_stays() {
    let (server, http) = start().await;
    let first = make(&http, CONFIG_MAPS, named("ConfigMap", "first")).await;
    let second = make(&http, CONFIG_MAPS, named("ConfigMap", "second")).await;
    let shared = make(&http, CONFIG_MAPS, owned("shared", &[&first, &second])).await;
    let own = make(&http, CONFIG_MAPS, owned("own", &[&first])).await;
    http.delete(&format!("{CONFIG_MAPS}/first"), json!({"propagationPolicy": "Foreground"})).await;
    gone(&http, CONFIG_MAPS, &own).await;
    gone(&http, CONFIG_MAPS, &first).await;
    let left = http.get(&format!("{CONFIG_MAPS}/shared")).await;
    assert_eq!(left.code, 200, "{}", left.value);
    assert_eq!(left.value["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert_eq!(left.value["metadata"]["ownerReferences"][0]["name"], "second");
    http.delete(&format!("{CONFIG_MAPS}/second"), json!({"propagationPolicy": "Background"})).await;
    gone(&http, CONFIG_MAPS, &shared).await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn two_that_own_each_other_go() {
    let (server, http) = start().await;
    let one = make(&http, CONFIG_MAPS, named("ConfigMap", "one")).await;
    let other = make(&http, CONFIG_MAPS, owned("other", &[&one])).await;
    let references = owned("one", &[&other])["metadata"]["ownerReferences"].take();
    let body = json!({"metadata": {"ownerReferences": references}});
    assert_eq!(http.patch(&format!("{CONFIG_MAPS}/one"), "merge-patch+json", body).await.code, 200);
    http.delete(&format!("{CONFIG_MAPS}/one"), json!({"propagationPolicy": "Foreground"})).await;
    gone(&http, CONFIG_MAPS, &one).await;
    gone(&http, CONFIG_MAPS, &other).await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_scoped_object_has_no_owner_with_a_namespace() {
    let (server, http) = start().await;
    let mut node = owned("kept", &[&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none", "uid": "u"}})]);
    node["kind"] = json!("Node");
    make(&http, NODES, node).await;
    // Looked at after the node.
    let absent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none", "uid": "u"}});
    let later = make(&http, CONFIG_MAPS, owned("later", &[&absent])).await;
    gone(&http, CONFIG_MAPS, &later).await;
    assert_eq!(http.get(&format!("{NODES}/kept")).await.code, 200);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_second_delete_goes_on_as_the_first_one_said() {
    let (server, http) = start().await;
    let owner = make(&http, CONFIG_MAPS, named("ConfigMap", "owner")).await;
    let mut held = owned("held", &[&owner]);
    held["metadata"]["finalizers"] = json!(["x.test/y"]);
    make(&http, CONFIG_MAPS, held).await;
    let path = format!("{CONFIG_MAPS}/owner");
    http.delete(&path, json!({"propagationPolicy": "Foreground"})).await;
    let again = http.delete(&path, Value::Null).await;
    assert_eq!(again.value["metadata"]["finalizers"], json!(["foregroundDeletion"]), "{}", again.value);
    assert_eq!(http.get(&path).await.code, 200);
    assert_eq!(http.patch(&format!("{CONFIG_MAPS}/held"), "merge-patch+json", json!({"metadata": {"finalizers": null}})).await.code, 200);
    gone(&http, CONFIG_MAPS, &owner).await;
    server.stop().await.unwrap();
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]}})
}

fn binding(name: &str, metadata: Value) -> Value {
    let mut binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": "n"}});
    binding["metadata"]["name"] = json!(name);
    binding
}

#[tokio::test]
async fn storage_goes_when_nobody_uses_it() {
    let (server, http) = start().await;
    let resources = json!({"requests": {"storage": "1Gi"}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "volume"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "volumeName": "volume", "resources": resources}});
    let volume = make(&http, VOLUMES, volume).await;
    let claim = make(&http, CLAIMS, claim).await;
    make(&http, PODS, pod("user")).await;
    make(&http, &format!("{PODS}/user/binding"), binding("user", json!({}))).await;
    // A claim that nobody uses is deleted after both, and gone when it is clear that they stay.
    let unused =
        json!({"metadata": {"name": "unused"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let unused = make(&http, CLAIMS, unused).await;
    for path in [format!("{VOLUMES}/volume"), format!("{CLAIMS}/claim"), format!("{CLAIMS}/unused")] {
        http.delete(&path, Value::Null).await;
    }
    gone(&http, CLAIMS, &unused).await;
    let kept = [http.get(&format!("{VOLUMES}/volume")).await.code, http.get(&format!("{CLAIMS}/claim")).await.code];
    assert_eq!(kept, [200, 200], "in use");
    http.delete(&format!("{PODS}/user"), json!({"gracePeriodSeconds": 0})).await;
    gone(&http, CLAIMS, &claim).await;
    gone(&http, VOLUMES, &volume).await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_namespace_with_a_claim_ends() {
    let (server, http) = start().await;
    let namespace = make(&http, "/api/v1/namespaces", named("Namespace", "n")).await;
    let claim =
        json!({"metadata": {"name": "claim"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    make(&http, "/api/v1/namespaces/n/persistentvolumeclaims", claim).await;
    http.delete("/api/v1/namespaces/n", Value::Null).await;
    gone(&http, "/api/v1/namespaces", &namespace).await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_dry_run_evicts_and_binds_nothing() {
    let (server, http) = start().await;
    let made = make(&http, PODS, pod("p")).await;
    let path = format!("{PODS}/p");
    let eviction =
        |options: Value| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": options});
    for (query, options) in [("?dryRun=All", json!({})), ("", json!({"dryRun": ["All"]}))] {
        assert_eq!(http.post(&format!("{path}/eviction{query}"), eviction(options)).await.code, 201);
        assert_eq!(http.get(&path).await.code, 200);
    }
    assert_eq!(http.post(&format!("{path}/eviction"), eviction(json!({"propagationPolicy": "nonsense"}))).await.code, 422);
    assert_eq!(http.post(&format!("{path}/binding?dryRun=All"), binding("p", json!({}))).await.code, 201);
    assert_eq!(http.get(&path).await.value, made);
    assert_eq!(http.post(&format!("{path}/binding"), binding("p", json!({"uid": "another"}))).await.code, 409);
    assert_eq!(http.post(&format!("{path}/binding"), binding("p", json!({"uid": made["metadata"]["uid"]}))).await.code, 201);
    let marked = http.delete(&format!("{path}?dryRun=All"), Value::Null).await;
    assert!(marked.value["metadata"]["deletionTimestamp"].is_string(), "it would be given time: {}", marked.value);
    assert!(http.get(&path).await.value["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(http.post(&format!("{path}/eviction"), eviction(json!({"gracePeriodSeconds": 0}))).await.code, 201);
    assert_eq!(http.get(&path).await.code, 404);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_part_of_a_pod_is_all_that_its_subresource_writes() {
    let (server, http) = start().await;
    make(&http, PODS, pod("p")).await;
    let path = format!("{PODS}/p");
    let patch = |part: &'static str, body: Value| {
        let (http, path) = (http.clone(), format!("{path}/{part}"));
        async move { http.patch(&path, "strategic-merge-patch+json", body).await }
    };
    let container = |image: &str| json!({"name": "c", "image": image, "resources": {"requests": {"cpu": "2"}}});
    let body = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "n", "containers": [container("other")]}});
    let resized = patch("resize", body).await.value;
    assert_eq!(resized["spec"]["containers"][0]["resources"]["requests"]["cpu"], "2", "{resized}");
    assert_eq!((&resized["spec"]["containers"][0]["image"], &resized["spec"]["nodeName"]), (&json!("i"), &Value::Null));
    assert_eq!(resized["metadata"]["labels"], Value::Null);
    let body = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}], "containers": [container("other")]}});
    let more = patch("ephemeralcontainers", body).await.value;
    assert_eq!((&more["spec"]["ephemeralContainers"][0]["name"], &more["spec"]["containers"][0]["image"]), (&json!("e"), &json!("i")));
    let body = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "other"}]}});
    assert_eq!(patch("ephemeralcontainers", body).await.code, 422, "one that is there stays as it is");
    let held = http.patch(&path, "merge-patch+json", json!({"metadata": {"finalizers": ["x.test/y"]}})).await;
    assert_eq!(held.code, 200, "{}", held.value);
    http.delete(&path, Value::Null).await;
    let late =
        http.patch(&format!("{path}/status"), "merge-patch+json", json!({"metadata": {"finalizers": ["x.test/y", "x.test/z"]}})).await;
    assert_eq!(late.code, 422, "no new finalizers while it goes: {}", late.value);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn the_end_of_a_finalizer_shows_the_state_before() {
    let (server, http) = start().await;
    let mut held = named("ConfigMap", "held");
    held["metadata"]["finalizers"] = json!(["x.test/y"]);
    make(&http, CONFIG_MAPS, held).await;
    let path = format!("{CONFIG_MAPS}/held");
    let marked = http.delete(&path, Value::Null).await.value;
    let answer = http.patch(&path, "merge-patch+json", json!({"metadata": {"finalizers": null}})).await.value;
    let asked = (&answer["metadata"]["finalizers"], version_of(&answer));
    assert_eq!(asked, (&Value::Null, version_of(&marked)), "{answer}");
    let last = until(&http, CONFIG_MAPS, &marked, |event| event.kind == "DELETED").await;
    assert_eq!(last.object["metadata"]["finalizers"], json!(["x.test/y"]), "{last:?}");
    assert!(Some(last.version) > version_of(&marked));
    server.stop().await.unwrap();
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

#[tokio::test]
async fn watches_end_with_what_they_watch() {
    let (server, http) = start().await;
    let definition = make(&http, DEFINITIONS, operations::definition()).await;
    make(&http, WIDGETS, widget("w")).await;
    let mut lines = http.watch(&format!("{WIDGETS}?watch=1")).await;
    assert_eq!(event(&mut lines).await.unwrap().kind, "ADDED");
    // A label changes nothing of what is served.
    let path = format!("{DEFINITIONS}/widgets.example.com");
    http.patch(&path, "merge-patch+json", json!({"metadata": {"labels": {"a": "b"}}})).await;
    make(&http, WIDGETS, widget("v")).await;
    assert_eq!(event(&mut lines).await.unwrap().kind, "ADDED");
    // A short name does.
    http.patch(&path, "merge-patch+json", json!({"spec": {"names": {"shortNames": ["wi"]}}})).await;
    assert!(event(&mut lines).await.is_none());
    let mut lines = http.watch(&format!("{WIDGETS}?watch=1")).await;
    for _ in 0..2 {
        assert_eq!(event(&mut lines).await.unwrap().kind, "ADDED");
    }
    http.delete(&path, Value::Null).await;
    for _ in 0..2 {
        assert_eq!(event(&mut lines).await.unwrap().kind, "DELETED");
    }
    assert!(event(&mut lines).await.is_none());
    gone(&http, DEFINITIONS, &definition).await;
    assert_eq!(http.get(WIDGETS).await.code, 404);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn objects_that_are_not_served_go_with_their_definition_and_their_namespace() {
    let (server, http) = start().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let served = |served: bool| json!([{"op": "replace", "path": "/spec/versions/0/served", "value": served}]);
    let definition = make(&http, DEFINITIONS, operations::definition()).await;
    let namespace = make(&http, "/api/v1/namespaces", named("Namespace", "n")).await;
    for namespace in ["default", "n"] {
        make(&http, &format!("/apis/example.com/v1/namespaces/{namespace}/widgets"), widget("w")).await;
    }
    assert_eq!(http.patch(&path, "json-patch+json", served(false)).await.code, 200);
    assert_eq!(http.get(WIDGETS).await.code, 404);
    http.delete("/api/v1/namespaces/n", Value::Null).await;
    gone(&http, "/api/v1/namespaces", &namespace).await;
    assert_eq!(http.patch(&path, "json-patch+json", served(true)).await.code, 200);
    let names = |list: Value| list["items"].as_array().unwrap().iter().map(|one| one["metadata"]["namespace"].clone()).collect::<Vec<_>>();
    let all = "/apis/example.com/v1/widgets";
    assert_eq!(names(http.get(all).await.value), ["default"]);
    assert_eq!(http.patch(&path, "json-patch+json", served(false)).await.code, 200);
    http.delete(&path, Value::Null).await;
    gone(&http, DEFINITIONS, &definition).await;
    make(&http, DEFINITIONS, operations::definition()).await;
    assert!(names(http.get(all).await.value).is_empty());
    server.stop().await.unwrap();
}

fn conditions(definition: &Value) -> Vec<String> {
    let all = definition["status"]["conditions"].as_array().into_iter().flatten();
    all.map(|one| format!("{}={} {}", one["type"], one["status"], one["reason"]).replace('"', "")).collect()
}

#[tokio::test]
async fn a_name_that_is_free_again_is_given_to_who_waits_for_it() {
    let (server, http) = start().await;
    let mut first = operations::definition();
    first["spec"]["names"]["shortNames"] = json!(["wi"]);
    let first = make(&http, DEFINITIONS, first).await;
    let mut second = operations::definition();
    second["metadata"]["name"] = json!("others.example.com");
    second["spec"]["names"] =
        json!({"plural": "others", "singular": "other", "kind": "Other", "listKind": "WidgetList", "shortNames": ["wi"]});
    let second = make(&http, DEFINITIONS, second).await;
    let path = format!("{DEFINITIONS}/others.example.com");
    let refused = http.get(&path).await.value;
    assert_eq!(conditions(&refused), ["NamesAccepted=False ListKindConflict", "Established=False NotAccepted"], "{refused}");
    let given = &refused["status"]["acceptedNames"];
    assert_eq!((&given["plural"], &given["kind"], &given["shortNames"]), (&json!("others"), &json!("Other"), &Value::Null));
    // The last that is refused is told.
    http.patch(&path, "merge-patch+json", json!({"spec": {"names": {"listKind": "OtherList"}}})).await;
    assert_eq!(conditions(&http.get(&path).await.value)[0], "NamesAccepted=False ShortNamesConflict");
    http.delete(&format!("{DEFINITIONS}/widgets.example.com"), Value::Null).await;
    gone(&http, DEFINITIONS, &first).await;
    let accepted =
        until(&http, DEFINITIONS, &second, |event| conditions(&event.object).contains(&"Established=True InitialNamesAccepted".to_owned()))
            .await;
    assert_eq!(accepted.object["status"]["acceptedNames"]["shortNames"], json!(["wi"]));
    assert_eq!(http.get("/apis/example.com/v1/others").await.code, 200);
    server.stop().await.unwrap();
}
