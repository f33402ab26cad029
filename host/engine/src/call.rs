//! One call of a guest. Owns the order of the steps and the budgets around them; runs on a
//! guest thread. After a trap, a timeout or an error of the host the instance is never used
//! again.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use wasmtime::{Store, WasmCoreDump};
use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Delivery, Event, Failure, Outcome, Reason, Strike};

use crate::activity::Activity;
use crate::bindings::Controller;
use crate::code::Linked;
use crate::config::Caps;
use crate::convert;
use crate::engine::Slot;
use crate::failure::{Phase, Stop, strike, text_of};
use crate::guest_memory::Share;
use crate::host::{Ctx, Plugin};
use crate::instance::Instance;
use crate::limits::{CpuMeter, Limiter, MAX_CONFIG_ERRORS, MAX_DESCRIPTION_BYTES, MAX_TEXT_BYTES, clean};
use crate::ports::{CallInfo, Task};
use crate::used::Sums;

/// What all calls of a revision share. Holds no engine, so that a call in flight does not keep
/// the guest threads alive.
pub(crate) struct Prepared {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) limits: Limits,
    /// What its instances cost.
    pub(crate) sums: Arc<Sums>,
    /// Where the memory of its instances comes from.
    pub(crate) share: Share,
    /// For how long an instance serves.
    pub(crate) reuse: Reuse,
    /// The runtime that ports run on.
    pub(crate) control: Handle,
}

/// How long an instance serves, see [`EngineConfig`](crate::EngineConfig).
#[derive(Clone, Copy)]
pub(crate) struct Reuse {
    pub(crate) calls: u32,
    pub(crate) age: Duration,
}

/// Which exported function is called.
pub(crate) enum Job {
    ValidateConfig,
    Describe,
    Handle(Box<Delivery>),
}

/// What it answered.
pub(crate) enum Answer {
    Validated(Result<(), Vec<String>>),
    Described(String),
    Handled(Result<Outcome, Failure>),
}

/// What a call cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) own: Duration,
    pub(crate) peak_memory: u64,
    pub(crate) activity: Activity,
    pub(crate) log_lines: u32,
    pub(crate) log_dropped: u32,
    pub(crate) reused: bool,
    pub(crate) waited_slot: Duration,
    pub(crate) waited_turns: Duration,
    pub(crate) core_dump: Option<Arc<[u8]>>,
}

/// Where a call gets its instance from.
pub(crate) enum Source {
    /// One that has answered a call before.
    Idle(Box<Instance>),
    /// A new one of this code, in this slot.
    New(Arc<Linked>, Slot),
}

impl Source {
    /// What measures the call, one of the revision that has these sums.
    pub(crate) fn meter(&self, sums: &Arc<Sums>) -> Arc<CpuMeter> {
        match self {
            Self::Idle(instance) => Arc::clone(&instance.meter),
            Self::New(..) => Arc::new(CpuMeter::new(Arc::clone(sums))),
        }
    }
}

/// How a call ended.
pub(crate) struct Ended {
    pub(crate) result: Result<Answer, Strike>,
    pub(crate) usage: Usage,
    /// The instance, if it may serve another call.
    pub(crate) instance: Option<Box<Instance>>,
}

/// Calls one function, in a new instance or in one that has answered before. Polled inside of
/// `meter`, which is the source's.
pub(crate) async fn run(prepared: Arc<Prepared>, source: Source, meter: &Arc<CpuMeter>, job: Job) -> Ended {
    let started = Instant::now();
    let before = meter.spent();
    let info = job.info();
    let (step, delivery) = Step::of(job, &prepared);
    let (mut instance, reused) = match source {
        Source::Idle(instance) => (instance, true),
        Source::New(linked, slot) => (Box::new(Instance::new(&prepared, linked, slot, Arc::clone(meter), info.clone())), false),
    };
    instance.store.data_mut().begin(info, delivery);
    let result = steps(&mut instance, step).await;
    let ctx = instance.store.data_mut();
    ctx.end();
    let (log_lines, log_dropped) = ctx.log.counts();
    let cpu = meter.used().saturating_sub(before);
    let usage = Usage {
        wall: started.elapsed(),
        cpu,
        own: cpu.saturating_add(meter.take_rested()),
        peak_memory: ctx.limiter.peak(),
        activity: ctx.watched.end(),
        log_lines,
        log_dropped,
        reused,
        waited_slot: Duration::ZERO,
        waited_turns: meter.take_waited(),
        core_dump: None,
    };
    let in_port = ctx.in_port;
    match result {
        Ok(answer) => {
            instance.calls = instance.calls.saturating_add(1);
            let fit = instance.fit(&prepared);
            Ended { result: Ok(answer), usage, instance: fit.then_some(instance) }
        }
        Err(fault) => {
            let core_dump = fault.core_dump(&mut instance.store, &prepared.plugin.name);
            let usage = Usage { core_dump, ..usage };
            let strike = instance.with_last_words(fault.strike(&instance.store.data().limiter));
            Ended { result: Err(waited(strike, in_port)), usage, instance: None }
        }
    }
}

/// Time that ran out while the guest waited for the API server is nobody's strike.
fn waited(strike: Strike, in_port: bool) -> Strike {
    if !in_port || strike.reason != Reason::DeadlineExceeded {
        return strike;
    }
    let message = format!("{} while it waited for an answer of the API server", strike.message);
    Strike { reason: Reason::ServerUnavailable, message }
}

