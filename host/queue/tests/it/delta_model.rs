//! The DeltaFIFO against a naive model, over random histories: lists instead of sets, sums
//! instead of counters, milliseconds instead of instants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use wharf_queue::{DELTA_OVERHEAD, Deletion, Delta, DeltaFifo, DeltaOptions, FifoError, KnownObjects, Popped};

/// Key and value.
type Object = (u8, u32);
type D = Delta<Object>;

#[derive(Clone, Debug)]
enum Op {
    Add(u8),
    Update(u8),
    Delete(u8),
    Unseen(u8, bool),
    Replace(Vec<u8>),
    Resync,
    Pop,
    PopOldest(u8),
    TakeNext(usize),
    UpdateEvicting(u8),
    Evict(u8),
    Complete(usize),
    Done(usize),
    Retry(usize, u64),
    Advance(u64),
    Clear,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..5u8;
    prop_oneof![
        6 => key.clone().prop_map(Op::Add),
        6 => key.clone().prop_map(Op::Update),
        6 => key.clone().prop_map(Op::Delete),
        3 => (key.clone(), any::<bool>()).prop_map(|(key, object)| Op::Unseen(key, object)),
        4 => prop::collection::vec(key.clone(), 0..5).prop_map(Op::Replace),
        3 => Just(Op::Resync),
        12 => Just(Op::Pop),
        8 => key.clone().prop_map(Op::PopOldest),
        6 => any::<usize>().prop_map(Op::TakeNext),
        8 => key.clone().prop_map(Op::UpdateEvicting),
        2 => key.prop_map(Op::Evict),
        3 => any::<usize>().prop_map(Op::Complete),
        6 => any::<usize>().prop_map(Op::Done),
        3 => (any::<usize>(), prop_oneof![Just(0), 1..40u64]).prop_map(|(index, ms)| Op::Retry(index, ms)),
        3 => (1..30u64).prop_map(Op::Advance),
        1 => Just(Op::Clear),
        1 => Just(Op::Close),
    ]
}

/// What was handed out and done with.
#[derive(Default)]
struct Known(Mutex<BTreeMap<u8, u32>>);

impl Known {
    fn apply(&self, delta: &D) {
        match delta {
            Delta::Deleted(deletion) => {
                if let Some((key, _)) = deletion.object() {
                    self.0.lock().remove(key);
                }
            }
            other => drop(other.object().map(|(key, value)| self.0.lock().insert(*key, *value))),
        }
    }
}

impl KnownObjects<u8, Object> for Known {
    fn keys(&self) -> Vec<u8> {
        self.0.lock().keys().copied().collect()
    }
    fn get(&self, key: &u8) -> Option<Object> {
        self.0.lock().get(key).map(|value| (*key, *value))
    }
}

struct Work {
    key: u8,
    deltas: Vec<D>,
    initial: usize,
    newest: Option<Object>,
    stale: bool,
}

struct Model {
    known: Option<Arc<Known>>,
    limit: usize,
    now: u64,
    /// Keys in order of first queueing, those in work included.
    queue: Vec<(u8, Vec<D>)>,
    /// Keys and deltas that wait, and until when.
    waiting: Vec<(u64, u8, Vec<D>)>,
    work: Vec<Work>,
    populated: bool,
    initial: usize,
    overflowed: bool,
    closed: bool,
}

fn cost(delta: &D) -> usize {
    delta.object().map_or(0, size) + DELTA_OVERHEAD
}

fn size(object: &Object) -> usize {
    object.1 as usize % 50
}

fn last_object(deltas: &[D]) -> Option<Object> {
    deltas.last().and_then(|delta| delta.object().copied())
}

fn present(deltas: &[D]) -> Option<Object> {
    deltas.last().filter(|last| !matches!(last, Delta::Deleted(_))).and_then(|last| last.object().copied())
}

