//! A plugin whose handler is native: the dispatcher of the product, and calls that the test sees
//! and answers. Owns nothing of the product.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;
use wharf_cache::Informers;
use wharf_core::grant::Namespaces;
use wharf_core::ledger::Policy;
use wharf_core::plugin::{Limits, PluginName, Replay, Subscription};
use wharf_core::{Delivery, Event, Failure, Gvk, ObjectKey, Outcome, Strike, TargetKey};
use wharf_engine::{Admission, CallReport};
use wharf_runtime::clock::Clock;
use wharf_runtime::dispatch::history::What;
use wharf_runtime::dispatch::{BreakerPolicy, Callee, Dispatcher, Serving, Shared, Subscribed};
use wharf_runtime::lease::Tenure;
use wharf_runtime::telemetry::Metrics;

/// How a call ends.
pub(crate) type Answer = Result<Result<Outcome, Failure>, Strike>;

/// A handler: what it does with a delivery, and how long that takes.
type Act = Box<dyn Fn(&Delivery) -> (Duration, Answer) + Send + Sync>;

/// Calls as they began, and the handler behind them.
pub(crate) struct Handler {
    act: Act,
    begun: watch::Sender<Vec<String>>,
}

impl Callee for Handler {
    fn call(&self, _: Option<Admission>, delivery: Delivery) -> BoxFuture<'_, CallReport> {
        let (takes, result) = (self.act)(&delivery);
        self.begun.send_modify(|begun| begun.push(said(&delivery)));
        async move {
            tokio::time::sleep(takes).await;
            report(takes, result)
        }
        .boxed()
    }
}

/// A call that cost nothing but time.
pub(crate) fn report(wall: Duration, result: Answer) -> CallReport {
    CallReport {
        result,
        wall,
        cpu: Duration::ZERO,
        own: wall,
        peak_memory: 0,
        activity: wharf_engine::Activity::default(),
        log_lines: 0,
        log_dropped: 0,
        reused: false,
        waited_instance: Duration::ZERO,
        waited_turns: Duration::ZERO,
        core_dump: None,
    }
}

/// `update x 7 (watch), was 5`: the call in one line.
fn said(delivery: &Delivery) -> String {
    let Delivery { event, key, cause, current, previous, .. } = delivery;
    let version = |object: &Option<Arc<wharf_core::Object>>| object.as_ref().map_or("-".to_owned(), |o| o.resource_version().to_owned());
    let mut said = format!("{} {} {} ({})", event.as_str(), key.name, version(current), cause.as_str());
    if previous.is_some() {
        said.push_str(&format!(", was {}", version(previous)));
    }
    said
}

/// A dispatcher with its handler.
pub(crate) struct Plugin {
    pub(crate) dispatcher: Arc<Dispatcher>,
    metrics: Arc<Metrics>,
    informers: Informers,
    callee: Arc<dyn Callee>,
    begun: watch::Sender<Vec<String>>,
    revisions: Mutex<u64>,
}

impl Plugin {
    /// Not served yet.
    pub(crate) fn new(informers: &Informers, act: impl Fn(&Delivery) -> (Duration, Answer) + Send + Sync + 'static) -> Self {
        let begun = watch::Sender::new(Vec::new());
        let handler = Handler { act: Box::new(act), begun: begun.clone() };
        Self { begun, ..Self::of(informers, Arc::new(handler)) }
    }

