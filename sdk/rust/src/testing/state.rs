//! The mock's state: with the test between calls, with the thread during one.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;

use super::cluster::Cluster;
use super::record::{LogLine, Operation, RecordedEvent, Write};
use crate::cluster::ApiError;
use crate::log::Level;

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: Value,
    pub(super) current: Option<Value>,
    pub(super) previous: Option<Value>,
    pub(super) cluster: Cluster,
    pub(super) failures: Vec<(Operation, ApiError)>,
    pub(super) log_level: Level,
    pub(super) now: Duration,
    pub(super) remaining: Duration,
    pub(super) random: u64,
    pub(super) logs: Vec<LogLine>,
    pub(super) events: Vec<RecordedEvent>,
    pub(super) writes: Vec<Write>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            config: Value::Object(serde_json::Map::new()),
            current: None,
            previous: None,
            cluster: Cluster::default(),
            failures: Vec::new(),
            log_level: Level::Trace,
            now: Duration::from_secs(1_700_000_000),
            remaining: Duration::ZERO,
            random: 1,
            logs: Vec::new(),
            events: Vec::new(),
            writes: Vec::new(),
        }
    }
}

thread_local! {
    static RUNNING: RefCell<Option<State>> = const { RefCell::new(None) };
}

impl State {
    /// Runs a call on this thread; the host's functions work on this state meanwhile. It is
    /// given back even if the call panics.
    pub(super) fn enter<R>(&mut self, call: impl FnOnce() -> R) -> R {
        struct Back<'a>(&'a mut State);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                *self.0 = RUNNING.take().unwrap_or_default();
            }
        }
        RUNNING.set(Some(std::mem::take(self)));
        let _back = Back(self);
        call()
    }

    /// The event is over: its functions find nothing.
    pub(super) fn end_call(&mut self) {
        self.current = None;
        self.previous = None;
        self.remaining = Duration::ZERO;
    }
}

/// The state of the call that runs on this thread; `None` outside of one.
pub(super) fn with<R>(use_state: impl FnOnce(&mut State) -> R) -> Option<R> {
    RUNNING.with_borrow_mut(|state| state.as_mut().map(use_state))
}
