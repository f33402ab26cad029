//! Why something cannot be looked at. Owns which states of an informer are final.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wharf_cache::InformerState;
use wharf_core::Reason;

/// Why there is nothing (more) to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    /// The server does not accept the credentials.
    #[error("{0}")]
    Unauthorized(Arc<str>),
    /// The server refuses: rights are missing.
    #[error("{0}")]
    Forbidden(Arc<str>),
    /// The server understood the question and has no answer: a selector that it does not
    /// know, a kind that cannot be watched.
    #[error("{0}")]
    Refused(Arc<str>),
    /// The server does not serve the kind any more.
    #[error("{0}")]
    Gone(Arc<str>),
    /// No answer.
    #[error("{0}")]
    Unavailable(Arc<str>),
    /// Changes came faster than they were taken.
    #[error("more than {0} MiB of changes wait to be written")]
    Behind(usize),
}

/// A server that does not answer is waited for so long; and one that refuses to go on.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an informer has failed, as seen by who looks at it again and again.
#[derive(Debug, Default)]
pub(super) struct Watchful {
    failing_since: Option<Instant>,
}

impl Watchful {
    /// The error in a state before the first list: a refusal at once, no answer after 30 s.
    pub(super) fn before_list(&mut self, state: &InformerState) -> Option<LookError> {
        let lasts = self.lasts(state);
        match state {
            InformerState::Failing { reason, message } if reason.is_refusal() => Some(refusal(*reason, message)),
            InformerState::Failing { message, .. } if lasts => final_word(state).or_else(|| Some(LookError::Unavailable(message.clone()))),
            _ => final_word(state),
        }
    }

    /// The error in a state after it. What was allowed once may be refused for a moment, while tokens are
    /// renewed or rights are written anew; the informer goes on as soon as it can.
    pub(super) fn after_list(&mut self, state: &InformerState) -> Option<LookError> {
        let lasts = self.lasts(state);
        match state {
            InformerState::Failing { reason, message } if lasts && reason.is_refusal() => Some(refusal(*reason, message)),
            _ => final_word(state),
        }
    }

    /// It works: something came.
    pub(super) fn works(&mut self) {
        self.failing_since = None;
    }

    fn lasts(&mut self, state: &InformerState) -> bool {
        if !matches!(state, InformerState::Failing { .. }) {
            self.works();
            return false;
        }
        self.failing_since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
    }
}

fn refusal(reason: Reason, message: &Arc<str>) -> LookError {
    if reason == Reason::Unauthorized { LookError::Unauthorized(message.clone()) } else { LookError::Forbidden(message.clone()) }
}

/// The error in a state, if waiting longer changes nothing.
fn final_word(state: &InformerState) -> Option<LookError> {
    match state {
        InformerState::Failing { reason: Reason::DocumentInvalid, message } => Some(LookError::Refused(message.clone())),
        InformerState::Sleeping { .. } => Some(LookError::Gone("its definition was removed, or the server behind it".into())),
        InformerState::Stopped => Some(LookError::Unavailable("the informer was stopped".into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(reason: Reason) -> InformerState {
        InformerState::Failing { reason, message: "why".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_final_at_first_and_must_last_later() {
        let refused = Some(LookError::Forbidden("why".into()));
        let forbidden = failing(Reason::Forbidden);
        assert_eq!(Watchful::default().before_list(&forbidden), refused);
        let unknown = Watchful::default().before_list(&failing(Reason::Unauthorized));
        assert_eq!(unknown, Some(LookError::Unauthorized("why".into())));
        let gone = InformerState::Sleeping { reason: Reason::KindNotFound };
        assert!(matches!(Watchful::default().after_list(&gone), Some(LookError::Gone(_))));
        let mut later = Watchful::default();
        assert_eq!(later.after_list(&forbidden), None);
        tokio::time::advance(PATIENCE - Duration::from_secs(1)).await;
        assert_eq!(later.after_list(&forbidden), None);
        later.works();
        assert_eq!(later.after_list(&forbidden), None, "counted anew");
        tokio::time::advance(PATIENCE).await;
        assert_eq!(later.after_list(&forbidden), refused);
    }

    #[tokio::test(start_paused = true)]
    async fn no_answer_counts_before_the_list_only() {
        let silent = failing(Reason::ServerUnavailable);
        let (mut before, mut after) = (Watchful::default(), Watchful::default());
        assert_eq!((before.before_list(&silent), after.after_list(&silent)), (None, None));
        tokio::time::advance(PATIENCE).await;
        assert_eq!(before.before_list(&silent), Some(LookError::Unavailable("why".into())));
        assert_eq!(after.after_list(&silent), None);
        let invalid = failing(Reason::DocumentInvalid);
        assert_eq!(after.after_list(&invalid), Some(LookError::Refused("why".into())));
    }
}
