//! The informers of `host/cache` on a real API server that restarts, forgets, refuses and is
//! cut off, at random: at the end nothing is lost and nothing is doubled. `cargo test` plays a
//! sample of five runs; `cargo xtask proof watch-faults` plays the same with other numbers:
//! `WHARF_FAULT_RUNS` runs from seed `WHARF_FAULT_SEED` on.
#![allow(clippy::print_stderr, reason = "a proof's figures are for the one who runs it")]

mod cast;
mod fault;
mod figures;
mod history;
mod model;
mod pace;
mod peer;
mod plan;
mod run;
mod stage;
mod trouble;
mod writer;

use std::fs;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::{Cluster, paths};

use crate::fault::Fault;
use crate::figures::Figures;
use crate::plan::{ALL_KINDS, BATCH, Plan};
use crate::stage::{batch, begin_without_cache};

/// After the runs of a warm-up, memory may grow by this much however many runs follow. Twenty
/// times what the stores of a batch hold.
const GROWTH_KIB: u64 = 100 << 10;
const WARM_UP: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_under_faults() -> Result<()> {
    let (runs, seed) = (number("WHARF_FAULT_RUNS", ALL_KINDS)?, number("WHARF_FAULT_SEED", 0)?);
    eprintln!("{runs} runs from seed {seed} on");
    let plans: Vec<Plan> = (seed..seed.saturating_add(runs)).map(Plan::of).collect();
    let cluster = Arc::new(Cluster::start().await?);
    if plans.first().is_some_and(|plan| plan.cacheless_first) {
        begin_without_cache(&cluster).await?;
    }
    let (mut proof, mut warm) = (Proof::default(), None);
    // Batches are told apart by their seeds, so that a run alone begins as it did among others.
    for plans in plans.chunk_by(|a, b| a.seed / BATCH == b.seed / BATCH) {
        proof.play(&cluster, plans).await?;
        eprintln!("{} of {runs} runs, {} problems", proof.figures.runs, proof.problems.len());
        if warm.is_none() && proof.figures.runs >= WARM_UP {
            warm = resident_kib();
        }
    }
    eprintln!("{}", proof.figures);
    proof.end()?;
    if let Some((warm, now)) = warm.zip(resident_kib()) {
        eprintln!("memory: {warm} KiB after the first {WARM_UP} runs, {now} KiB at the end");
        ensure!(now < warm.saturating_add(GROWTH_KIB), "memory grew from {warm} KiB to {now} KiB over the runs");
    }
    if runs >= ALL_KINDS {
        proof.figures.complete(&plans.iter().flat_map(Plan::faults).collect())?;
    }
    Ok(())
}

/// The same server, the same changes, the same cut connections: the same content as client-go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_content_as_client_go() -> Result<()> {
    let cluster = Arc::new(Cluster::start().await?);
    let phase = |fault| vec![(fault, Vec::new())];
    let plan = Plan { side_by_side: true, restart: None, before: phase(Fault::CutMidway), after: phase(Fault::Refused), ..Plan::of(0) };
    let mut proof = Proof::default();
    proof.play(&cluster, &[plan]).await?;
    proof.end()?;
    assert_eq!(proof.figures.side_by_side, 1);
    for fault in [Fault::CutMidway, Fault::Refused] {
        assert_eq!(proof.figures.faults.get(&fault), Some(&(1, 1)), "{fault}");
    }
    Ok(())
}

/// All runs up to now.
#[derive(Default)]
struct Proof {
    figures: Figures,
    problems: Vec<String>,
}

impl Proof {
    /// Plays a batch and adds up what came of it; of a run with problems, says the seed and keeps
    /// the history.
    async fn play(&mut self, cluster: &Arc<Cluster>, plans: &[Plan]) -> Result<()> {
        for (plan, outcome) in plans.iter().zip(batch(cluster, plans).await?) {
            let seed = plan.seed;
            let outcome = outcome.with_context(|| format!("set the scene of seed {seed}"))?;
            self.figures.add(&outcome.figures);
            if outcome.problems.is_empty() {
                continue;
            }
            let folder = paths::target().join("watch-faults");
            fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
            let file = folder.join(format!("seed-{seed}.txt"));
            let problems = outcome.problems.join("\n");
            let text = format!("{plan:#?}\n\n{problems}\n\n{}", outcome.history);
            fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
            eprintln!("seed {seed}: {problems}");
            eprintln!("to play it again: WHARF_FAULT_RUNS=1 WHARF_FAULT_SEED={seed}; its history: {}", file.display());
            self.problems.extend(outcome.problems.into_iter().map(|problem| format!("seed {seed}: {problem}")));
        }
        Ok(())
    }

    /// Fails if anything was wrong.
    fn end(&self) -> Result<()> {
        ensure!(self.problems.is_empty(), "{} problems:\n{}", self.problems.len(), self.problems.join("\n"));
        Ok(())
    }
}

fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is {text:?}, which is no number")),
        Err(_) => Ok(default),
    }
}

/// Resident memory of this process, where the system tells it.
fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
