//! When a key comes back after a call, by the queue and the ledger together: controller-runtime's
//! rules for requests, and those about failures that it does not have. The clock is paused, and the
//! calls are made up.

use std::time::Duration;

use tokio::time::advance;
use wharf_core::diff::{EventSet, Rules, Verdict};
use wharf_core::ledger::{FailureState, Policy};
use wharf_core::plugin::PluginName;
use wharf_core::{Fault, Gvk, ObjectKey, Strike};
use wharf_queue::Found;

use super::*;
use crate::clock::Clock;
use crate::dispatch::history::What;
use crate::dispatch::{BreakerPolicy, Retried, Shared};
use crate::telemetry::metrics::Metrics;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A plugin with one key.
struct Bench {
    dispatcher: Arc<Dispatcher>,
    key: TargetKey,
    version: u32,
}

impl Bench {
    fn new() -> Self {
        let shared = Shared {
            clock: Clock::start(),
            metrics: Metrics::new(),
            policy: Policy::default(),
            breaker: BreakerPolicy::default(),
            history_bytes: 1 << 16,
            keep_failed: crate::dispatch::KeepFailed { calls: 10, bytes: 1 << 20, secret_data: false },
            checkpoint: None,
            tenure: crate::lease::Tenure::always(),
        };
        let dispatcher = Dispatcher::new(PluginName::new("team-a", "guard").unwrap(), Arc::new(shared));
        dispatcher.queue.resume();
        let key = TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("team-a", "x"));
        Self { dispatcher, key, version: 0 }
    }

    /// One whose object is there.
    fn changed() -> Self {
        let mut bench = Self::new();
        bench.change();
        bench
    }

    /// The object changes.
    fn change(&mut self) {
        self.version += 1;
        self.dispatcher.enqueue(self.key.clone(), Cause::Watch);
    }

    /// The next call: takes the key when it comes, and ends so. Returns the cause.
    async fn call(&self, finished: Finished) -> Option<Cause> {
        let item = tokio::time::timeout(3600 * SECOND, self.dispatcher.queue.get()).await.unwrap().unwrap();
        let json = format!(r#"{{"metadata": {{"name": "x", "namespace": "team-a", "uid": "u", "resourceVersion": "{}"}}}}"#, self.version);
        let object = Arc::new(Object::parse(&json, &Gvk::new("", "v1", "ConfigMap")).unwrap());
        let rules = Rules { matches: &|_: &Arc<Object>| true, events: EventSet::ALL, verdict: &|_, _| Verdict::Wanted };
        let here = Here { key: &self.key, slot: None, now: Some(&object) };
        let start = self.dispatcher.state.lock().ledger.start(here, &rules, self.dispatcher.shared.clock.now(), 1);
        let Start::Call(call) = start else { panic!("no call but {start:?}") };
        let next = finish(&self.dispatcher, call.event, &self.key, call.token, finished, None);
        arm(&self.dispatcher, &self.key, item.priority(), next.due, next.again);
        drop(item);
        call.cause
    }

    fn found(&self) -> Option<Found> {
        self.dispatcher.queue.find(&self.key)
    }

    fn retries(&self) -> u32 {
        self.dispatcher.queue.num_requeues(&self.key)
    }

    fn state(&self) -> Option<FailureState> {
        self.dispatcher.failures(10).rows.first().map(|failed| failed.state)
    }
}

fn fault(retry_after: Option<Duration>) -> Fault {
    Fault { reason: "Asked".into(), message: "a\nb".into(), retry_after }
}

fn retry() -> Finished {
    Finished::Retry(fault(None))
}

fn trap() -> Finished {
    Finished::Strike(Strike { reason: Reason::Trap, message: "unreachable".into() })
}

