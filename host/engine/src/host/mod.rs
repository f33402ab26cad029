//! The host's side of the contract: one file per interface. Owns what is linked to a guest;
//! what a host function may do to the outside goes through [`Ports`](crate::Ports).

pub(crate) mod cluster;
mod config;
mod ctx;
mod event;
pub(crate) mod fields;
pub(crate) mod log;
mod names;
mod system;
pub(crate) mod wasi;

use wasmtime::component::{HasSelf, Linker};

pub(crate) use self::ctx::{Ctx, Plugin};
use crate::bindings::Controller;
use crate::bindings::wharf::plugin::types;

impl types::Host for Ctx {}

/// Everything that a component may import, whether it is granted or not: what is not granted
/// was refused before anything is linked.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Ctx>> {
    let mut linker = Linker::new(engine);
    Controller::add_to_linker::<_, HasSelf<Ctx>>(&mut linker, |ctx| ctx)?;
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    Ok(linker)
}
