//! One program beside the server: filled, at rest, after a 410, with changes, read. Owns the
//! order of this and what is ensured on the way; never compares programs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::time::sleep;

use super::Program;
use crate::proof::peers::{Peer, Source, number, wait};

/// A program is left alone for so long before its memory is read.
const REST: Duration = Duration::from_secs(1);

/// Figures of one run by their name.
pub(super) type Figures = BTreeMap<&'static str, f64>;

/// The figures of all runs of all programs.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<(&'static str, Vec<Figures>)>);

impl Runs {
    pub(super) fn add(&mut self, name: &'static str, figures: Figures) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, runs)) => runs.push(figures),
            None => self.0.push((name, vec![figures])),
        }
    }

    /// The programs in the order in which they ran.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    /// How often a program ran.
    pub(super) fn count(&self, name: &str) -> usize {
        self.runs(name).len()
    }

    /// The median of a figure; `None` if the program has no such figure. Of an even number of
    /// runs it is the higher one in the middle.
    pub(super) fn median(&self, name: &str, figure: &str) -> Option<f64> {
        let mut all: Vec<f64> = self.runs(name).iter().filter_map(|run| run.get(figure).copied()).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    }

    /// All that have a figure have the same.
    ///
    /// # Errors
    /// If two differ.
    pub(super) fn ensure_same(&self, figure: &str) -> Result<()> {
        let all = self.0.iter().flat_map(|(name, runs)| runs.iter().filter_map(|run| Some((*name, *run.get(figure)?))));
        let all: Vec<_> = all.collect();
        let same = all.windows(2).all(|pair| matches!(pair, [(_, a), (_, b)] if a == b));
        ensure!(same, "the programs do not agree on {figure}: {all:?}");
        Ok(())
    }

    fn runs(&self, name: &str) -> &[Figures] {
        self.0.iter().find(|(other, _)| *other == name).map_or(&[], |(_, runs)| runs)
    }
}

/// Memory at rest without any object, in KiB.
///
/// # Errors
/// If the program does not come so far.
pub(super) async fn empty(program: &Program, source: &Source) -> Result<f64> {
    let (_peer, report) = start(program, source).await?;
    number(&report, "rss_kib")
}

/// Everything about a program.
///
/// # Errors
/// If the program does not come so far, or holds something else than the server.
pub(super) async fn program(program: &Program, source: &Source, pods: u64, events: u64) -> Result<Figures> {
    let mut figures = Figures::new();
    let before = source.stats().await?;
    let (mut peer, report) = start(program, source).await?;
    let after = source.stats().await?;
    ensure_content(&report, &after)?;
    figures.insert("server_cpu_s", number(&after, "cpu_s")? - number(&before, "cpu_s")?);
    copy(
        &mut figures,
        &report,
        [("synced_s", "synced_s"), ("cpu_to_sync_s", "cpu_s"), ("rss_peak_kib", "peak_kib"), ("rss_kib", "rest_kib")],
    )?;
    copy(&mut figures, &report, [("rss_after_gc_kib", "floor_kib")])?;
    if let Ok(bytes) = number(&report, "store_json_bytes") {
        figures.insert("store_bytes_per_object", bytes / pods as f64);
    }

    relist(&mut figures, &mut peer, source, pods / 100).await?;
    push(&mut figures, &mut peer, source, if program.slow { events / 10 } else { events }).await?;

    let reads = peer.reads().await?;
    let names = ["list_namespace_us", "list_namespace_objects", "list_instance_us", "list_instance_objects", "late_handler_ms"];
    figures.extend(names.into_iter().filter_map(|name| Some((name, reads.get(name)?.as_f64()?))));
    Ok(figures)
}

/// How long the server takes to send a list in JSON to a client that throws it away, in seconds.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn drain(source: &Source) -> Result<f64> {
    let url = format!("{}/api/v1/pods?resourceVersion=0", source.url());
    let args = ["-sf", "-o", "/dev/null", "-w", "%{time_total}", &url];
    let output = tokio::process::Command::new("curl").args(args).output().await.context("run curl")?;
    ensure!(output.status.success(), "the server did not answer curl: {}", output.status);
    String::from_utf8_lossy(&output.stdout).parse().context("read the time that curl took")
}

