use std::time::Duration;

use serde_json::{Value, json};

use super::{Call, Host, Operation};
use crate::cluster::{self, ApiError, DeleteOptions, EventType, ListOptions, ReadOptions, WriteOptions};
use crate::prelude::*;
use crate::{Cause, Gvk, Removal, config, config_value, system};

/// Answers with what a test asked for in `data.do`.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Script {
    #[serde(default)]
    limit: u32,
}

impl Handler for Script {
    fn describe() -> Description {
        let limit = config_value::<u32>("/limit").unwrap().unwrap_or_default();
        Description::new("script", "1").concurrency(limit).subscribe(Subscription::new("main", "v1", "ConfigMap"))
    }

    fn validate(&self) -> std::result::Result<(), Vec<String>> {
        if self.limit > 9 { Err(vec!["limit: at most 9".to_owned()]) } else { Ok(()) }
    }

    fn add(&self, event: &Event) -> Result {
        let steps = event.get::<Vec<String>>("/data/do")?.unwrap_or_default();
        for step in &steps {
            run(step, event)?;
        }
        Ok(Outcome::requeue_after(Duration::from_secs(self.limit.into())))
    }

    fn delete(&self, event: &Event) -> Result {
        let current = event.object::<Value>()?;
        log::info!("delete", removal = event.delivery().removal, absent = current.is_none());
        Ok(Outcome::done())
    }
}

fn run(step: &str, event: &Event) -> Result<(), Failure> {
    match step {
        "changed" => log::info!("changed", data = event.changed("/data"), labels = event.changed_any(&["/metadata/labels", "/x"])),
        "values" => {
            let values = event.current().get_many::<String>(&["/data/a", "/data/b"])?;
            let previous = event.previous().get::<String>("/data/a")?;
            log::info!("values", current = format!("{values:?}"), previous = format!("{previous:?}"));
            log::debug!("label", label = event.label("a/b")?.unwrap_or_default(), change = event.change());
        }
        "wait" => {
            let (start, before) = (system::now(), event.remaining());
            while system::now() < start + Duration::from_millis(50) {}
            log::info!("waited", enough = before - event.remaining() >= Duration::from_millis(50), random = system::random(4).len());
        }
        "apply" => {
            cluster::apply(
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "b", "name": "copy"}, "data": event.get::<Value>("/data/values")?}),
            )?;
        }
        "event" => cluster::record_event(event.key(), EventType::Warning, "Bad", "it is bad"),
        "panic" => panic!("asked for"),
        other => return Err(Failure::permanent("Unknown", other)),
    }
    Ok(())
}

fn object(steps: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "a", "name": "x", "labels": {"a/b": "c"}}, "data": {"do": steps, "a": "1"}})
}

/// Runs a use of the cluster as a handler would.
fn during<R>(host: &mut Host, work: impl FnOnce() -> R) -> R {
    host.state.enter(work)
}

#[test]
fn configuration_reaches_handler_description_and_checks() {
    let mut host = Host::with_config(json!({"limit": 3}));
    assert_eq!(host.add::<Script>(&object(&[])), Ok(Outcome::RequeueAfter(Duration::from_secs(3))));
    assert_eq!(host.describe::<Script>()["limits"]["concurrency"], 3);
    assert_eq!(host.validate::<Script>(), Ok(()));

    let mut host = Host::with_config(json!({"limit": 10}));
    assert_eq!(host.validate::<Script>().unwrap_err(), ["limit: at most 9"]);
    let mut host = Host::with_config(json!({"limits": 1}));
    assert!(host.validate::<Script>().unwrap_err()[0].contains("unknown field"));
    let failure = host.add::<Script>(&object(&[])).unwrap_err();
    assert_eq!((failure.is_permanent(), failure.reason()), (true, "ConfigInvalid"));
    assert_eq!(Host::new().describe::<Script>()["limits"]["concurrency"], 0);
}

