//! One instance of a guest: its wasm store, its exports and its slot in the pool. Owns making
//! it and the rule how long it is fit for another call; never decides whether there will be
//! one (that is `idle` and the dispatcher).

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::{Store, UpdateDeadline};
use wharf_core::Strike;

use crate::bindings::Controller;
use crate::call::Prepared;
use crate::code::Linked;
use crate::config::Caps;
use crate::engine::Slot;
use crate::host::Ctx;
use crate::host::log::LogSink;
use crate::limits::{Budget, CpuMeter, Limiter};
use crate::ports::CallInfo;

/// A guest's memory and everything that the host keeps for it. Fields are dropped in this
/// order: the slot is free only when the memory is.
pub(crate) struct Instance {
    pub(crate) store: Store<Ctx>,
    /// `None` until the first call has made it.
    pub(crate) guest: Option<Controller>,
    /// What it is one of.
    pub(crate) linked: Arc<Linked>,
    pub(crate) meter: Arc<CpuMeter>,
    /// Bytes of memory when it was made.
    pub(crate) initial: u64,
    /// Calls that it has served.
    pub(crate) calls: u32,
    born: Instant,
    _slot: Slot,
}

impl Instance {
    /// A store without anything in it. Costs about a microsecond.
    pub(crate) fn new(prepared: &Prepared, linked: Arc<Linked>, slot: Slot, meter: Arc<CpuMeter>, first: CallInfo) -> Self {
        let plugin = Arc::clone(&prepared.plugin);
        let log = LogSink::new(Arc::clone(&plugin.ports), plugin.caps.log_lines, first);
        let limiter = Limiter::new(prepared.limits.memory, plugin.caps.table_elements, Arc::clone(&prepared.sums), prepared.share.clone());
        let ctx = Ctx::new(plugin, limiter, Budget::new(Arc::clone(&meter)), log, prepared.control.clone());
        Self {
            store: new_store(&prepared.wasmtime, ctx),
            guest: None,
            linked,
            meter,
            initial: 0,
            calls: 0,
            born: Instant::now(),
            _slot: slot,
        }
    }

    /// May it serve another call? Not after so many calls or so long, and not when it has taken half of
    /// the memory that its limit leaves it: a fresh one has all of it.
    pub(crate) fn fit(&self, prepared: &Prepared) -> bool {
        let grown = self.store.data().limiter.bytes().saturating_sub(self.initial);
        let room = prepared.limits.memory.saturating_sub(self.initial);
        let reuse = prepared.reuse;
        self.calls < reuse.calls && self.born.elapsed() < reuse.age && grown <= room / 2
    }

    /// Adds what the guest itself said of its end: a trap alone tells little.
    pub(crate) fn with_last_words(&self, strike: Strike) -> Strike {
        let words = self.store.data().log.last_words();
        if words.is_empty() {
            return strike;
        }
        let message = crate::limits::clean(&format!("{words}; {}", strike.message), crate::limits::MAX_TEXT_BYTES);
        Strike { message, ..strike }
    }
}

fn new_store(engine: &wasmtime::Engine, ctx: Ctx) -> Store<Ctx> {
    let Caps { host_call_bytes, handles, .. } = ctx.plugin.caps;
    let mut store = Store::new(engine, ctx);
    store.limiter(|ctx| &mut ctx.limiter);
    store.set_hostcall_fuel(host_call_bytes);
    store.set_max_component_handles(handles);
    store.epoch_deadline_callback(|ctx| {
        ctx.data().budget.tick()?;
        // Without a turn for others in between, the runtime would poll the guest again at once.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store
}
