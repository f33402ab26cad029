//! Guests that behave: what they are told, what they can read, and what becomes of what they
//! answer.

use std::sync::Arc;
use std::time::Duration;

use wharf_core::{Event, Failure, Fault, Object, Outcome, Reason};
use wharf_engine::{Level, RevisionSpec};

use crate::support::{OBJECT, Recorder, artifact, delivery, engine, limits, revision, revision_of, spec};

#[tokio::test]
async fn outcomes_and_failures_come_back() {
    let engine = engine(4);
    let fault = |reason: &str, after: Option<u64>| Fault {
        reason: reason.to_owned(),
        message: "try\\nlater".to_owned(),
        retry_after: after.map(Duration::from_millis),
    };
    let ok = revision(&engine, "ok").await;
    let fails = revision(&engine, "fails").await;
    for (revision, event, want) in [
        (&ok, Event::Add, Ok(Outcome::Done)),
        (&ok, Event::Update, Ok(Outcome::RequeueAfter(Duration::from_millis(1500)))),
        (&ok, Event::Delete, Ok(Outcome::Done)),
        (&fails, Event::Add, Err(Failure::Retry(fault("Busy", Some(250))))),
        (&fails, Event::Update, Err(Failure::Permanent(fault("BadSpec", None)))),
        (&fails, Event::Delete, Err(Failure::Retry(fault("Busy", None)))),
    ] {
        assert_eq!(revision.call(delivery(event, OBJECT)).await.result, Ok(want), "{event:?}");
    }
}

#[tokio::test]
async fn each_call_is_measured_by_itself() {
    let engine = engine(4);
    let ports = Recorder::new();
    let ok = revision_of(&engine, "ok", limits(), &ports).await;
    for _ in 0..2 {
        let report = ok.call(delivery(Event::Add, OBJECT)).await;
        assert_eq!(report.result, Ok(Ok(Outcome::Done)));
        assert_eq!((report.peak_memory, report.activity.total(), report.log_lines, report.log_dropped), (65_536, 2, 1, 0));
        assert!(report.cpu > Duration::ZERO && report.wall > Duration::ZERO);
    }
    let line = |message: &str| (Level::Info, message.to_owned(), vec![("name".to_owned(), "\"settings\"".to_owned())]);
    assert_eq!(*ports.lines.lock(), [line("call 1"), line("call 2")]);
}

#[tokio::test]
async fn many_values_are_read_at_once() {
    let engine = engine(4);
    let strings = revision(&engine, "strings").await;
    assert_eq!(strings.call(delivery(Event::Update, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn changes_are_seen_by_pointer() {
    let engine = engine(4);
    let changed = revision(&engine, "changed").await;
    let mut d = delivery(Event::Update, OBJECT);
    d.previous = Some(Arc::new(Object::parse(&OBJECT.replace(r#""a":"1""#, r#""a":"0""#), &d.kind).unwrap()));
    assert_eq!(changed.call(d).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn time_and_randomness_come_from_the_host() {
    let engine = engine(4);
    let system = revision(&engine, "system").await;
    assert_eq!(system.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn setup_reads_the_configuration() {
    let engine = engine(4);
    let artifact = artifact(&engine, "config").await.unwrap();
    let with = |config: &str| {
        let spec = RevisionSpec { config: config.into(), ..spec(limits(), &Recorder::new()) };
        engine.prepare(Arc::clone(&artifact), spec).unwrap()
    };
    assert_eq!(with("{}").validate_config().await, Ok(Ok(())));
    let full = with(r#"{"a":{"b":1}}"#);
    assert_eq!(full.validate_config().await, Ok(Err(vec!["a is missing".to_owned(), "a".to_owned()])));
    assert_eq!(full.describe().await.as_deref(), Ok(r#"{"b":1}"#));
    assert_eq!(with("{}").describe().await.unwrap_err().reason, Reason::Trap);
}

#[tokio::test]
async fn stdout_becomes_log_lines() {
    let engine = engine(4);
    let ports = Recorder::new();
    let wasi = revision_of(&engine, "wasi", limits(), &ports).await;
    let report = wasi.call(delivery(Event::Add, OBJECT)).await;
    assert_eq!((report.result, report.log_lines), (Ok(Ok(Outcome::Done)), 3));
    let lines: Vec<_> = ports.lines.lock().iter().map(|(_, message, fields)| (message.clone(), fields[0].1.clone())).collect();
    let line = |text: &str| (text.to_owned(), "stdout".to_owned());
    assert_eq!(lines, [line("one"), line("two \\u{1b}"), line("half")]);
}
