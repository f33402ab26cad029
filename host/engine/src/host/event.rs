//! `wharf:plugin/event`: the object of the running call, read by pointer from its raw text.
//! Never builds a tree. Looking up many pointers in a large object takes long, so that is
//! charged to the call's budget and gives the thread back in between.

use std::sync::Arc;

use wharf_core::{Object, Pointer};

use crate::activity::HostFunction;
use crate::bindings::wharf::plugin::event::{self, Revision};
use crate::host::Ctx;
use crate::limits::MAX_POINTERS;

/// Bytes that may be searched before the thread is given back.
const BREATHER_BYTES: usize = 256 << 10;

impl Ctx {
    fn object(&self, which: Revision) -> Option<&Arc<Object>> {
        let delivery = self.delivery.as_ref()?;
        match which {
            Revision::Current => delivery.current.as_ref(),
            Revision::Previous => delivery.previous.as_ref(),
        }
    }
}

impl event::Host for Ctx {
    fn get(&mut self, which: Revision, pointer: String) -> wasmtime::Result<Option<String>> {
        self.enter(HostFunction::EventGet);
        Ok(self.object(which).and_then(|object| find(object, &pointer)).map(str::to_owned))
    }

    async fn get_many(&mut self, which: Revision, pointers: Vec<String>) -> wasmtime::Result<Vec<Option<String>>> {
        self.enter(HostFunction::EventGetMany);
        let mut values = vec![None; pointers.len()];
        let Some(object) = self.object(which).cloned() else { return Ok(values) };
        let mut searched = 0;
        for (value, pointer) in values.iter_mut().zip(&pointers).take(MAX_POINTERS) {
            *value = find(&object, pointer).map(str::to_owned);
            self.breathe(&mut searched, object.json().len()).await?;
        }
        Ok(values)
    }

    fn json(&mut self, which: Revision) -> wasmtime::Result<Option<String>> {
        self.enter(HostFunction::EventJson);
        Ok(self.object(which).map(|object| object.json().to_owned()))
    }

    async fn changed(&mut self, pointers: Vec<String>) -> wasmtime::Result<Vec<bool>> {
        self.enter(HostFunction::EventChanged);
        let mut changed = vec![true; pointers.len()];
        let Some(previous) = self.object(Revision::Previous).cloned() else { return Ok(changed) };
        let current = self.object(Revision::Current).cloned();
        let mut searched = 0;
        for (changed, pointer) in changed.iter_mut().zip(&pointers).take(MAX_POINTERS) {
            let Ok(pointer) = Pointer::parse(pointer) else { continue };
            let now = current.as_ref().and_then(|object| object.get(&pointer));
            *changed = now != previous.get(&pointer);
            let both = previous.json().len().saturating_add(current.as_ref().map_or(0, |object| object.json().len()));
            self.breathe(&mut searched, both).await?;
        }
        Ok(changed)
    }

    fn remaining_ms(&mut self) -> wasmtime::Result<u32> {
        self.enter(HostFunction::EventRemaining);
        if self.delivery.is_none() {
            return Ok(0);
        }
        Ok(u32::try_from(self.budget.remaining().as_millis()).unwrap_or(u32::MAX))
    }
}

impl Ctx {
    async fn breathe(&mut self, searched: &mut usize, bytes: usize) -> wasmtime::Result<()> {
        *searched = searched.saturating_add(bytes);
        if *searched >= BREATHER_BYTES {
            *searched = 0;
            self.budget.check()?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

fn find<'a>(object: &'a Object, pointer: &str) -> Option<&'a str> {
    object.get(&Pointer::parse(pointer).ok()?)
}
