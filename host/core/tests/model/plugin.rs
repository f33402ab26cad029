//! One plugin: its subscription, ledger, queue and running calls, as a host would keep
//! them. Timers are one per key and keep the earlier time, as a delaying queue does.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;

use wharf_core::diff::Verdict as Judged;
use wharf_core::event::Removal;
use wharf_core::ledger::{Call, Finished, Here, Mark, Next, Policy, Record, Start, Time, Token};
use wharf_core::outcome::{Fault, Strike};
use wharf_core::plugin::Replay;
use wharf_core::{Dropped, Event, EventSet, OwnWrites, Reason, Rules, State};

use crate::broken::{Around, Broken, Guarded};
use crate::disk::Disk;
use crate::history::End;
use crate::object::{KEYS, Key, Obj};
use crate::store::{INFORMERS, Store};
use crate::witness::{AFTER, Credit, REQUEUE, Verdict, Witness};

pub(crate) const PARK: u64 = 40;
const STRIKES: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Sub {
    pub(crate) labels: &'static str,
    pub(crate) events: EventSet,
    /// Only changes of `spec` count.
    pub(crate) only_spec: bool,
    /// An expression that looks at both states: no change to an odd `spec`, and no first sight
    /// of one.
    pub(crate) even: bool,
    pub(crate) ignore_own: bool,
    /// Last states are written down whole.
    pub(crate) bodies: bool,
}

impl Sub {
    /// What the filters say that look at the objects.
    pub(crate) fn drops(&self, old: Option<&Obj>, new: &Obj) -> Option<Dropped> {
        if self.only_spec && old.is_some_and(|old| old.spec == new.spec) {
            return Some(Dropped::OnlyIfChanged);
        }
        let odd = new.spec % 2 == 1 && old.is_none_or(|old| old.spec != new.spec);
        (self.even && odd).then_some(Dropped::Filter)
    }

    pub(crate) fn matches(&self, o: &Obj) -> bool {
        self.labels.contains(o.label)
    }
}

/// A call that runs, as the guest sees it.
pub(crate) struct Running {
    pub(crate) key: Key,
    pub(crate) event: Event,
    /// The object that it is about.
    pub(crate) uid: u64,
    pub(crate) current: Obj,
    pub(crate) previous: Option<Obj>,
    /// There is a previous state, but nobody knows it any more.
    pub(crate) previous_bare: bool,
    pub(crate) removal: Removal,
    pub(crate) final_known: bool,
    pub(crate) attempt: u32,
    /// No mark led to it.
    pub(crate) unmarked: bool,
    pub(crate) revision: u64,
}

impl Running {
    fn new(key: Key, uid: u64, call: Call<Obj>, revision: u64) -> (Self, Token) {
        let Call { event, current, previous, removal, final_state_unknown, attempt, taken, token, .. } = call;
        let (final_known, unmarked) = (!final_state_unknown, taken.is_empty());
        let previous_bare = previous.as_ref().is_some_and(|previous| previous.bare);
        let previous = previous.filter(|_| !previous_bare);
        (Self { key, event, uid, current, previous, previous_bare, removal, final_known, attempt, unmarked, revision }, token)
    }
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}, ", self.event.as_str(), self.current)?;
        match (self.event, &self.previous) {
            (Event::Delete, _) if self.final_known => write!(f, "{}", self.removal.as_str())?,
            (Event::Delete, _) => write!(f, "{}, final state unknown", self.removal.as_str())?,
            (_, Some(previous)) => write!(f, "previous rv {}", previous.version)?,
            (_, None) => f.write_str("no previous")?,
        }
        write!(f, ", attempt {})", self.attempt)
    }
}

pub(crate) struct Plugin {
    pub(crate) sub: Sub,
    pub(crate) revision: u64,
    pub(crate) old_revision: Option<u64>,
    pub(crate) withdrawn: u64,
    pub(crate) policy: Replay,
    disk: Disk,
    pub(crate) revoked: bool,
    pub(crate) ledger: Guarded,
    /// Which of the store's informers it reads from.
    pub(crate) informer: usize,
    pub(crate) witness: Witness,
    pub(crate) running: Vec<(Running, Token)>,
    queue: VecDeque<Key>,
    dirty: HashSet<Key>,
    timers: BTreeMap<Key, u64>,
    /// Uids as numbers: the ledger may be blind for them.
    uids: HashMap<Key, u64>,
    /// What the filters said last of a key.
    judged: HashMap<Key, (Option<Obj>, Obj, Option<Dropped>)>,
    pub(crate) own: OwnWrites<Key>,
    /// Writes whose answers have not arrived: upon which version (`None`: that is not known),
    /// and which came of it.
    pub(crate) in_flight: Vec<(Key, Option<u64>, u64)>,
}