#[test]
fn event_is_what_was_fed() {
    let mut host = Host::new();
    let mut before = object(&["changed", "values"]);
    before["data"]["a"] = json!("0");
    host.update::<Script>(&before, &object(&["changed", "values"])).unwrap();
    let [changed, values, label] = host.logs() else { panic!("{:?}", host.logs()) };
    assert_eq!((&*changed.fields["data"], &*changed.fields["labels"]), ("true", "false"));
    assert_eq!(values.fields["current"], "[Some(\"1\"), None]");
    assert_eq!(values.fields["previous"], "Some(\"0\")");
    assert_eq!((&*label.fields["label"], &*label.fields["change"], label.level), ("c", "update", log::Level::Debug));

    let mut host = Host::new();
    host.log_level(log::Level::Info).add::<Script>(&object(&["changed", "values"])).unwrap();
    assert_eq!((host.logs().len(), &*host.logs()[0].fields["labels"]), (2, "true"));
}

#[test]
fn wrong_types_fail_permanently_with_the_pointer() {
    let mut wrong = object(&[]);
    wrong["data"]["do"] = json!("text");
    let failure = Host::new().add::<Script>(&wrong).unwrap_err();
    assert!(failure.is_permanent());
    assert!(failure.message().starts_with("/data/do cannot be read: invalid type"), "{failure}");
}

#[test]
fn delete_says_why_and_may_lack_the_object() {
    let mut host = Host::new();
    host.add::<Script>(&object(&[])).unwrap();
    assert!(host.get("v1", "ConfigMap", Some("a"), "x").is_some());
    host.call::<Script>(Call::delete(&object(&[])).removal(Removal::Unmatched)).unwrap();
    assert!(host.get("v1", "ConfigMap", Some("a"), "x").is_some());
    host.call::<Script>(Call::delete(&object(&[])).final_state_unknown().without_object().cause(Cause::ChangedOffline)).unwrap();
    assert!(host.get("v1", "ConfigMap", Some("a"), "x").is_none());
    let lines: Vec<_> = host.logs().iter().map(|line| (&*line.fields["removal"], &*line.fields["absent"])).collect();
    assert_eq!(lines, [("unmatched", "false"), ("gone", "true")]);
}

#[test]
fn clock_moves_with_every_look() {
    let mut host = Host::new();
    host.now(Duration::from_secs(5)).add::<Script>(&object(&["wait"])).unwrap();
    assert_eq!((&*host.logs()[0].fields["enough"], &*host.logs()[0].fields["random"]), ("true", "4"));
}

#[test]
fn apply_removes_what_was_applied_before_and_keeps_the_rest() {
    let mut host = Host::new();
    let mut source = object(&["apply"]);
    source["data"]["values"] = json!({"a": "1", "b": "2"});
    host.add::<Script>(&source).unwrap();
    let mut copy = host.get("v1", "ConfigMap", Some("b"), "copy").unwrap().clone();
    copy["data"]["of-others"] = json!("3");
    host.object(&copy);
    source["data"]["values"] = json!({"b": "4"});
    host.add::<Script>(&source).unwrap();
    let after = host.get("v1", "ConfigMap", Some("b"), "copy").unwrap();
    assert_eq!(after["data"], json!({"b": "4", "of-others": "3"}));
    assert_eq!(after["metadata"]["uid"], copy["metadata"]["uid"]);
    assert_ne!(after["metadata"]["resourceVersion"], copy["metadata"]["resourceVersion"]);
    assert_eq!(host.writes().iter().map(|write| write.operation).collect::<Vec<_>>(), [Operation::Apply, Operation::Apply]);
}

#[test]
fn injected_errors_are_used_up_in_order() {
    let mut host = Host::new();
    host.fail(Operation::Apply, ApiError::Conflict("held".to_owned())).fail(Operation::Apply, ApiError::Throttled(Duration::from_secs(1)));
    let reasons: Vec<_> =
        (0..3).map(|_| host.add::<Script>(&object(&["apply"])).err().map(|failure| failure.reason().to_owned())).collect();
    assert_eq!(reasons, [Some("Conflict".to_owned()), Some("ServerUnavailable".to_owned()), None]);
    assert_eq!(host.writes().len(), 1);
}

