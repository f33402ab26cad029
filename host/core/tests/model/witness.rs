//! What a plugin was promised, judged from the outside. It notes what was called,
//! filtered, promised and parked, and which reasons to call arose. It knows nothing of
//! the ledger.

use std::collections::{HashMap, HashSet};

use wharf_core::event::{Event, Removal};

use crate::history::End;
use crate::object::{Key, Obj};
use crate::plugin::{Running, Sub};

/// What the guests ask for, in seconds.
pub(crate) const REQUEUE: u64 = 6;
pub(crate) const AFTER: u64 = 8;

/// A broken promise.
pub(crate) type Verdict = Result<(), String>;

/// Why a key may be called although nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Credit {
    Resync,
    Reload,
    Related,
    Manual,
    Interrupted,
}

/// What the plugin holds of a key's spec.
#[derive(Debug, PartialEq, Eq)]
enum View {
    Holds(u64),
    Unknown,
}

#[derive(Default)]
pub(crate) struct Witness {
    /// State of the last `add` or `update`, or a later one that was filtered.
    last: HashMap<Key, Obj>,
    /// What `previous` must show.
    previous: HashMap<Key, Obj>,
    /// Uid and version that were delivered with success, or filtered.
    settled: HashMap<Key, (u64, u64)>,
    view: HashMap<Key, View>,
    promised: HashMap<Key, u64>,
    wake: HashMap<Key, u64>,
    hold: HashMap<Key, u64>,
    parked: HashSet<Key>,
    credit: HashMap<Key, HashSet<Credit>>,
    handled: HashMap<Key, u64>,
    /// Uids that the plugin was called for and that are owed a `delete`.
    touched: HashMap<u64, Key>,
    narrowed: HashSet<u64>,
    /// Uids whose `delete` was called and has not ended.
    deletes: HashSet<u64>,
    /// Versions that the plugin wrote itself: upon which, and whether the host can know.
    wrote: HashMap<u64, (u64, bool)>,
    /// What every uid was the key of.
    uids: HashMap<u64, Key>,
    /// Keys for which a crash forgot something: anything goes until they are told of again.
    amnesty: HashSet<Key>,
    /// There was a crash: what the store knew of final states is not all that there is.
    restarted: bool,
    /// Keys whose last state a restart may have left without its body: it cannot be compared.
    bare: HashSet<Key>,
    safe: Safe,
}

/// What a crash does not take away once it was written down.
#[derive(Clone, Default)]
struct Safe {
    settled: HashMap<Key, (u64, u64)>,
    parked: HashSet<Key>,
    hold: HashMap<Key, u64>,
    promised: HashMap<Key, u64>,
    handled: HashMap<Key, u64>,
}

impl Witness {
    pub(crate) fn credit(&mut self, key: Key, why: Credit) {
        self.credit.entry(key).or_default().insert(why);
    }

    /// The plugin wrote: upon which version, which came of it, and whether the host can know that.
    pub(crate) fn wrote(&mut self, from: u64, to: u64, known: bool) {
        self.wrote.insert(to, (from, known));
    }

    /// Do only the plugin's own writes lead from one version to the other; such as the host can
    /// `know` of?
    fn own(&self, from: u64, mut to: u64, know: bool) -> bool {
        while let Some((before, _)) = self.wrote.get(&to).filter(|(_, known)| *known || !know) {
            if *before == from {
                return true;
            }
            to = *before;
        }
        false
    }

    /// What `previous` shows.
    pub(crate) fn previous(&self, key: Key) -> Option<&Obj> {
        self.previous.get(key)
    }

