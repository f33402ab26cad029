//! What a source of plugins says there should be. Owns the words between sources and the
//! registry; reads and runs nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use wharf_core::Reason;
use wharf_core::plugin::{PluginDocument, PluginName};

/// One plugin as a source wishes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// What the operator wrote.
    pub document: Arc<PluginDocument>,
    /// The component's file.
    pub component: PathBuf,
    /// Changes whenever the file was written (length, times, inode): a cheap hint that the
    /// bytes are worth reading again.
    pub fingerprint: u64,
    /// The file that the wish stands in, for status and messages.
    pub origin: PathBuf,
}

/// Why a wish cannot be met. What serves goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The machine name.
    pub reason: Reason,
    /// What is wrong, with every mistake, a line each.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl Refusal {
    /// A refusal with the reason's own hint.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), hint: reason.hint().to_owned() }
    }
}

/// All that a source wishes at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// By name: the wish, or why it cannot be read. A plugin that is not there is removed;
    /// one with a refusal keeps what serves.
    pub plugins: BTreeMap<PluginName, Result<Desired, Refusal>>,
    /// Files in which not even a plugin's name could be read. Plugins that came from them
    /// are kept.
    pub unreadable: BTreeMap<PathBuf, Refusal>,
}
