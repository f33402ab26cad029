//! One immutable pair of a component and a plugin's document, ready to be called. Owns the
//! calls as the rest of the host sees them; never retries one and never decides when.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::runtime::Handle;
use tokio::time::Instant;
use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Delivery, Failure, Grants, Outcome, Reason, Strike};

use crate::activity::Activity;
use crate::artifact::Artifact;
use crate::call::{self, Answer, Job, Prepared, Source, Usage};
use crate::engine::{Engine, Keeper};
use crate::failure::LoadError;
use crate::host::Plugin;
use crate::idle::Bench;
use crate::imports;
use crate::ports::Ports;
use crate::scheduler::{Call, CallEnd, Lane};
use crate::task::Lost;
use crate::used::Used;

/// What a plugin's document says, as far as calls need it.
pub struct RevisionSpec {
    /// Namespace and name of the plugin.
    pub name: PluginName,
    /// Ceilings of each call.
    pub limits: Limits,
    /// What it may use.
    pub grants: Grants,
    /// `spec.config` as JSON text; `{}` where the document has none.
    pub config: Arc<str>,
    /// What it can reach.
    pub ports: Arc<dyn Ports>,
    /// Whether an instance may serve several calls.
    pub isolation: Isolation,
}

/// How a call ended, and what it cost.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The guest's own answer, or the host's reason to count a strike.
    pub result: Result<Result<Outcome, Failure>, Strike>,
    /// Wall time from the start of the instance to the end of the call, without the time that
    /// the call waited for a slot.
    pub wall: Duration,
    /// Processor time of guest and host functions together.
    pub cpu: Duration,
    /// How long it took by the guest's own doing: `cpu`, what it slept, and 3 ms at most of each answer that it waited for.
    /// Neither a busy machine nor a slow API server makes it longer.
    pub own: Duration,
    /// The most memory that the instance had, in bytes.
    pub peak_memory: u64,
    /// What the guest called and asked for.
    pub activity: Activity,
    /// Log lines that were handed on.
    pub log_lines: u32,
    /// Log lines that were dropped because there were too many.
    pub log_dropped: u32,
    /// The instance had answered calls before.
    pub reused: bool,
    /// Time before `wall` for which the call waited for an instance.
    pub waited_instance: Duration,
    /// Time for which the call could have computed and had no turn. Before the first turn it
    /// counts against nothing; later it is within `wall`.
    pub waited_turns: Duration,
    /// If the call trapped and [`EngineConfig::core_dumps`](crate::EngineConfig::core_dumps) is set: a core dump in
    /// [WebAssembly's format](https://github.com/WebAssembly/tool-conventions/blob/main/Coredump.md).
    pub core_dump: Option<Arc<[u8]>>,
}

/// The right to one call of a revision: an instance that has answered a call before, or the
/// slot for a new one. Dropping it gives back what it holds.
#[must_use = "dropping it gives the instance to others"]
pub struct Admission {
    /// Taken by the call; or why there can be none.
    source: Option<Result<Source, Strike>>,
    waited: Duration,
    bench: Weak<Bench>,
    keeper: Keeper,
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let (Some(Ok(Source::Idle(instance))), Some(bench)) = (self.source.take(), self.bench.upgrade()) {
            self.keeper.keep(&bench, *instance);
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("waited", &self.waited).finish_non_exhaustive()
    }
}

/// A plugin's component, linked and checked. Calls are independent of each other and may run
/// at the same time: no two of them have the same instance.
pub struct Revision {
    engine: Engine,
    artifact: Arc<Artifact>,
    prepared: Arc<Prepared>,
    isolation: Isolation,
    bench: Arc<Bench>,
    lane: Arc<dyn Lane>,
    permits: u32,
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.prepared.plugin.name;
        f.debug_struct("Revision").field("plugin", name).field("artifact", &self.artifact).finish_non_exhaustive()
    }
}

