//! The engine of a host: one for all plugins. Owns the runtime that guests run on, the ticker
//! and what is counted of live instances. Never knows which plugin is served next: that is the
//! scheduler's.

use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use wharf_core::plugin::PluginName;

use crate::artifact::{Artifact, Artifacts};
use crate::call::Reuse;
use crate::config::{Caps, EngineConfig, wasmtime_config};
use crate::epoch;
use crate::failure::{EngineError, LoadError};
use crate::guest_memory::{GuestMemory, Share};
use crate::host;
use crate::idle::{Bench, IdleInstances};
use crate::instance::Instance;
use crate::revision::{Revision, RevisionSpec};
use crate::scheduler::{FirstCome, Lane, Scheduler, Slots};

/// Runs guests. Cheap to clone; the last clone ends the guest threads without waiting for
/// them, so it may be dropped anywhere. Calls in flight then end with `Cancelled`.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    wasmtime: wasmtime::Engine,
    artifacts: Arc<Artifacts>,
    scheduler: Arc<dyn Scheduler>,
    instances: u32,
    reuse: Reuse,
    caps: Caps,
    counts: Arc<Counts>,
    idle: Arc<IdleInstances>,
    memory: Arc<GuestMemory>,
    guests: Handle,
    /// Taken when the engine is dropped.
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Counts {
    live: AtomicU32,
    waiting: AtomicU32,
    made: AtomicU64,
}

/// What an engine is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineStats {
    /// Instances alive now, those that idle among them.
    pub live_instances: u32,
    /// Instances that wait for their plugin's next call.
    pub idle_instances: u32,
    /// Instances that were ever made.
    pub made_instances: u64,
    /// Instances that may be alive at the same time.
    pub max_instances: u32,
    /// Calls that wait for an instance to end.
    pub waiting_calls: u32,
    /// Compiled components in use.
    pub artifacts: usize,
    /// Bytes of memory of all instances.
    pub memory: u64,
}

impl EngineStats {
    /// Instances that run a call.
    pub const fn busy(&self) -> u32 {
        self.live_instances.saturating_sub(self.idle_instances)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine {
    /// Sets everything up and starts the threads; calls are served in the order in which they
    /// come. Costs address space, a few milliseconds, and next to no memory.
    ///
    /// # Errors
    /// When the system has not enough address space or threads, or the cache folder cannot be
    /// made.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let slots = Arc::new(Semaphore::new(config.live() as usize));
        Self::with_scheduler(config, Arc::new(FirstCome(slots)))
    }

    /// The same with somebody who decides whom it serves next. The scheduler must hand out
    /// [`EngineConfig::live`] slots at most, and should let [`EngineConfig::threads`] calls
    /// compute.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_scheduler(config: EngineConfig, scheduler: Arc<dyn Scheduler>) -> Result<Self, EngineError> {
        let setup = |e: wasmtime::Error| EngineError::Setup(format!("{e:#}"));
        let wasmtime = wasmtime::Engine::new(&wasmtime_config(&config)).map_err(setup)?;
        let linker = host::linker(&wasmtime).map_err(setup)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(config.threads.max(1))
            .thread_name("wharf-guest")
            // For hashing and compiling, which is one at a time.
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .map_err(EngineError::Thread)?;
        let ready = Artifacts::new(linker, &config, runtime.handle().clone())
            .and_then(|artifacts| Ok((Arc::new(artifacts), epoch::start(wasmtime.weak()).map_err(EngineError::Thread)?)));
        let (artifacts, ticker) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                // Dropping it would wait, which is not allowed everywhere.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        scheduler.started(ticker);
        let idle = Arc::new(IdleInstances::default());
        let memory = GuestMemory::new(config.guest_memory, &idle);
        runtime.spawn(sweep(Arc::downgrade(&idle), config.keep_idle));
        runtime.spawn(cool(Arc::downgrade(&artifacts), config.keep_mapped));
        Ok(Self(Arc::new(Inner {
            wasmtime,
            artifacts,
            scheduler,
            instances: config.live(),
            reuse: Reuse { calls: config.calls_per_instance.max(1), age: config.instance_age },
            caps: config.caps,
            counts: Arc::default(),
            idle,
            memory,
            guests: runtime.handle().clone(),
            runtime: Some(runtime),
        })))
    }

    /// Checks a component and makes it ready: from memory if some plugin uses the same bytes,
    /// else from the cache on disk, else by compiling, one component at a time. Cancel safe.
    /// To be called on a runtime that can run processes, if there is a compiler.
    ///
    /// # Errors
    /// `ComponentTooLarge`, `ComponentInvalid` or `CompileFailed`; `Cancelled` while the host
    /// is stopping.
    pub async fn load(&self, wasm: Arc<[u8]>) -> Result<Arc<Artifact>, LoadError> {
        self.0.artifacts.load(wasm).await
    }