impl Plugin {
    pub(crate) fn new(sub: Sub, broken: Option<Broken>) -> Self {
        let disk = Disk { labels: sub.labels, revision: 1, ..Disk::default() };
        Self {
            sub,
            revision: 1,
            old_revision: None,
            withdrawn: 0,
            policy: Replay::All,
            disk,
            revoked: false,
            ledger: Guarded::new(broken),
            informer: 0,
            witness: Witness::default(),
            running: Vec::new(),
            queue: VecDeque::new(),
            dirty: HashSet::new(),
            timers: BTreeMap::new(),
            uids: HashMap::new(),
            judged: HashMap::new(),
            own: OwnWrites::default(),
            in_flight: Vec::new(),
        }
    }

    pub(crate) fn idle(&self) -> bool {
        self.queue.is_empty() && self.running.is_empty()
    }

    pub(crate) fn enqueue(&mut self, key: Key) {
        if self.busy(key) {
            self.dirty.insert(key);
        } else if !self.queue.contains(&key) {
            self.queue.push_back(key);
        }
    }

    pub(crate) fn everything(&mut self, store: &Store) {
        let keys: BTreeSet<Key> = self.ledger.real().unsettled().copied().chain(store.keys()).collect();
        keys.into_iter().for_each(|key| self.enqueue(key));
    }

    /// The store changed.
    pub(crate) fn observe(&mut self, here: Here<'_, Key, Obj>, old: Option<&Obj>, last: Option<&Obj>, known: bool) {
        let around = self.around(here.key);
        self.ledger.observe(here, old, last, known, around);
        self.enqueue(here.key);
    }

    pub(crate) fn mark(&mut self, store: &Store, key: Key, mark: Mark, why: Credit) {
        let around = self.around(key);
        if self.ledger.mark(store.here(self.informer, &key), mark, around) {
            self.witness.credit(key, why);
        }
        self.enqueue(key);
    }

    /// The plan changed: another informer serves the plugin from now on.
    pub(crate) fn relocate(&mut self, store: &Store) -> Verdict {
        let left = self.ledger.unpack(self.informer, store.stored(self.informer));
        self.informer = (self.informer + 1) % INFORMERS;
        self.everything(store);
        if left == 0 { Ok(()) } else { Err(format!("{left} settled keys were left behind")) }
    }

    /// Is the ledger as it must be?
    pub(crate) fn check_ledger(&mut self, store: &Store) -> Verdict {
        self.ledger.check(KEYS.iter().map(|key| store.here(self.informer, key)))
    }

    /// Nothing happens any more: only what is parked has an entry of its own.
    pub(crate) fn check_settled(&self, store: &Store) -> Verdict {
        let ledger = self.ledger.real();
        let parked = |key: &Key| ledger.entry(store.here(self.informer, key)).is_some_and(|entry| entry.parked.is_some());
        let unsettled: Vec<&Key> = ledger.unsettled().filter(|key| !parked(key)).collect();
        if unsettled.is_empty() { Ok(()) } else { Err(format!("{unsettled:?} are not settled")) }
    }

    /// Writes down what changed.
    pub(crate) fn flush(&mut self, store: &Store) -> Verdict {
        let dirty = self.ledger.take_dirty();
        (self.disk.labels, self.disk.revision) = (self.sub.labels, self.revision);
        self.witness.flushed();
        self.disk.flush(&self.ledger, dirty, store, self.informer, self.sub.bodies)
    }

    /// The host is gone, and another one reads what was written down.
    pub(crate) fn crash(&mut self, old: &Store, new: &Store) -> Result<Disk, String> {
        for (call, _) in std::mem::take(&mut self.running) {
            if self.ledger.real().entry(old.here(self.informer, &call.key)).is_some() {
                self.witness.interrupted(call.key);
            }
        }
        let lost = self.ledger.take_dirty();
        (self.queue, self.dirty, self.timers, self.informer) = Default::default();
        (self.judged, self.own, self.in_flight) = Default::default();
        let disk = self.disk.clone();
        self.ledger.restart();
        for (key, bytes) in &disk.records {
            self.ledger.restore(new.here(self.informer, key), bytes, disk.bodies.get(key))?;
            let uid = Record::decode(bytes).and_then(|record| record.uid.parse().ok());
            self.uids.extend(uid.map(|uid| (*key, uid)));
        }
        for key in lost {
            self.witness.crashed(key, self.uid(new, key));
        }
        Ok(disk)
    }

