//! The hub of shared informers. Owns which informers exist: one per spec, started by the
//! first registration and stopped with the last. Never touches an object.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::change::ChangeHandler;
use crate::discovery::Discovery;
use crate::metrics::CacheMetrics;
use crate::options::Options;
use crate::reflector::Reflector;
use crate::shared::Shared;
use crate::source::Source;
use crate::spec::InformerSpec;
use crate::state::{InformerState, InformerStatus};
use crate::store::Store;

/// All informers of a process. Clones are cheap and mean the same hub.
#[derive(Clone)]
pub struct Informers {
    hub: Arc<Hub>,
}

struct Hub {
    source: Source,
    options: Options,
    metrics: Arc<dyn CacheMetrics>,
    discovery: Arc<Discovery>,
    runtime: Handle,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// As many as there are different subscriptions in documents; the runtime bounds those.
    running: Mutex<HashMap<InformerSpec, Running>>,
}

struct Running {
    shared: Arc<Shared>,
    registrations: usize,
    stop: CancellationToken,
}

impl Informers {
    /// A hub without informers. Tasks run on the runtime in whose context this is called.
    ///
    /// # Panics
    /// Outside a tokio runtime, as the making of a `kube::Client` does too.
    pub fn new(client: Client, options: Options, metrics: Arc<dyn CacheMetrics>) -> Self {
        let source = Source::new(client, &options);
        let discovery = Arc::new(Discovery::new(source.clone()));
        let hub = Hub {
            source,
            options,
            metrics,
            discovery,
            runtime: Handle::current(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            running: Mutex::default(),
        };
        Self { hub: Arc::new(hub) }
    }

    /// Attaches a handler; starts the informer if it is the first one for `spec`.
    ///
    /// If the store has objects already, the handler is told of each before this returns,
    /// on the caller's thread. After [`Self::shutdown`] the registration is one of a
    /// stopped informer that never has anything.
    ///
    /// Must not be called from within a handler.
    pub fn attach(&self, spec: InformerSpec, handler: Arc<dyn ChangeHandler>) -> Registration {
        let shared = self.hub.enter(spec);
        // Outside the hub's lock: telling about a large store takes a while.
        let id = shared.attach(handler);
        Registration { hub: self.hub.clone(), shared, id }
    }

    /// All informers, ordered by kind, scope and selectors.
    pub fn snapshot(&self) -> Vec<InformerStatus> {
        let shared: Vec<_> = self.hub.running.lock().values().map(|running| running.shared.clone()).collect();
        let mut all: Vec<_> = shared.iter().map(|shared| shared.status()).collect();
        all.sort_by(|a, b| order(&a.spec).cmp(&order(&b.spec)));
        all
    }

    /// Which kinds the server has.
    pub fn discovery(&self) -> &Discovery {
        &self.hub.discovery
    }

    /// Stops all informers and returns when their tasks have ended. Stores keep what they have.
    /// Cancel safe: the informers stop in any case.
    pub async fn shutdown(&self) {
        {
            let running = self.hub.running.lock();
            self.hub.stop.cancel();
            for running in running.values() {
                running.shared.stop();
            }
        }
        self.hub.tasks.close();
        self.hub.tasks.wait().await;
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informers").field("running", &self.hub.running.lock().len()).finish_non_exhaustive()
    }
}

impl Hub {
    /// Counts one more registration, and starts the informer for the first.
    fn enter(&self, spec: InformerSpec) -> Arc<Shared> {
        let mut all = self.running.lock();
        if let Some(running) = all.get_mut(&spec) {
            running.registrations += 1;
            return running.shared.clone();
        }
        let shared = Arc::new(Shared::new(spec.clone(), self.metrics.clone()));
        let stop = self.stop.child_token();
        if stop.is_cancelled() {
            shared.stop();
        } else {
            self.start(shared.clone(), stop.clone());
        }
        all.insert(spec, Running { shared: shared.clone(), registrations: 1, stop });
        shared
    }

    fn start(&self, shared: Arc<Shared>, stop: CancellationToken) {
        let (source, discovery, options) = (self.source.clone(), self.discovery.clone(), self.options.clone());
        let task = async move {
            let (kind, scope) = (&shared.spec.kind, &shared.spec.scope);
            tracing::info!(%kind, %scope, "informer starts");
            stop.run_until_cancelled(Reflector::new(&shared, source, &discovery, options).run()).await;
            tracing::info!(%kind, %scope, "informer stopped");
        };
        self.tasks.spawn_on(task, &self.runtime);
    }

    /// Counts one registration less, and stops the informer with the last.
    fn leave(&self, spec: &InformerSpec) {
        let mut all = self.running.lock();
        let Some(running) = all.get_mut(spec) else { return };
        running.registrations -= 1;
        if running.registrations == 0 {
            running.stop.cancel();
            // Under the hub's lock, so that a new informer for the same spec reports after it.
            running.shared.stop();
            all.remove(spec);
        }
    }
}

/// A handler's place at an informer. Dropping it detaches the handler: once the drop
/// returns it is not called any more. Must not be dropped from within a handler.
pub struct Registration {
    hub: Arc<Hub>,
    shared: Arc<Shared>,
    id: u64,
}

impl Registration {
    /// The informer's store. It may be kept; after the informer has stopped it stays as it was.
    pub fn store(&self) -> Arc<Store> {
        self.shared.store.clone()
    }

    /// What the informer watches.
    pub fn spec(&self) -> &InformerSpec {
        &self.shared.spec
    }

    /// Is it known what there is? True once the store was synced for the first time, once
    /// the kind is known not to exist, once the server has refused, or once the informer
    /// is stopped; it stays true.
    pub fn settled(&self) -> bool {
        self.shared.condition().borrow().settled
    }

    /// Waits until [`Self::settled`]. Cancel safe. Has no deadline of its own: a server that cannot
    /// be reached settles nothing.
    pub async fn settle(&self) {
        // The sender lives in `shared`, which this borrows: the wait cannot fail.
        let _settled = self.shared.condition().wait_for(|condition| condition.settled).await.is_ok();
    }

    /// Has the store been synced, at some time?
    pub fn has_synced(&self) -> bool {
        self.shared.condition().borrow().synced_once
    }

    /// How the informer is doing now.
    pub fn state(&self) -> InformerState {
        self.shared.condition().borrow().state.clone()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.detach(self.id);
        self.hub.leave(&self.shared.spec);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("spec", &self.shared.spec).field("id", &self.id).finish_non_exhaustive()
    }
}

fn order(spec: &InformerSpec) -> impl Ord + '_ {
    (&spec.kind, &spec.scope, &spec.label_selector, &spec.field_selector)
}