    /// Links an artifact for one plugin, after checking that everything it imports is offered
    /// and granted. Costs some ten microseconds; runs no guest code.
    ///
    /// # Errors
    /// `ImportUnknown` or `GrantMissing`, naming all imports that are wrong; `WorldMismatch`.
    pub fn prepare(&self, artifact: Arc<Artifact>, spec: RevisionSpec) -> Result<Arc<Revision>, LoadError> {
        Revision::prepare(self.clone(), artifact, spec).map(Arc::new)
    }

    /// What the engine is busy with now.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            live_instances: self.0.counts.live.load(Ordering::Relaxed),
            idle_instances: self.0.idle.count(),
            made_instances: self.0.counts.made.load(Ordering::Relaxed),
            max_instances: self.0.instances,
            waiting_calls: self.0.counts.waiting.load(Ordering::Relaxed),
            artifacts: self.0.artifacts.count(),
            memory: self.0.memory.total(),
        }
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.0.wasmtime
    }

    pub(crate) fn guests(&self) -> &Handle {
        &self.0.guests
    }

    pub(crate) fn reuse(&self) -> Reuse {
        self.0.reuse
    }

    pub(crate) fn caps(&self) -> Caps {
        self.0.caps
    }

    /// Where the memory of a tenant's instances comes from.
    pub(crate) fn share(&self, tenant: &str) -> Share {
        self.0.memory.share(tenant)
    }

    /// A place for the idle instances of a revision of this tenant.
    pub(crate) fn bench(&self, tenant: &str, warm: bool) -> Arc<Bench> {
        Bench::new(&self.0.idle, tenant, warm)
    }

    /// How many slots an instance takes.
    pub(crate) fn permits(&self, artifact: &Artifact) -> u32 {
        artifact.permits().min(self.0.instances)
    }

    /// An instance is about to be made.
    pub(crate) fn count_made(&self) {
        self.0.counts.made.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lane(&self, plugin: &PluginName, permits: u32) -> Arc<dyn Lane> {
        self.0.scheduler.lane(plugin, permits)
    }

    /// What a call needs to keep its instance. Holds no engine, so that a call in flight does
    /// not keep the guest threads alive.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper { counts: Arc::clone(&self.0.counts), scheduler: Arc::clone(&self.0.scheduler) }
    }

    /// Waits until an instance may be made: with a full pool making one would fail. Whoever
    /// waits has the slots of instances that idle. Also how long that took. Cancel safe.
    pub(crate) async fn slot(&self, lane: &dyn Lane, permits: u32) -> (Slot, Duration) {
        let mut slots = lane.slots(permits);
        let mut waiting: Option<(Counted, Instant)> = None;
        let slots = poll_fn(|cx| {
            loop {
                if let Poll::Ready(slots) = slots.as_mut().poll(cx) {
                    return Poll::Ready(slots);
                }
                // Counted before: from now on nobody keeps an instance.
                waiting.get_or_insert_with(|| (Counted::new(&self.0.counts, |counts| &counts.waiting), Instant::now()));
                if !self.0.scheduler.short() || !self.0.idle.evict() {
                    return Poll::Pending;
                }
            }
        })
        .await;
        let waited = waiting.map_or(Duration::ZERO, |(_, since)| since.elapsed());
        (Slot { _live: Counted::new(&self.0.counts, |counts| &counts.live), _slots: slots }, waited)
    }
}

/// Keeps instances after their calls.
pub(crate) struct Keeper {
    counts: Arc<Counts>,
    scheduler: Arc<dyn Scheduler>,
}

impl Keeper {
    /// Keeps an instance for the next call of its revision, unless somebody needs its slot.
    pub(crate) fn keep(&self, bench: &Bench, instance: Instance) {
        bench.put(instance, || self.counts.waiting.load(Ordering::SeqCst) > 0 && self.scheduler.short());
    }
}

/// Unmaps code that was not used for long, for as long as the engine lives.
async fn cool(artifacts: Weak<Artifacts>, keep: Duration) {
    let mut turns = turns(keep);
    loop {
        turns.tick().await;
        let Some(artifacts) = artifacts.upgrade() else { return };
        artifacts.cool(keep);
    }
}

/// Four times in the time that something is kept.
fn turns(keep: Duration) -> Interval {
    let mut turns = tokio::time::interval((keep / 4).max(Duration::from_millis(10)));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turns
}

/// Throws away what has idled too long, for as long as the engine lives.
async fn sweep(idle: Weak<IdleInstances>, keep: Duration) {
    let mut turns = turns(keep);
    loop {
        turns.tick().await;
        let Some(idle) = idle.upgrade() else { return };
        idle.sweep(keep);
    }
}

/// The right to have one instance. Dropped after the instance.
pub(crate) struct Slot {
    _live: Counted,
    _slots: Slots,
}

/// One more in a count for as long as it lives.
struct Counted {
    counts: Arc<Counts>,
    which: fn(&Counts) -> &AtomicU32,
}

impl Counted {
    fn new(counts: &Arc<Counts>, which: fn(&Counts) -> &AtomicU32) -> Self {
        which(counts).fetch_add(1, Ordering::SeqCst);
        Self { counts: Arc::clone(counts), which }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.which)(&self.counts).fetch_sub(1, Ordering::SeqCst);
    }
}
