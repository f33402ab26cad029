//! One worker: takes a key, decides by the store as it is now, calls the guest, and
//! records how the call ended.
//!
//! At most one call per key is in flight because the queue never hands a key out twice. What
//! has begun and did not end is due in the ledger; where that was a defect of the host's, the
//! worker goes on and the key comes back after a while.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::task::yield_now;
use tokio::time::Instant;
use wharf_core::ledger::{Call, Finished, Here, Mark, Next, Start, Token};
use wharf_core::{Cause, Delivery, Event, Object, Outcome, Reason, TargetKey};
use wharf_engine::CallReport;
use wharf_queue::{Add, Item};

use super::admission::{Admitted, next};
use super::dispatcher::{Dispatcher, Serving, State};
use super::every::{Lag, Started};
use super::history::What;
use super::judge::{self, Case, Judged};
use super::note::{ending, skips};
use super::passed::Passed;
use super::subscribed::{Found, Present, Subscribed};
use super::tally::Ended;
use crate::telemetry::events::CallFinished;

/// A key that is not taken because too many others fail is looked at again after this time.
const FULL_PAUSE: Duration = Duration::from_secs(30);
/// So often a key is judged before others get their turn.
const MAX_ROUNDS: usize = 4;

/// What a worker may do before it lets the tasks of others on its thread go on, which it would
/// not do by itself as long as there are keys and turns.
const STRETCH: (u32, Duration) = (32, Duration::from_millis(1));

/// Runs until the queue is shut down, or the revision wants fewer workers.
pub(super) async fn run(dispatcher: Arc<Dispatcher>, index: u32) {
    let (mut keys, mut busy) = (0, Duration::ZERO);
    while let Some((item, admitted)) = next(&dispatcher, index).await {
        let pass = admitted.pass;
        let worked = AssertUnwindSafe(work(&dispatcher, &item, admitted)).catch_unwind().await;
        let (through, took) = worked.unwrap_or_else(|_| broke_off(&dispatcher, &item));
        if through {
            dispatcher.through(item.key());
        }
        drop(item);
        dispatcher.give_back(pass);
        (keys, busy) = (keys + 1, busy + took);
        if keys >= STRETCH.0 || busy >= STRETCH.1 {
            (keys, busy) = (0, Duration::ZERO);
            yield_now().await;
        }
    }
}

/// A panic, whose own message is in the host's log. The key comes back after its backoff.
fn broke_off(dispatcher: &Dispatcher, item: &Item<TargetKey>) -> (bool, Duration) {
    let (key, reason) = (item.key(), Reason::HostError);
    tracing::error!(target: "wharf::plugin", plugin = &*dispatcher.label, %key, %reason, hint = reason.hint(), "worker broke off");
    let after = Some(dispatcher.queue.backoff(key));
    dispatcher.queue.add_with(key.clone(), Add { priority: item.priority(), after, ..Add::default() });
    (false, Duration::ZERO)
}

/// What a worker does with a key.
enum Decided {
    Call(Box<Planned>),
    /// No call now.
    Nothing,
    /// A change of the key is about to be announced, and brings it back.
    Later,
}

/// A call that is about to start.
struct Planned {
    serving: Arc<Serving>,
    token: Token,
    delivery: Delivery,
    /// The changes of a key that is told of each; the call is for the first of them.
    lag: Option<Lag>,
}

/// Whether the key was decided, or comes back without; and how long its thread was busy with it.
async fn work(dispatcher: &Dispatcher, item: &Item<TargetKey>, admitted: Admitted) -> (bool, Duration) {
    let key = item.key();
    let begun = Instant::now();
    let decided = decide(dispatcher, item).await;
    let judged = begun.elapsed();
    let Planned { serving, token, delivery, lag } = match decided {
        Decided::Call(planned) => *planned,
        Decided::Nothing => return (true, judged),
        Decided::Later => return (false, judged),
    };
    dispatcher.note_called(key, &delivery, &serving, lag.is_some());
    let pass = admitted.pass;
    let report = admitted.call(&serving, delivery.clone()).await;
    let finished = finished(&report);
    let ended = ending(&finished, &serving);
    // Of a key that goes on failing, or has failed before this revision, only the first call says something of it.
    if delivery.attempt <= 1 {
        serving.tally.count(Ended::from(&finished), report.own);
    }
    dispatcher.streak.count(&finished, delivery.attempt);
    dispatcher.keep_failed(&serving.tag, &delivery, &report);
    dispatcher.count_strikes(pass, key, &finished);
    let next = finish(dispatcher, delivery.event, key, token, finished, lag);
    let parked = next.parked && !skips(&ended, &next);
    dispatcher.note_ended(key, ended, report.wall, &next);
    dispatcher.calls.fetch_add(1, Ordering::Relaxed);
    if !matches!(report.result, Ok(Ok(_))) {
        dispatcher.failures.fetch_add(1, Ordering::Relaxed);
    }
    CallFinished { plugin: &dispatcher.label, revision: &serving.tag, delivery: &delivery, report: &report, parked }
        .emit(&dispatcher.shared.metrics, |reason| serving.label_of(reason));
    // A time that the guest asked for is a promise, also if the call came from a pass over everything.
    let asked = matches!(report.result, Ok(Ok(Outcome::RequeueAfter(_))));
    arm(dispatcher, key, if asked { item.priority().max(0) } else { item.priority() }, next.due, next.again);
    (true, judged.saturating_add(report.cpu))
}