    pub(crate) fn withdrawn(&mut self, bad: u64) {
        let keys: Vec<Key> = self.handled.iter().filter(|(_, revision)| **revision == bad).map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.credit(key, Credit::Reload));
    }

    /// What is known was written down.
    pub(crate) fn flushed(&mut self) {
        let Self { settled, parked, hold, promised, handled, .. } = self;
        self.safe = Safe {
            settled: settled.clone(),
            parked: parked.clone(),
            hold: hold.clone(),
            promised: promised.clone(),
            handled: handled.clone(),
        };
    }

    /// A crash ended a call that counts.
    pub(crate) fn interrupted(&mut self, key: Key) {
        self.credit(key, Credit::Interrupted);
        self.view.insert(key, View::Unknown);
    }

    /// A crash: what happened to the key since it was written down is forgotten. `uid` is the
    /// one that the plugin still knows.
    pub(crate) fn crashed(&mut self, key: Key, uid: Option<u64>) {
        self.touched.retain(|touched, of| *of != key || Some(*touched) == uid);
        self.amnesty.insert(key);
        self.view.remove(key);
        self.credit.remove(key);
        restored(&mut self.settled, &self.safe.settled, key);
        restored(&mut self.hold, &self.safe.hold, key);
        restored(&mut self.promised, &self.safe.promised, key);
        restored(&mut self.handled, &self.safe.handled, key);
        self.parked.remove(key);
        if self.safe.parked.contains(key) {
            self.parked.insert(key);
        }
        self.narrowed.retain(|uid| self.uids.get(uid) != Some(&key));
        self.deletes.retain(|uid| self.uids.get(uid) != Some(&key));
    }

    /// Stores begin anew.
    pub(crate) fn restarted(&mut self) {
        self.restarted = true;
        // Nobody remembers which writes were the plugin's own, nor surely what there was.
        self.wrote.clear();
        self.bare.extend(self.last.keys());
    }

    fn forget(&mut self, key: Key) {
        self.last.remove(key);
        self.previous.remove(key);
        self.settled.remove(key);
        self.view.remove(key);
        self.promised.remove(key);
        self.wake.remove(key);
        self.hold.remove(key);
        self.parked.remove(key);
        self.credit.remove(key);
        self.handled.remove(key);
    }

    /// The subscription wants no `delete`: the plugin is done with this uid.
    pub(crate) fn dropped(&mut self, key: Key, uid: u64) {
        self.touched.remove(&uid);
        self.forget(key);
    }

    /// The subscription no longer covers this uid.
    pub(crate) fn narrowed(&mut self, key: Key, uid: u64) {
        self.dropped(key, uid);
        self.deletes.remove(&uid);
        self.narrowed.insert(uid);
    }

    /// The host dropped the change to `o`; `failed`: a failed call is outstanding.
    pub(crate) fn filtered(&mut self, sub: &Sub, o: &Obj, failed: bool) -> Verdict {
        let last = self.last.get(o.key).filter(|last| last.uid == o.uid && !self.deletes.contains(&o.uid));
        let own = sub.ignore_own && last.is_some_and(|last| self.own(last.version, o.version, false));
        let excused = self.amnesty.contains(o.key);
        if sub.wants_all_changes() && !own && !excused && sub.drops(last, o).is_none() {
            return Err(format!("{o} wrongly dropped, last was {last:?}"));
        }
        if !failed {
            self.previous.insert(o.key, o.clone());
            self.settled.insert(o.key, (o.uid, o.version));
        }
        self.uids.insert(o.uid, o.key);
        // A delete that was tried undid all before: the key starts anew.
        if self.deletes.remove(&o.uid) || self.amnesty.contains(o.key) {
            self.hold.remove(o.key);
            self.promised.remove(o.key);
            self.credit.remove(o.key);
        }
        self.last.insert(o.key, o.clone());
        self.bare.remove(o.key);
        self.narrowed.remove(&o.uid);
        Ok(())
    }

    /// A call starts; `now` is the object in the store and `tombstone` what the store last
    /// knew of the uid, if that is gone.
    pub(crate) fn called(&mut self, sub: &Sub, c: &Running, now: Option<&Obj>, time: u64, tombstone: Option<&(Obj, bool)>) -> Verdict {
        let key = c.key;
        let mut reasons = self.credit.remove(key).unwrap_or_default();
        if self.parked.contains(key) {
            reasons.remove(&Credit::Resync);
        }
        let pressed = [Credit::Reload, Credit::Manual, Credit::Interrupted].iter().any(|r| reasons.contains(r));
        let excused = self.amnesty.contains(key);
        if self.hold.get(key).is_some_and(|hold| time < *hold) && !pressed && !excused {
            return Err(format!("{c} before its retry-after"));
        }
        let due = !reasons.is_empty() || excused || self.wake.get(key).is_some_and(|wake| time >= *wake);
        match c.event {
            Event::Delete => self.delete_called(sub, c, now, due, tombstone),
            Event::Add | Event::Update => self.state_called(sub, c, due),
        }
    }

    fn delete_called(&mut self, sub: &Sub, c: &Running, now: Option<&Obj>, due: bool, tombstone: Option<&(Obj, bool)>) -> Verdict {
        if self.narrowed.contains(&c.uid) {
            return Err(format!("{c}: narrowing delivered a delete"));
        }
        if !self.deletes.insert(c.uid) && !due {
            return Err(format!("{c}: needless, nothing is due"));
        }
        if c.current.uid != c.uid {
            return Err(format!("{c}: final state of another uid ({})", c.uid));
        }
        let told = if c.removal == Removal::Unmatched { now.map(|now| (now, true)) } else { tombstone.map(|(o, known)| (o, *known)) };
        // After a restart an older state may stand in, or none, but never for the final one.
        let stands_in = self.restarted && !c.final_known;
        if told != Some((&c.current, c.final_known)) && !stands_in {
            return Err(format!("{c}: this is not the final state, but {told:?}"));
        }
        if c.removal == Removal::Replaced && !now.is_some_and(|now| sub.matches(now)) {
            return Err(format!("{c}: no add will follow"));
        }
        self.check_previous(c)
    }

    fn state_called(&mut self, sub: &Sub, c: &Running, due: bool) -> Verdict {
        let (key, o) = (c.key, &c.current);
        let ended = !self.deletes.contains(&o.uid);
        let last = self.last.get(key);
        let same = last.filter(|last| ended && last.uid == o.uid && !due);
        let dropped = !sub.events.contains(Event::Update) && self.settled.contains_key(key);
        if same.is_some_and(|last| dropped || o.version == last.version) {
            return Err(format!("{c}: needless, nothing new"));
        }
        let base = last.filter(|last| ended && last.uid == o.uid);
        let compared = !self.bare.contains(key);
        if let Some(by) = sub.drops(base, o).filter(|_| !due && compared) {
            return Err(format!("{c}: needless, dropped by {}", by.as_str()));
        }
        if sub.ignore_own && same.is_some_and(|last| self.own(last.version, o.version, true)) {
            return Err(format!("{c}: needless, only own writes"));
        }
        if c.event == Event::Update && !ended {
            return Err(format!("{c}: update although delete was tried"));
        }
        let before = last.filter(|last| last.uid != o.uid && self.touched.contains_key(&last.uid));
        if let Some(before) = before.filter(|_| sub.events.contains(Event::Delete)) {
            return Err(format!("{c}: no delete for uid {} before", before.uid));
        }
        if c.event == Event::Add {
            self.previous.remove(key);
        }
        self.check_previous(c)?;
        self.deletes.remove(&o.uid);
        self.narrowed.remove(&o.uid);
        self.uids.insert(o.uid, key);
        self.bare.remove(key);
        self.last.insert(key, o.clone());
        self.touched.insert(o.uid, key);
        self.settled.remove(key);
        Ok(())
    }

    fn check_previous(&self, c: &Running) -> Verdict {
        let want = self.previous.get(c.key);
        if c.previous.as_ref() == want || c.previous_bare || self.amnesty.contains(c.key) {
            Ok(())
        } else {
            Err(format!("{c}: previous is {:?}, not {want:?}", c.previous))
        }
    }

    /// A call ended and counts.
    pub(crate) fn ended(&mut self, c: &Running, end: End, time: u64) {
        let key = c.key;
        if end == End::Cancelled {
            self.credit(key, Credit::Interrupted);
            self.view.insert(key, View::Unknown);
            return;
        }
        self.wake.remove(key);
        self.hold.remove(key);
        self.parked.remove(key);
        if end.good() || end == End::Permanent {
            self.promised.remove(key);
        }
        match end {
            End::Requeue => {
                self.promised.insert(key, time + REQUEUE);
                self.wake.insert(key, time + REQUEUE);
            }
            End::Permanent => {
                self.parked.insert(key);
            }
            End::Done => {}
            // How long a backoff is, is the host's affair.
            _ => {
                self.wake.insert(key, time);
            }
        }
        if end == End::RetryAfter {
            self.hold.insert(key, time + AFTER);
        }
        if c.event == Event::Delete {
            if matches!(end, End::Done | End::Permanent) {
                self.touched.remove(&c.uid);
                self.deletes.remove(&c.uid);
                self.amnesty.remove(key);
                self.forget(key);
            }
            return;
        }
        self.handled.insert(key, c.revision);
        if !end.good() {
            self.view.insert(key, View::Unknown);
            return;
        }
        // A lazy handler: it does not look closer where nothing can have happened.
        let same = c.previous.as_ref().is_some_and(|previous| previous.spec == c.current.spec);
        if !(c.event == Event::Update && same && c.attempt == 1 && c.unmarked) {
            self.view.insert(key, View::Holds(c.current.spec));
        }
        self.amnesty.remove(key);
        self.previous.insert(key, c.current.clone());
        self.settled.insert(key, (c.current.uid, c.current.version));
    }

    /// Nothing happens any more: is every promise kept?
    pub(crate) fn check(&self, sub: &Sub, truth: &HashMap<Key, Obj>) -> Verdict {
        for o in truth.values().filter(|o| sub.matches(o)) {
            self.check_object(sub, o)?;
        }
        for (uid, key) in &self.touched {
            let here = truth.get(key).is_some_and(|o| o.uid == *uid && sub.matches(o));
            if sub.events.contains(Event::Delete) && !here {
                return Err(format!("{key} uid {uid}: delete is lost"));
            }
        }
        Ok(())
    }

    fn check_object(&self, sub: &Sub, o: &Obj) -> Verdict {
        let owed = self.credit.get(o.key).into_iter().flatten().find(|why| **why != Credit::Resync);
        if let Some(why) = owed.filter(|_| self.last.contains_key(o.key)) {
            return Err(format!("{o}: {why:?} was never answered"));
        }
        if self.parked.contains(o.key) {
            return Ok(());
        }
        if self.settled.get(o.key) != Some(&(o.uid, o.version)) {
            return Err(format!("{o} is lost, last was {:?}", self.last.get(o.key)));
        }
        let all = sub.wants_all_changes() && !sub.even;
        if let Some(view) = self.view.get(o.key).filter(|view| all && **view != View::Holds(o.spec)) {
            return Err(format!("{o} is lost: the plugin holds {view:?}"));
        }
        if self.promised.contains_key(o.key) {
            return Err(format!("{o}: requeue-after was never honoured"));
        }
        Ok(())
    }
}

fn restored<T: Copy>(now: &mut HashMap<Key, T>, safe: &HashMap<Key, T>, key: Key) {
    now.remove(key);
    now.extend(safe.get(key).map(|value| (key, *value)));
}

impl Sub {
    fn wants_all_changes(&self) -> bool {
        self.events.contains(Event::Add) && self.events.contains(Event::Update)
    }
}
