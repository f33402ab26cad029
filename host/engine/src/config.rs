//! How the engine is set up. Owns every setting of wasmtime, in two groups: what shapes the
//! compiled code and what shapes the pool of instances. Never reads a file or an environment
//! variable: the values come from whoever makes the engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, ModuleVersionStrategy, OptLevel, PoolingAllocationConfig, ProfilingStrategy,
    RegallocAlgorithm, Strategy, WasmBacktraceDetails,
};

use crate::WASMTIME_VERSION;
use crate::compiler::Compiler;
use crate::limits::{MAX_FRAMES, MAX_MEMORY_BYTES};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// What a host decides about its engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Instances alive at the same time, 2 to 4096. Each reserves about 8 GiB of address
    /// space (not memory). Calls beyond it wait.
    pub instances: u32,
    /// Threads that run guests, at least 1.
    pub threads: usize,
    /// Where compiled components are kept; `None` compiles on every load.
    pub cache_dir: Option<PathBuf>,
    /// The largest component that is accepted, in bytes.
    pub max_component_bytes: u64,
    /// Bytes of the cache folder. What was not used for longest goes first.
    pub cache_bytes: u64,
    /// Bytes of memory of all instances together; `None`: as many as they like. One tenant may have eight ninths.
    pub guest_memory: Option<u64>,
    /// What each guest may take, besides the limits of its document.
    pub caps: Caps,
    /// Calls that one instance serves before it is thrown away, at least 1.
    pub calls_per_instance: u32,
    /// How long one instance serves before it is thrown away.
    pub instance_age: Duration,
    /// How long an instance that is dear to make waits for its plugin's next call, see
    /// [`Artifact::dear`](crate::Artifact::dear).
    pub keep_idle: Duration,
    /// How long the machine code of a component stays mapped without an instance. It comes back from the cache in about a
    /// millisecond.
    pub keep_mapped: Duration,
    /// A call that traps leaves a core dump: the memory of its instance, and which functions ran. For a desk: it has
    /// whatever the guest was handed.
    pub core_dumps: bool,
    /// How components are compiled.
    pub compile: Compile,
    /// Compiles in a process of its own; needs a cache folder. `None` compiles here, which only those should who wait for
    /// nothing else.
    pub compiler: Option<Compiler>,
}

/// What a guest may take of the host, whatever its document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Wall time to make an instance, and that of each of `validate-config` and `describe`. Generous by default: on a busy
    /// machine the processor time is what bounds it.
    pub start_deadline: Duration,
    /// Processor time for each of the same.
    pub start_cpu: Duration,
    /// Bytes that it may hand to the host in one host call.
    pub host_call_bytes: usize,
    /// Handles that an instance may hold.
    pub handles: usize,
    /// Elements of one table; all tables of an instance have three times as many.
    pub table_elements: usize,
    /// Bytes of an object that is handed to it.
    pub object_bytes: usize,
    /// Bytes of a page of a list that is handed to it.
    pub page_bytes: usize,
    /// Log lines of one call.
    pub log_lines: u32,
    /// Kubernetes Events of one call.
    pub events: u32,
}

impl Default for Caps {
    /// 5 s, 500 ms, 1 MiB, 1,000 handles, 20,000 elements, 4 MiB, 16 MiB, 200 lines, 100 Events.
    fn default() -> Self {
        Self {
            start_deadline: Duration::from_secs(5),
            start_cpu: Duration::from_millis(500),
            host_call_bytes: MIB,
            handles: 1000,
            table_elements: 20_000,
            object_bytes: 4 * MIB,
            page_bytes: 16 * MIB,
            log_lines: 200,
            events: 100,
        }
    }
}

/// What matters more: fast machine code, or having it soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compile {
    /// Fast code, made on one core: the others stay with the guests. For serving.
    #[default]
    Thorough,
    /// Code that is used once, made in two thirds of the time and on all cores. For asking a
    /// component what it is.
    Quick,
}

impl Default for EngineConfig {
    /// 256 instances, one thread less than the machine has (at least one), no cache, 64 MiB,
    /// a folder of 2 GiB, 1000 calls, 10 minutes, 60 seconds each, no compiling process.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            instances: 256,
            threads: cores.saturating_sub(1).max(1),
            cache_dir: None,
            max_component_bytes: 64 << 20,
            cache_bytes: 2 << 30,
            guest_memory: None,
            caps: Caps::default(),
            calls_per_instance: 1000,
            instance_age: Duration::from_secs(600),
            keep_idle: Duration::from_secs(60),
            keep_mapped: Duration::from_secs(60),
            core_dumps: false,
            compile: Compile::Thorough,
            compiler: None,
        }
    }
}

