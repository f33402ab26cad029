//! When a program reports, and what each report has. Owns the signals; what only the
//! program itself can tell comes from a [`Program`].

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::content::Content;
use crate::counts::Counts;
use crate::process;

/// What only the program itself can tell. It is asked after the memory was read.
pub trait Program {
    /// What it holds.
    fn content(&self) -> Content;

    /// Further figures of each report.
    fn figures(&self) -> Map<String, Value>;

    /// Measures reads of the cache.
    fn reads(&self) -> Map<String, Value>;
}

/// Prints the reports of one program.
#[derive(Debug)]
pub struct Recorder {
    peer: &'static str,
    started: Instant,
    counts: Arc<Counts>,
    synced: Duration,
    cpu_to_sync: f64,
    cpu_before: f64,
}

impl Recorder {
    /// Begins to measure. To be called first of all.
    pub fn new(peer: &'static str) -> Self {
        let (counts, synced) = (Arc::default(), Duration::ZERO);
        Self { peer, started: Instant::now(), counts, synced, cpu_to_sync: 0.0, cpu_before: 0.0 }
    }

    /// The counters, for the handlers.
    pub fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }

    /// The cache holds its initial objects, and the handlers know.
    ///
    /// # Errors
    /// If the system does not tell the processor time, or standard error is closed.
    pub fn synced(&mut self, objects: usize) -> Result<()> {
        self.synced = self.started.elapsed();
        self.cpu_to_sync = process::cpu()?;
        writeln!(std::io::stderr(), "synced {objects} objects after {:?}", self.synced).context("write to standard error")
    }

    /// Prints a report on SIGUSR1 (and starts a new window of counters, processor time and
    /// peak of memory), the outcome of the reads on SIGUSR2, and a last report on SIGTERM or
    /// SIGINT, or after `hold`. Returns after the last one.
    ///
    /// # Errors
    /// If a report cannot be made or written.
    pub async fn serve(mut self, program: &impl Program, hold: Option<Duration>) -> Result<()> {
        let mut report = signal(SignalKind::user_defined1())?;
        let mut reads = signal(SignalKind::user_defined2())?;
        let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let held = async {
            match hold {
                Some(hold) => sleep(hold).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(held);
        loop {
            tokio::select! {
                _ = report.recv() => {
                    self.report(program, "window")?;
                    self.counts.reset();
                    self.cpu_before = process::cpu()?;
                    process::reset_peak()?;
                }
                _ = reads.recv() => self.write(program.reads(), "reads")?,
                _ = term.recv() => break,
                _ = interrupt.recv() => break,
                () = &mut held => break,
            }
        }
        self.report(program, "final")
    }

    fn report(&self, program: &impl Program, phase: &str) -> Result<()> {
        let (resident, peak, cpu) = (process::kib("VmRSS")?, process::kib("VmHWM")?, process::cpu()?);
        let mut out = program.figures();
        let content = program.content();
        self.counts.report(&mut out);
        let figures = [
            ("synced_s", json!(self.synced.as_secs_f64())),
            ("cpu_to_sync_s", json!(self.cpu_to_sync)),
            ("rss_kib", json!(resident)),
            ("rss_peak_kib", json!(peak)),
            // Nothing here holds memory that a collection would give back.
            ("rss_after_gc_kib", json!(resident)),
            ("cpu_s", json!(cpu - self.cpu_before)),
            ("objects", json!(content.objects)),
            ("digest", json!(content.hex())),
        ];
        out.extend(figures.map(|(name, value)| (name.to_owned(), value)));
        self.write(out, phase)
    }

    fn write(&self, mut out: Map<String, Value>, phase: &str) -> Result<()> {
        out.insert("peer".into(), json!(self.peer));
        out.insert("phase".into(), json!(phase));
        let mut line = Value::Object(out).to_string();
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes()).context("write a report")
    }
}
