use serde_json::json;
use wharf_engine::Propagation;

use super::*;

fn kind() -> Gvk {
    Gvk::new("", "v1", "ConfigMap")
}

fn target(name: &str) -> ObjectRef {
    ObjectRef { kind: kind(), namespace: Some("a".to_owned()), name: name.to_owned(), uid: String::new() }
}

fn memory(names: &[&str]) -> Memory {
    let mut memory = Memory::default();
    for name in names {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"n": name}}, "data": {"x": "1"}});
        memory.write(Write::Create, &target(name), &body, &WriteOptions::default()).unwrap();
    }
    memory
}

fn read(memory: &Memory, name: &str) -> Value {
    serde_json::from_str(memory.get(&kind(), Some("a"), name).unwrap().json()).unwrap()
}

fn list(options: &ListOptions, memory: &Memory) -> (Vec<String>, String) {
    let (items, token) = memory.list(&kind(), options).unwrap();
    (items.iter().map(|object| object.key().name.to_string()).collect(), token)
}

fn listing() -> ListOptions {
    ListOptions {
        namespace: None,
        label_selector: Selector::default(),
        field_selector: String::new(),
        live: false,
        limit: 0,
        continue_token: String::new(),
    }
}

#[test]
fn create_fills_in_what_a_server_does() {
    let mut memory = memory(&["x"]);
    let metadata = read(&memory, "x")["metadata"].clone();
    assert_eq!(
        metadata,
        json!({"name": "x", "namespace": "a", "labels": {"n": "x"}, "uid": "00000000-0000-4000-8000-000000000001", "resourceVersion": "1"})
    );
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}});
    let (_, made) = memory.write(Write::Create, &target(""), &body, &WriteOptions::default()).unwrap();
    assert_eq!((&*made.key().name, made.resource_version()), ("x-00001", "2"));
    let again = memory.write(Write::Create, &target("x"), &json!({"metadata": {"name": "x"}}), &WriteOptions::default());
    assert_eq!(again.unwrap_err(), ApiError::AlreadyExists);
    let versioned = json!({"metadata": {"name": "y", "resourceVersion": "1"}});
    assert!(matches!(memory.write(Write::Create, &target("y"), &versioned, &WriteOptions::default()), Err(ApiError::Invalid(_))));
}

#[test]
fn apply_makes_and_merges_and_tells_what_it_did() {
    let mut memory = memory(&["x"]);
    let options = WriteOptions::default();
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"y": "2"}});
    assert_eq!(memory.write(Write::Apply, &target("x"), &body, &options).unwrap().0, Effect::Changed);
    assert_eq!(read(&memory, "x")["data"], json!({"x": "1", "y": "2"}));
    let (effect, same) = memory.write(Write::Apply, &target("x"), &body, &options).unwrap();
    assert_eq!((effect, same.resource_version()), (Effect::Unchanged, "2"));
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z"}});
    assert_eq!(memory.write(Write::Apply, &target("z"), &body, &options).unwrap().0, Effect::Created);
}

#[test]
fn preconditions_hold() {
    let mut memory = memory(&["x"]);
    let patch = json!({"data": {"x": null}});
    let options = |version: &str| WriteOptions { if_resource_version: version.to_owned(), ..WriteOptions::default() };
    assert!(matches!(memory.write(Write::MergePatch, &target("x"), &patch, &options("7")), Err(ApiError::Conflict(_))));
    assert!(matches!(memory.write(Write::Apply, &target("new"), &patch, &options("7")), Err(ApiError::Conflict(_))));
    for (body, conflict) in [
        (json!({"metadata": {"uid": "other"}}), true),
        (json!({"metadata": {"resourceVersion": "7"}}), true),
        (json!({"metadata": {"name": "y"}}), false),
        (json!({"metadata": {"namespace": "b"}}), false),
    ] {
        let error = memory.write(Write::MergePatch, &target("x"), &body, &options("")).unwrap_err();
        assert_eq!(matches!(error, ApiError::Conflict(_)), conflict, "{body}: {error}");
    }
    assert_eq!(memory.write(Write::MergePatch, &target("none"), &patch, &options("")).unwrap_err(), ApiError::NotFound);
    memory.write(Write::MergePatch, &target("x"), &patch, &options("1")).unwrap();
    assert_eq!(read(&memory, "x")["data"], json!({}));
}

#[test]
fn dry_runs_store_nothing_and_status_is_a_part() {
    let mut memory = memory(&["x"]);
    let body = json!({"data": {"x": "9"}, "status": {"ready": true}});
    let dry = WriteOptions { dry_run: true, ..WriteOptions::default() };
    let (effect, object) = memory.write(Write::MergePatch, &target("x"), &body, &dry).unwrap();
    assert!(effect == Effect::Changed && object.json().contains("\"9\""));
    assert_eq!(read(&memory, "x")["data"]["x"], "1");
    let status = WriteOptions { status: true, ..WriteOptions::default() };
    memory.write(Write::MergePatch, &target("x"), &body, &status).unwrap();
    let read = read(&memory, "x");
    assert_eq!((&read["data"]["x"], &read["status"]["ready"]), (&json!("1"), &json!(true)));
}

#[test]
fn delete_takes_the_very_object() {
    let mut memory = memory(&["x"]);
    let options = |uid: &str, dry_run| DeleteOptions {
        dry_run,
        if_uid: uid.to_owned(),
        if_resource_version: String::new(),
        propagation: Propagation::Background,
    };
    assert!(matches!(memory.delete(&target("x"), &options("other", false)), Err(ApiError::Conflict(_))));
    assert_eq!(memory.delete(&target("x"), &options("", true)), Ok(()));
    assert_eq!(memory.delete(&target("x"), &options("00000000-0000-4000-8000-000000000001", false)), Ok(()));
    assert_eq!(memory.delete(&target("x"), &options("", false)), Err(ApiError::NotFound));
}

#[test]
fn lists_select_and_go_page_by_page() {
    let memory = memory(&["c", "a", "b"]);
    assert_eq!(list(&listing(), &memory), (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], String::new()));
    let (first, token) = list(&ListOptions { limit: 2, ..listing() }, &memory);
    assert_eq!(first, ["a", "b"]);
    assert_eq!(list(&ListOptions { limit: 2, continue_token: token, ..listing() }, &memory), (vec!["c".to_owned()], String::new()));
    for (options, want) in [
        (ListOptions { label_selector: Selector::parse("n in (a,c)").unwrap(), ..listing() }, &["a", "c"][..]),
        (ListOptions { field_selector: "metadata.name=b".to_owned(), ..listing() }, &["b"]),
        (ListOptions { field_selector: "data.x=1,metadata.name!=b".to_owned(), ..listing() }, &["a", "c"]),
        (ListOptions { namespace: Some("other".to_owned()), ..listing() }, &[]),
    ] {
        assert_eq!(list(&options, &memory).0, want, "{options:?}");
    }
    assert_eq!(memory.list(&Gvk::new("", "v1", "Secret"), &listing()).unwrap().0.len(), 0);
}