impl EngineConfig {
    /// The number of instances: enough for the largest component, and not more than the
    /// address space allows.
    pub fn live(&self) -> u32 {
        self.instances.clamp(2, 4096)
    }
}

/// All settings of wasmtime for an engine that runs guests.
pub(crate) fn wasmtime_config(config: &EngineConfig) -> Config {
    let mut settings = compiler_config(config.compile);
    settings.coredump_on_trap(config.core_dumps);
    settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool_settings(
        config.live(),
        config.threads,
        config.caps.table_elements,
    )));
    settings
}

/// All settings of wasmtime for an engine that only compiles: its code fits those that run guests, but it reserves nothing.
pub(crate) fn compiler_config(level: Compile) -> Config {
    let mut settings = Config::new();
    code_settings(&mut settings);
    if level == Compile::Quick {
        settings.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
        settings.parallel_compilation(true);
        // Frames of such code are many times larger, above all those of an interpreter's loop.
        settings.max_wasm_stack(8 * MIB).async_stack_size(16 * MIB);
    }
    settings
}

/// Everything that changes the compiled code, in one place: whoever compiles and whoever
/// loads must agree on all of it.
fn code_settings(c: &mut Config) {
    c.strategy(Strategy::Cranelift).cranelift_opt_level(OptLevel::Speed);
    // Of itself wasmtime takes code of all patch versions for its own, also of those before a fix of the compiler.
    let _short = c.module_version(ModuleVersionStrategy::Custom(WASMTIME_VERSION.to_owned()));
    // One compilation never takes all cores from the guests.
    c.parallel_compilation(false);
    c.epoch_interruption(true).consume_fuel(false);
    // Synchronous exports only: calls cost a third of what they cost with it.
    c.concurrency_support(false).wasm_component_model(true);
    // Multi-memory stays on: adapters inside components need it.
    c.wasm_memory64(false).wasm_relaxed_simd(false).shared_memory(false);
    // GC, exceptions and threads are left out of the build, so there is nothing to switch off.
    c.memory_reservation(4 << 30).memory_guard_size(32 << 20).guard_before_linear_memory(true);
    c.memory_init_cow(true).memory_guaranteed_dense_image_size(32 << 20);
    c.signals_based_traps(true).max_wasm_stack(512 * KIB).async_stack_size(MIB);
    c.native_unwind_info(false).profiler(ProfilingStrategy::None);
    c.wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES)).wasm_backtrace_details(WasmBacktraceDetails::Enable);
}

/// Slots for `live` instances. Core instances are only a counter, and one component of a
/// scripting language takes dozens of them.
fn pool_settings(live: u32, threads: usize, table_elements: usize) -> PoolingAllocationConfig {
    let mut p = PoolingAllocationConfig::new();
    p.total_component_instances(live)
        .total_stacks(live)
        .total_memories(MEMORIES_PER_PERMIT * live)
        .total_tables(TABLES_PER_PERMIT * live)
        .total_core_instances(200 * live)
        .max_core_instances_per_component(200)
        .max_memories_per_component(4)
        .max_memories_per_module(1)
        .max_tables_per_component(32)
        .max_tables_per_module(2)
        .table_elements(table_elements)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_core_instance_size(MIB)
        .max_component_instance_size(4 * MIB)
        .linear_memory_keep_resident(KEPT_BYTES)
        .table_keep_resident(64 * KIB)
        .pagemap_scan(Enabled::Auto)
        .decommit_batch_size(8)
        .max_unused_warm_slots(warm_slots(threads));
    p
}

/// What a slot keeps of its memory after an instance; the pool never gives that back. A page that it does not keep costs the
/// next instance a fault, if it writes there.
const KEPT_BYTES: usize = 64 * KIB;

/// Slots that are kept for the component that they had, for the next instance of it: as many as can be in use from one moment
/// to the next.
fn warm_slots(threads: usize) -> u32 {
    u32::try_from(threads.saturating_mul(4)).unwrap_or(u32::MAX).clamp(8, 64)
}

/// Memory slots that the pool has for each permit to run.
pub(crate) const MEMORIES_PER_PERMIT: u32 = 2;
/// Table slots that the pool has for each permit to run.
pub(crate) const TABLES_PER_PERMIT: u32 = 16;
