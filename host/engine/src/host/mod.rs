//! The host's side of the contract: one file per interface. Owns the data of one wasm store;
//! what a host function may do to the outside goes through [`Ports`](crate::Ports).

pub(crate) mod cluster;
mod config;
mod event;
mod fields;
pub(crate) mod log;
mod names;
mod system;
pub(crate) mod wasi;

use std::sync::Arc;

use tokio::runtime::Handle;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::WasiCtx;
use wharf_core::plugin::PluginName;
use wharf_core::{Delivery, Grants};

use crate::bindings::Controller;
use crate::bindings::wharf::plugin::types;
use crate::host::log::LogSink;
use crate::limits::{Budget, Limiter, MAX_RESOURCES};
use crate::ports::Ports;

/// What all calls of a revision share.
pub(crate) struct Plugin {
    pub(crate) name: PluginName,
    pub(crate) grants: Grants,
    /// JSON text.
    pub(crate) config: Arc<str>,
    pub(crate) ports: Arc<dyn Ports>,
}

/// The data of one wasm store, made for one call.
pub(crate) struct Ctx {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) limiter: Limiter,
    pub(crate) budget: Budget,
    pub(crate) log: Arc<LogSink>,
    /// `None` in `setup`: then there is no object and every effect refuses.
    delivery: Option<Delivery>,
    /// The runtime that ports run on.
    control: Handle,
    table: ResourceTable,
    /// Made when a guest first asks for something of WASI; most never do.
    wasi: Option<WasiCtx>,
    pub(crate) host_calls: u32,
    events: u32,
    /// The guest waits for a port.
    pub(crate) in_port: bool,
    /// A missing grant of `record-event` is logged once per call.
    warned: bool,
}

impl Ctx {
    pub(crate) fn new(
        plugin: Arc<Plugin>,
        limiter: Limiter,
        budget: Budget,
        log: Arc<LogSink>,
        delivery: Option<Delivery>,
        control: Handle,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self { plugin, limiter, budget, log, delivery, control, table, wasi: None, host_calls: 0, events: 0, in_port: false, warned: false }
    }

    /// Counts a host call.
    fn enter(&mut self) {
        self.host_calls = self.host_calls.saturating_add(1);
    }
}

impl types::Host for Ctx {}

/// Everything that a component may import, whether it is granted or not: what is not granted
/// was refused before anything is linked.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Ctx>> {
    let mut linker = Linker::new(engine);
    Controller::add_to_linker::<_, HasSelf<Ctx>>(&mut linker, |ctx| ctx)?;
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    Ok(linker)
}