/// Asks the table, and the filters where it needs their word. A key that changes faster than it
/// is judged goes to the end of the queue.
async fn decide(dispatcher: &Dispatcher, item: &Item<TargetKey>) -> Decided {
    let mut judged = None;
    for round in 0..MAX_ROUNDS {
        if round > 1 {
            yield_now().await;
        }
        match try_decide(dispatcher, item, judged.as_ref()) {
            Ok(decided) => return decided,
            Err(case) => {
                let begun = Instant::now();
                judged = Some(case.judge(dispatcher, item.key()));
                if let Some(serving) = dispatcher.serving() {
                    serving.revision.charge(begun.elapsed());
                }
            }
        }
    }
    arm(dispatcher, item.key(), item.priority(), None, true);
    Decided::Later
}

/// Asks the table. Or the change that has to be judged first.
fn try_decide(dispatcher: &Dispatcher, item: &Item<TargetKey>, judged: Option<&Judged>) -> Result<Decided, Case> {
    let mut passed = Passed::default();
    let decided = ask(dispatcher, item, judged, &mut passed);
    // If nothing else was to be said.
    passed.tell(dispatcher, item.key());
    decided
}

/// Asks the table; a call is noted in the ledger before it starts. What is passed over on the way
/// is said before what was decided.
fn ask(dispatcher: &Dispatcher, item: &Item<TargetKey>, judged: Option<&Judged>, passed: &mut Passed) -> Result<Decided, Case> {
    let (key, priority) = (item.key(), item.priority());
    let now = dispatcher.shared.clock.now();
    let (start, idle) = {
        let mut state = dispatcher.state.lock();
        // The revision is resolved when a key is dequeued, and under the lock of a swap: the
        // call is decided by the rules and the marks of the revision that gets it.
        let Some(serving) = dispatcher.serving() else { return Ok(Decided::Later) };
        let subscribed = Arc::clone(&state.subscribed);
        // A change that the store has and the ledger has not heard of yet: it is about to
        // be announced, and that brings the key back. A key whose watch is refused sleeps.
        let Present::Settled(found) = subscribed.object(key) else { return Ok(Decided::Later) };
        let here = here(key, found.as_ref(), true);
        if state.related.remove(key) {
            state.ledger.mark(here, Mark::Related);
        }
        if subscribed.asleep(key) {
            return Ok(Decided::Nothing);
        }
        // Whether a change is the plugin's own is not known as long as a write is in flight.
        if subscribed.subscription(key).is_some_and(|s| s.ignore_own_writes) && state.own.in_flight(key) {
            return Ok(Decided::Later);
        }
        // Memory is bounded by what the plugin was told of: see `Ledger::is_full`.
        let wanted = || found.as_ref().is_some_and(|found| subscribed.matches(key, &found.object));
        let full = state.ledger.is_full(&dispatcher.shared.policy);
        if full && state.ledger.entry(here).is_none() && wanted() {
            dispatcher.note(key, What::Full);
            arm(dispatcher, key, priority, Some(now.saturating_add(FULL_PAUSE)), false);
            return Ok(Decided::Nothing);
        }
        let lag = dispatcher.lag(&subscribed, key, passed);
        let started = lag.and_then(|lag| lag.start(&mut state, &subscribed, key, judged, (now, serving.number), passed));
        let (start, seen, lag) = match started {
            Some(Started { start, cause, lag }) => (start, Some(cause), Some(lag)),
            None => {
                let State { ledger, own, .. } = &mut *state;
                let verdict = |old: Option<&Arc<Object>>, new: &Arc<Object>| judge::verdict(&subscribed, key, own, judged, (old, new));
                (subscribed.with_rules(key, &verdict, |rules| ledger.start(here, rules, now, serving.number)), None, None)
            }
        };
        match start {
            Start::Judge { old, new } => return Err(Case { subscribed, old, new }),
            Start::Held { .. } => {}
            // Behind the store the chain of own writes has not ended yet.
            _ if seen.is_some() => {}
            _ => state.own.decided(key, here.now.map(|object| object.resource_version())),
        }
        // A key that is held is told of later, and why.
        let cause = if matches!(start, Start::Held { .. }) { Cause::Watch } else { state.take_cause(key) };
        let cause = seen.unwrap_or(cause);
        match start {
            Start::Call(call) => {
                drop(state);
                passed.tell(dispatcher, key);
                judge::note(dispatcher, key, call.dropped);
                let Some((token, delivery)) = delivery(&subscribed, key, call, cause, item.queued()) else { return Ok(Decided::Nothing) };
                return Ok(Decided::Call(Box::new(Planned { serving, token, delivery, lag })));
            }
            other => {
                let matches = cause == Cause::Watch && wanted();
                (other, (cause, found.map(|found| found.object), matches))
            }
        }
    };
    let said = passed.any();
    passed.tell(dispatcher, key);
    match start {
        Start::Call(_) | Start::Judge { .. } => {}
        Start::Nothing { next_due, dropped } => {
            judge::note(dispatcher, key, dropped);
            let (cause, object, matches) = idle;
            // Why its changes lead to no call was said of each.
            if dropped.is_some() || !said {
                dispatcher.note_idle(key, cause, object.as_ref(), matches, dropped);
            }
            arm(dispatcher, key, priority, next_due, false);
        }
        Start::Held { until } => {
            dispatcher.note(key, What::Held { after: until.saturating_sub(now) });
            arm(dispatcher, key, priority, Some(until), false);
        }
        Start::Again => {
            dispatcher.queue.forget(key);
            arm(dispatcher, key, priority, None, true);
        }
    }
    Ok(Decided::Nothing)
}