/// controller-runtime lowers the priority of creates of its first list and of updates that change
/// nothing; ours also that of a replay. What has happened is never behind a pass over everything.
#[tokio::test(start_paused = true)]
async fn cc8_a_pass_over_everything_has_a_low_priority() {
    for (cause, low) in [
        (Cause::InitialList, true),
        (Cause::Resync, true),
        (Cause::Reload, true),
        (Cause::Watch, false),
        (Cause::ChangedOffline, false),
        (Cause::Retry, false),
        (Cause::Requeue, false),
        (Cause::Related, false),
        (Cause::Manual, false),
    ] {
        let bench = Bench::new();
        bench.dispatcher.enqueue(bench.key.clone(), cause);
        let item = bench.dispatcher.queue.get().await.unwrap();
        assert_eq!(item.priority() < 0, low, "{cause:?}");
    }
    let mut bench = Bench::new();
    bench.dispatcher.enqueue(bench.key.clone(), Cause::Resync);
    bench.change();
    assert_eq!(bench.dispatcher.queue.get().await.unwrap().priority(), 0, "of two causes the higher one counts");
}

#[tokio::test(start_paused = true)]
async fn cc1_success_forgets() {
    let bench = Bench::changed();
    bench.call(Finished::Done).await;
    assert_eq!((bench.found(), bench.retries(), bench.state()), (None, 0, None));
}

#[tokio::test(start_paused = true)]
async fn cc1_an_error_comes_back_with_backoff() {
    let bench = Bench::changed();
    for wait in [5, 10, 20] {
        bench.call(retry()).await;
        assert_eq!(bench.found(), Some(Found::Later(wait * MS)));
    }
    assert_eq!((bench.retries(), bench.state()), (3, Some(FailureState::Retrying)));
    assert_eq!(bench.call(Finished::Done).await, Some(Cause::Retry));
}

#[tokio::test(start_paused = true)]
async fn cc1_only_success_resets_the_backoff() {
    let mut bench = Bench::changed();
    bench.call(retry()).await;
    bench.change();
    bench.call(retry()).await;
    assert_eq!(bench.found(), Some(Found::Later(10 * MS)), "a change does not");
    bench.call(trap()).await;
    assert_eq!(bench.found(), Some(Found::Later(20 * MS)), "nor does a failure of another kind");
    bench.call(Finished::Done).await;
    bench.change();
    bench.call(retry()).await;
    assert_eq!(bench.found(), Some(Found::Later(5 * MS)));
}

#[tokio::test(start_paused = true)]
async fn cc1_a_terminal_error_is_not_requeued() {
    let mut bench = Bench::changed();
    bench.call(retry()).await;
    bench.call(Finished::Permanent(fault(None))).await;
    assert_eq!((bench.found(), bench.retries(), bench.state()), (None, 0, Some(FailureState::Parked)));
    advance(24 * 3600 * SECOND).await;
    assert_eq!(bench.found(), None);
    bench.change();
    assert_eq!(bench.call(Finished::Done).await, None, "because of the change");
    assert_eq!(bench.state(), None);
}

#[tokio::test(start_paused = true)]
async fn cc1_requeue_after_forgets_and_waits() {
    let bench = Bench::changed();
    bench.call(retry()).await;
    bench.call(Finished::RequeueAfter(10 * SECOND)).await;
    assert_eq!((bench.found(), bench.retries(), bench.state()), (Some(Found::Later(10 * SECOND)), 0, None));
    assert_eq!(bench.call(retry()).await, Some(Cause::Requeue));
    assert_eq!(bench.found(), Some(Found::Later(5 * MS)));
}

#[tokio::test(start_paused = true)]
async fn cc1_requeue_after_nothing_is_at_once() {
    let bench = Bench::changed();
    bench.call(Finished::RequeueAfter(Duration::ZERO)).await;
    assert_eq!(bench.found(), Some(Found::Ready { ahead: 0 }));
    assert_eq!(bench.call(Finished::Done).await, Some(Cause::Requeue));
}

#[tokio::test(start_paused = true)]
async fn cc1_requeue_after_outlives_a_change() {
    let mut bench = Bench::changed();
    bench.call(Finished::RequeueAfter(10 * SECOND)).await;
    bench.change();
    assert_eq!(bench.found(), Some(Found::Ready { ahead: 0 }));
    bench.call(Finished::RequeueAfter(20 * SECOND)).await;
    assert_eq!(bench.found(), Some(Found::Later(20 * SECOND)), "the last outcome counts");
}

