//! Waiting for a condition outside this process. Owns the pace of asking; what is not
//! outside (log lines, exits) is awaited directly and never polled.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Asks again and again until the answer is `Some`, and returns what is in it.
///
/// # Errors
/// The deadline has passed; the text names what was waited for and the last failure of
/// `ask`, if the last answer was one.
pub async fn until<T>(what: &str, deadline: Duration, mut ask: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + deadline;
    let mut pace = interval(Duration::from_millis(50));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        let answer = ask().await;
        if let Ok(Some(found)) = answer {
            return Ok(found);
        }
        if Instant::now() < end {
            continue;
        }
        match answer {
            Err(error) => bail!("{what}: not within {deadline:?}; the last try failed: {error:#}"),
            Ok(_) => bail!("{what}: not within {deadline:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn asks_until_there_is_an_answer() {
        let mut left = 3;
        let found = until("three", Duration::from_secs(1), async || {
            left -= 1;
            Ok((left == 0).then_some("yes"))
        });
        assert_eq!(found.await.unwrap(), "yes");
    }

    #[tokio::test(start_paused = true)]
    async fn names_what_was_missing_and_why() {
        let failed = until::<()>("the moon", Duration::from_secs(1), async || bail!("no rocket"));
        let text = failed.await.unwrap_err().to_string();
        assert!(text.contains("the moon") && text.contains("no rocket"), "{text}");
    }
}
