//! `cargo xtask proof informers`: what the host's informer costs beside those of client-go,
//! controller-runtime and kube, all fed by one server in one run, one after the other and
//! round by round. Owns the experiment: that all hold the same is ensured, and figures are
//! set beside their aims, but nothing fails for being slow.

mod aims;
mod host;
mod measure;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wharf_testkit::paths;

use super::peers::{self, Source, number};
use crate::guests;
use crate::step::{cargo, run as run_command, step};
use measure::Runs;

/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
/// With more objects than this, slow programs are measured once.
const LARGE: u64 = 20_000;
const NAMESPACES: &str = "100";

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Program {
    name: &'static str,
    binary: Binary,
    args: &'static [&'static str],
    /// Needs ten times the time of the others.
    slow: bool,
}

#[derive(Clone, Copy, Debug)]
enum Binary {
    /// Of `tests/bench/peers`.
    Go(&'static str),
    /// Of this workspace or that of `tests/bench/kube-reflector`, in release.
    Rust(&'static str),
}

/// All are compared with it.
const REFERENCE: &str = "client-go typed, protobuf";
const REFERENCE_20: &str = "client-go typed, protobuf, 20 handlers";
const OURS: &str = "wharf";
const OURS_20: &str = "wharf, 20 handlers";

/// The one that all are compared with and ours stand side by side, so that the machine's
/// load is about the same for both.
const PROGRAMS: [Program; 9] = [
    program("client-go typed, JSON", Binary::Go("clientgo-typed"), &["-encoding", "json", "-workers", "0"]).slow(),
    program("client-go dynamic, JSON", Binary::Go("clientgo-dynamic"), &[]).slow(),
    program("controller-runtime, protobuf", Binary::Go("controller-runtime"), &[]),
    program("kube reflector, typed", Binary::Rust("kube-reflector"), &["-objects", "typed"]),
    program("kube reflector, dynamic", Binary::Rust("kube-reflector"), &["-objects", "dynamic"]),
    program(REFERENCE_20, Binary::Go("clientgo-typed"), &["-encoding", "protobuf", "-workers", "0", "-handlers", "20"]),
    program(OURS_20, Binary::Rust("wharf-bench-informer"), &["-handlers", "20"]),
    program(REFERENCE, Binary::Go("clientgo-typed"), &["-encoding", "protobuf", "-workers", "0"]),
    program(OURS, Binary::Rust("wharf-bench-informer"), &[]),
];

const fn program(name: &'static str, binary: Binary, args: &'static [&'static str]) -> Program {
    Program { name, binary, args, slow: false }
}

impl Program {
    const fn slow(self) -> Self {
        Self { slow: true, ..self }
    }

    fn path(&self) -> PathBuf {
        match self.binary {
            Binary::Go(name) => peers::programs().join(name),
            Binary::Rust(name) => paths::target().join("release").join(name),
        }
    }
}

/// How much is measured.
struct Plan {
    /// `PODS`: numbers of objects.
    pods: Vec<u64>,
    /// `RUNS`: rounds, of which medians are shown.
    rounds: usize,
    /// `EVENTS`: changes that are pushed.
    events: u64,
}

impl Plan {
    fn from_environment() -> Result<Self> {
        let read = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
        let pods = read("PODS", "10000,100000").split(',').map(|n| n.trim().parse().context("read PODS")).collect::<Result<Vec<_>>>()?;
        let rounds = read("RUNS", "3").parse().context("read RUNS")?;
        let events = read("EVENTS", "100000").parse().context("read EVENTS")?;
        ensure!(rounds > 0 && events > 0 && pods.iter().all(|pods| *pods >= 100), "RUNS and EVENTS are at least 1, PODS at least 100");
        Ok(Self { pods, rounds, events })
    }
}

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, does not come as it should, or holds something else than
/// the server.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        step("build the guests", || guests::build(root))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(measure(&Plan::from_environment()?));
    }
    Plan::from_environment()?;
    peers::build(root)?;
    let release = || {
        let mut cargo = cargo();
        cargo.current_dir(root).args(["build", "--release"]);
        cargo
    };
    step("build kube's reflector in release", || {
        run_command(release().arg("--manifest-path=tests/bench/kube-reflector/Cargo.toml").arg("--target-dir").arg(paths::target()))
    })?;
    step("build the informer in release", || run_command(release().args(["--package", "wharf-bench-informer"])))?;
    let mut me = Command::new(std::env::current_exe().context("find this program")?);
    me.args(["proof", "informers"]).env(INSIDE, "1");
    // Another host can be named to be measured.
    if std::env::var_os("WHARF_BINARY").is_none() {
        step("build the host in release", || run_command(release().args(["--package", "wharf"])))?;
        me.env("WHARF_BINARY", paths::target().join("release").join("wharf"));
    }
    run_command(&mut me)
}

async fn measure(plan: &Plan) -> Result<()> {
    let empty = empty().await?;
    for pods in &plan.pods {
        table::headline(*pods, plan.rounds);
        let source = Source::start(&["-pods", &pods.to_string(), "-namespaces", NAMESPACES]).await?;
        let stats = source.stats().await?;
        let (drained, json) = (measure::drain(&source).await?, object_bytes(&stats)?);
        table::source(&stats, drained)?;
        let measured = round_by_round(plan, &source, *pods, &empty).await?;
        table::print(&measured);
        aims::print(&measured, *pods, json)?;
    }
    let pods = plan.pods.first().copied().unwrap_or(LARGE).min(LARGE);
    host::measure(pods, plan.rounds).await
}

/// Bytes of an object's JSON without managedFields, as the server has made it.
fn object_bytes(stats: &Value) -> Result<f64> {
    Ok(number(stats, "json_bytes_without_managed_fields")? / number(stats, "objects")?)
}

/// What is resident in each program when there is no object, in KiB. Hardly differs from run
/// to run.
async fn empty() -> Result<BTreeMap<&'static str, f64>> {
    let source = Source::start(&["-pods", "0"]).await?;
    let mut all = BTreeMap::new();
    for program in PROGRAMS {
        all.insert(program.name, measure::empty(&program, &source).await.with_context(|| program.name.to_owned())?);
    }
    Ok(all)
}

async fn round_by_round(plan: &Plan, source: &Source, pods: u64, empty: &BTreeMap<&'static str, f64>) -> Result<Runs> {
    let mut all = Runs::default();
    for round in 0..plan.rounds {
        for program in PROGRAMS {
            if program.slow && pods > LARGE && round > 0 {
                continue;
            }
            eprintln!("    round {} of {}: {}", round + 1, plan.rounds, program.name);
            let mut figures = measure::program(&program, source, pods, plan.events).await.with_context(|| program.name.to_owned())?;
            let before = empty.get(program.name).context("the empty program was not measured")?;
            let rest = figures.get("rest_kib").context("nothing was resident")?;
            figures.insert("bytes_per_object", (rest - before) * 1024.0 / pods as f64);
            all.add(program.name, figures);
        }
        all.ensure_same("list_namespace_objects")?;
        all.ensure_same("list_instance_objects")?;
    }
    Ok(all)
}
