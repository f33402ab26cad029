//! The cluster, the store that follows it, and the plugins beside it; plays one history.

use std::collections::{BTreeSet, HashMap, VecDeque};

use wharf_core::ledger::{Here, Mark};
use wharf_core::plugin::Replay;
use wharf_core::{Event, EventSet};

use crate::broken::{Broken, Narrow};
use crate::history::{End, Op};
use crate::object::{KEYS, Key, Obj};
use crate::plugin::{PARK, Plugin, Sub};
use crate::rng::Rng;
use crate::store::Store;
use crate::witness::{Credit, Verdict};

pub(crate) struct World {
    plugins: Vec<Plugin>,
    truth: HashMap<Key, Obj>,
    store: Store,
    /// What the watch has not handed over yet; true: the object went.
    pending: VecDeque<(bool, Obj)>,
    cut: bool,
    /// What the store last knew of a uid that is gone, and whether it is the final state.
    tombstones: HashMap<u64, (Obj, bool)>,
    time: u64,
    version: u64,
    blind: bool,
    trace: Vec<String>,
}

/// Plays a history to its end. The trace, and the broken promise if there is one.
pub(crate) fn play(seed: u64, ops: &[Op], broken: Option<Broken>) -> (Vec<String>, Verdict) {
    let mut world = World::new(seed, broken);
    let verdict = world.play(ops);
    (world.trace, verdict)
}

impl World {
    fn new(seed: u64, broken: Option<Broken>) -> Self {
        let mut rng = Rng::new(seed);
        let plugins: Vec<Plugin> = (0..2).map(|_| Plugin::new(subscription(&mut rng), broken)).collect();
        let trace = plugins.iter().enumerate().map(|(n, p)| format!("plugin {n}: {:?}", p.sub)).collect();
        Self {
            plugins,
            truth: HashMap::new(),
            store: Store::new(),
            pending: VecDeque::new(),
            cut: false,
            tombstones: HashMap::new(),
            time: 0,
            version: 0,
            blind: broken == Some(Broken::Uid),
            trace,
        }
    }

    fn play(&mut self, ops: &[Op]) -> Verdict {
        for op in ops {
            self.trace.push(op.to_string());
            self.step(*op)?;
            self.check_ledgers()?;
        }
        self.settle()?;
        let keys: BTreeSet<Key> = self.truth.keys().copied().collect();
        keys.into_iter().for_each(|key| self.write(key, None));
        self.settle()?;
        match self.plugins.iter().position(|p| !p.ledger.real().is_empty()) {
            Some(n) => Err(format!("plugin {n} leaks {:?}", self.plugins[n].ledger.real())),
            None => Ok(()),
        }
    }

    fn step(&mut self, op: Op) -> Verdict {
        match op {
            Op::Create(..) | Op::Spec(..) | Op::Status(..) | Op::Label(..) | Op::Remove(_) => self.change(op),
            Op::Write(p, n, status) => self.guest_writes(p, n, None, status),
            Op::Reach(p, n, key, status) => self.guest_writes(p, n, Some(key), status),
            Op::Answer(p) => self.plugins[p].answer(),
            Op::Deliver => self.deliver(),
            Op::Cut => {
                self.cut = true;
                self.pending.clear();
            }
            Op::Relist => self.relist(),
            Op::Start(p) => return self.start(p),
            Op::Finish(p, n, end) if !self.plugins[p].running.is_empty() => self.finish(p, n, end),
            Op::Tick(seconds) => self.tick(seconds),
            Op::Move(p) => return self.plugins[p].relocate(&self.store),
            Op::Flush => return self.plugins.iter_mut().try_for_each(|p| p.flush(&self.store)),
            Op::Crash => return self.crash(),
            Op::OfflineSwap(p, policy) => {
                swap(&mut self.plugins[p], policy);
                return self.crash();
            }
            Op::OfflineSubscribe(p, labels) => {
                self.plugins[p].sub.labels = labels;
                return self.crash();
            }
            _ => self.operate(op),
        }
        Ok(())
    }

    /// Somebody changes the cluster.
    fn change(&mut self, op: Op) {
        let of = |key: Key| self.truth.get(key);
        let (key, new) = match op {
            Op::Create(key, label, spec) if !self.truth.contains_key(key) => (key, Some((0, label, spec, 0))),
            Op::Spec(key, spec) => (key, of(key).map(|o| (o.uid, o.label, spec, o.status))),
            Op::Status(key, status) => (key, of(key).map(|o| (o.uid, o.label, o.spec, status))),
            Op::Label(key, label) => (key, of(key).map(|o| (o.uid, label, o.spec, o.status))),
            Op::Remove(key) => return self.write(key, None),
            _ => return,
        };
        if new.is_some() {
            self.write(key, new);
        }
    }

