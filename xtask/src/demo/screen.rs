//! How the host's log looks on the terminal: one line for each guest call. Owns the
//! wording and the counting; the many calls of the stream are shown as a number.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use wharf_testkit::{Line, Log};

/// Every so many calls of the stream there is a line.
const STREAM_STEP: u64 = 25;

/// Prints a host's log in the background.
pub(super) struct Screen {
    counts: Arc<Mutex<Counts>>,
    following: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Calls by plugin and outcome.
    calls: BTreeMap<(String, String), u64>,
    stream: u64,
    /// Revision that handled the last call of the stream.
    stream_revision: String,
}

impl Screen {
    /// Starts printing.
    pub(super) fn follow(log: Log) -> Self {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        let following = tokio::spawn(async move {
            let mut mark = 0;
            while let Some(lines) = log.next(mark).await {
                mark += lines.len();
                for line in lines {
                    if let Some(text) = shared.lock().show(&line) {
                        println!("{text}");
                    }
                }
            }
        });
        Self { counts, following }
    }

    /// The calls so far, by plugin and outcome.
    pub(super) fn summary(&self) -> String {
        let counts = self.counts.lock();
        let total: u64 = counts.calls.values().sum();
        let parts: Vec<_> = counts.calls.iter().map(|((plugin, outcome), count)| format!("{plugin} {outcome} {count}")).collect();
        format!("{total} guest calls: {}", parts.join(", "))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Counts {
    /// The line to print, if this one is of interest.
    fn show(&mut self, line: &Line) -> Option<String> {
        match (line.text("target").as_str(), line.text("message").as_str()) {
            ("wharf::call", "guest call finished") => self.call(line),
            ("guest", message) if !is_stream(line) => Some(format!("    {:<30} says: {message}", line.text("plugin"))),
            (_, "plugin revision serving") => {
                let took = line.text("duration_ms");
                Some(format!("    {:<30} revision {} serves, after {took} ms", line.text("plugin"), line.text("revision")))
            }
            (_, message) if matches!(line.text("level").as_str(), "WARN" | "ERROR") && !line.is("target", "guest") => {
                Some(format!("    host: {message} {} {}", line.text("plugin"), line.text("error")))
            }
            _ => None,
        }
    }

    fn call(&mut self, line: &Line) -> Option<String> {
        let (plugin, outcome, revision) = (line.text("plugin"), line.text("outcome"), line.text("revision"));
        *self.calls.entry((plugin.clone(), outcome.clone())).or_default() += 1;
        if is_stream(line) {
            self.stream += 1;
            let swapped = self.stream_revision != revision;
            self.stream_revision.clone_from(&revision);
            if !swapped && !self.stream.is_multiple_of(STREAM_STEP) && outcome == "done" {
                return None;
            }
        }
        let number = if is_stream(line) { format!("  (call {} of the stream)", self.stream) } else { String::new() };
        let key = format!("{}/{}", line.text("namespace"), line.text("name"));
        let (event, took, reason) = (line.text("event"), line.text("duration_ms"), line.text("reason"));
        Some(format!("    {plugin:<30} {event:<7} {key:<36} {outcome} {reason}{took:>6} ms  revision {revision}{number}"))
    }
}

fn is_stream(line: &Line) -> bool {
    line.text("name").starts_with("stream-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, revision: u32) -> Line {
        Line::parse(&format!(
            r#"{{"target":"wharf::call","message":"guest call finished","plugin":"a/p","event":"add","namespace":"a","name":"{name}","outcome":"done","revision":"{revision}","duration_ms":1.5}}"#
        ))
    }

    #[test]
    fn calls_are_shown_and_counted() {
        let mut counts = Counts::default();
        let text = counts.show(&call("x", 1)).unwrap();
        for part in ["a/p", "add", "a/x", "done", "1.5 ms", "revision 1"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(counts.calls.values().sum::<u64>(), 1);
    }

    #[test]
    fn the_stream_is_shown_at_its_start_at_steps_and_when_the_revision_changes() {
        let mut counts = Counts::default();
        let shown: Vec<u64> = (1..=30).filter(|i| counts.show(&call("stream-1", if *i < 28 { 1 } else { 2 })).is_some()).collect();
        assert_eq!(shown, [1, 25, 28]);
    }

    #[test]
    fn other_lines_are_left_out() {
        let line = Line::parse(r#"{"target":"wharf::host","level":"INFO","message":"host ready"}"#);
        assert_eq!(Counts::default().show(&line), None);
    }
}
