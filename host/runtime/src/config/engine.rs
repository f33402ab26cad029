//! The settings of the engine and of the compiling process. Owns their ranges and how they become the engine's own
//! configuration; what they mean is the engine's.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use wharf_core::plugin::fields::{Node, Problems, excerpt};
use wharf_engine::{Caps, Compiler, EngineConfig};

use super::layers::Layers;
use crate::memory;

/// The settings of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// Instances alive at once, 1 to 4096.
    pub instances: u32,
    /// Threads that run guests, at least 1.
    pub threads: usize,
    /// What tenants weigh, 1 to 100; those that are not in it weigh 1.
    pub tenant_weights: BTreeMap<String, u32>,
    /// See [`EngineConfig::calls_per_instance`].
    pub calls_per_instance: u32,
    /// See [`EngineConfig::instance_age`].
    pub instance_age: Duration,
    /// See [`EngineConfig::keep_idle`].
    pub keep_instances: Duration,
    /// See [`EngineConfig::keep_mapped`].
    pub keep_code: Duration,
    /// See [`EngineConfig::max_component_bytes`].
    pub max_component: u64,
    /// See [`EngineConfig::cache_bytes`].
    pub code_cache: u64,
    /// See [`EngineConfig::guest_memory`]; `None`: a part of the memory that there is.
    pub guest_memory: Option<u64>,
    /// See [`EngineConfig::caps`].
    pub guests: Caps,
    /// What compiling one component may use.
    pub compile: CompileSettings,
}

/// What compiling one component may use; see [`Compiler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileSettings {
    /// Processor time.
    pub cpu: Duration,
    /// Wall time.
    pub deadline: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of machine code.
    pub code: u64,
}

impl EngineSettings {
    /// The engine's own configuration, with compiled components in this folder.
    pub fn config(&self, cache: &Path) -> EngineConfig {
        let CompileSettings { cpu, deadline, memory, code } = self.compile;
        EngineConfig {
            instances: self.instances,
            threads: self.threads,
            cache_dir: Some(cache.to_owned()),
            max_component_bytes: self.max_component,
            cache_bytes: self.code_cache,
            // Of what is left the watches have most.
            guest_memory: self.guest_memory.or_else(|| memory::available().map(|bytes| bytes / 4)),
            caps: self.guests,
            calls_per_instance: self.calls_per_instance,
            instance_age: self.instance_age,
            keep_idle: self.keep_instances,
            keep_mapped: self.keep_code,
            compiler: Some(Compiler { cpu, wall: deadline, memory, code, ..Compiler::this_program() }),
            ..EngineConfig::default()
        }
    }
}

pub(super) fn pick(layers: &mut Layers<'_>) -> Option<EngineSettings> {
    let instances = number(layers, "engine.instances", 1..=4096);
    let threads = number(layers, "engine.threads", 0..=256);
    let weights = layers.pick("engine.tenantWeights", tenant_weights);
    let calls = number(layers, "engine.callsPerInstance", 1..=1_000_000);
    let age = time(layers, "engine.instanceAge", seconds(1, 24 * 3600));
    let keep_instances = time(layers, "engine.keepInstances", seconds(0, 3600));
    let keep_code = time(layers, "engine.keepCode", seconds(0, 24 * 3600));
    let max_component = bytes(layers, "engine.maxComponent", 64 << 10..=256 << 20);
    let code_cache = bytes(layers, "engine.codeCache", 64 << 20..=1 << 40);
    let guest_memory = bytes(layers, "engine.guestMemory", 0..=1 << 40);
    let guests = guests(layers);
    let compile = compile(layers);
    Some(EngineSettings {
        instances: instances?,
        threads: usize::try_from(threads?).ok().filter(|n| *n > 0).unwrap_or_else(spare_processors),
        tenant_weights: weights?,
        calls_per_instance: calls?,
        instance_age: age?,
        keep_instances: keep_instances?,
        keep_code: keep_code?,
        max_component: max_component?,
        code_cache: code_cache?,
        guest_memory: Some(guest_memory?).filter(|bytes| *bytes > 0),
        guests: guests?,
        compile: compile?,
    })
}

fn guests(layers: &mut Layers<'_>) -> Option<Caps> {
    let millis = |from, to| Duration::from_millis(from)..=Duration::from_secs(to);
    let start_deadline = time(layers, "engine.guests.startDeadline", millis(100, 60));
    let start_cpu = time(layers, "engine.guests.startCpu", millis(10, 10));
    let host_call = bytes(layers, "engine.guests.hostCallBytes", 64 << 10..=64 << 20);
    let handles = number(layers, "engine.guests.handles", 10..=100_000);
    let elements = number(layers, "engine.guests.tableElements", 1000..=1_000_000);
    let object = bytes(layers, "engine.guests.objectBytes", 64 << 10..=64 << 20);
    let page = bytes(layers, "engine.guests.pageBytes", 64 << 10..=256 << 20);
    let lines = number(layers, "engine.guests.logLines", 1..=10_000);
    let events = number(layers, "engine.guests.events", 1..=1000);
    let size = |bytes: u64| usize::try_from(bytes).ok();
    Some(Caps {
        start_deadline: start_deadline?,
        start_cpu: start_cpu?,
        host_call_bytes: size(host_call?)?,
        handles: size(handles?.into())?,
        table_elements: size(elements?.into())?,
        object_bytes: size(object?)?,
        page_bytes: size(page?)?,
        log_lines: lines?,
        events: events?,
    })
}

fn compile(layers: &mut Layers<'_>) -> Option<CompileSettings> {
    let cpu = time(layers, "compile.cpu", seconds(1, 3600));
    let deadline = time(layers, "compile.deadline", seconds(1, 7200));
    let memory = bytes(layers, "compile.memory", 128 << 20..=64 << 30);
    let code = bytes(layers, "compile.code", 1 << 20..=16 << 30);
    Some(CompileSettings { cpu: cpu?, deadline: deadline?, memory: memory?, code: code? })
}

fn seconds(from: u64, to: u64) -> RangeInclusive<Duration> {
    Duration::from_secs(from)..=Duration::from_secs(to)
}

fn number(layers: &mut Layers<'_>, path: &'static str, range: RangeInclusive<u64>) -> Option<u32> {
    layers.pick(path, |n, p| n.integer(&range, p)).and_then(|number| u32::try_from(number).ok())
}

fn time(layers: &mut Layers<'_>, path: &'static str, range: RangeInclusive<Duration>) -> Option<Duration> {
    layers.pick(path, |n, p| n.duration(&range, p))
}

fn bytes(layers: &mut Layers<'_>, path: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
    layers.pick(path, |n, p| n.bytes(&range, p))
}

fn tenant_weights(node: &Node<'_>, problems: &mut Problems) -> Option<BTreeMap<String, u32>> {
    let text = node.text(problems)?;
    let pair = |part: &str| {
        let (tenant, weight) = part.split_once('=')?;
        let weight = weight.trim().parse().ok().filter(|weight| (1..=100).contains(weight))?;
        Some((tenant.trim().to_owned(), weight)).filter(|(tenant, _)| !tenant.is_empty())
    };
    let weights: Option<BTreeMap<String, u32>> = text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect();
    if weights.is_none() {
        let hint = "write namespace=weight with commas between, weights from 1 to 100";
        problems.invalid(node.at(), format!("{} is no list of weights", excerpt(text)), hint);
    }
    weights
}

/// All processors but one: watches and probes are never starved by guests.
fn spare_processors() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get().saturating_sub(1).max(1))
}