    /// The uid that the plugin was last called for, or that was filtered.
    pub(crate) fn uid(&self, store: &Store, key: Key) -> Option<u64> {
        self.ledger.real().entry(store.here(self.informer, &key)).and(self.uids.get(key).copied())
    }

    /// A worker takes a key. Says what came of it.
    pub(crate) fn start(&mut self, store: &Store, tombstones: &HashMap<u64, (Obj, bool)>, time: u64) -> Result<Option<String>, String> {
        let Some(key) = self.queue.pop_front_if(|_| !self.revoked) else { return Ok(None) };
        if self.sub.ignore_own && !self.ledger.is(Broken::Flight) && self.own.in_flight(&key) {
            return Ok(None);
        }
        let here = store.here(self.informer, &key);
        let now = here.now;
        let uid = self.uid(store, key);
        let (sub, own, judged) = (&self.sub, &self.own, self.judged.get(key));
        let (stale, chain) = (self.ledger.is(Broken::Stale), self.ledger.is(Broken::Chain));
        let base = if self.ledger.is(Broken::Base) { self.witness.previous(key).cloned() } else { None };
        let verdict = |old: Option<&Obj>, new: &Obj| {
            let old = if let Some(base) = &base { old.and(Some(base)) } else { old };
            // Of a state that was written down without its body nothing can be said.
            if old.is_some_and(|old| old.bare) {
                return Judged::Wanted;
            }
            if sub.ignore_own && old.is_some_and(|old| own_write(own, key, old, new, chain)) {
                return Judged::Dropped(Dropped::OwnWrite);
            }
            match judged {
                Some((was, is, said)) if stale || was.as_ref() == old && is == new => said.map_or(Judged::Wanted, Judged::Dropped),
                _ => Judged::Unknown,
            }
        };
        let rules = Rules { matches: &|o: &Obj| sub.matches(o), events: sub.events, verdict: &verdict };
        let start = self.ledger.start(here, &rules, Time::from_secs(time), self.revision);
        if !matches!(start, Start::Judge { .. } | Start::Held { .. }) {
            self.own.decided(&key, now.map(State::resource_version));
            self.judged.remove(key);
        }
        let filtered = match start {
            Start::Judge { old, new } => {
                // A worker keeps the key meanwhile; here it is the next one to be taken.
                let old = if let Some(base) = base { old.and(Some(base)) } else { old };
                let said = self.sub.drops(old.as_ref(), &new);
                self.judged.insert(key, (old, new, said));
                self.queue.push_front(key);
                return Ok(None);
            }
            Start::Call(call) => {
                let filtered = call.dropped.is_some();
                let uid = if call.event == Event::Delete { uid } else { Some(call.current.uid) };
                let uid = uid.ok_or_else(|| format!("{} for {key} that the plugin does not know", call.event.as_str()))?;
                self.uids.insert(key, uid);
                if filtered {
                    self.filtered(key, now, call.attempt > 1)?;
                }
                let (running, token) = Running::new(key, uid, call, self.revision);
                self.witness.called(&self.sub, &running, now, time, tombstones.get(&uid))?;
                let said = format!("r{}: {running} starts", self.revision);
                self.running.push((running, token));
                return Ok(Some(said));
            }
            Start::Nothing { next_due, dropped } => {
                if next_due.is_some_and(|due| due <= Time::from_secs(time)) {
                    return Err(format!("{key} is due since {next_due:?} and not called"));
                }
                self.arm(key, next_due);
                dropped.is_some()
            }
            Start::Again => {
                uid.into_iter().for_each(|uid| self.witness.dropped(key, uid));
                self.enqueue(key);
                false
            }
            Start::Held { until } => {
                self.arm(key, Some(until));
                false
            }
        };
        if !filtered {
            return Ok(None);
        }
        self.uids.extend(now.map(|now| (key, now.uid)));
        let failed = self.ledger.real().entry(here).is_some_and(|entry| entry.attempts > 0);
        self.filtered(key, now, failed)?;
        Ok(Some(format!("{key} dropped by a filter")))
    }

