//! The body of a watch: pulls events, writes them in batches, ends with the server, and does to them what a fault says.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use super::events::Lines;
use super::response::{Source, Step};
use crate::fault::{Cut, Due, Mangle, OpenWatch, Out};
use crate::verbs::{Api, Watch, WatchEvent};

/// Events that are written at once at most, so that one write serves many and a slow client holds little.
const BATCH: usize = 64;
/// Bytes after which a batch is not added to.
const BATCH_BYTES: usize = 256 * 1024;

/// How long what was written has to leave before a connection is broken.
const BEFORE_CUT: Duration = Duration::from_millis(20);

/// A running watch and where it is written.
pub(crate) struct Stream {
    /// For the time.
    pub(crate) api: Arc<Api>,
    pub(crate) watch: Box<Watch>,
    pub(crate) lines: Lines,
    /// What a fault does to the events of this watch.
    pub(crate) mangle: Mangle,
    /// Listed among the open watches until it is dropped.
    pub(crate) open: OpenWatch,
    /// True when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Source for Stream {
    fn step(self: Box<Self>) -> Pin<Box<dyn Future<Output = Option<Step>> + Send>> {
        Box::pin(self.batch())
    }
}

impl Stream {
    async fn batch(mut self: Box<Self>) -> Option<Step> {
        self.lines.set_now(self.api.now().as_second());
        let mut out = Vec::new();
        while out.len() < BATCH_BYTES {
            match self.mangle.due() {
                Some(Due::End(cut)) if out.is_empty() => return end(cut).await,
                // Still due in the next step, when what comes before it is written.
                Some(Due::End(_)) => break,
                Some(Due::Expire(status)) => self.lines.write(&WatchEvent::Error(status), &mut out),
                // Starts as an event does, so that decoders fail inside of it.
                Some(Due::Garbage) => out.extend_from_slice(b"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":\n"),
                None if out.is_empty() => {
                    let event = tokio::select! {
                        biased;
                        // An error means that the server is gone.
                        _ = self.stopping.wait_for(|stopping| *stopping) => Err(Cut::Clean),
                        cut = self.open.cut() => Err(cut),
                        event = self.watch.next() => event.ok_or(Cut::Clean),
                    };
                    match event {
                        Ok(event) => self.write(&event, &mut out),
                        Err(cut) => return end(cut).await,
                    }
                }
                None => {
                    let more = self.watch.ready(if self.mangle.is_idle() { BATCH } else { 1 });
                    if more.is_empty() {
                        break;
                    }
                    for event in &more {
                        self.write(event, &mut out);
                    }
                }
            }
        }
        Some((Ok(Bytes::from(out)), Some(self)))
    }

    fn write(&mut self, event: &WatchEvent, out: &mut Vec<u8>) {
        for shown in self.mangle.pass(event) {
            match shown {
                Out::Event(event) => self.lines.write(event, out),
                Out::Made(event) => self.lines.write(&event, out),
            }
        }
    }
}

async fn end(cut: Cut) -> Option<Step> {
    match cut {
        Cut::Clean => None,
        Cut::Abrupt => {
            // An error throws away what is not sent yet, and the client shall have it.
            tokio::time::sleep(BEFORE_CUT).await;
            Some((Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut by a fault")), None))
        }
    }
}
