//! One plugin of the registry, by its name. Owns the look-up; shows, and changes nothing.

use std::sync::Arc;

use wharf_core::plugin::PluginName;

use super::desired::Refusal;
use super::registry::{PluginState, Registry};
use crate::dispatch::Dispatcher;

impl Registry {
    /// The names of all plugins, in order.
    pub fn names(&self) -> Vec<PluginName> {
        self.plugins.lock().keys().cloned().collect()
    }

    /// A plugin's dispatcher, and why its document is not in service, if so.
    pub fn find(&self, name: &PluginName) -> Option<(Arc<Dispatcher>, Option<Refusal>)> {
        let plugins = self.plugins.lock();
        let plugin = plugins.get(name)?;
        let refused = match &plugin.status.lock().state {
            PluginState::Refused(refusal) => Some(refusal.clone()),
            PluginState::Starting | PluginState::Standby | PluginState::Serving | PluginState::Suspended | PluginState::Draining => None,
        };
        Some((Arc::clone(&plugin.dispatcher), refused))
    }
}
