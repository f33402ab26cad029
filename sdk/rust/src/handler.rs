//! What a plugin implements, and how one call of it runs: configuration read, event made,
//! function called. Knows nothing of WebAssembly.

use serde::de::DeserializeOwned;

use crate::config;
use crate::delivery::{Change, Delivery};
use crate::describe::Description;
use crate::event::Event;
use crate::outcome::{Failure, Outcome, Result};
use crate::{backend, bridge};

/// A plugin. The type is its configuration: it is read from `spec.config` of the Plugin
/// document for each call (`{}` where the document has none), so a plugin without
/// configuration is a `struct` with empty braces. Use serde's `default` for optional
/// settings. A field of the configuration that the type does not have is refused.
///
/// Calls for one key never overlap; calls for different keys may run at the same time in
/// different instances, and the host throws instances away: keep nothing in globals.
/// Delivery is at least once, so every function must be fine with being called again.
pub trait Handler: DeserializeOwned {
    /// What the plugin is called and what it asks for. Called with a configuration that
    /// passed [`Handler::validate`], and with none by `wharf inspect`; read it with
    /// [`config`](crate::config()) if the answer depends on it. Effects refuse here.
    fn describe() -> Description;

    /// Checks a configuration beyond what its types say.
    ///
    /// # Errors
    /// All that is wrong, for people. The revision does not go into service then.
    fn validate(&self) -> std::result::Result<(), Vec<String>> {
        Ok(())
    }

    /// The key was not known to this plugin, and the object exists.
    ///
    /// # Errors
    /// A [`Failure`] says whether and when the host tries again.
    fn add(&self, event: &Event) -> Result;

    /// The object changed since the last successful call, or it is time again. The same
    /// as [`Handler::add`] unless implemented.
    ///
    /// # Errors
    /// A [`Failure`] says whether and when the host tries again.
    fn update(&self, event: &Event) -> Result {
        self.add(event)
    }

    /// The object is gone, no longer matches, or was replaced: see
    /// [`Delivery::removal`]. Does nothing unless implemented.
    ///
    /// # Errors
    /// A [`Failure`] says whether and when the host tries again; `permanent` ends the key.
    fn delete(&self, event: &Event) -> Result {
        let _ = event;
        Ok(Outcome::Done)
    }
}

/// One call.
pub(crate) fn call<H: Handler>(change: Change, delivery: Delivery) -> Result {
    bridge::install();
    let handler: H = config::read(&backend::config_json()).map_err(|error| Failure::from(&error))?;
    let event = Event::new(change, delivery);
    match change {
        Change::Add => handler.add(&event),
        Change::Update => handler.update(&event),
        Change::Delete => handler.delete(&event),
    }
}

/// Is this configuration good?
pub(crate) fn validate<H: Handler>(config: &str) -> std::result::Result<(), Vec<String>> {
    bridge::install();
    let handler: H = config::read(config).map_err(|error| vec![error.to_string()])?;
    handler.validate()
}
