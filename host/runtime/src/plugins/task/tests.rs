//! What becomes of a revision on trial, and of what operators ask meanwhile: a task without a source, and
//! revisions that are only said to serve.

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::Empty;
use kube::client::Body;
use tokio::sync::{Semaphore, oneshot};
use tower::{BoxError, service_fn};
use wharf_cache::{Informers, NoMetrics};
use wharf_core::ledger::Policy;
use wharf_core::plugin::Limits;
use wharf_engine::{Engine, EngineConfig};

use super::*;
use crate::clock::Clock;
use crate::dispatch::{BreakerPolicy, Ended, Shared};
use crate::lease::Tenure;
use crate::plugins::bake::Worse;
use crate::plugins::ceilings::Ceilings;
use crate::plugins::order::Ordered;
use crate::plugins::stage::Stage;
use crate::ports::api::{Api, Identity};
use crate::ports::recorder::Recorder;
use crate::ports::{PortsFactory, Rates};
use crate::telemetry::LogHandle;
use crate::telemetry::metrics::Metrics;

/// A task whose revision 1 was good and whose revision 2 serves on trial; the wish is a third one.
async fn on_trial() -> Task {
    let service = service_fn(|_: http::Request<Body>| async move { Ok::<_, BoxError>(http::Response::new(Empty::<Bytes>::new())) });
    let client = kube::Client::new(service, "default");
    let metrics = Metrics::new();
    let informers = Informers::new(client.clone(), wharf_cache::Options::default(), Arc::new(NoMetrics));
    let (recorder, _) = Recorder::start(Arc::clone(&metrics), "wharf".into(), CancellationToken::new());
    let ports = PortsFactory {
        api: Api::new(client, informers.clone(), Identity::Host),
        recorder,
        metrics: Arc::clone(&metrics),
        rates: Rates::new(0),
        log: LogHandle::unheard(),
    };
    let stage = Stage {
        engine: Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() }).unwrap(),
        informers,
        ports: Arc::new(ports),
        metrics: Arc::clone(&metrics),
        turns: Arc::new(Semaphore::new(1)),
        max_component_bytes: 1,
        defaults: Limits::default(),
        ceilings: Ceilings { plugins_per_tenant: 1, limits: Limits::default() },
        makes_accounts: false,
    };
    let shared = Shared {
        clock: Clock::start(),
        metrics: Arc::clone(&metrics),
        policy: Policy::default(),
        breaker: BreakerPolicy::default(),
        history_bytes: 0,
        keep_failed: crate::dispatch::KeepFailed { calls: 10, bytes: 1 << 20, secret_data: false },
        checkpoint: None,
        tenure: Tenure::always(),
    };
    let registry = Registry::new(stage, Arc::new(shared), None);
    let document = Arc::new(PluginDocument::bare("guard", "guard.wasm").unwrap());
    let name = document.name.clone();
    let dispatcher = Dispatcher::new(name.clone(), Arc::clone(&registry.shared));
    let status = Status {
        state: PluginState::Serving,
        revision: "2-b".into(),
        digest: String::new(),
        since: Instant::now(),
        generation: Some(2),
        paused: false,
        suspended: false,
        lacks_account: None,
        ready: None,
        progress: Progress::new(name.to_string().into(), metrics),
    };
    let mut task = Task::new(name, &registry, dispatcher, Arc::new(Mutex::new(status)));
    for (number, identity) in [(1, "a"), (2, "b")] {
        let left = task.record.serves(number, identity, "", &document, Vec::new().into(), false).await;
        task.bake = left.map(|left| Bake::new(left, Numbers::default(), Numbers::default()));
    }
    task.served = Some(Served { document, identity: "b".into(), number: 2, tally: Arc::default(), generation: Some(2) });
    task.generation = Some(3);
    task
}

fn goes_back(goal: Option<&Goal>) -> Option<(u64, Option<u64>)> {
    match goal {
        Some(Goal::Before(kept, withdrawn)) => Some((kept.number, *withdrawn)),
        _ => None,
    }
}