impl Job {
    fn info(&self) -> CallInfo {
        let setup = |task| CallInfo { task, kind: None, key: None, cause: None, attempt: 1 };
        match self {
            Self::ValidateConfig => setup(Task::ValidateConfig),
            Self::Describe => setup(Task::Describe),
            Self::Handle(d) => CallInfo {
                task: Task::Handle(d.event),
                kind: Some(Arc::clone(&d.kind)),
                key: Some(d.key.clone()),
                cause: Some(d.cause),
                attempt: d.attempt,
            },
        }
    }
}

/// A job in the contract's words, with its budget.
struct Step {
    call: Call,
    wall: Duration,
    cpu: Duration,
}

enum Call {
    ValidateConfig(String),
    Describe,
    Handle(Event, Box<crate::bindings::wharf::plugin::types::Delivery>),
}

impl Step {
    fn of(job: Job, prepared: &Prepared) -> (Self, Option<Delivery>) {
        let Caps { start_deadline, start_cpu, .. } = prepared.plugin.caps;
        let setup = |call| Self { call, wall: start_deadline, cpu: start_cpu };
        match job {
            Job::ValidateConfig => (setup(Call::ValidateConfig(prepared.plugin.config.as_ref().to_owned())), None),
            Job::Describe => (setup(Call::Describe), None),
            Job::Handle(delivery) => {
                let Limits { deadline, cpu, .. } = prepared.limits;
                let record = Box::new(convert::delivery(&delivery, deadline));
                (Self { call: Call::Handle(delivery.event, record), wall: deadline, cpu }, Some(*delivery))
            }
        }
    }
}

/// How a call went wrong.
enum Fault {
    Instantiate(wasmtime::Error),
    World(wasmtime::Error),
    Run(wasmtime::Error),
    Answer(Strike),
}

impl Fault {
    /// If the engine was told to make some.
    fn core_dump(&self, store: &mut Store<Ctx>, name: &PluginName) -> Option<Arc<[u8]>> {
        let (Self::Instantiate(error) | Self::Run(error)) = self else { return None };
        let dump = error.downcast_ref::<WasmCoreDump>()?;
        Some(dump.serialize(store, &name.to_string()).into())
    }

    fn strike(self, limiter: &Limiter) -> Strike {
        match self {
            Self::Instantiate(error) => strike(&error, Phase::Instantiate, limiter),
            Self::World(error) => Strike { reason: Reason::WorldMismatch, message: text_of(&error) },
            Self::Run(error) => strike(&error, Phase::Run, limiter),
            Self::Answer(strike) => strike,
        }
    }
}

async fn steps(instance: &mut Instance, step: Step) -> Result<Answer, Fault> {
    let Instance { store, guest, linked, initial, .. } = instance;
    let guest = match guest {
        Some(guest) => guest,
        None => {
            let Caps { start_deadline, start_cpu, .. } = store.data().plugin.caps;
            let deadline = arm(store, start_deadline, start_cpu);
            let made = in_time(deadline, linked.pre.instantiate_async(&mut *store)).await.map_err(Fault::Instantiate)?;
            *initial = store.data().limiter.bytes();
            guest.insert(linked.indices.load(&mut *store, &made).map_err(Fault::World)?)
        }
    };
    let deadline = arm(store, step.wall, step.cpu);
    in_time(deadline, invoke(guest, store, step.call)).await.map_err(Fault::Run)?.map_err(Fault::Answer)
}

/// Starts a budget. Right before each part of a call, never earlier: what the host does in
/// between is not the guest's to pay.
fn arm(store: &mut Store<Ctx>, wall: Duration, cpu: Duration) -> Instant {
    store.data_mut().budget.arm(wall, cpu);
    store.set_epoch_deadline(1);
    store.data().budget.deadline()
}

/// The epoch ends a guest that computes; this ends one that waits in a host call.
async fn in_time<T>(deadline: Instant, work: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
    timeout_at(deadline, work).await.unwrap_or_else(|_| Err(Stop::Wall.into()))
}

async fn invoke(guest: &Controller, store: &mut Store<Ctx>, call: Call) -> wasmtime::Result<Result<Answer, Strike>> {
    Ok(match call {
        Call::ValidateConfig(config) => {
            let verdict = guest.wharf_plugin_setup().call_validate_config(store, &config).await?;
            Ok(Answer::Validated(verdict.map_err(config_errors)))
        }
        Call::Describe => described(guest.wharf_plugin_setup().call_describe(store).await?),
        Call::Handle(event, delivery) => {
            let handler = guest.wharf_plugin_handler();
            let answer = match event {
                Event::Add => handler.call_add(store, &delivery).await?,
                Event::Update => handler.call_update(store, &delivery).await?,
                Event::Delete => handler.call_delete(store, &delivery).await?,
            };
            Ok(Answer::Handled(convert::answer(answer)))
        }
    })
}

fn config_errors(errors: Vec<String>) -> Vec<String> {
    errors.iter().take(MAX_CONFIG_ERRORS).map(|error| clean(error, MAX_TEXT_BYTES)).collect()
}

fn described(text: String) -> Result<Answer, Strike> {
    if text.len() <= MAX_DESCRIPTION_BYTES {
        return Ok(Answer::Described(text));
    }
    let message = format!("the description has {} bytes, at most {MAX_DESCRIPTION_BYTES} are accepted", text.len());
    Err(Strike { reason: Reason::DescribeFailed, message })
}