#[tokio::test(start_paused = true)]
async fn cc1_an_error_with_a_time_waits_for_that() {
    let bench = Bench::changed();
    bench.call(retry()).await;
    bench.call(Finished::Retry(fault(Some(3 * SECOND)))).await;
    assert_eq!((bench.found(), bench.state()), (Some(Found::Later(3 * SECOND)), Some(FailureState::Waiting)));
    assert_eq!(bench.retries(), 2, "the backoff goes on behind it");
}

#[tokio::test(start_paused = true)]
async fn cc1_a_change_during_the_call_comes_back_once() {
    let mut bench = Bench::changed();
    let item = bench.dispatcher.queue.get().await.unwrap();
    bench.change();
    bench.change();
    drop(item);
    assert_eq!(bench.found(), Some(Found::Ready { ahead: 0 }));
    bench.call(Finished::Done).await;
    assert_eq!(bench.found(), None);
}

#[tokio::test(start_paused = true)]
async fn cc1_an_ended_delete_is_decided_anew() {
    let bench = Bench::changed();
    bench.call(Finished::Done).await;
    let key = bench.key.clone();
    bench.dispatcher.enqueue(key.clone(), Cause::Watch);
    let item = bench.dispatcher.queue.get().await.unwrap();
    let rules = Rules { matches: &|_: &Arc<Object>| true, events: EventSet::ALL, verdict: &|_, _| Verdict::Wanted };
    let start = bench.dispatcher.state.lock().ledger.start(Here { key: &key, slot: None, now: None }, &rules, SECOND, 1);
    let Start::Call(call) = start else { panic!("no call but {start:?}") };
    let next = finish(&bench.dispatcher, call.event, &key, call.token, Finished::Done, None);
    arm(&bench.dispatcher, &key, item.priority(), next.due, next.again);
    drop(item);
    assert_eq!(bench.found(), Some(Found::Ready { ahead: 0 }));
    assert_eq!(bench.dispatcher.stats().ledger_entries, 0);
}

#[tokio::test(start_paused = true)]
async fn cc1_a_cancelled_call_is_due_at_once() {
    let bench = Bench::changed();
    bench.call(Finished::Cancelled).await;
    assert_eq!((bench.found(), bench.retries()), (Some(Found::Ready { ahead: 0 }), 0));
}

#[tokio::test(start_paused = true)]
async fn cc2_nothing_is_handed_out_before_a_revision_serves() {
    let bench = Bench::new();
    let shared = Arc::clone(&bench.dispatcher.shared);
    let fresh = Dispatcher::new(PluginName::new("team-a", "new").unwrap(), shared);
    fresh.enqueue(bench.key.clone(), Cause::InitialList);
    assert!(fresh.queue.try_get().is_none() && !fresh.has_synced());
    assert_eq!(fresh.queue.find(&bench.key), Some(Found::Ready { ahead: 0 }), "but it is kept");
}

#[tokio::test(start_paused = true)]
async fn cc4_a_trap_is_a_strike_and_the_key_comes_back() {
    let bench = Bench::changed();
    bench.call(trap()).await;
    let failures = bench.dispatcher.failures(10);
    assert_eq!((failures.rows[0].strikes, failures.rows[0].state), (1, FailureState::Retrying));
    assert_eq!(bench.call(Finished::Done).await, Some(Cause::Retry));
    assert!(bench.dispatcher.failures(10).rows.is_empty());
}