fn append(deltas: &mut Vec<D>, delta: D) {
    let says = |delta: &D| match delta {
        Delta::Deleted(Deletion::Seen(_)) => 3,
        Delta::Deleted(Deletion::FinalStateUnknown(Some(_))) => 2,
        Delta::Deleted(Deletion::FinalStateUnknown(None)) => 1,
        _ => 0,
    };
    match deltas.last().map(says) {
        Some(before) if before > 0 && says(&delta) > 0 => {
            if says(&delta) > before || says(&delta) == 3 {
                deltas.pop();
                deltas.push(delta);
            }
        }
        _ => deltas.push(delta),
    }
}

impl Model {
    fn bytes(&self) -> usize {
        let queued = self.queue.iter().flat_map(|(_, deltas)| deltas).chain(self.waiting.iter().flat_map(|(_, _, deltas)| deltas));
        queued.chain(self.work.iter().flat_map(|work| &work.deltas)).map(cost).sum()
    }

    fn queued(&mut self, key: u8) -> Option<&mut Vec<D>> {
        let waiting = self.waiting.iter_mut().map(|(_, key, deltas)| (key, deltas));
        self.queue.iter_mut().map(|(key, deltas)| (key, deltas)).chain(waiting).find(|(other, _)| **other == key).map(|(_, deltas)| deltas)
    }

    fn known(&self) -> Vec<Object> {
        self.known.as_ref().map_or(Vec::new(), |known| known.0.lock().iter().map(|(key, value)| (*key, *value)).collect())
    }

    /// True if all were queued.
    fn push(&mut self, all: Vec<(u8, D)>, overflows: bool) -> bool {
        let sum: usize = all.iter().map(|(_, delta)| cost(delta)).sum();
        if !all.is_empty() && (self.overflowed || self.bytes() + sum > self.limit) {
            self.overflowed |= overflows;
            return false;
        }
        for (key, delta) in all {
            match self.queued(key) {
                Some(deltas) => append(deltas, delta),
                None => self.queue.push((key, vec![delta])),
            }
        }
        true
    }

    fn change(&mut self, key: u8, delta: D) -> bool {
        self.populated = true;
        self.push(vec![(key, delta)], true)
    }

    fn delete(&mut self, key: u8, deletion: Deletion<Object>) -> bool {
        self.populated = true;
        let working = self.work.iter().find(|work| work.key == key);
        let present = match working {
            Some(work) => self.queue.iter().any(|(other, _)| *other == key) || work.newest.is_some(),
            None => self.queued(key).is_some() || self.known().iter().any(|(other, _)| *other == key),
        };
        !present || self.push(vec![(key, Delta::Deleted(deletion))], true)
    }

    fn replace(&mut self, objects: &[Object]) -> bool {
        let listed = |key: u8| objects.iter().any(|(other, _)| *other == key);
        let mut gone: Vec<(u8, Option<Object>)> = self.queue.iter().map(|(key, deltas)| (*key, last_object(deltas))).collect();
        gone.extend(self.waiting.iter().map(|(_, key, deltas)| (*key, last_object(deltas))));
        let working = self.work.iter().filter(|work| work.newest.is_some()).map(|work| (work.key, work.newest));
        let known = self.known().into_iter().filter(|(key, _)| self.work.iter().all(|work| work.key != *key));
        for (key, last) in working.chain(known.map(|object| (object.0, Some(object)))).collect::<Vec<_>>() {
            if gone.iter().all(|(other, _)| *other != key) {
                gone.push((key, last));
            }
        }
        gone.retain(|(key, _)| !listed(*key));
        let mut distinct: Vec<u8> = objects.iter().map(|(key, _)| *key).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let first = distinct.len() + gone.len();
        let mut all: Vec<_> = objects.iter().map(|object| (object.0, Delta::Replaced(*object))).collect();
        all.extend(gone.into_iter().map(|(key, last)| (key, Delta::Deleted(Deletion::FinalStateUnknown(last)))));
        let fits = self.push(all, true);
        if fits && !self.populated {
            self.populated = true;
            self.initial = first;
        }
        fits
    }

