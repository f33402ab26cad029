//! `cargo xtask proof events`: how many changes a second go through the dispatcher to a handler,
//! at what cost and how late, beside a work queue on client-go's informer, fed by one server in
//! one run. Owns the experiment: that nothing is missed is ensured, and figures are set beside
//! their aims, but nothing fails for being slow.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wharf_testkit::paths;

use super::peers::{self, Peer, Source, number};
use crate::guests;
use crate::step::{cargo, run as run_command, step};

/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
const OBJECTS: u64 = 10_000;
const EVENTS: u64 = 200_000;
const ROUNDS: usize = 3;
/// Changes a second of the second part, and how many.
const STEADY: (u64, u64) = (1_000, 5_000);

/// A handler beside client-go's.
struct Program {
    name: &'static str,
    guest: Option<&'static str>,
}

const PROGRAMS: [Program; 6] = [
    Program { name: "native, does nothing", guest: None },
    Program { name: "Rust", guest: Some("label-guard") },
    Program { name: "C", guest: Some("label-guard-c") },
    Program { name: "Go", guest: Some("label-guard-go") },
    Program { name: "JavaScript", guest: Some("label-guard-js") },
    Program { name: "Python", guest: Some("label-guard-python") },
];

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, or does not come as it should.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        step("build the guests", || guests::build(root))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(measure());
    }
    peers::build(root)?;
    let mut build = cargo();
    build.current_dir(root).args(["build", "--release", "--package", "wharf", "--package", "wharf-bench-dispatch"]);
    step("build in release", || run_command(&mut build))?;
    let release = paths::target().join("release");
    let me = std::env::current_exe().context("find this program")?;
    run_command(Command::new(me).args(["proof", "events"]).env(INSIDE, "1").env("WHARF_BINARY", release.join("wharf")))
}

/// Of one program, medians.
#[derive(Clone, Copy)]
struct Figures {
    /// Changes a second, from the first that is received to the end of the last call.
    events: f64,
    calls: f64,
    /// Processor seconds for 100,000 changes.
    cpu: f64,
    /// From the server to the end of the call, at the steady rate, in microseconds.
    middle: f64,
    late: f64,
}

async fn measure() -> Result<()> {
    println!("==> {EVENTS} changes of {OBJECTS} Pods as fast as they are read; then {} a second; medians of {ROUNDS} rounds", STEADY.0);
    println!("    {:<22} {:>10} {:>10} {:>11} {:>9} {:>9}   events, CPU x", "", "events/s", "calls/s", "CPU s/100k", "p50 µs", "p99 µs");
    for program in PROGRAMS {
        let (mut native, mut ours) = (Vec::new(), Vec::new());
        // One after the other in each round, so that the machine's load is about the same for both.
        for _ in 0..ROUNDS {
            native.push(round(&peers::programs().join("clientgo-typed"), &["-encoding", "protobuf"]).await?);
            ours.push(program.round().await?);
        }
        let (native, ours) = (median(&native), median(&ours));
        println!("    {:<22} {native}", "client-go, protobuf");
        println!("    {:<22} {ours}   {:.2} {:.2}", program.name, ours.events / native.events, ours.cpu / native.cpu);
    }
    println!(
        "    aims for Rust: events/s 2 x or more, CPU 0.45 x or less, p50 150 µs and p99 400 µs or less; for each language events/s 1 x or more"
    );
    Ok(())
}

impl Program {
    async fn round(&self) -> Result<Figures> {
        let binary: PathBuf = paths::target().join("release").join("wharf-bench-dispatch");
        match self.guest {
            None => round(&binary, &[]).await,
            Some(guest) => {
                let component = paths::guest(guest)?;
                round(&binary, &["-component", component.to_str().context("a path is not UTF-8")?]).await
            }
        }
    }
}

async fn round(program: &Path, args: &[&str]) -> Result<Figures> {
    let source = Source::start(&["-pods", &OBJECTS.to_string()]).await?;
    let url = source.url();
    let mut peer = Peer::start(program, &[&["-server", url.as_str()][..], args].concat())?;
    peer.synced().await?;
    let full = window(&mut peer, &source, EVENTS, None).await?;
    let steady = window(&mut peer, &source, STEADY.1, Some(STEADY.0)).await?;
    ensure!(number(&steady, "calls")? as u64 >= STEADY.1 / 2, "changes at a steady rate are not called for: {steady}");
    let seconds = number(&full, "calls_window_s")?;
    let latency = |name: &str| steady.pointer(&format!("/handled_latency_us/{name}")).and_then(Value::as_f64).context("no latency");
    Ok(Figures {
        events: EVENTS as f64 / seconds,
        calls: number(&full, "calls")? / seconds,
        cpu: number(&full, "cpu_s")? * 100_000.0 / EVENTS as f64,
        middle: latency("p50")?,
        late: latency("p99")?,
    })
}

/// Pushes changes, and reports when all of them are handled.
async fn window(peer: &mut Peer, source: &Source, events: u64, rate: Option<u64>) -> Result<Value> {
    peer.idle().await?;
    peer.report().await?;
    source.push_at(events, rate.unwrap_or(0)).await?;
    peer.idle().await?;
    let report = peer.report().await?;
    ensure!(number(&report, "updates")? as u64 == events, "not all changes arrived: {report}");
    let failed = report.get("failed").and_then(Value::as_u64).unwrap_or_default();
    ensure!(failed == 0, "calls have failed: {report}");
    let held = source.stats().await?;
    ensure!(report.get("digest") == held.get("digest"), "it does not hold what the server has: {report}\n{held}");
    Ok(report)
}

fn median(rounds: &[Figures]) -> Figures {
    let of = |figure: fn(&Figures) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Figures { events: of(|f| f.events), calls: of(|f| f.calls), cpu: of(|f| f.cpu), middle: of(|f| f.middle), late: of(|f| f.late) }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { events, calls, cpu, middle, late } = self;
        write!(f, "{events:>10.0} {calls:>10.0} {cpu:>11.2} {middle:>9.0} {late:>9.0}")
    }
}
