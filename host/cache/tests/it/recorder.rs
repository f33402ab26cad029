//! A handler and a metrics sink that write down what they are told.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use wharf_cache::{CacheMetrics, Change, ChangeHandler, InformerSpec, WatchEventType};
use wharf_core::{ObjectKey, Reason};

/// Writes each change down as a line.
pub(crate) struct Recorder {
    lines: watch::Sender<Vec<String>>,
    /// Also writes down what is no change.
    attentive: bool,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { lines: watch::Sender::new(Vec::new()), attentive: false })
    }

    /// Also writes down moves, recoveries and changes that selectors hide.
    pub(crate) fn attentive() -> Arc<Self> {
        Arc::new(Self { lines: watch::Sender::new(Vec::new()), attentive: true })
    }

    fn note(&self, line: &str) {
        if self.attentive {
            self.write(line.into());
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Waits for that many lines; returns and forgets them.
    pub(crate) async fn take(&self, count: usize) -> Vec<String> {
        self.lines.subscribe().wait_for(|lines| lines.len() >= count).await.unwrap();
        let mut all = Vec::new();
        self.lines.send_modify(|lines| all = std::mem::take(lines));
        all
    }

    fn write(&self, line: String) {
        self.lines.send_modify(|lines| lines.push(line));
    }
}

impl ChangeHandler for Recorder {
    fn on_change(&self, change: &Change<'_>) {
        let (key, cause) = (change.key, change.cause);
        self.write(match (change.old, change.new) {
            (None, Some(new)) => format!("{cause:?} add {key} {}", new.resource_version()),
            (Some(old), Some(new)) if old.uid() != new.uid() => {
                format!("{cause:?} replace {key} {}:{} {}:{}", old.uid(), old.resource_version(), new.uid(), new.resource_version())
            }
            (Some(old), Some(new)) => format!("{cause:?} update {key} {} {}", old.resource_version(), new.resource_version()),
            (Some(old), None) => {
                let last = change.final_state.expect("a removal has a final state").resource_version();
                let known = if change.final_known { "known" } else { "unknown" };
                format!("{cause:?} delete {key} {} {last} {known}", old.resource_version())
            }
            (None, None) => panic!("a change of nothing"),
        });
    }

    fn on_synced(&self) {
        self.write("synced".into());
    }

    fn on_passed(&self, _: &ObjectKey, _: u64) {
        self.note("passed");
    }

    fn on_moving(&self) {
        self.note("moving");
    }

    fn on_recovered(&self) {
        self.note("recovered");
    }
}

/// Writes each figure down as a line.
#[derive(Default)]
pub(crate) struct Figures(Mutex<Vec<String>>);

impl Figures {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl CacheMetrics for Figures {
    fn started(&self, spec: &InformerSpec) {
        self.0.lock().push(format!("started {}", spec.kind));
    }
    fn size(&self, _: &InformerSpec, objects: usize, bytes: u64) {
        self.0.lock().push(format!("size {objects} {bytes}"));
    }
    fn synced(&self, _: &InformerSpec, synced: bool) {
        self.0.lock().push(format!("synced {synced}"));
    }
    fn relist(&self, _: &InformerSpec, reason: Reason) {
        self.0.lock().push(format!("relist {reason}"));
    }
    fn watch_event(&self, _: &InformerSpec, event: WatchEventType) {
        self.0.lock().push(event.as_str().into());
    }
    fn stopped(&self, spec: &InformerSpec) {
        self.0.lock().push(format!("stopped {}", spec.kind));
    }
}

/// Writes down what went wrong, and what was late or different.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Vec<String>>);

impl Failures {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl CacheMetrics for Failures {
    fn failed(&self, _: &InformerSpec, reason: Reason) {
        self.0.lock().push(reason.to_string());
    }
    fn initial_events_late(&self, _: &InformerSpec, waited: Duration) {
        self.0.lock().push(format!("late {}", waited.as_secs()));
    }
    fn watch_list_differs(&self, _: &InformerSpec, objects: usize) {
        self.0.lock().push(format!("differs {objects}"));
    }
}
