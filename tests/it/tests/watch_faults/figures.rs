//! What really happened: faults that took effect, lists after the first and why, answers and
//! events. Owns the sums over all runs, and the rule that a fault which never took effect
//! proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::sync::watch;
use wharf_cache::{CacheMetrics, InformerSpec, WatchEventType};
use wharf_core::Reason;

use crate::fault::Fault;
use crate::trouble::{Asks, Trouble};

/// What the informers of one run count.
pub(crate) struct Metrics {
    /// Wants to know when an informer begins.
    trouble: Trouble,
    counts: watch::Sender<Counts>,
}

/// Sums of an informer's figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) relists: BTreeMap<Reason, u64>,
    /// Lists and watches that failed, or ended with an error.
    pub(crate) failures: BTreeMap<Reason, u64>,
    pub(crate) events: BTreeMap<&'static str, u64>,
    /// Does each informer follow the server? By scope and selector.
    pub(crate) following: BTreeMap<String, bool>,
    /// Objects in which a streaming list differs from a list of the same version.
    pub(crate) differs: u64,
}

impl Metrics {
    pub(crate) fn new(trouble: Trouble) -> Self {
        Self { trouble, counts: watch::Sender::default() }
    }

    fn follows(&self, spec: &InformerSpec, follows: Option<bool>) {
        let name = format!("{} {}", spec.scope, spec.label_selector);
        self.counts.send_modify(|counts| {
            match follows {
                Some(follows) => counts.following.insert(name, follows),
                None => counts.following.remove(&name),
            };
        });
    }

    pub(crate) fn counts(&self) -> watch::Receiver<Counts> {
        self.counts.subscribe()
    }
}

impl CacheMetrics for Metrics {
    fn started(&self, spec: &InformerSpec) {
        self.trouble.begins(spec);
        self.follows(spec, Some(false));
    }

    fn synced(&self, spec: &InformerSpec, synced: bool) {
        self.follows(spec, Some(synced));
    }

    fn stopped(&self, spec: &InformerSpec) {
        self.follows(spec, None);
    }

    fn relist(&self, _spec: &InformerSpec, reason: Reason) {
        self.counts.send_modify(|counts| *counts.relists.entry(reason).or_default() += 1);
    }

    fn failed(&self, _spec: &InformerSpec, reason: Reason) {
        self.counts.send_modify(|counts| *counts.failures.entry(reason).or_default() += 1);
    }

    fn watch_event(&self, _spec: &InformerSpec, event: WatchEventType) {
        self.counts.send_modify(|counts| *counts.events.entry(event.as_str()).or_default() += 1);
    }

    fn watch_list_differs(&self, _spec: &InformerSpec, objects: usize) {
        self.counts.send_modify(|counts| counts.differs += objects as u64);
    }
}

/// The sums over runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) runs: u64,
    pub(crate) writes: u64,
    pub(crate) unsure_writes: u64,
    pub(crate) changes: u64,
    pub(crate) registrations: u64,
    /// Registrations that moved to another informer.
    pub(crate) moves: u64,
    pub(crate) side_by_side: u64,
    pub(crate) longest: Duration,
    pub(crate) time: Duration,
    /// Tried, and taken effect.
    pub(crate) faults: BTreeMap<Fault, (u64, u64)>,
    pub(crate) counts: Counts,
    pub(crate) asks: Asks,
}

impl Figures {
    /// Counts a fault that was tried.
    pub(crate) fn fault(&mut self, fault: Fault, took_effect: bool) {
        let (tried, effective) = self.faults.entry(fault).or_default();
        *tried += 1;
        *effective += u64::from(took_effect);
    }