/// Starts a program, and returns its first report, of when it was at rest.
async fn start(program: &Program, source: &Source) -> Result<(Peer, Value)> {
    let url = source.url();
    // The one before has gone.
    wait("no watch is open", async || Ok(number(&source.stats().await?, "open_watches")? < 0.5)).await?;
    let args: Vec<&str> = ["-server", &url].into_iter().chain(program.args.iter().copied()).collect();
    let mut peer = Peer::start(&program.path(), &args)?;
    peer.synced().await?;
    wait("the watch is open", async || Ok(number(&source.stats().await?, "open_watches")? > 0.5)).await?;
    peer.idle().await?;
    sleep(REST).await;
    let report = peer.report().await?;
    Ok((peer, report))
}

/// One in a hundred objects changes unseen, and then the watch ends with a 410.
async fn relist(figures: &mut Figures, peer: &mut Peer, source: &Source, changed: u64) -> Result<()> {
    let states = number(&source.stats().await?, "full_states")?;
    source.expire(changed).await?;
    wait("everything was sent again", async || {
        let stats = source.stats().await?;
        Ok(number(&stats, "full_states")? > states && number(&stats, "open_watches")? > 0.5)
    })
    .await?;
    peer.idle().await?;
    sleep(REST).await;
    let report = peer.report().await?;
    ensure_content(&report, &source.stats().await?)?;
    copy(figures, &report, [("rss_peak_kib", "relist_peak_kib"), ("cpu_s", "relist_cpu_s")])?;
    let rest = figures.get("rest_kib").context("nothing was resident")?;
    figures.insert("relist_peak_of_rest", number(&report, "rss_peak_kib")? / rest);
    figures.insert("relist_changed", changed as f64);
    figures.insert("relist_announced", number(&report, "adds")? + number(&report, "updates")? + number(&report, "deletes")?);
    Ok(())
}

/// Changes as fast as they are read.
async fn push(figures: &mut Figures, peer: &mut Peer, source: &Source, events: u64) -> Result<()> {
    let pushed = source.push(events).await?;
    peer.idle().await?;
    let report = peer.report().await?;
    ensure_content(&report, &source.stats().await?)?;
    ensure!(number(&report, "updates")? as u64 == events, "not all of {events} events were told: {report}");
    let per = 100_000.0 / events as f64;
    figures.insert("events_per_s", number(&report, "updates_per_s")?);
    figures.insert("event_cpu_s", number(&report, "cpu_s")? * per);
    figures.insert("event_server_cpu_s", number(&pushed, "server_cpu_s")? * per);
    Ok(())
}

/// The program holds just the objects that the server has, in the same versions.
fn ensure_content(report: &Value, stats: &Value) -> Result<()> {
    let same = ["objects", "digest"].iter().all(|name| report.get(name).is_some_and(|value| stats.get(name) == Some(value)));
    ensure!(same, "the program holds something else than the server\nprogram: {report}\nserver: {stats}");
    Ok(())
}

fn copy<const N: usize>(figures: &mut Figures, report: &Value, names: [(&str, &'static str); N]) -> Result<()> {
    for (from, to) in names {
        figures.insert(to, number(report, from)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(figures: &[(&'static str, f64)]) -> Runs {
        let mut runs = Runs::default();
        figures.iter().for_each(|(name, figure)| runs.add(name, Figures::from([("f", *figure)])));
        runs
    }

    #[test]
    fn medians_are_of_one_program_and_one_figure() {
        let runs = runs(&[("a", 9.0), ("b", 1.0), ("a", 2.0), ("a", 3.0)]);
        assert_eq!((runs.names(), runs.count("a")), (vec!["a", "b"], 3));
        assert_eq!((runs.median("a", "f"), runs.median("b", "f")), (Some(3.0), Some(1.0)));
        assert_eq!((runs.median("a", "g"), runs.median("c", "f")), (None, None));
    }

    #[test]
    fn programs_that_disagree_are_named() {
        assert!(runs(&[("a", 1.0), ("b", 1.0)]).ensure_same("f").is_ok());
        let error = runs(&[("a", 1.0), ("b", 1.0), ("c", 2.0)]).ensure_same("f").unwrap_err();
        assert!(error.to_string().contains("on f") && error.to_string().contains("\"c\", 2.0"), "{error}");
    }
}
