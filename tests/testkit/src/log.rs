//! The log of a host, line by line as JSON. Owns the collecting in the background and the
//! waiting for a line; what a line means is for the reader.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// One line of the log.
#[derive(Clone, Debug, Default)]
pub struct Line {
    fields: Map<String, Value>,
}

impl Line {
    /// Reads a line; one that is no JSON object becomes its own `message`.
    pub fn parse(text: &str) -> Self {
        let fields = match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::from_iter([("message".to_owned(), Value::from(text))]),
        };
        Self { fields }
    }

    /// A field as text: strings without quotes, everything else as JSON, empty if absent.
    pub fn text(&self, name: &str) -> String {
        match self.fields.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Does a field hold exactly this text?
    pub fn is(&self, name: &str, text: &str) -> bool {
        match self.fields.get(name) {
            Some(Value::String(value)) => value == text,
            _ => self.text(name) == text,
        }
    }

    /// All fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<Arc<Line>>,
    closed: bool,
}

/// All lines so far. Clones share them.
#[derive(Clone, Debug)]
pub struct Log {
    state: Arc<watch::Sender<State>>,
    paused: Arc<watch::Sender<bool>>,
}

impl Log {
    /// Collects lines in the background until the stream ends.
    pub fn collect(stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let state = Arc::new(watch::Sender::new(State::default()));
        let sender = Arc::clone(&state);
        let paused = Arc::new(watch::Sender::new(false));
        let mut pauses = paused.subscribe();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).lines();
            loop {
                let pause = *pauses.borrow_and_update();
                tokio::select! {
                    changed = pauses.changed() => if changed.is_err() { break },
                    read = lines.next_line(), if !pause => {
                        // A read error ends the log as the end of the process does.
                        let Ok(Some(text)) = read else { break };
                        let line = Arc::new(Line::parse(&text));
                        sender.send_modify(|state| state.lines.push(line));
                    }
                }
            }
            sender.send_modify(|state| state.closed = true);
        });
        Self { state, paused }
    }

    /// Reads nothing more until it is told to, so that a stream that is full stays so.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Number of lines so far: a mark to look from later.
    pub fn len(&self) -> usize {
        self.state.borrow().lines.len()
    }

    /// No line yet?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lines from a mark on; `0` for all.
    pub fn since(&self, mark: usize) -> Vec<Arc<Line>> {
        self.state.borrow().lines.iter().skip(mark).cloned().collect()
    }

    /// Waits until `find` sees what it wants in all the lines so far. It is asked again
    /// whenever there are new ones.
    ///
    /// # Errors
    /// The deadline has passed, or the process has ended and can write nothing more.
    pub async fn wait_until<T>(&self, what: &str, deadline: Duration, mut find: impl FnMut(&[Arc<Line>]) -> Option<T>) -> Result<T> {
        let end = Instant::now() + deadline;
        let mut changes = self.state.subscribe();
        loop {
            let (found, closed) = {
                let state = changes.borrow_and_update();
                (find(&state.lines), state.closed)
            };
            if let Some(found) = found {
                return Ok(found);
            }
            if closed {
                bail!("{what}: the process ended before\n{}", self.tail());
            }
            if timeout_at(end, changes.changed()).await.is_err() {
                bail!("{what}: not within {deadline:?}\n{}", self.tail());
            }
        }
    }

    /// Waits for one line, among those from a mark on.
    ///
    /// # Errors
    /// As for [`Log::wait_until`].
    pub async fn wait_for(&self, what: &str, mark: usize, deadline: Duration, find: impl Fn(&Line) -> bool) -> Result<Arc<Line>> {
        self.wait_until(what, deadline, |lines| lines.iter().skip(mark).find(|line| find(line)).cloned()).await
    }

    /// The lines from a mark on, as soon as there are any; `None` when the process has ended
    /// and there are no more.
    pub async fn next(&self, mark: usize) -> Option<Vec<Arc<Line>>> {
        let mut changes = self.state.subscribe();
        // The sender lives in `self`: an error cannot come, and would be the end.
        let state = changes.wait_for(|state| state.closed || state.lines.len() > mark).await.ok()?;
        let news: Vec<_> = state.lines.iter().skip(mark).cloned().collect();
        (!news.is_empty()).then_some(news)
    }

    /// Takes all lines out as soon as there are any, for whoever reads a long log once; `None` when the
    /// process has ended and there are no more. Marks of before say nothing any more.
    pub async fn take(&self) -> Option<Vec<Arc<Line>>> {
        let mut changes = self.state.subscribe();
        changes.wait_for(|state| state.closed || !state.lines.is_empty()).await.ok()?;
        let mut taken = Vec::new();
        self.state.send_modify(|state| taken = std::mem::take(&mut state.lines));
        (!taken.is_empty()).then_some(taken)
    }

    /// The last lines in a short form, for error messages.
    pub fn tail(&self) -> String {
        let state = self.state.borrow();
        let skip = state.lines.len().saturating_sub(40);
        let mut text = String::from("last lines of the host's log:");
        for line in state.lines.iter().skip(skip) {
            text.push_str("\n  ");
            text.push_str(&line.text("level"));
            for (name, value) in &line.fields {
                if !matches!(name.as_str(), "timestamp" | "level") {
                    text.push_str(&format!(" {name}={value}"));
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn waits_for_a_line_and_notices_the_end() {
        let (mut writer, reader) = tokio::io::duplex(1024);
        let log = Log::collect(reader);
        let waiting = log.clone();
        let found = tokio::spawn(async move { waiting.wait_for("two", 0, Duration::from_secs(60), |line| line.is("n", "2")).await });
        writer.write_all(b"{\"n\":1}\nplain\n{\"n\":2}\n").await.unwrap();
        assert_eq!(found.await.unwrap().unwrap().text("n"), "2");
        assert_eq!(log.since(1).first().unwrap().text("message"), "plain");
        assert_eq!(log.take().await.unwrap().len(), 3);
        assert!(log.is_empty());
        drop(writer);
        assert!(log.take().await.is_none());
        let error = log.wait_for("three", 0, Duration::from_secs(60), |line| line.is("n", "3")).await.unwrap_err();
        assert!(error.to_string().contains("the process ended"), "{error}");
    }
}