    fn resync(&mut self) -> bool {
        let mut all = self.known();
        all.retain(|(key, _)| self.queued(*key).is_none() && self.work.iter().all(|work| work.key != *key));
        self.push(all.into_iter().map(|object| (object.0, Delta::Sync(object))).collect(), false)
    }

    /// Key, deltas, whether the initial list is still going on.
    fn pop(&mut self) -> Option<(u8, Vec<D>, bool)> {
        let place = self.queue.iter().position(|(key, _)| self.work.iter().all(|work| work.key != *key))?;
        let (key, deltas) = self.queue.remove(place);
        let (going_on, initial) = (!self.populated || self.initial > 0, usize::from(self.initial > 0));
        self.initial -= initial;
        self.work.push(Work { key, deltas: deltas.clone(), initial, newest: present(&deltas), stale: false });
        Some((key, deltas, going_on))
    }

    /// The oldest delta of a key, and whether it was the last one of one of the initial list.
    fn oldest(&mut self, key: u8) -> Option<(D, usize)> {
        let place = self.queue.iter().position(|(other, _)| *other == key)?;
        let oldest = self.queue[place].1.remove(0);
        let last = self.queue[place].1.is_empty();
        if last {
            self.queue.remove(place);
        }
        let initial = usize::from(last && self.initial > 0);
        self.initial -= initial;
        Some((oldest, initial))
    }

    fn pop_oldest(&mut self, key: u8) -> Option<(u8, Vec<D>, bool)> {
        if self.work.iter().any(|work| work.key == key) {
            return None;
        }
        let going_on = !self.populated || self.initial > 0;
        let (oldest, initial) = self.oldest(key)?;
        let deltas = vec![oldest];
        self.work.push(Work { key, deltas: deltas.clone(), initial, newest: present(&deltas), stale: false });
        Some((key, deltas, going_on))
    }

    fn take_next(&mut self, index: usize) -> bool {
        if self.work[index].deltas.is_empty()
            && let Some((oldest, initial)) = self.oldest(self.work[index].key)
        {
            let work = &mut self.work[index];
            work.deltas.push(oldest);
            (work.newest, work.stale, work.initial) = (present(&work.deltas), false, work.initial + initial);
        }
        !self.work[index].deltas.is_empty()
    }

    /// Returns how many deltas of the key were dropped.
    fn evict(&mut self, key: u8) -> Option<usize> {
        let dropped = self.queued(key)?.len();
        self.queue.retain(|(other, _)| *other != key);
        self.waiting.retain(|(_, other, _)| *other != key);
        self.initial = self.initial.saturating_sub(1);
        Some(dropped)
    }

