//! What every guest has, as the operator sets it.

use wharf_core::{Event, Outcome, Reason};
use wharf_engine::{CallReport, Caps, Engine, EngineConfig};

use crate::support::{OBJECT, Recorder, delivery, limits, revision_of};

async fn called(guest: &str, caps: Caps) -> CallReport {
    let engine = Engine::new(EngineConfig { instances: 2, threads: 1, caps, ..EngineConfig::default() }).unwrap();
    revision_of(&engine, guest, limits(), &Recorder::new()).await.call(delivery(Event::Add, OBJECT)).await
}

#[tokio::test]
async fn lines_of_a_call() {
    let report = called("log-flood", Caps { log_lines: 7, ..Caps::default() }).await;
    assert_eq!((report.result, report.log_lines, report.log_dropped), (Ok(Ok(Outcome::Done)), 7, 993));
}

#[tokio::test]
async fn elements_of_tables() {
    let strike = called("table-bomb", Caps { table_elements: 3000, ..Caps::default() }).await.result.unwrap_err();
    assert_eq!(strike.reason, Reason::MemoryExceeded);
    assert!(strike.message.contains("3000 are allowed"), "{}", strike.message);
}

#[tokio::test]
async fn bytes_of_a_host_call() {
    let much = Caps { host_call_bytes: 64 << 20, ..Caps::default() };
    assert_eq!(called("log-huge", much).await.result, Ok(Ok(Outcome::Done)));
    assert_eq!(called("log-huge", Caps::default()).await.result.unwrap_err().reason, Reason::HostCallLimit);
}