#[tokio::test(start_paused = true)]
async fn five_strikes_park_for_half_an_hour() {
    let bench = Bench::changed();
    for _ in 0..5 {
        bench.call(trap()).await;
    }
    assert_eq!((bench.found(), bench.state()), (Some(Found::Later(1800 * SECOND)), Some(FailureState::Parked)));
    assert_eq!(bench.dispatcher.stats().parked, 1);
    assert_eq!(bench.call(trap()).await, Some(Cause::Retry));
    assert_eq!(bench.found(), Some(Found::Later(1800 * SECOND)), "one more is enough to park it again");
    bench.call(Finished::Done).await;
    assert_eq!((bench.found(), bench.state(), bench.dispatcher.stats().parked), (None, None, 0));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_server_is_no_strike() {
    let bench = Bench::changed();
    for _ in 0..20 {
        bench.call(Finished::Waiting { reason: Reason::ServerUnavailable, message: "no answer".into() }).await;
        assert_eq!(bench.state(), Some(FailureState::Waiting));
    }
    let failed = bench.dispatcher.failures(10).rows.remove(0);
    assert_eq!((failed.strikes, failed.attempts, failed.parked), (0, 20, None));
}

#[tokio::test(start_paused = true)]
async fn retry_calls_a_parked_key_with_cause_manual() {
    let bench = Bench::changed();
    bench.call(Finished::Permanent(fault(None))).await;
    assert_eq!(bench.dispatcher.retry(&bench.key), Retried::Queued);
    assert_eq!(bench.call(Finished::Permanent(fault(None))).await, Some(Cause::Manual));
    assert_eq!((bench.found(), bench.state()), (None, Some(FailureState::Parked)), "it may be parked again");
    assert_eq!(bench.dispatcher.retry_failed(), 1);
    assert_eq!(bench.call(Finished::Done).await, Some(Cause::Manual));
    assert_eq!(bench.dispatcher.retry_failed(), 0);
    let asked = bench.dispatcher.history.of(&bench.key).records.iter().filter(|record| record.what == What::Asked).count();
    assert_eq!(asked, 2);
}

#[tokio::test(start_paused = true)]
async fn retry_does_not_wait_for_the_guests_time() {
    let bench = Bench::changed();
    let started = bench.dispatcher.shared.clock.now();
    bench.call(Finished::Retry(fault(Some(1000 * SECOND)))).await;
    assert_eq!(bench.dispatcher.retry(&bench.key), Retried::Queued);
    assert_eq!(bench.call(Finished::Done).await, Some(Cause::Manual));
    assert!(bench.dispatcher.shared.clock.now() < started + SECOND);
}

#[tokio::test(start_paused = true)]
async fn retry_of_what_was_never_called_does_nothing() {
    let bench = Bench::new();
    assert_eq!(bench.dispatcher.retry(&bench.key), Retried::NeverCalled);
    assert_eq!(bench.found(), None);
}

#[tokio::test(start_paused = true)]
async fn failures_are_the_first_ones_in_order_and_escaped() {
    let bench = Bench::new();
    let rules = Rules { matches: &|_: &Arc<Object>| true, events: EventSet::ALL, verdict: &|_, _| Verdict::Wanted };
    let kind = Arc::new(Gvk::new("", "v1", "ConfigMap"));
    for name in ["d", "a", "c", "e", "b"] {
        let json = format!(r#"{{"metadata": {{"name": "{name}", "namespace": "team-a", "uid": "{name}", "resourceVersion": "1"}}}}"#);
        let object = Arc::new(Object::parse(&json, &kind).unwrap());
        let key = TargetKey::object(Arc::clone(&kind), ObjectKey::new("team-a", name));
        let here = Here { key: &key, slot: None, now: Some(&object) };
        let start = bench.dispatcher.state.lock().ledger.start(here, &rules, SECOND, 1);
        let Start::Call(call) = start else { panic!("no call but {start:?}") };
        let _next = finish(&bench.dispatcher, call.event, &key, call.token, Finished::Permanent(fault(None)), None);
    }
    let failures = bench.dispatcher.failures(3);
    let names: Vec<String> = failures.rows.iter().map(|failed| failed.key.to_string()).collect();
    assert_eq!((names.join(" "), failures.more), ("ConfigMap team-a/a ConfigMap team-a/b ConfigMap team-a/c".to_owned(), 2));
    assert_eq!((failures.rows[0].message.as_str(), failures.rows[0].reason.as_str()), ("a\\nb", "Asked"));
    assert_eq!((bench.dispatcher.failures(0).rows.len(), bench.dispatcher.failures(0).more), (0, 5));
}
