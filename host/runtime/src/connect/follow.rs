//! Keeps the client in use good: builds another one when a token, certificate or authority
//! file has other bytes, before credentials end, and when the server refuses those of an exec
//! plugin. Owns when; a failure keeps the client there is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use wharf_core::one_line;

use super::credentials::{OpenError, Opened, Seen};
use super::plan::Plan;
use super::swap::{Current, Swap};

/// Files are looked at so often. They lie on volumes whose changes cannot be watched everywhere.
const LOOK: Duration = Duration::from_secs(10);
/// A request that failed makes them be looked at at once, but not more often than this.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Exec plugins are asked at most so often, whatever the cause: they may start programs, ask
/// people, or be counted by somebody.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// Credentials are renewed so long before their end, or after four fifths of a short life.
const EARLY: Duration = Duration::from_secs(60);

/// The service for a plan, with a task that keeps it good until the last clone is gone.
pub(super) fn start(plan: Plan, opened: Opened) -> Swap {
    let Opened { client, seen, valid_until } = opened;
    let current = Current::new(client);
    let state = State { renewed: Instant::now(), renew_at: renew_at(valid_until), seen, refused: false };
    tokio::spawn(follow(plan, Arc::downgrade(&current), state));
    Swap(current)
}

struct State {
    seen: Seen,
    /// When the credentials must be made anew.
    renew_at: Option<Instant>,
    /// When that was last tried.
    renewed: Instant,
    /// The server has refused the credentials since then.
    refused: bool,
}

async fn follow(plan: Plan, current: std::sync::Weak<Current>, mut state: State) {
    loop {
        wait(&current, state.renew_at).await;
        let Some(in_use) = current.upgrade() else { return };
        state.refused |= in_use.refused.swap(false, Ordering::Relaxed);
        let Some(cause) = state.cause(plan.renewable()).await else { continue };
        state.renewed = Instant::now();
        state.refused = false;
        match plan.open().await.map_err(OpenError::into_inner) {
            Ok(Opened { client, seen, valid_until }) => {
                in_use.replace(client);
                state = State { seen, renew_at: renew_at(valid_until), ..state };
                tracing::info!(target: "wharf::host", server = %plan.host(), %cause, "connection to the API server renewed");
            }
            Err(error) => {
                // Not more often than this, also if the time is over.
                state.renew_at = state.renew_at.map(|at| at.max(Instant::now() + ASK_AGAIN));
                let error = one_line(error.as_ref());
                tracing::warn!(target: "wharf::host", server = %plan.host(), %cause, error, "connection to the API server cannot be renewed; the old one stays");
            }
        }
    }
}

/// Until files must be looked at again: the next regular time, the end of credentials, or a doubt.
async fn wait(current: &std::sync::Weak<Current>, renew_at: Option<Instant>) {
    tokio::time::sleep(LOOK_AGAIN).await;
    let regular = Instant::now() + (LOOK - LOOK_AGAIN);
    let until = renew_at.map_or(regular, |at| at.min(regular));
    // Held while waiting: the wish to hear of doubts keeps nobody alive for longer than this.
    let Some(in_use) = current.upgrade() else { return };
    tokio::select! {
        () = tokio::time::sleep_until(until) => {}
        () = in_use.doubt.notified() => {}
    }
}

impl State {
    /// Why another client is needed now, if one is.
    async fn cause(&self, renewable: bool) -> Option<String> {
        // A new client means asking the plugin, so all causes wait until it may be asked.
        if renewable && self.renewed.elapsed() < ASK_AGAIN {
            return None;
        }
        let now = self.seen.again().await;
        if let Some(path) = self.seen.changed(&now) {
            return Some(format!("{} has changed", path.display()));
        }
        if self.renew_at.is_some_and(|at| at <= Instant::now()) {
            return Some("the credentials end".to_owned());
        }
        (renewable && self.refused).then(|| "the server refuses the credentials".to_owned())
    }
}

fn renew_at(valid_until: Option<Timestamp>) -> Option<Instant> {
    Some(Instant::now() + lifetime(valid_until?, Timestamp::now()))
}

/// How long credentials are used: all but the last minute, or four fifths of less than five
/// minutes; at least a second, whatever a plugin says.
fn lifetime(valid_until: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(valid_until.duration_since(now)).unwrap_or_default();
    // Instants end somewhere; a year is as good as for ever.
    left.saturating_sub(EARLY.min(left / 5)).clamp(LOOK_AGAIN, Duration::from_secs(365 * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Way;

    #[test]
    fn credentials_are_renewed_before_their_end() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for (until, want) in [
            ("2026-01-01T01:00:00Z", 3540),
            ("2026-01-01T00:01:40Z", 80),
            ("2026-01-01T00:00:01Z", 1),
            ("2025-12-31T23:00:00Z", 1),
            ("9999-01-01T00:00:00Z", 365 * 24 * 3600),
        ] {
            assert_eq!(lifetime(until.parse().unwrap(), now), Duration::from_secs(want), "{until}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_looked_at_regularly_and_after_a_doubt() {
        let _first = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "one").unwrap();
        let way = Way {
            server: Some("https://one:1".to_owned()),
            token_file: Some(token.clone()),
            insecure_skip_tls_verify: true,
            ..Way::default()
        };
        let plan = Plan::of(&way, &|_| None).unwrap();
        let opened = plan.open().await.map_err(OpenError::into_inner).unwrap();
        let Swap(current) = start(plan, opened);
        let first = current.in_use();
        tokio::time::sleep(6 * LOOK).await;
        assert!(Arc::ptr_eq(&first, &current.in_use()), "nothing has changed");
        std::fs::write(&token, "two").unwrap();
        tokio::time::sleep(2 * LOOK).await;
        let second = current.in_use();
        assert!(!Arc::ptr_eq(&first, &second), "another token, another client");
        std::fs::write(&token, "").unwrap();
        tokio::time::sleep(2 * LOOK).await;
        assert!(Arc::ptr_eq(&second, &current.in_use()), "what cannot be used changes nothing");
        std::fs::write(&token, "three").unwrap();
        current.doubt.notify_one();
        tokio::time::sleep(2 * LOOK_AGAIN).await;
        assert!(!Arc::ptr_eq(&second, &current.in_use()), "a failed request makes it look at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_is_not_asked_more_often_than_it_may() {
        let renewed = Instant::now();
        let state = State { seen: Seen::default(), renew_at: Some(renewed + LOOK_AGAIN), renewed, refused: true };
        tokio::time::advance(ASK_AGAIN - LOOK_AGAIN).await;
        assert_eq!(state.cause(true).await, None, "it has only just answered");
        assert!(state.cause(false).await.is_some(), "without a plugin there is nobody to spare");
        tokio::time::advance(LOOK_AGAIN).await;
        assert_eq!(state.cause(true).await.as_deref(), Some("the credentials end"));
        let state = State { renew_at: None, ..state };
        assert_eq!(state.cause(true).await.as_deref(), Some("the server refuses the credentials"));
        assert_eq!(State { refused: false, ..state }.cause(true).await, None);
    }
}