async fn ordered(task: &mut Task, what: Ordered, goal: Option<Goal>) -> (Result<String, Refusal>, Option<Goal>) {
    let (answer, answered) = oneshot::channel();
    let goal = task.obey(Order { what, answer }, goal).await;
    (answered.await.unwrap(), goal)
}

#[tokio::test]
async fn a_wish_that_gives_way_to_the_way_back_is_not_forgotten() {
    let worse = || Some(Worse::Strikes(Numbers::default(), Numbers::default()));
    for (goal, refused, newer) in [(Some(Goal::Wish), false, true), (None, true, true), (None, false, false)] {
        let mut task = on_trial().await;
        task.refused = refused;
        let goal = task.judge(worse(), goal).await;
        assert_eq!((goes_back(goal.as_ref()), task.newer, task.bake.is_some()), (Some((1, Some(2))), newer, false));
        // It is not the newer one that was withdrawn.
        assert_eq!(task.status.lock().generation, Some(2));
    }
    let mut task = on_trial().await;
    let (said, goal) = ordered(&mut task, Ordered::Rollback(None), Some(Goal::Wish)).await;
    assert_eq!((said.unwrap(), goes_back(goal.as_ref()), task.newer), ("goes back from revision 2 to 1".into(), Some((1, Some(2))), true));
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_done() {
    let mut task = on_trial().await;
    for what in [Ordered::Rollback(None), Ordered::Pause, Ordered::Reload] {
        let (answer, answered) = oneshot::channel();
        drop(answered);
        assert!(task.obey(Order { what, answer }, None).await.is_none());
    }
    assert_eq!((task.standing(), task.record.book().paused, task.forgiven), (Some(Standing::New), false, false));
}

#[tokio::test]
async fn what_is_withdrawn_and_serves_is_on_trial_once_more_if_an_operator_wants_it() {
    let mut task = on_trial().await;
    for _ in 0..3 {
        task.served.as_ref().unwrap().tally.count(Ended::Struck, Duration::ZERO);
    }
    let verdict = task.baked().await;
    let goal = task.judge(verdict, None).await;
    let (_, goal) = ordered(&mut task, Ordered::Reload, goal).await;
    assert!(matches!(goal, Some(Goal::Wish)) && task.standing() == Some(Standing::Withdrawn));
    assert!(task.serve(Reached::Serves(String::new()), goal).await.is_none());
    assert_eq!((task.standing(), task.bake.is_some(), task.forgiven), (Some(Standing::New), true, false));
    // What it did before is forgiven too.
    assert!(task.baked().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_trial_lasts_until_the_plugin_was_called_for_so_long() {
    let mut task = on_trial().await;
    let (said, _) = ordered(&mut task, Ordered::Pause, None).await;
    assert!(said.is_ok());
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(task.baked().now_or_never().is_none());
    let (said, _) = ordered(&mut task, Ordered::Resume, None).await;
    assert!(said.is_ok() && task.baked().now_or_never().is_none());
    assert_eq!(task.baked().await, None);
}

#[tokio::test]
async fn a_revision_whose_breaker_opens_while_it_bakes_is_worse() {
    // Also if few of its strikes are the first of their keys, and the one before has had as many.
    let mut task = on_trial().await;
    task.record.judge(1, Standing::Good, "").await;
    task.dispatcher.trip();
    assert_eq!(task.baked().await, Some(Worse::Breaker(Reason::Trap)));
    let goal = task.judge(Some(Worse::Breaker(Reason::Trap)), None).await;
    assert_eq!(goes_back(goal.as_ref()), Some((1, Some(2))));
    // That of the one before was not closed either; or an operator wants it tried.
    let mut task = on_trial().await;
    task.record.judge(1, Standing::Good, "").await;
    task.dispatcher.trip();
    task.bake = task.bake.take().map(|bake| bake.after(true));
    assert!(task.baked().now_or_never().is_none());
    task.bake = task.bake.take().map(|bake| bake.after(false));
    ordered(&mut task, Ordered::Reload, None).await.0.unwrap();
    assert_eq!(task.dispatcher.tripped().map(|tripped| tripped.until), Some(None));
    assert!(task.baked().now_or_never().is_none());
}
