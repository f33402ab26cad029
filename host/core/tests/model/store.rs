//! What the plugins read: one set of objects, kept by two informers that number their slots
//! in their own ways and give a free one away again at once.

use std::collections::{BTreeMap, BTreeSet};

use wharf_core::ledger::{Here, Slot};

use crate::object::{Key, Obj};

pub(crate) const INFORMERS: usize = 2;

pub(crate) struct Store {
    objects: BTreeMap<Key, Obj>,
    informers: [Informer; INFORMERS],
}

struct Informer {
    slots: BTreeMap<Key, u32>,
    free: BTreeSet<u32>,
}

impl Store {
    pub(crate) fn new() -> Self {
        // More than there are keys; in two blocks of the ledger's arrays.
        let informer = || Informer { slots: BTreeMap::new(), free: (62..67).collect() };
        Self { objects: BTreeMap::new(), informers: [informer(), informer()] }
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Obj> {
        self.objects.get(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.objects.keys().copied()
    }

    /// A key, as one informer has it.
    pub(crate) fn here<'a>(&'a self, informer: usize, key: &'a Key) -> Here<'a, Key, Obj> {
        Here { key, slot: self.informers[informer].slot(informer, key), now: self.objects.get(key) }
    }

    /// All that one informer has.
    pub(crate) fn stored(&self, informer: usize) -> Vec<(Key, Slot, Obj)> {
        let all = self.objects.iter();
        all.filter_map(|(key, o)| Some((*key, self.informers[informer].slot(informer, key)?, o.clone()))).collect()
    }

    /// Changes a key. Returns what was there, and where it is or was.
    pub(crate) fn put(&mut self, key: Key, new: Option<Obj>) -> (Option<Obj>, [Option<Slot>; INFORMERS]) {
        for (n, informer) in self.informers.iter_mut().enumerate().filter(|_| new.is_some()) {
            let Informer { slots, free } = informer;
            slots.entry(key).or_insert_with(|| if n == 0 { free.pop_first() } else { free.pop_last() }.unwrap());
        }
        let places = [0, 1].map(|n| self.informers[n].slot(n, key));
        let gone = new.is_none();
        let old = self.objects.remove(key);
        self.objects.extend(new.map(|new| (key, new)));
        for informer in self.informers.iter_mut().filter(|_| gone) {
            informer.free.extend(informer.slots.remove(key));
        }
        (old, places)
    }
}

impl Informer {
    fn slot(&self, number: usize, key: Key) -> Option<Slot> {
        self.slots.get(key).map(|index| Slot { array: number as u32, index: *index })
    }
}
