//! A real host that is killed at random moments, on a real API server: what it had written down
//! it does not do again, and what happened meanwhile is not lost. `cargo test` plays three runs;
//! `cargo xtask proof kill` plays the same with other numbers: `WHARF_KILL_RUNS` runs from seed
//! `WHARF_KILL_SEED` on. And what becomes of a checkpoint that is damaged, shared or not wanted.
//! And two hosts of which one leads (`standby`), and kills in each step of a swap (`steps`).
#![allow(clippy::print_stderr, reason = "a proof's figures are for the one who runs it")]

mod books;
mod judge;
mod lab;
mod run;
mod standby;
mod steps;

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::{Host, HostOptions, paths};

use crate::judge::Figures;
use crate::lab::Lab;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_kill() -> Result<()> {
    let (runs, seed) = (number("WHARF_KILL_RUNS", 3)?, number("WHARF_KILL_SEED", 0)?);
    let lab = Lab::new().await?;
    let (mut figures, mut problems) = (Figures::default(), Vec::new());
    for seed in seed..seed.saturating_add(runs) {
        let outcome = run::play(&lab, seed).await.with_context(|| format!("seed {seed}"))?;
        figures.add(&outcome.figures);
        if !outcome.problems.is_empty() {
            let folder = paths::target().join("kill");
            fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
            let file = folder.join(format!("seed-{seed}.txt"));
            fs::write(&file, format!("{}\n\n{}", outcome.problems.join("\n"), outcome.history))?;
            eprintln!("to play it again: WHARF_KILL_RUNS=1 WHARF_KILL_SEED={seed}; its history: {}", file.display());
            problems.extend(outcome.problems.into_iter().map(|problem| format!("seed {seed}: {problem}")));
        }
    }
    eprintln!("{runs} runs: {figures}");
    ensure!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    ensure!(figures.silent > 0, "no host ever found an object as it had left it");
    Ok(())
}

/// A file that cannot be read costs a warning and a first start, never the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_checkpoint_is_set_aside() -> Result<()> {
    let lab = Lab::new().await?;
    let (namespace, plugin) = lab.plugin("damaged").await?;
    lab.write(&namespace, "x", "done", 1).await?;
    let mut host = lab.start(&[])?;
    lab.called(&host, &plugin, "x", "initial-list").await?;
    ensure!(host.terminate(lab::DEADLINE).await? == Some(0), "it stops in order");
    let file = lab.data().join("checkpoint.redb");
    let bytes = fs::read(&file).context("read the checkpoint")?;
    fs::write(&file, bytes.iter().map(|byte| byte ^ 0x5a).collect::<Vec<_>>())?;
    let mut host = lab.start(&[])?;
    host.log().wait_for("the warning", 0, lab::DEADLINE, |line| line.is("reason", "CheckpointUnusable")).await?;
    lab.called(&host, &plugin, "x", "initial-list").await?;
    ensure!(lab.data().join("checkpoint.redb.broken").exists(), "the damaged file is kept");
    ensure!(host.terminate(lab::DEADLINE).await? == Some(0), "it stops in order");
    // The next one has a good file again.
    let host = lab.start(&[])?;
    host.log().wait_for("taken up", 0, lab::DEADLINE, |line| line.is("message", "plugin taken up from its checkpoint")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_on_one_data_directory_are_refused() -> Result<()> {
    let lab = Lab::new().await?;
    lab.plugin("shared").await?;
    let first = lab.start(&[])?;
    first.ready().await?;
    let mut second = lab.start(&[])?;
    let status = second.wait(lab::DEADLINE).await?;
    ensure!(status.code() == Some(78), "it ends with {status}");
    let told = |line: &wharf_testkit::Line| line.text("message").contains("every host needs a data directory of its own");
    ensure!(second.log().since(0).iter().any(|line| told(line)), "it says why:\n{}", second.log().tail());
    first.ready().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_checkpoints_every_start_is_a_first_start() -> Result<()> {
    let lab = Lab::new().await?;
    let (namespace, plugin) = lab.plugin("without").await?;
    lab.write(&namespace, "x", "done", 1).await?;
    let config = lab.file("host.yaml", "apiVersion: config.wharf.dev/v1alpha1\nkind: HostConfiguration\ncheckpoint: {enabled: false}\n")?;
    for _ in 0..2 {
        let mut host = lab.start(&["--config", &config])?;
        lab.called(&host, &plugin, "x", "initial-list").await?;
        ensure!(host.terminate(lab::DEADLINE).await? == Some(0), "it stops in order");
    }
    ensure!(!lab.data().join("checkpoint.redb").exists(), "there is no file");
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is {text:?}, which is no number")),
        Err(_) => Ok(default),
    }
}

/// For all that the lab needs of a host.
pub(crate) fn start(options: HostOptions) -> Result<Host> {
    Host::start(options)
}

/// A pause that the proof is about, never a wait for something.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
