//! Why something cannot be looked at. Owns which states of an informer are final.

use std::sync::Arc;

use wharf_cache::InformerState;
use wharf_core::Reason;

/// Why there is nothing (more) to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    /// The server refuses: rights are missing, or credentials are not known.
    #[error("{0}")]
    Forbidden(Arc<str>),
    /// The server understood the question and has no answer: a selector that it does not
    /// know, a kind that cannot be watched, a kind that is gone.
    #[error("{0}")]
    Refused(Arc<str>),
    /// No answer.
    #[error("{0}")]
    Unavailable(Arc<str>),
    /// Changes came faster than they were taken.
    #[error("more than {0} MiB of changes wait to be written")]
    Behind(usize),
}

impl LookError {
    /// The error in a state, if waiting longer changes nothing.
    pub(super) fn last_word(state: &InformerState) -> Option<Self> {
        match state {
            InformerState::Failing { reason: Reason::Forbidden, message } => Some(Self::Forbidden(message.clone())),
            InformerState::Failing { reason: Reason::DocumentInvalid, message } => Some(Self::Refused(message.clone())),
            InformerState::Sleeping { .. } => Some(Self::Refused("the server does not serve the kind any more".into())),
            InformerState::Stopped => Some(Self::Unavailable("the informer was stopped".into())),
            _ => None,
        }
    }
}
