//! Guests that fail in every way. Each becomes a reason; the neighbour works meanwhile and afterwards; its
//! instance is given back. The tables of cases are in the modules; here is what the messages say.

mod bombs;
mod calls;
mod case;
mod loads;
mod proof;
mod tampering;

use std::sync::Arc;
use std::time::Duration;

use wharf_core::plugin::Limits;
use wharf_core::{Event, Object, Outcome, Reason, Strike};

use crate::support::{OBJECT, Recorder, delivery, engine, limits, revision, revision_of};

/// Each guest twice, so that what the first call leaves behind would show.
async fn strikes(guest: &str, event: Event, limits: Limits) -> [Strike; 2] {
    let engine = engine(2);
    let neighbour = revision(&engine, "ok").await;
    let hostile = revision_of(&engine, guest, limits, &Recorder::new()).await;
    let mut strikes = Vec::new();
    for _ in 0..2 {
        strikes.push(hostile.call(delivery(event, OBJECT)).await.result.unwrap_err());
        assert_eq!(neighbour.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
        assert_eq!(engine.stats().busy(), 0);
    }
    strikes.try_into().unwrap()
}

async fn strike(guest: &str, event: Event, limits: Limits) -> Strike {
    let [first, second] = strikes(guest, event, limits).await;
    assert_eq!(first, second);
    first
}

#[tokio::test]
async fn a_trap_names_the_functions() {
    let strike = strike("trap", Event::Add, limits()).await;
    assert_eq!(strike.reason, Reason::Trap);
    assert!(strike.message.contains("integer divide by zero"), "{}", strike.message);
    let at = |name| strike.message.find(name).unwrap_or_else(|| panic!("{name} in {}", strike.message));
    assert!(at("divide_by_zero") < at("reconcile") && at("reconcile") < at("add"));
}

#[tokio::test]
async fn a_loop_uses_up_its_processor_time() {
    let short = Limits { cpu: Duration::from_millis(20), ..limits() };
    assert_eq!(strike("loop", Event::Add, short).await.reason, Reason::CpuExceeded);
}

#[tokio::test]
async fn a_loop_reaches_its_deadline() {
    let short = Limits { deadline: Duration::from_millis(20), ..limits() };
    assert_eq!(strike("loop", Event::Add, short).await.reason, Reason::DeadlineExceeded);
}

#[tokio::test]
async fn a_loop_at_the_start_ends_too() {
    for strike in strikes("start-loop", Event::Add, limits()).await {
        // Which of the two budgets of an instantiation ends first depends on how busy the machine is.
        assert!(matches!(strike.reason, Reason::CpuExceeded | Reason::DeadlineExceeded), "{strike:?}");
    }
}

#[tokio::test]
async fn memory_has_an_end() {
    let strike = strike("memory-bomb", Event::Add, Limits { memory: 8 << 20, ..limits() }).await;
    assert_eq!(strike.reason, Reason::MemoryExceeded);
    assert!(strike.message.contains("8388608 are allowed"), "{}", strike.message);
}

#[tokio::test]
async fn tables_have_an_end() {
    let strike = strike("table-bomb", Event::Add, limits()).await;
    assert_eq!(strike.reason, Reason::MemoryExceeded);
    assert!(strike.message.contains("table elements"), "{}", strike.message);
}

#[tokio::test]
async fn an_instance_that_is_too_big_is_not_made() {
    let strike = strike("ok", Event::Add, Limits { memory: 32 << 10, ..limits() }).await;
    assert_eq!(strike.reason, Reason::InstantiateFailed);
    assert!(strike.message.contains("65536 bytes of memory were asked for, 32768 are allowed"), "{}", strike.message);
}

#[tokio::test]
async fn the_stack_has_an_end() {
    let strike = strike("recursion", Event::Add, limits()).await;
    assert_eq!(strike.reason, Reason::StackOverflow);
    assert!(strike.message.matches("deeper").count() <= 16, "{}", strike.message);
    assert!(strike.message.len() <= 4096 + '…'.len_utf8());
}

#[tokio::test]
async fn host_calls_carry_only_so_much() {
    for (guest, event) in [("log-huge", Event::Add), ("strings", Event::Add), ("wasi", Event::Update)] {
        assert_eq!(strike(guest, event, limits()).await.reason, Reason::HostCallLimit, "{guest}");
    }
}

#[tokio::test]
async fn a_flood_of_lines_is_cut_and_counted() {
    let engine = engine(2);
    let ports = Recorder::new();
    let flood = revision_of(&engine, "log-flood", limits(), &ports).await;
    let report = flood.call(delivery(Event::Add, OBJECT)).await;
    assert_eq!((report.result, report.log_lines, report.log_dropped), (Ok(Ok(Outcome::Done)), 200, 800));
    let lines = ports.lines.lock();
    assert_eq!(lines.len(), 200);
    assert!(lines[0].1.len() <= 4096 + '…'.len_utf8() && lines[0].1.starts_with("x\\nx"));
}

#[tokio::test]
async fn pointers_cannot_exhaust_the_hosts_stack() {
    let engine = engine(2);
    let deep = revision(&engine, "deep-pointer").await;
    let mut d = delivery(Event::Add, OBJECT);
    let nested = format!(r#"{}1{}"#, r#"{"a":"#.repeat(3000), "}".repeat(3000));
    let text = format!(r#"{{"metadata":{{"name":"n"}},"a":{nested}}}"#);
    d.current = Some(Arc::new(Object::parse(&text, &d.kind).unwrap()));
    assert_eq!(deep.call(d).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn descriptions_fail_in_their_own_ways() {
    let engine = engine(2);
    for (guest, reason) in [("describe-traps", Reason::Trap), ("describe-long", Reason::DescribeFailed)] {
        assert_eq!(revision(&engine, guest).await.describe().await.unwrap_err().reason, reason, "{guest}");
    }
    assert!(revision(&engine, "ok").await.describe().await.unwrap().contains(r#""kind":"ConfigMap"}]}"#));
}