    /// Like `change`, but of the keys that have the most, those that `evicted` says make room. Of equals
    /// it may be any. Says what is wrong with that.
    fn change_evicting(&mut self, key: u8, delta: D, evicted: &[(u8, usize)]) -> Result<(), &'static str> {
        self.populated = true;
        let in_work: usize = self.work.iter().flat_map(|work| &work.deltas).map(cost).sum();
        if in_work + cost(&delta) > self.limit {
            return if evicted == [(key, 1)] { Ok(()) } else { Err("there is no room at all") };
        }
        for (other, count) in evicted {
            let sizes = self.queue.iter().map(|(key, deltas)| (*key, deltas));
            let sizes = sizes.chain(self.waiting.iter().map(|(_, key, deltas)| (*key, deltas)));
            let sizes: BTreeMap<u8, usize> = sizes.map(|(key, deltas)| (key, deltas.iter().map(cost).sum())).collect();
            if self.bytes() + cost(&delta) <= self.limit {
                return Err("there was room");
            }
            if sizes.get(other) != sizes.values().max() {
                return Err("another key has more");
            }
            if self.evict(*other) != Some(*count) {
                return Err("it had more or less");
            }
        }
        if self.push(vec![(key, delta)], true) { Ok(()) } else { Err("there is no room") }
    }

    fn release(&mut self, index: usize, ms: u64) {
        let mut work = self.work.remove(index);
        if work.stale || (self.closed && ms > 0) {
            work.deltas.clear();
        }
        if work.deltas.is_empty() {
            return;
        }
        let place = self.queue.iter().position(|(key, _)| *key == work.key);
        let newer = place.map(|place| std::mem::take(&mut self.queue[place].1)).unwrap_or_default();
        for delta in newer {
            append(&mut work.deltas, delta);
        }
        match (place, ms) {
            (Some(place), 0) => self.queue[place].1 = work.deltas,
            (None, 0) => self.queue.push((work.key, work.deltas)),
            (place, ms) => {
                place.map(|place| self.queue.remove(place));
                self.waiting.push((self.now + ms, work.key, work.deltas));
            }
        }
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
        self.waiting.sort_by_key(|(due, ..)| *due);
        let due = self.waiting.iter().take_while(|(due, ..)| *due <= self.now).count();
        self.queue.extend(self.waiting.drain(..due).map(|(_, key, deltas)| (key, deltas)));
    }

    fn clear(&mut self) -> usize {
        let dropped = self.queue.iter().map(|(_, deltas)| deltas.len()).sum::<usize>();
        let waited = self.waiting.iter().map(|(.., deltas)| deltas.len()).sum::<usize>();
        self.queue.clear();
        self.waiting.clear();
        self.work.iter_mut().for_each(|work| work.stale = true);
        (self.overflowed, self.populated, self.initial) = (false, false, 0);
        dropped + waited
    }

    fn close(&mut self) -> usize {
        self.closed = true;
        self.waiting.drain(..).map(|(.., deltas)| deltas.len()).sum()
    }

    fn has_synced(&self) -> bool {
        self.populated && self.initial == 0 && self.work.iter().all(|work| work.initial == 0)
    }
}

fn taken(result: Result<(), FifoError<u8>>) -> Option<bool> {
    match result {
        Ok(()) => Some(true),
        Err(FifoError::Full(_)) => Some(false),
        Err(FifoError::Closed) => None,
        Err(FifoError::Transform { .. }) => panic!("there is no transformer"),
    }
}

