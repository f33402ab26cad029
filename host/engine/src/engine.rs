//! The engine of a host: one for all plugins. Owns the runtime that guests run on, the ticker
//! and the slots for live instances. Never knows which plugin is served next: calls wait for a
//! slot in the order in which they came.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Linker;
use wharf_core::{Reason, Strike};

use crate::artifact::{Artifact, Artifacts};
use crate::config::{EngineConfig, wasmtime_config};
use crate::epoch;
use crate::failure::{EngineError, LoadError};
use crate::host::{self, Ctx};
use crate::revision::{Revision, RevisionSpec};

/// Runs guests. Cheap to clone; the last clone ends the guest threads without waiting for
/// them, so it may be dropped anywhere. Calls in flight then end with `Cancelled`.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    wasmtime: wasmtime::Engine,
    linker: Linker<Ctx>,
    artifacts: Arc<Artifacts>,
    slots: Arc<Semaphore>,
    instances: u32,
    counts: Arc<Counts>,
    guests: Handle,
    /// Taken when the engine is dropped.
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Counts {
    live: AtomicU32,
    waiting: AtomicU32,
}

/// What an engine is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineStats {
    /// Instances alive now.
    pub live_instances: u32,
    /// Instances that may be alive at the same time.
    pub max_instances: u32,
    /// Calls that wait for an instance to end.
    pub waiting_calls: u32,
    /// Compiled components in use.
    pub artifacts: usize,
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
    /// Sets everything up and starts the threads. Costs address space, a few milliseconds, and
    /// next to no memory.
    ///
    /// # Errors
    /// When the system has not enough address space or threads, or the cache folder cannot be
    /// made.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let setup = |e: wasmtime::Error| EngineError::Setup(format!("{e:#}"));
        let wasmtime = wasmtime::Engine::new(&wasmtime_config(&config)).map_err(setup)?;
        let artifacts = Arc::new(Artifacts::new(wasmtime.clone(), &config)?);
        let linker = host::linker(&wasmtime).map_err(setup)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(config.threads.max(1))
            .thread_name("wharf-guest")
            // For hashing and compiling, which is one at a time.
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .map_err(EngineError::Thread)?;
        epoch::start(wasmtime.weak()).map_err(EngineError::Thread)?;
        Ok(Self(Arc::new(Inner {
            wasmtime,
            linker,
            artifacts,
            slots: Arc::new(Semaphore::new(config.live() as usize)),
            instances: config.live(),
            counts: Arc::default(),
            guests: runtime.handle().clone(),
            runtime: Some(runtime),
        })))
    }

    /// Checks a component and makes it ready: from memory if some plugin uses the same bytes,
    /// else from the cache on disk, else by compiling, one component at a time. Cancel safe.
    ///
    /// # Errors
    /// `ComponentTooLarge`, `ComponentInvalid` or `CompileFailed`; `Cancelled` while the host
    /// is stopping.
    pub async fn load(&self, wasm: Arc<[u8]>) -> Result<Arc<Artifact>, LoadError> {
        self.0.artifacts.load(wasm, &self.0.guests).await
    }

    /// Links an artifact for one plugin, after checking that everything it imports is offered
    /// and granted. Costs some ten microseconds; runs no guest code.
    ///
    /// # Errors
    /// `ImportUnknown` or `GrantMissing`, naming all imports that are wrong; `WorldMismatch`.
    pub fn prepare(&self, artifact: Arc<Artifact>, spec: RevisionSpec) -> Result<Arc<Revision>, LoadError> {
        Revision::prepare(self.clone(), &self.0.linker, artifact, spec).map(Arc::new)
    }

    /// What the engine is busy with now.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            live_instances: self.0.counts.live.load(Ordering::Relaxed),
            max_instances: self.0.instances,
            waiting_calls: self.0.counts.waiting.load(Ordering::Relaxed),
            artifacts: self.0.artifacts.count(),
        }
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.0.wasmtime
    }

    pub(crate) fn guests(&self) -> &Handle {
        &self.0.guests
    }

    /// Waits until an instance may be made: with a full pool making one would fail.
    pub(crate) async fn slot(&self, permits: u32) -> Result<Slot, Strike> {
        let waiting = Counted::new(&self.0.counts, |counts| &counts.waiting);
        let permits = Arc::clone(&self.0.slots).acquire_many_owned(permits.min(self.0.instances)).await;
        drop(waiting);
        match permits {
            Ok(permits) => Ok(Slot { _live: Counted::new(&self.0.counts, |counts| &counts.live), _permits: permits }),
            Err(_) => Err(Strike { reason: Reason::Cancelled, message: "the host is stopping".to_owned() }),
        }
    }
}

/// The right to have one instance. Dropped after the instance.
pub(crate) struct Slot {
    _live: Counted,
    _permits: OwnedSemaphorePermit,
}

/// One more in a count for as long as it lives.
struct Counted {
    counts: Arc<Counts>,
    which: fn(&Counts) -> &AtomicU32,
}

impl Counted {
    fn new(counts: &Arc<Counts>, which: fn(&Counts) -> &AtomicU32) -> Self {
        which(counts).fetch_add(1, Ordering::Relaxed);
        Self { counts: Arc::clone(counts), which }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.which)(&self.counts).fetch_sub(1, Ordering::Relaxed);
    }
}
