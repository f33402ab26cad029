//! The data of one wasm store: what the host functions of a guest share. Owns what of it lasts
//! for the instance and what starts anew with each call; decides nothing.

use std::sync::Arc;

use tokio::runtime::Handle;
use wasmtime::component::ResourceTable;
use wharf_core::plugin::PluginName;
use wharf_core::{Delivery, Grants};

use super::log::LogSink;
use super::wasi::Wasi;
use crate::activity::{HostFunction, Watched};
use crate::config::Caps;
use crate::limits::{Budget, Limiter, MAX_RESOURCES};
use crate::ports::{CallInfo, Ports};

/// What all calls of a revision share.
pub(crate) struct Plugin {
    pub(crate) name: PluginName,
    pub(crate) grants: Grants,
    pub(crate) caps: Caps,
    /// JSON text.
    pub(crate) config: Arc<str>,
    pub(crate) ports: Arc<dyn Ports>,
}

/// The data of one wasm store. The instance in it may serve several calls, one after the other.
pub(crate) struct Ctx {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) limiter: Limiter,
    pub(crate) budget: Budget,
    pub(crate) log: Arc<LogSink>,
    /// `None` in `setup`: then there is no object and every effect refuses.
    pub(super) delivery: Option<Delivery>,
    /// The runtime that ports run on.
    pub(super) control: Handle,
    pub(super) table: ResourceTable,
    /// Made when a guest first asks for something of WASI; most never do.
    pub(super) wasi: Option<Wasi>,
    pub(crate) watched: Watched,
    pub(super) events: u32,
    /// The guest waits for a port.
    pub(crate) in_port: bool,
    /// A missing grant of `record-event` is logged once per call.
    pub(super) warned: bool,
}

impl Ctx {
    pub(crate) fn new(plugin: Arc<Plugin>, limiter: Limiter, budget: Budget, log: LogSink, control: Handle) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        let log = Arc::new(log);
        Self {
            plugin,
            limiter,
            budget,
            log,
            delivery: None,
            control,
            table,
            wasi: None,
            watched: Watched::default(),
            events: 0,
            in_port: false,
            warned: false,
        }
    }

    /// The next call starts: nothing of the one before is left but the guest's own memory and
    /// the handles that it holds.
    pub(crate) fn begin(&mut self, call: CallInfo, delivery: Option<Delivery>) {
        self.log.begin(call);
        self.limiter.begin();
        self.delivery = delivery;
        (self.events, self.in_port, self.warned) = (0, false, false);
        self.watched = Watched::default();
    }

    /// The call is over: objects are not held while the instance idles.
    pub(crate) fn end(&mut self) {
        self.flush_streams();
        self.delivery = None;
    }

    /// Counts a host call.
    pub(super) fn enter(&mut self, function: HostFunction) {
        self.watched.done.called(function);
    }
}