impl Revision {
    pub(crate) fn prepare(engine: Engine, artifact: Arc<Artifact>, spec: RevisionSpec) -> Result<Self, LoadError> {
        imports::check(artifact.imports(), &spec.grants)?;
        artifact.code.link()?;
        let RevisionSpec { name, limits, grants, config, ports, isolation } = spec;
        let plugin = Arc::new(Plugin { name, grants, caps: engine.caps(), config, ports });
        let (reuse, share) = (engine.reuse(), engine.share(&plugin.name.namespace));
        let control = Handle::try_current().unwrap_or_else(|_| engine.guests().clone());
        let wasmtime = engine.wasmtime().clone();
        let prepared = Arc::new(Prepared { wasmtime, plugin, limits, sums: Arc::default(), share, reuse, control });
        let permits = engine.permits(&artifact);
        let lane = engine.lane(&prepared.plugin.name, permits);
        let bench = engine.bench(&prepared.plugin.name.namespace, artifact.dear() || isolation == Isolation::Warm);
        Ok(Self { engine, artifact, prepared, isolation, bench, lane, permits })
    }

    /// The component.
    pub fn artifact(&self) -> &Arc<Artifact> {
        &self.artifact
    }

    /// Namespace and name of the plugin.
    pub fn name(&self) -> &PluginName {
        &self.prepared.plugin.name
    }

    /// The threads that guests run on. A task there that calls one handler after the other needs no
    /// way between threads for it: see [`call_admitted`](Self::call_admitted).
    pub fn threads(&self) -> &Handle {
        self.engine.guests()
    }

    /// Asks the component whether its configuration is good; the inner error is its list of
    /// what is not, at most 64 entries. Nothing that the guest does has an effect. Cancel safe.
    ///
    /// # Errors
    /// When the guest does not get to an answer; `WorldMismatch` if its exports have other
    /// types than the contract.
    pub async fn validate_config(&self) -> Result<Result<(), Vec<String>>, Strike> {
        match self.run(Job::ValidateConfig).await.0? {
            Answer::Validated(verdict) => Ok(verdict),
            Answer::Described(_) | Answer::Handled(_) => Err(mixed_up()),
        }
    }

    /// Asks the component what it wants, as JSON text of at most 256 KiB. Nothing that the
    /// guest does has an effect. Cancel safe.
    ///
    /// # Errors
    /// When the guest does not get to an answer; `DescribeFailed` if the answer is too long.
    pub async fn describe(&self) -> Result<String, Strike> {
        match self.run(Job::Describe).await.0? {
            Answer::Described(text) => Ok(text),
            Answer::Validated(_) | Answer::Handled(_) => Err(mixed_up()),
        }
    }

    /// Calls the handler on a guest thread: in an instance that has answered a call before and
    /// idles now, else in a fresh one. Waits first if as many instances are alive as may be;
    /// that time counts against nothing. Ports are used on the runtime that the revision was
    /// prepared on.
    ///
    /// An instance is never used again after anything but an answer of the guest (one that says that it failed is one), after
    /// [`EngineConfig::calls_per_instance`](crate::EngineConfig::calls_per_instance) calls or
    /// [`EngineConfig::instance_age`](crate::EngineConfig::instance_age), and when it has taken half of the memory that its limit had left it.
    ///
    /// Cancel safe in that nothing leaks: a dropped call ends at the guest's next tick or host
    /// call. What it had done to the cluster by then is done.
    pub async fn call(&self, delivery: Delivery) -> CallReport {
        let job = Job::Handle(Box::new(delivery));
        report(self.spawn(self.admit().await, job).await)
    }

    /// Waits for what a call needs, before it is known what it will be called for. Cancel safe.
    pub async fn admit(&self) -> Admission {
        self.admission(self.isolation != Isolation::Fresh).await
    }

    /// The same as [`call`](Self::call) with an admission of this revision, and the guest runs on
    /// the thread that polls this: it belongs into a task on [`threads`](Self::threads).
    pub async fn call_admitted(&self, admission: Admission, delivery: Delivery) -> CallReport {
        let started = Instant::now();
        let waited_slot = admission.waited;
        let ended = match self.work(admission, Job::Handle(Box::new(delivery))) {
            // What a panic leaves behind is dropped with the future.
            Ok(work) => AssertUnwindSafe(work).catch_unwind().await.map(|end| (end.result, end.usage)),
            Err(strike) => Ok((Err(strike), Usage { waited_slot, ..Usage::default() })),
        };
        report(ended.unwrap_or_else(|_| lost(Lost::Panicked, started, waited_slot)))
    }

    /// The host has computed for the plugin outside of a call, for so long: other plugins come
    /// before its next calls accordingly.
    pub fn charge(&self, spent: Duration) {
        self.lane.charge(spent);
    }

