//! The lines that were logged lately, for whoever asks later or wants to hear more. Owns their bound
//! in bytes, and which are given up; never waits for a reader: each keeps its own place.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::line::Line;

/// Bytes of text in one answer; more is asked for with the next question.
const MAX_ANSWER: usize = 1 << 20;

/// The last lines, as many as fit.
pub struct LogRing {
    max_bytes: usize,
    kept: Mutex<Kept>,
    more: Notify,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<Arc<Line>>,
    /// The number of the first of them; lines are numbered from 0 on.
    first: u64,
    bytes: usize,
}

impl Kept {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.lines.len() as u64)
    }
}

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub struct LogsWanted {
    /// Only those of this plugin, `namespace/name`.
    pub plugin: Option<String>,
    /// From this number on; the following two are for a first look.
    pub after: Option<u64>,
    /// Not older than this.
    pub since: Option<Timestamp>,
    /// Only so many, the last ones.
    pub tail: Option<usize>,
    /// As JSON, else as text for people.
    pub json: bool,
}

/// Some lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogsBatch {
    /// As they are printed, with the newline.
    pub lines: Vec<String>,
    /// Where to go on.
    pub next: u64,
    /// There are more already.
    pub more: bool,
    /// So many lines, of whichever plugin, were given up before they were asked for.
    pub missed: u64,
}

impl LogRing {
    /// A ring of so many bytes; 0 keeps nothing.
    pub(super) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max_bytes, kept: Mutex::default(), more: Notify::new() })
    }

    /// Keeps a line, and gives up the oldest ones that there is no room for.
    pub(super) fn push(&self, line: Line) {
        if self.max_bytes == 0 {
            return;
        }
        let bytes = line.bytes();
        let mut gone = Vec::new();
        {
            let mut kept = self.kept.lock();
            kept.bytes = kept.bytes.saturating_add(bytes);
            kept.lines.push_back(Arc::new(line));
            while kept.bytes > self.max_bytes
                && let Some(oldest) = kept.lines.pop_front()
            {
                kept.first = kept.first.saturating_add(1);
                kept.bytes = kept.bytes.saturating_sub(oldest.bytes());
                gone.push(oldest);
            }
        }
        drop(gone);
        self.more.notify_waiters();
    }

    /// Bytes of the lines that are kept.
    pub fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }

    /// Lines that were given up for newer ones.
    pub fn given_up(&self) -> u64 {
        self.kept.lock().first
    }

    /// Is there a line about this plugin, `namespace/name`?
    pub fn knows(&self, plugin: &str) -> bool {
        self.kept.lock().lines.iter().any(|line| line.is_about(plugin))
    }

    /// What is there now.
    pub fn read(&self, wanted: &LogsWanted) -> LogsBatch {
        let (lines, first) = self.from(wanted.after);
        let missed = wanted.after.map_or(0, |after| first.saturating_sub(after));
        let end = first.saturating_add(lines.len() as u64);
        let is = |line: &Line| {
            wanted.plugin.as_deref().is_none_or(|plugin| line.is_about(plugin))
                && wanted.since.is_none_or(|since| line.timestamp() >= since)
        };
        let mut chosen: Vec<(u64, &Arc<Line>)> = (first..).zip(&lines).filter(|(_, line)| is(line)).collect();
        if let Some(tail) = wanted.tail {
            chosen.drain(..chosen.len().saturating_sub(tail));
        }
        let mut batch = LogsBatch { missed, next: end, ..LogsBatch::default() };
        let mut room = MAX_ANSWER;
        for (number, line) in chosen {
            let text = if wanted.json { line.json() } else { line.text(false) };
            // The first one always fits, or nobody would get past it.
            if text.len() > room && !batch.lines.is_empty() {
                (batch.next, batch.more) = (number, true);
                break;
            }
            room = room.saturating_sub(text.len());
            batch.lines.push(text);
        }
        batch
    }

    /// The same, and waits for a first line if there is none, but not for longer than that. Cancel safe.
    pub async fn follow(&self, wanted: &LogsWanted, until: Instant) -> LogsBatch {
        let mut wanted = wanted.clone();
        let mut missed = 0_u64;
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            // Whoever is enabled hears of each line from here on.
            more.as_mut().enable();
            let mut batch = self.read(&wanted);
            missed = missed.saturating_add(batch.missed);
            if !batch.lines.is_empty() || missed > 0 {
                batch.missed = missed;
                return batch;
            }
            (wanted.after, wanted.tail) = (Some(batch.next), None);
            if timeout_at(until, more).await.is_err() {
                return batch;
            }
        }
    }

    /// The lines from a number on, and the number of the first. A short lock: the texts are made without it.
    fn from(&self, after: Option<u64>) -> (Vec<Arc<Line>>, u64) {
        let kept = self.kept.lock();
        // A number that is not reached yet is one of an earlier host.
        let after = after.filter(|after| *after <= kept.end()).unwrap_or(kept.first).max(kept.first);
        let skip = usize::try_from(after.saturating_sub(kept.first)).unwrap_or(usize::MAX);
        (kept.lines.iter().skip(skip).cloned().collect(), after)
    }
}