    /// Likewise, with another handler.
    pub(crate) fn of(informers: &Informers, callee: Arc<dyn Callee>) -> Self {
        let name = PluginName { namespace: "a".into(), name: "native".into() };
        let metrics = Metrics::new();
        metrics.add_plugin(&name.to_string());
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            metrics: Arc::clone(&metrics),
            policy: Policy::default(),
            breaker: BreakerPolicy::default(),
            history_bytes: 1 << 20,
            keep_failed: wharf_runtime::dispatch::KeepFailed { calls: 10, bytes: 1 << 20, secret_data: false },
            checkpoint: None,
            tenure: Tenure::always(),
        });
        Self {
            dispatcher: Dispatcher::new(name, shared),
            metrics,
            informers: informers.clone(),
            callee,
            begun: watch::Sender::new(Vec::new()),
            revisions: Mutex::new(0),
        }
    }

    /// Serves a revision with one subscription.
    pub(crate) async fn serve(&self, subscription: Subscription, concurrency: u32) {
        self.serve_with(subscription, concurrency, Replay::All).await;
    }

    /// Likewise, with what is told again.
    pub(crate) async fn serve_with(&self, subscription: Subscription, concurrency: u32, replay: Replay) {
        let subscribed = self.stage(subscription).await;
        self.dispatcher.let_catch_up(&subscribed).await;
        drop(self.exchange(subscribed, concurrency, replay));
    }

    /// One subscription that could serve.
    pub(crate) async fn stage(&self, subscription: Subscription) -> Arc<Subscribed> {
        let subscribed = Arc::new(Subscribed::attach(vec![subscription], |_| true, &self.informers, &self.dispatcher));
        subscribed.settle().await;
        subscribed
    }

    /// Serves a revision with what was staged; returns what served before.
    pub(crate) fn exchange(&self, subscribed: Arc<Subscribed>, concurrency: u32, replay: Replay) -> Arc<Subscribed> {
        let number = {
            let mut revisions = self.revisions.lock();
            *revisions += 1;
            *revisions
        };
        let serving = Serving {
            revision: Arc::clone(&self.callee),
            number,
            identity: format!("native-{number}").into(),
            tag: format!("r{number}").into(),
            limits: Limits { concurrency, ..Limits::default() },
            reasons: Vec::new(),
            tally: Arc::default(),
        };
        self.dispatcher.swap(serving, subscribed, replay)
    }

    /// Waits for so many calls in all; returns them.
    pub(crate) async fn calls(&self, count: usize) -> Vec<String> {
        let begun = self.begun.subscribe().wait_for(|begun| begun.len() >= count).await.map(|begun| begun.clone());
        begun.expect("the handler lives")
    }

    /// The calls so far.
    pub(crate) fn so_far(&self) -> Vec<String> {
        self.begun.borrow().clone()
    }

    /// The value of a metric that has one.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let text = self.metrics.encode().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("{series} is not in {text}"));
        line.trim().parse().unwrap()
    }

    /// What was decided about an object, the oldest first.
    pub(crate) fn decided(&self, name: &str) -> Vec<What> {
        let key = TargetKey::object(subscription().kind, ObjectKey::new("a", name));
        self.dispatcher.explain(&key, "ConfigMap", None).past.records.into_iter().map(|record| record.what).collect()
    }

    /// Waits until nothing waits and nothing runs; wait for the first call before.
    pub(crate) async fn idle(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(100));
        loop {
            look.tick().await;
            let queue = self.dispatcher.stats().queue;
            if queue.depth + queue.processing + queue.waiting == 0 {
                return;
            }
        }
    }
}

/// All ConfigMaps of the namespace, all events.
pub(crate) fn subscription() -> Subscription {
    Subscription {
        name: "main".into(),
        kind: Arc::new(Gvk::new("", "v1", "ConfigMap")),
        namespaces: Namespaces::Some(vec!["a".into()]),
        label_selector: wharf_core::Selector::default(),
        field_selector: wharf_core::Selector::default(),
        events: Event::ALL.to_vec(),
        resync: None,
        redacted: false,
        every_event: false,
        filters: wharf_core::filter::Filters::default(),
        ignore_own_writes: false,
        map: None,
    }
}

/// At once, with success.
pub(crate) fn done(_: &Delivery) -> (Duration, Answer) {
    (Duration::ZERO, Ok(Ok(Outcome::Done)))
}