#[test]
fn cluster_answers_as_an_api_server() {
    let mut host = Host::new();
    let kind = Gvk::new("v1", "ConfigMap");
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": name, "labels": {"n": name}}});
    host.missing_namespace("gone");
    let target = |name: &str| ObjectRef::namespaced(Gvk::new("v1", "ConfigMap"), "a", name);
    during(&mut host, || {
        cluster::create(&map("one")).unwrap();
        assert_eq!(cluster::create(&map("one")), Err(ApiError::AlreadyExists));
        assert_eq!(cluster::get::<Value>(&kind, Some("a"), "two"), Err(ApiError::NotFound));
        let cut: Value =
            cluster::get_with(&kind, Some("a"), "one", &ReadOptions { fields: vec!["/metadata/name".to_owned()], live: true }).unwrap();
        assert_eq!(cut, json!({"metadata": {"name": "one"}}));
        assert!(matches!(cluster::get::<u32>(&kind, Some("a"), "one"), Err(ApiError::Decode(_))));

        let options = WriteOptions { fields: vec!["/data".to_owned()], ..WriteOptions::default() };
        let written = cluster::merge_patch_with(&target("one"), &json!({"data": {"x": "1", "y": null}}), &options).unwrap();
        assert_eq!(written.object, r#"{"data":{"x":"1"}}"#);
        let stale = WriteOptions { if_resource_version: "0".to_owned(), ..WriteOptions::default() };
        assert!(matches!(cluster::apply_with(&map("one"), &stale), Err(ApiError::Conflict(_))));
        let mut elsewhere = map("one");
        elsewhere["metadata"]["namespace"] = json!("gone");
        assert_eq!(cluster::apply(&elsewhere), Err(ApiError::NotFound));
        let dry = WriteOptions { dry_run: true, ..WriteOptions::default() };
        cluster::create_with(&map("two"), &dry).unwrap();
        assert_eq!(cluster::merge_patch(&target("two"), &json!({})), Err(ApiError::NotFound));

        for name in ["two", "three"] {
            cluster::create(&map(name)).unwrap();
        }
        let by_label = ListOptions { label_selector: "n in (one, three)".to_owned(), limit: 1, ..ListOptions::default() };
        let page = cluster::list::<Value>(&kind, &by_label).unwrap();
        assert_eq!((page.items.len(), page.continue_token.is_empty()), (1, false));
        assert_eq!(cluster::list_all::<Value>(&kind, &by_label).unwrap().len(), 2);
        let by_field = ListOptions { field_selector: "metadata.name=two".to_owned(), ..ListOptions::default() };
        assert_eq!(cluster::list_all::<Value>(&kind, &by_field).unwrap().len(), 1);

        let other = ObjectRef { uid: "other".to_owned(), ..target("one") };
        assert!(matches!(cluster::delete(&other), Err(ApiError::Conflict(_))));
        cluster::delete_with(&target("one"), &DeleteOptions { dry_run: true, ..DeleteOptions::default() }).unwrap();
        cluster::delete(&target("one")).unwrap();
        assert_eq!(cluster::delete(&target("one")), Err(ApiError::NotFound));
    });
    let deletes: Vec<_> = host.writes().iter().filter(|write| write.operation == Operation::Delete).map(|write| write.dry_run).collect();
    assert_eq!(deletes, [true, false]);
    host.existing_namespace("gone").clear();
    assert!(host.writes().is_empty());
}

#[test]
fn events_are_recorded_and_a_panic_loses_nothing() {
    let mut host = Host::new();
    let failure = host.add::<Script>(&object(&["event", "nonsense"])).unwrap_err();
    assert_eq!((failure.reason(), failure.message()), ("Unknown", "nonsense"));
    assert_eq!((&*host.events()[0].reason, host.events()[0].event_type, &*host.events()[0].about.name), ("Bad", EventType::Warning, "x"));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.add::<Script>(&object(&["panic"]))));
    assert!(caught.is_err());
    assert_eq!(host.events().len(), 1);
}

#[test]
fn outside_of_a_call_everything_is_absent() {
    assert!(config::<Script>().is_ok());
    assert!(!log::enabled(log::Level::Error));
    let kind = Gvk::new("v1", "ConfigMap");
    assert!(matches!(cluster::get::<Value>(&kind, None, "x"), Err(ApiError::Unavailable(_))));
}