    /// Adds another run, or other runs.
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.writes += other.writes;
        self.unsure_writes += other.unsure_writes;
        self.changes += other.changes;
        self.registrations += other.registrations;
        self.moves += other.moves;
        self.side_by_side += other.side_by_side;
        self.longest = self.longest.max(other.longest);
        self.time += other.time;
        for (fault, (tried, effective)) in &other.faults {
            let sums = self.faults.entry(*fault).or_default();
            sums.0 += tried;
            sums.1 += effective;
        }
        merge(&mut self.counts.relists, &other.counts.relists);
        merge(&mut self.counts.failures, &other.counts.failures);
        merge(&mut self.counts.events, &other.counts.events);
        merge(&mut self.asks.refused, &other.asks.refused);
        merge(&mut self.asks.denied, &other.asks.denied);
        self.asks.lists += other.asks.lists;
        self.asks.watches += other.asks.watches;
        self.asks.streaming_lists += other.asks.streaming_lists;
        self.asks.broken += other.asks.broken;
        self.asks.truncated += other.asks.truncated;
        self.asks.garbled += other.asks.garbled;
        self.asks.begun += other.asks.begun;
    }

    /// A proof in which a kind of trouble never happened proves nothing about it: each of the
    /// wanted ones, and what every proof needs, must have taken effect at least once.
    ///
    /// # Errors
    /// Names all that never took effect.
    pub(crate) fn complete(&self, wanted: &BTreeSet<Fault>) -> Result<()> {
        let idle = |fault: &&Fault| self.faults.get(fault).is_none_or(|(_, effective)| *effective == 0);
        let mut missing: Vec<_> = wanted.iter().filter(idle).map(|fault| fault.to_string()).collect();
        for reason in [Reason::WatchExpired, Reason::ServerUnavailable, Reason::Undecodable] {
            if !self.counts.failures.contains_key(&reason) {
                missing.push(format!("a failure because of {reason}"));
            }
        }
        for event in [WatchEventType::Added, WatchEventType::Modified, WatchEventType::Deleted, WatchEventType::Error] {
            if !self.counts.events.contains_key(event.as_str()) {
                missing.push(format!("an event {}", event.as_str()));
            }
        }
        let others = [
            ("a plain list", self.asks.lists),
            ("a streaming list", self.asks.streaming_lists),
            ("a move to another informer", self.moves),
            ("a comparison with client-go", self.side_by_side),
        ];
        for (what, count) in others {
            if count == 0 {
                missing.push(what.to_owned());
            }
        }
        ensure!(missing.is_empty(), "these never took effect, so nothing is proved about them: {}", missing.join(", "));
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, writes, unsure_writes, changes, registrations, moves, side_by_side, asks, counts, .. } = self;
        let mean = self.time.as_secs_f64() / (*runs).max(1) as f64;
        writeln!(
            f,
            "{runs} runs of {mean:.1} s on average, the longest {:.1} s; {side_by_side} beside client-go",
            self.longest.as_secs_f64()
        )?;
        writeln!(
            f,
            "{writes} writes ({unsure_writes} without an answer), {changes} changes told to {registrations} registrations, {moves} moves"
        )?;
        writeln!(f, "faults that took effect, of those tried:")?;
        for (fault, (tried, effective)) in &self.faults {
            writeln!(f, "  {:<34} {effective} of {tried}", fault.to_string())?;
        }
        writeln!(f, "lists after the first, by reason: {}", list(&counts.relists))?;
        writeln!(f, "failures and ends with an error, by reason: {}", list(&counts.failures))?;
        writeln!(f, "watch events: {}", list(&counts.events))?;
        let Asks { lists, watches, streaming_lists, broken, truncated, garbled, begun, .. } = asks;
        writeln!(f, "requests: {begun}, of which answered: {lists} lists, {watches} watches, {streaming_lists} streaming lists")?;
        writeln!(f, "refused by the server, by status: {}", list(&asks.denied))?;
        write!(f, "refused by the run, by status: {}; broken {broken}, cut short {truncated}, garbled {garbled}", list(&asks.refused))
    }
}

fn merge<K: Ord + Copy>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (name, count) in more {
        *sums.entry(*name).or_default() += count;
    }
}

fn list<K: fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let parts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