fn delivery(
    subscribed: &Subscribed,
    key: &TargetKey,
    call: Call<Arc<Object>>,
    cause: Cause,
    queued: Duration,
) -> Option<(Token, Delivery)> {
    let TargetKey::Object { kind, key: object } = key else { return None };
    let subscription = subscribed.subscription(key)?;
    let delivery = Delivery {
        event: call.event,
        kind: Arc::clone(kind),
        key: object.clone(),
        uid: Arc::clone(call.current.uid()),
        subscription: Arc::clone(&subscription.name),
        removal: call.removal,
        final_state_unknown: call.final_state_unknown,
        cause: call.cause.unwrap_or(match cause {
            // A pass over everything found it, but a change is what leads to the call.
            Cause::Reload | Cause::Resync => Cause::Watch,
            other => other,
        }),
        attempt: call.attempt,
        queued,
        // After a restart nothing may be left of a state but its version.
        current: Some(call.current).filter(|current| !current.is_bare()),
        previous: call.previous.filter(|previous| !previous.is_bare()),
    };
    Some((call.token, delivery))
}

/// What the report of a call says to the ledger.
fn finished(report: &CallReport) -> Finished {
    match &report.result {
        Ok(Ok(outcome)) => Finished::from(*outcome),
        Ok(Err(failure)) => Finished::from(failure.clone()),
        Err(strike) if strike.reason == Reason::Cancelled => Finished::Cancelled,
        // Waiting for an API server that does not answer, or for memory that others have, is no strike.
        Err(strike) if strike.reason.is_excused() => Finished::Waiting { reason: strike.reason, message: strike.message.clone() },
        Err(strike) => Finished::from(strike.clone()),
    }
}

fn finish(dispatcher: &Dispatcher, event: Event, key: &TargetKey, token: Token, finished: Finished, lag: Option<Lag>) -> Next {
    let backoff = match &finished {
        Finished::Retry(_) | Finished::Strike(_) | Finished::Waiting { .. } => dispatcher.queue.backoff(key),
        Finished::Done | Finished::RequeueAfter(_) | Finished::Permanent(_) => {
            dispatcher.queue.forget(key);
            Duration::ZERO
        }
        Finished::Cancelled => Duration::ZERO,
    };
    let now = dispatcher.shared.clock.now();
    let next = {
        let mut state = dispatcher.state.lock();
        let present = state.subscribed.object(key);
        // What is about to be announced may be at another place by then.
        let told = matches!(present, Present::Settled(_));
        let found = present.latest();
        let policy = &dispatcher.shared.policy;
        let here = here(key, found.as_ref(), told);
        match lag {
            None => state.ledger.finish(here, token, finished, now, policy, backoff),
            Some(lag) => {
                let how = finished.clone();
                lag.finish(event, &how, here, |here| state.ledger.finish(here, token, finished, now, policy, backoff))
            }
        }
    };
    if next.fenced {
        dispatcher.queue.forget(key);
    }
    next
}

fn here<'a>(key: &'a TargetKey, found: Option<&'a Found>, told: bool) -> Here<'a, TargetKey, Arc<Object>> {
    Here { key, slot: found.filter(|_| told).map(|found| found.slot), now: found.map(|found| &found.object) }
}

/// The ledger keeps due times; the queue only wakes the key up for them, with the priority of the
/// run that found them: what a live change left to do does not fall behind a pass over everything.
fn arm(dispatcher: &Dispatcher, key: &TargetKey, priority: i32, due: Option<Duration>, again: bool) {
    let left = due.map(|due| due.saturating_sub(dispatcher.shared.clock.now()));
    if again || left.is_some() {
        let after = left.filter(|_| !again);
        dispatcher.queue.add_with(key.clone(), Add { priority, after, ..Add::default() });
    }
}

#[cfg(test)]
mod tests;