    fn filtered(&mut self, key: Key, now: Option<&Obj>, failed: bool) -> Verdict {
        let now = now.ok_or_else(|| format!("{key}: filtered although nothing is there"))?;
        self.witness.filtered(&self.sub, now, failed)
    }

    /// The guest of a running call, which was `given` a state, writes to an object: the cluster
    /// has it in the version `truth` and makes another of it. The answer is on its way.
    pub(crate) fn write(&mut self, key: Key, given: &Obj, stored: Option<&Obj>, truth: u64, made: u64) {
        let upon = stored.filter(|_| self.sub.ignore_own).and_then(|stored| self.own.begin(&key, stored.resource_version()));
        // The server refuses what is not upon the version that it has; then it is done without.
        let known = upon.as_ref().is_some_and(|upon| **upon == *truth.to_string());
        self.witness.wrote(truth, made, known);
        if upon.is_some() {
            let assumed = self.ledger.is(Broken::Applied) && given.key == key;
            self.in_flight.push((key, if assumed { Some(given.version) } else { known.then_some(truth) }, made));
        }
    }

    /// The answers to the plugin's writes arrive.
    pub(crate) fn answer(&mut self) {
        for (key, from, to) in std::mem::take(&mut self.in_flight) {
            let (from, to) = (from.map(|from| from.to_string()), to.to_string());
            if self.own.end(&key, from.as_deref().map(|from| (from, to.as_str()))) {
                self.enqueue(key);
            }
        }
    }

    /// A call ends. Says what came of it.
    pub(crate) fn finish(&mut self, store: &Store, n: usize, end: End, time: u64) -> String {
        // A guest waits for its writes.
        self.answer();
        let (call, token) = self.running.remove(n % self.running.len());
        let key = call.key;
        if self.dirty.remove(key) {
            self.enqueue(key);
        }
        let here = store.here(self.informer, &key);
        let attempts = self.ledger.real().entry(here).map_or(0, |entry| entry.attempts);
        let backoff = Time::from_secs(2_u64.pow(attempts.min(4)));
        let policy = Policy { strikes: STRIKES, park: Time::from_secs(PARK), ..Policy::default() };
        let next = self.ledger.finish(here, (&call, token), finished(end), Time::from_secs(time), &policy, backoff);
        let Next { due, again, fenced, .. } = next;
        if again {
            self.enqueue(key);
        }
        self.arm(key, due);
        if !fenced {
            self.witness.ended(&call, end, time);
        }
        format!("r{}: {}({key}) ends: {end:?}{}", call.revision, call.event.as_str(), if fenced { ", thrown away" } else { "" })
    }

    pub(crate) fn tick(&mut self, time: u64) {
        let due: Vec<Key> = self.timers.iter().filter(|(_, due)| **due <= time).map(|(key, _)| *key).collect();
        for key in due {
            self.timers.remove(key);
            self.enqueue(key);
        }
    }

    fn arm(&mut self, key: Key, due: Option<Time>) {
        if let Some(due) = due {
            let timer = self.timers.entry(key).or_insert(due.as_secs());
            *timer = due.as_secs().min(*timer);
        }
    }

    fn busy(&self, key: Key) -> bool {
        self.running.iter().any(|(call, _)| call.key == key)
    }

    fn around(&self, key: Key) -> Around {
        Around { busy: self.busy(key), asleep: self.revoked }
    }
}

fn own_write(own: &OwnWrites<Key>, key: Key, old: &Obj, new: &Obj, broken: bool) -> bool {
    let (from, to) = (old.resource_version(), new.resource_version());
    own.lead(&key, from, to) || broken && old.version != new.version && own.lead(&key, &(new.version - 1).to_string(), to)
}

fn finished(end: End) -> Finished {
    let fault = |after: Option<u64>| Fault { reason: "Busy".into(), message: String::new(), retry_after: after.map(Time::from_secs) };
    match end {
        End::Done => Finished::Done,
        End::Requeue => Finished::RequeueAfter(Time::from_secs(REQUEUE)),
        End::Retry => Finished::Retry(fault(None)),
        End::RetryAfter => Finished::Retry(fault(Some(AFTER))),
        End::Permanent => Finished::Permanent(fault(None)),
        End::Trap => Finished::Strike(Strike { reason: Reason::Trap, message: String::new() }),
        End::Waiting => Finished::Waiting { reason: Reason::ServerUnavailable, message: String::new() },
        End::Cancelled => Finished::Cancelled,
    }
}