async fn compare(ops: Vec<Op>, limit: usize, knows: bool) -> Result<(), TestCaseError> {
    let known = knows.then(|| Arc::new(Known::default()));
    let mut options = DeltaOptions::new(limit, |object: &Object| object.0, size);
    if let Some(known) = &known {
        options = options.known_objects(known.clone());
    }
    let queue: DeltaFifo<u8, Object> = options.build();
    let mut model = Model {
        known: known.clone(),
        limit,
        now: 0,
        queue: Vec::new(),
        waiting: Vec::new(),
        work: Vec::new(),
        populated: false,
        initial: 0,
        overflowed: false,
        closed: false,
    };
    let mut work: Vec<Popped<u8, Object>> = Vec::new();
    for (value, op) in (1..).zip(ops) {
        let at = |index: usize| index % work.len().max(1);
        let open = |model: &mut Model, act: &dyn Fn(&mut Model) -> bool| (!model.closed).then(|| act(model));
        match op {
            Op::Add(key) => {
                prop_assert_eq!(taken(queue.add((key, value))), open(&mut model, &|m| m.change(key, Delta::Added((key, value)))))
            }
            Op::Update(key) => {
                prop_assert_eq!(taken(queue.update((key, value))), open(&mut model, &|m| m.change(key, Delta::Updated((key, value)))));
            }
            Op::Delete(key) => {
                prop_assert_eq!(taken(queue.delete((key, value))), open(&mut model, &|m| m.delete(key, Deletion::Seen((key, value)))))
            }
            Op::Unseen(key, with) => {
                let last = with.then_some((key, value));
                let want = open(&mut model, &|m| m.delete(key, Deletion::FinalStateUnknown(last)));
                prop_assert_eq!(taken(queue.delete_unseen(key, last)), want);
            }
            Op::Replace(keys) => {
                let objects: Vec<Object> = keys.iter().map(|key| (*key, value)).collect();
                prop_assert_eq!(taken(queue.replace(objects.clone())), open(&mut model, &|m| m.replace(&objects)));
            }
            Op::Resync => prop_assert_eq!(taken(queue.resync()), if knows { open(&mut model, &Model::resync) } else { Some(true) }),
            Op::Pop => {
                let got = queue.try_pop();
                let seen = got.as_ref().map(|popped| (*popped.key(), popped.deltas().cloned().collect(), popped.in_initial_list()));
                prop_assert_eq!(seen, model.pop());
                work.extend(got);
            }
            Op::PopOldest(key) => {
                let got = queue.try_pop_oldest(&key);
                let seen = got.as_ref().map(|popped| (*popped.key(), popped.deltas().cloned().collect(), popped.in_initial_list()));
                prop_assert_eq!(seen, model.pop_oldest(key));
                work.extend(got);
            }
            Op::TakeNext(index) if !work.is_empty() => {
                let index = at(index);
                prop_assert_eq!(work[index].take_next(), model.take_next(index));
            }
            Op::UpdateEvicting(key) => match queue.update_evicting((key, value)) {
                Ok(evicted) => {
                    let evicted: Vec<_> = evicted.iter().map(|evicted| (*evicted.key(), evicted.deltas().len())).collect();
                    prop_assert!(!model.closed && !model.overflowed);
                    prop_assert_eq!(model.change_evicting(key, Delta::Updated((key, value)), &evicted), Ok(()), "{:?}", evicted);
                }
                Err(FifoError::Closed) => prop_assert!(model.closed),
                Err(_) => {
                    prop_assert!(model.overflowed);
                    model.populated = true;
                }
            },
            Op::Evict(key) => prop_assert_eq!(queue.evict(&key).map(|evicted| evicted.deltas().len()), model.evict(key)),
            Op::Complete(index) if !work.is_empty() => {
                let index = at(index);
                let delta = work[index].complete_oldest();
                let deltas = &mut model.work[index].deltas;
                let want = (!deltas.is_empty()).then(|| deltas.remove(0));
                prop_assert_eq!(&delta, &want);
                if let (Some(known), Some(delta)) = (&known, &delta) {
                    known.apply(delta);
                }
            }
            Op::Done(index) if !work.is_empty() => {
                let index = at(index);
                if let Some(known) = &known {
                    work[index].deltas().for_each(|delta| known.apply(delta));
                }
                work.remove(index).done();
                model.work[index].deltas.clear();
                model.release(index, 0);
            }
            Op::Retry(index, ms) if !work.is_empty() => {
                let index = at(index);
                work.remove(index).retry_after(Duration::from_millis(ms));
                model.release(index, ms);
            }
            Op::Complete(_) | Op::Done(_) | Op::Retry(..) | Op::TakeNext(_) => {}
            Op::Advance(ms) => {
                tokio::time::advance(Duration::from_millis(ms)).await;
                model.advance(ms);
            }
            Op::Clear => prop_assert_eq!(queue.clear(), model.clear()),
            Op::Close => prop_assert_eq!(queue.close(), model.close()),
        }
        prop_assert_eq!(queue.keys(), model.queue.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        prop_assert_eq!((queue.bytes(), queue.len()), (model.bytes(), model.queue.len() + model.waiting.len()));
        prop_assert!(queue.bytes() <= limit);
        prop_assert_eq!((queue.has_synced(), queue.overflowed()), (model.has_synced(), model.overflowed));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_delta_fifo_does_what_the_model_does(
        ops in prop::collection::vec(op(), 1..100),
        limit in prop_oneof![Just(1 << 20), 200..3_000usize],
        knows: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(compare(ops, limit, knows))?;
    }
}
