//! What of a plugin survives a crash: the bytes that its ledger's records make, some bodies,
//! and under which subscription and revision they were written.

use std::collections::{BTreeMap, HashMap, HashSet};

use wharf_core::ledger::{Here, Kept, Record};

use crate::broken::Guarded;
use crate::object::{Key, Obj};
use crate::store::Store;
use crate::witness::Verdict;

#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    pub(crate) records: BTreeMap<Key, Vec<u8>>,
    /// The last state of a key that was kept whole; may be older than its record.
    pub(crate) bodies: HashMap<Key, Obj>,
    pub(crate) labels: &'static str,
    pub(crate) revision: u64,
}

impl Disk {
    /// Writes down what changed.
    pub(crate) fn flush(&mut self, ledger: &Guarded, dirty: HashSet<Key>, store: &Store, informer: usize, bodies: bool) -> Verdict {
        for key in dirty {
            let here: Here<'_, Key, Obj> = store.here(informer, &key);
            match ledger.real().record(here) {
                Kept::Record(record) => {
                    let mut bytes = Vec::new();
                    record.encode(&mut bytes);
                    if Record::decode(&bytes).as_ref().is_none_or(|read| !same(read, &record)) {
                        return Err(format!("{key}: {record:?} is not what is read back"));
                    }
                    self.records.insert(key, bytes);
                    // Bodies are written when there is time for it.
                    let last = ledger.real().last_state(here).filter(|last| bodies && !last.bare && last.version % 3 != 0);
                    self.bodies.extend(last.map(|last| (key, last.clone())));
                }
                Kept::Nothing => {
                    self.records.remove(key);
                    self.bodies.remove(key);
                }
                Kept::Later => return Err(format!("{key}: a change was not observed")),
            }
        }
        Ok(())
    }
}

/// What a running call has seen of the marks is not written.
fn same(read: &Record<'_>, written: &Record<'_>) -> bool {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    read.encode(&mut one);
    written.encode(&mut other);
    one == other
}