    /// The guest of a running call writes to the object of its call, or to another.
    fn guest_writes(&mut self, p: usize, n: usize, to: Option<Key>, status: u64) {
        let running = &self.plugins[p].running;
        let Some((call, _)) = running.get(n % running.len().max(1)) else { return };
        let (given, key) = (call.current.clone(), to.unwrap_or(call.key));
        let Some(before) = self.truth.get(key).filter(|o| to.is_some() || o.uid == call.uid).cloned() else { return };
        self.write(key, Some((before.uid, before.label, before.spec, status)));
        let stored = self.store.get(key).filter(|stored| stored.uid == before.uid).cloned();
        self.plugins[p].write(key, &given, stored.as_ref(), before.version, self.version);
    }

    /// `new`: uid (0 for a new one), label, spec, status; `None` removes.
    fn write(&mut self, key: Key, new: Option<(u64, char, u64, u64)>) {
        let gone = new.is_none();
        let Some((uid, label, spec, status)) = new.or_else(|| self.truth.get(key).map(|o| (o.uid, o.label, o.spec, o.status))) else {
            return;
        };
        self.version += 1;
        let uid = if uid == 0 { self.version } else { uid };
        let object = Obj::new(key, uid, self.version, (label, spec, status), self.blind);
        if gone {
            self.truth.remove(key);
        } else {
            self.truth.insert(key, object.clone());
        }
        if !self.cut {
            self.pending.push_back((gone, object));
        }
    }

    fn deliver(&mut self) {
        if let Some((gone, object)) = self.pending.pop_front() {
            let new = (!gone).then(|| object.clone());
            self.apply(object.key, new, gone.then_some(object), true);
        }
    }

    fn relist(&mut self) {
        self.cut = false;
        self.pending.clear();
        let keys: BTreeSet<Key> = self.store.keys().chain(self.truth.keys().copied()).collect();
        for key in keys {
            let new = self.truth.get(key).cloned();
            if self.store.get(key) != new.as_ref() {
                self.apply(key, new, None, false);
            }
        }
    }

    /// The store changes and announces it.
    fn apply(&mut self, key: Key, new: Option<Obj>, last: Option<Obj>, known: bool) {
        let (old, slots) = self.store.put(key, new.clone());
        if let Some(old) = old.as_ref().filter(|old| new.as_ref().is_none_or(|new| new.uid != old.uid)) {
            self.tombstones.insert(old.uid, (last.clone().unwrap_or_else(|| old.clone()), known));
        }
        for p in &mut self.plugins {
            let here = Here { key: &key, slot: slots[p.informer], now: new.as_ref() };
            p.observe(here, old.as_ref(), last.as_ref(), known);
        }
    }

    fn start(&mut self, p: usize) -> Verdict {
        let said = self.plugins[p].start(&self.store, &self.tombstones, self.time).map_err(|why| format!("plugin {p}: {why}"))?;
        self.trace.extend(said.map(|said| format!("  t={:<3} plugin {p} {said}", self.time)));
        Ok(())
    }

    fn finish(&mut self, p: usize, n: usize, end: End) {
        let said = self.plugins[p].finish(&self.store, n, end, self.time);
        self.trace.push(format!("  t={:<3} plugin {p} {said}", self.time));
    }

    fn tick(&mut self, seconds: u64) {
        self.time += seconds;
        self.plugins.iter_mut().for_each(|p| p.tick(self.time));
    }

    /// Somebody changes a plugin.
    fn operate(&mut self, op: Op) {
        let (Op::Swap(n, _)
        | Op::Rollback(n)
        | Op::Subscribe(n, _)
        | Op::Revoke(n)
        | Op::Grant(n)
        | Op::Resync(n)
        | Op::Related(n, _)
        | Op::Manual(n, _)) = op
        else {
            return;
        };
        let p = &mut self.plugins[n];
        match op {
            Op::Swap(_, policy) => {
                swap(p, policy);
                let keys = p.ledger.replay(self.store.stored(p.informer), policy);
                reload(p, keys);
            }
            Op::Rollback(_) => {
                if let Some(old) = p.old_revision.take() {
                    p.withdrawn = std::mem::replace(&mut p.revision, old);
                    roll_back(p, &self.store);
                }
            }
            Op::Subscribe(_, labels) => {
                let old = Sub { labels: p.sub.labels, ..p.sub };
                p.sub.labels = labels;
                narrow(p, &old, &self.store, true);
                p.everything(&self.store);
            }
            Op::Revoke(_) => p.revoked = true,
            Op::Grant(_) => {
                p.revoked = false;
                p.everything(&self.store);
            }
            Op::Resync(_) => {
                let keys: BTreeSet<Key> = p.ledger.real().unsettled().copied().chain(self.store.keys()).collect();
                keys.into_iter().for_each(|key| p.mark(&self.store, key, Mark::Resync, Credit::Resync));
            }
            Op::Related(_, key) => p.mark(&self.store, key, Mark::Related, Credit::Related),
            Op::Manual(_, key) => p.mark(&self.store, key, Mark::Manual, Credit::Manual),
            _ => {}
        }
    }