impl fmt::Debug for LogRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogRing").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tracing::info;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::telemetry::layer::{LineLayer, Style};

    fn log(ring: &Arc<LogRing>, say: impl FnOnce()) {
        let layer = LineLayer::new(Style::Json, |_: &str| {}, Arc::clone(ring));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), say);
    }

    fn numbers(ring: &Arc<LogRing>, numbers: std::ops::Range<u32>) {
        log(ring, || numbers.for_each(|number| info!(plugin = if number % 2 == 0 { "a/even" } else { "a/odd" }, number, "line")));
    }

    fn said(batch: &LogsBatch) -> Vec<u64> {
        let number = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["number"].as_u64().unwrap();
        batch.lines.iter().map(number).collect()
    }

    fn wanted() -> LogsWanted {
        LogsWanted { json: true, ..LogsWanted::default() }
    }

    #[test]
    fn lines_of_a_plugin_the_last_ones_and_what_comes_after() {
        let ring = LogRing::new(1 << 20);
        numbers(&ring, 0..10);
        let all = ring.read(&wanted());
        assert_eq!((said(&all), all.next, all.more), ((0..10).collect(), 10, false));
        let odd = LogsWanted { plugin: Some("a/odd".into()), tail: Some(2), ..wanted() };
        assert_eq!(said(&ring.read(&odd)), [7, 9]);
        numbers(&ring, 10..12);
        let more = ring.read(&LogsWanted { after: Some(10), ..wanted() });
        assert_eq!((said(&more), more.next, more.missed), (vec![10, 11], 12, 0));
        let late = LogsWanted { since: Some(Timestamp::MAX), ..wanted() };
        assert_eq!(said(&ring.read(&late)), [0; 0]);
        let text = ring.read(&LogsWanted { tail: Some(1), ..LogsWanted::default() });
        assert!(text.lines[0].ends_with(": line plugin=a/odd number=11\n"), "{text:?}");
    }

    #[test]
    fn memory_is_bounded_and_a_reader_that_lags_is_told() {
        let ring = LogRing::new(10_000);
        numbers(&ring, 0..1000);
        assert!(ring.bytes() <= 10_000 && ring.bytes() > 8_000, "{}", ring.bytes());
        let batch = ring.read(&LogsWanted { after: Some(500), ..wanted() });
        assert_eq!(said(&batch).first().copied(), Some(ring.given_up()));
        assert_eq!((batch.missed, batch.next), (ring.given_up() - 500, 1000));
        // A first look misses nothing, and the number of an earlier host means nothing.
        assert_eq!((ring.read(&wanted()).missed, ring.read(&LogsWanted { after: Some(5000), ..wanted() }).missed), (0, 0));
        log(&ring, || info!(huge = "x".repeat(11_000), "line"));
        assert_eq!((ring.bytes(), ring.read(&wanted()).lines.len()), (0, 0), "what does not fit is not kept");
        let none = LogRing::new(0);
        numbers(&none, 0..3);
        assert_eq!((none.bytes(), none.given_up()), (0, 0));
    }

    #[test]
    fn an_answer_is_bounded() {
        let ring = LogRing::new(64 << 20);
        log(&ring, || (0..200).for_each(|number| info!(number, text = "x".repeat(16_000), "line")));
        let (mut seen, mut answers) = (Vec::new(), 0);
        let mut ask = wanted();
        loop {
            let batch = ring.read(&ask);
            assert!(batch.lines.iter().map(String::len).sum::<usize>() <= MAX_ANSWER);
            (answers, ask.after) = (answers + 1, Some(batch.next));
            seen.extend(said(&batch));
            if !batch.more {
                break;
            }
        }
        assert_eq!((seen, answers), ((0..200).collect(), 4));
    }

    #[tokio::test]
    async fn who_follows_waits_for_a_line_of_its_plugin() {
        let ring = LogRing::new(1 << 20);
        numbers(&ring, 0..2);
        let odd = LogsWanted { plugin: Some("a/odd".into()), after: Some(2), ..wanted() };
        let follower = tokio::spawn({
            let ring = Arc::clone(&ring);
            async move { ring.follow(&odd, Instant::now() + std::time::Duration::from_secs(3600)).await }
        });
        tokio::task::yield_now().await;
        log(&ring, || info!(plugin = "a/even", number = 2, "line"));
        tokio::task::yield_now().await;
        assert!(!follower.is_finished());
        log(&ring, || info!(plugin = "a/odd", number = 3, "line"));
        let batch = follower.await.unwrap();
        assert_eq!((said(&batch), batch.next), (vec![3], 4));
    }
}