    /// Instances that have idled for so long and cost little to make are thrown away, so that rare
    /// calls are always fresh; dear ones wait for
    /// [`EngineConfig::keep_idle`](crate::EngineConfig::keep_idle). Cheap, and never wrong.
    pub fn rest(&self, since: Duration) {
        self.bench.rest(since);
    }

    /// Instances that wait for the next call.
    pub fn idle(&self) -> usize {
        self.bench.len()
    }

    /// Bytes of machine code that are mapped for it: of what several revisions share each has its part.
    pub fn code(&self) -> u64 {
        self.artifact.mapped() / Arc::strong_count(&self.artifact).max(1) as u64
    }

    /// What its instances have computed, and what memory they hold now.
    pub fn used(&self) -> Used {
        self.prepared.sums.now()
    }

    /// Runs a job of `setup`. What it leaves behind in memory must not meet events.
    async fn run(&self, job: Job) -> (Result<Answer, Strike>, Usage) {
        self.spawn(self.admission(false).await, job).await
    }

    async fn admission(&self, reuse: bool) -> Admission {
        let (source, waited) = match reuse.then(|| self.bench.take()).flatten() {
            Some(instance) => (Ok(Source::Idle(Box::new(instance))), Duration::ZERO),
            None => {
                let (slot, waited) = self.engine.slot(&*self.lane, self.permits).await;
                (self.artifact.code.linked(self.threads()).await.map(|linked| Source::New(linked, slot)), waited)
            }
        };
        Admission { source: Some(source), waited, bench: Arc::downgrade(&self.bench), keeper: self.engine.keeper() }
    }

    /// Runs a job in a task on a guest thread.
    async fn spawn(&self, admission: Admission, job: Job) -> (Result<Answer, Strike>, Usage) {
        let started = Instant::now();
        let waited_slot = admission.waited;
        let work = match self.work(admission, job) {
            Ok(work) => work,
            Err(strike) => return (Err(strike), Usage { waited_slot, ..Usage::default() }),
        };
        match crate::task::join(self.threads().spawn(work)).await {
            Ok(end) => (end.result, end.usage),
            Err(why) => lost(why, started, waited_slot),
        }
    }

    /// A job that computes only when it is the plugin's turn.
    fn work(&self, mut admission: Admission, job: Job) -> Result<Call, Strike> {
        let keep = matches!(job, Job::Handle(_)) && self.isolation != Isolation::Fresh;
        let waited_slot = admission.waited;
        // It is taken here only.
        let source = admission.source.take().unwrap_or_else(|| Err(mixed_up()))?;
        if matches!(source, Source::New(..)) {
            self.engine.count_made();
        }
        let meter = source.meter(&self.prepared.sums);
        let (prepared, bench, keeper) = (Arc::clone(&self.prepared), Arc::downgrade(&self.bench), self.engine.keeper());
        let measured = Arc::clone(&meter);
        let call = async move {
            let work = async {
                let ended = call::run(prepared, source, &measured, job).await;
                // A revision that is gone has no bench.
                if let (Some(instance), Some(bench)) = (ended.instance.filter(|_| keep), bench.upgrade()) {
                    keeper.keep(&bench, *instance);
                }
                CallEnd { result: ended.result, usage: Usage { waited_slot, ..ended.usage } }
            };
            measured.measure(work).await
        };
        Ok(self.lane.turns(Box::pin(call), meter))
    }
}

fn report((answer, usage): (Result<Answer, Strike>, Usage)) -> CallReport {
    let result = answer.and_then(|answer| match answer {
        Answer::Handled(result) => Ok(result),
        Answer::Validated(_) | Answer::Described(_) => Err(mixed_up()),
    });
    let Usage { wall, cpu, own, peak_memory, activity, log_lines, log_dropped, reused, waited_slot, waited_turns, core_dump } = usage;
    let waited_instance = waited_slot;
    CallReport { result, wall, cpu, own, peak_memory, activity, log_lines, log_dropped, reused, waited_instance, waited_turns, core_dump }
}

fn lost(why: Lost, started: Instant, waited_slot: Duration) -> (Result<Answer, Strike>, Usage) {
    (Err(why.strike()), Usage { wall: started.elapsed(), waited_slot, ..Usage::default() })
}

/// An answer to another question than the one that was asked, or an admission that was used before: impossible, and if it happens
/// anyway the host's fault.
fn mixed_up() -> Strike {
    Strike { reason: Reason::HostError, message: "the answers of two calls were mixed up".to_owned() }
}
