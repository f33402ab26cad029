//! The public face of the hub. Owns the families of informers and their lock; never touches an
//! object, and never calls a handler under that lock.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use wharf_core::Gvk;

use super::family::{Family, Move, Times};
use super::keeper;
use super::registration::Registration;
use crate::budget::Budget;
use crate::change::ChangeHandler;
use crate::classify::{Class, Failure};
use crate::discovery::Discovery;
use crate::filter::Filter;
use crate::metrics::CacheMetrics;
use crate::options::Options;
use crate::reflector::{Begin, Reflector};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::source::Source;
use crate::spec::{Content, InformerSpec};
use crate::state::InformerStatus;

/// All informers of a process. Clones are cheap and mean the same hub.
#[derive(Clone)]
pub struct Informers {
    hub: Arc<Hub>,
}

/// Before an informer begins anew that ended by a defect.
const AFTER_DEFECT: Duration = Duration::from_secs(5);

/// How a handler is attached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attach {
    /// Tell it of every object again, as unchanged, each time this has passed; at least a
    /// second. `None`, the default, and zero never do.
    pub resync: Option<Duration>,
}

impl Attach {
    /// Shorter periods are raised to this one, as client-go does.
    pub const MIN_RESYNC: Duration = Duration::from_secs(1);

    /// The period that is used.
    pub fn period(&self) -> Option<Duration> {
        self.resync.filter(|period| !period.is_zero()).map(|period| period.max(Self::MIN_RESYNC))
    }
}

pub(super) struct Hub {
    source: Source,
    options: Options,
    metrics: Arc<dyn CacheMetrics>,
    discovery: Arc<Discovery>,
    budget: Arc<Budget>,
    runtime: Handle,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Wakes the keeper.
    pub(super) changed: Arc<Notify>,
    seat_ids: AtomicU64,
    informer_ids: AtomicU32,
    /// As many as there are different subscriptions in documents; the runtime bounds those.
    families: Mutex<HashMap<(Gvk, Content), Family>>,
}

impl Informers {
    /// A hub without informers. Tasks run on the runtime in whose context this is called.
    ///
    /// # Panics
    /// Outside a tokio runtime, as the making of a `kube::Client` does too.
    pub fn new(client: Client, options: Options, metrics: Arc<dyn CacheMetrics>) -> Self {
        let source = Source::new(client, &options);
        let discovery = Arc::new(Discovery::new(source.clone()));
        let hub = Arc::new(Hub {
            source,
            budget: Arc::new(Budget::new(options.max_bytes)),
            options,
            metrics,
            discovery,
            runtime: Handle::current(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            changed: Arc::default(),
            seat_ids: AtomicU64::new(1),
            informer_ids: AtomicU32::new(1),
            families: Mutex::default(),
        });
        hub.spawn(keeper::run(Arc::downgrade(&hub), Arc::clone(&hub.changed), hub.stop.clone()));
        Self { hub }
    }

    /// Attaches a handler; starts an informer if none can serve it.
    ///
    /// The informer that serves it may be wider than `spec` and may change: the handler is told
    /// of what `spec` covers only, and a change of informers neither loses nor repeats anything.
    ///
    /// If the store has objects already, the handler is told of each before this returns,
    /// on the caller's thread. After [`Self::shutdown`] the registration is one of a
    /// stopped informer that never has anything (client-go returns an error).
    ///
    /// Must not be called from within a handler.
    pub fn attach(&self, spec: InformerSpec, handler: Arc<dyn ChangeHandler>) -> Registration {
        self.attach_with(spec, handler, Attach::default())
    }

    /// As [`Self::attach`], with a choice.
    pub fn attach_with(&self, spec: InformerSpec, handler: Arc<dyn ChangeHandler>, how: Attach) -> Registration {
        let seat = self.hub.enter(spec, handler);
        // Outside the hub's lock: telling about a large store takes a while.
        seat.place().shared.attach(Arc::clone(&seat));
        self.hub.attached(&seat);
        if let Some(period) = how.period() {
            self.hub.spawn(keeper::resync(Arc::clone(&seat), period, self.hub.stop.clone()));
        }
        Registration::new(self.hub.clone(), seat)
    }

    /// All informers, ordered by kind, scope and selectors.
    pub fn snapshot(&self) -> Vec<InformerStatus> {
        let shared: Vec<_> = self.hub.families.lock().values().flat_map(Family::informers).cloned().collect();
        let mut all: Vec<_> = shared.iter().map(|shared| shared.status()).collect();
        all.sort_by(|a, b| order(&a.spec).cmp(&order(&b.spec)));
        all
    }

    /// Bytes that all stores may take, and what they have or were promised of that; `None` without
    /// [`Options::max_bytes`]. Informers of one object by its name do not count.
    pub fn budget(&self) -> Option<(u64, u64)> {
        let budget = &self.hub.budget;
        budget.limit().map(|limit| (limit, budget.used()))
    }

    /// Which kinds the server has.
    pub fn discovery(&self) -> &Discovery {
        &self.hub.discovery
    }

    /// Stops all informers and returns when their tasks have ended. Stores keep what they have.
    /// Cancel safe: the informers stop in any case.
    pub async fn shutdown(&self) {
        {
            let families = self.hub.families.lock();
            self.hub.stop.cancel();
            for shared in families.values().flat_map(Family::informers) {
                shared.stop();
            }
        }
        self.hub.tasks.close();
        self.hub.tasks.wait().await;
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let informers: usize = self.hub.families.lock().values().map(|family| family.informers().count()).sum();
        f.debug_struct("Informers").field("running", &informers).finish_non_exhaustive()
    }
}

impl Hub {
    fn enter(self: &Arc<Self>, spec: InformerSpec, handler: Arc<dyn ChangeHandler>) -> Arc<Seat> {
        let id = self.seat_ids.fetch_add(1, Ordering::Relaxed);
        let filterable = Filter::of(&spec).is_some();
        let mut families = self.families.lock();
        let family = families.entry((spec.kind.clone(), spec.content)).or_default();
        let seat = |shared| Arc::new(Seat::new(id, spec.clone(), handler, shared));
        family.enter(&spec, filterable, self.options.widen_after, &mut |spec, from| self.start(spec, from), seat)
    }

