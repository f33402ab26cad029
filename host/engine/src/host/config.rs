//! `wharf:plugin/config`: the plugin's configuration, as the document has it.

use wharf_core::Pointer;

use crate::activity::HostFunction;
use crate::bindings::wharf::plugin::config;
use crate::host::Ctx;

impl config::Host for Ctx {
    fn json(&mut self) -> wasmtime::Result<String> {
        self.enter(HostFunction::ConfigJson);
        Ok(self.plugin.config.as_ref().to_owned())
    }

    fn get(&mut self, pointer: String) -> wasmtime::Result<Option<String>> {
        self.enter(HostFunction::ConfigGet);
        Ok(Pointer::parse(&pointer).ok().and_then(|p| p.lookup(&self.plugin.config).map(str::to_owned)))
    }
}