    /// The host is gone; another one lists what there is, and reads what was written down.
    fn crash(&mut self) -> Verdict {
        self.pending.clear();
        self.cut = false;
        let mut store = Store::new();
        for (key, object) in &self.truth {
            store.put(key, Some(object.clone()));
        }
        let old = std::mem::replace(&mut self.store, store);
        for p in &mut self.plugins {
            let disk = p.crash(&old, &self.store)?;
            p.witness.restarted();
            if disk.labels != p.sub.labels {
                let old = Sub { labels: disk.labels, ..p.sub.clone() };
                let known = !p.ledger.is(Broken::Scope);
                narrow(p, &old, &self.store, known);
            }
            if disk.revision != p.revision {
                if disk.revision == p.withdrawn {
                    roll_back(p, &self.store);
                } else if p.ledger.is(Broken::Replay) {
                    let known: Vec<Key> = KEYS.into_iter().filter(|key| p.uid(&self.store, key).is_some()).collect();
                    known.into_iter().filter(|_| p.policy == Replay::All).for_each(|key| p.witness.credit(key, Credit::Reload));
                } else {
                    let keys = p.ledger.replay(self.store.stored(p.informer), p.policy);
                    reload(p, keys);
                }
            }
            p.everything(&self.store);
        }
        Ok(())
    }

    /// Nothing fails any more, all queues drain, time goes on.
    fn settle(&mut self) -> Verdict {
        self.trace.push("- settle".into());
        // Only who slept looks at everything: what else is owed must come by itself.
        for p in self.plugins.iter_mut().filter(|p| p.revoked) {
            p.revoked = false;
            p.everything(&self.store);
        }
        while !self.pending.is_empty() {
            self.deliver();
        }
        if self.cut {
            self.relist();
        }
        for _ in 0..PARK + 3 {
            self.drain()?;
            self.tick(1);
        }
        self.check_ledgers()?;
        self.plugins.iter().try_for_each(|p| p.check_settled(&self.store))?;
        let check = |(n, p): (usize, &Plugin)| p.witness.check(&p.sub, &self.truth).map_err(|why| format!("plugin {n}: {why}"));
        self.plugins.iter().enumerate().try_for_each(check)
    }

    fn check_ledgers(&mut self) -> Verdict {
        let named = |(n, p): (usize, &mut Plugin)| p.check_ledger(&self.store).map_err(|why| format!("plugin {n}: {why}"));
        self.plugins.iter_mut().enumerate().try_for_each(named)
    }

    fn drain(&mut self) -> Verdict {
        for _ in 0..999 {
            if self.plugins.iter().all(Plugin::idle) {
                return Ok(());
            }
            for p in 0..self.plugins.len() {
                self.start(p)?;
                if !self.plugins[p].running.is_empty() {
                    self.finish(p, 0, End::Done);
                }
            }
        }
        Err("the queues never drain".into())
    }
}

fn reload(p: &mut Plugin, keys: Vec<Key>) {
    let keys: BTreeSet<Key> = keys.into_iter().collect();
    for key in keys {
        p.witness.credit(key, Credit::Reload);
        p.enqueue(key);
    }
}

fn swap(p: &mut Plugin, policy: Replay) {
    p.old_revision = Some(p.revision);
    p.revision = p.revision.max(p.withdrawn) + 1;
    p.policy = policy;
}

fn roll_back(p: &mut Plugin, store: &Store) {
    let keys = p.ledger.rollback(store.stored(p.informer), p.withdrawn);
    p.witness.withdrawn(p.withdrawn);
    reload(p, keys);
}

/// The subscription was another one before, whether or not the ledger is told.
fn narrow(p: &mut Plugin, old: &Sub, store: &Store, told: bool) {
    let new = p.sub.clone();
    let keys: BTreeSet<Key> = p.ledger.real().unsettled().copied().chain(store.keys()).collect();
    for key in keys {
        let Some(uid) = p.uid(store, key) else { continue };
        // Of what is gone a restart may have left no more than its name.
        let here = store.here(p.informer, &key);
        let object = here.now.filter(|now| now.uid == uid).or_else(|| p.ledger.real().last_state(here).filter(|last| !last.bare));
        if object.is_some_and(|o| old.matches(o) && !new.matches(o)) {
            p.witness.narrowed(key, uid);
        }
    }
    let by = Narrow { matched: &|_, o| old.matches(o), matches: &|_, o| new.matches(o), now: &|key| store.get(key).cloned() };
    if told {
        p.ledger.narrow(store.stored(p.informer), &by);
    }
}

fn subscription(rng: &mut Rng) -> Sub {
    let events: EventSet = match rng.below(10) {
        0 => [Event::Add, Event::Delete].into_iter().collect(),
        1 => [Event::Update, Event::Delete].into_iter().collect(),
        2 => [Event::Delete].into_iter().collect(),
        3 => [Event::Add, Event::Update].into_iter().collect(),
        _ => EventSet::ALL,
    };
    let (only_spec, even, ignore_own) = (rng.below(3) == 0, rng.below(4) == 0, rng.below(3) == 0);
    Sub { labels: rng.one(&["x", "xy"]), events, only_spec, even, ignore_own, bodies: rng.below(2) == 0 }
}
