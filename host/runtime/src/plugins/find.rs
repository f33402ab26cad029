//! One plugin of the registry, by its name. Owns the look-up; shows, and changes nothing.

use std::sync::Arc;

use wharf_core::plugin::PluginName;

use super::desired::Refusal;
use super::registry::{PluginState, Registry};
use crate::dispatch::{Dispatcher, Subscribed};

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

    /// Of a plugin on standby: digest and subscriptions of what could serve if this host led.
    pub fn ready(&self, name: &PluginName) -> Option<(String, Arc<Subscribed>)> {
        let plugins = self.plugins.lock();
        let status = plugins.get(name)?.status.lock();
        let (digest, subscribed) = status.ready.as_ref().filter(|_| status.state == PluginState::Standby)?;
        Some((digest.clone(), subscribed.upgrade()?))
    }
}