    fn attached(&self, seat: &Seat) {
        if let Some(family) = self.families.lock().get_mut(&(seat.want.kind.clone(), seat.want.content)) {
            family.attached(seat.id);
        }
        // Others may be served by the newcomer's informer, or it by another one meanwhile.
        self.changed.notify_one();
    }

    /// The registration has left; its informer stops if it was the last one there.
    pub(super) fn leave(&self, seat: &Seat) {
        let key = (seat.want.kind.clone(), seat.want.content);
        let mut families = self.families.lock();
        let Some(family) = families.get_mut(&key) else { return };
        family.leave(seat.id);
        // What is to move does so with the keeper, outside of this lock.
        let _moves = family.reconcile(self.times(), &mut |spec, from| self.start(spec, from));
        if family.is_over() {
            families.remove(&key);
        }
        self.changed.notify_one();
    }

    /// Carries out the plan of every family. Returns the moves to try, and when to look again.
    pub(super) fn reconcile(&self) -> (Vec<Move>, Option<Instant>) {
        let mut families = self.families.lock();
        let (mut moves, mut next) = (Vec::new(), None);
        for family in families.values_mut() {
            let (ready, at) = family.reconcile(self.times(), &mut |spec, from| self.start(spec, from));
            moves.extend(ready);
            next = [next, at].into_iter().flatten().min();
        }
        families.retain(|_, family| !family.is_over());
        (moves, next)
    }

    fn times(&self) -> Times {
        Times { widen_after: self.options.widen_after, linger: self.options.linger }
    }

    fn start(&self, spec: &InformerSpec, begin: Begin) -> (Arc<Shared>, CancellationToken) {
        let id = self.informer_ids.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared::new(id, spec.clone(), self.metrics.clone(), Arc::clone(&self.changed)));
        let stop = self.stop.child_token();
        if stop.is_cancelled() {
            shared.stop();
        } else {
            let means = Means {
                source: self.source.clone(),
                discovery: self.discovery.clone(),
                budget: self.budget.clone(),
                options: self.options.clone(),
            };
            self.spawn(follow(shared.clone(), means, begin, stop.clone(), self.tasks.clone()));
        }
        (shared, stop)
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.runtime);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What the informers of a hub share.
#[derive(Clone)]
struct Means {
    source: Source,
    discovery: Arc<Discovery>,
    budget: Arc<Budget>,
    options: Options,
}

/// The task of one informer. A defect in it must not leave a store behind that looks as if it
/// followed the server: it is said, and the informer begins anew.
async fn follow(shared: Arc<Shared>, means: Means, begin: Begin, stop: CancellationToken, tasks: TaskTracker) {
    let (kind, scope) = (&shared.spec.kind, &shared.spec.scope);
    tracing::info!(%kind, %scope, "informer starts");
    loop {
        let (own, means, begin) = (shared.clone(), means.clone(), begin.clone());
        let run = async move {
            let Means { source, discovery, budget, options } = means;
            Reflector::new(&own, source, &discovery, &budget, options, begin).run().await
        };
        // Counted, so that a shutdown waits for it too.
        let task = AbortOnDropHandle::new(tasks.spawn(run));
        let Some(ended) = stop.run_until_cancelled(task).await else { break };
        let failure = Failure::new(Class::Defect, format_args!("the informer has ended: {ended:?}"));
        tracing::error!(%kind, %scope, reason = %failure.class.reason(), error = %failure, "an informer has ended and begins anew");
        shared.set_failing(&failure);
        if stop.run_until_cancelled(sleep(AFTER_DEFECT)).await.is_none() {
            break;
        }
    }
    tracing::info!(%kind, %scope, "informer stopped");
}

fn order(spec: &InformerSpec) -> impl Ord + '_ {
    (&spec.kind, &spec.scope, &spec.label_selector, &spec.field_selector, spec.content)
}
