//! A store in memory that can be made to fail, for tests.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use wharf_core::TargetKey;

use super::header::Header;
use super::key::{Part, encode_key};
use super::store::{Batch, Body, Saved, Store, StoreError, Usage};

#[derive(Default)]
pub(crate) struct MemoryStore {
    plugins: Mutex<BTreeMap<String, Kept>>,
    written: Mutex<Duration>,
    pub(crate) failing: AtomicBool,
    pub(crate) commits: AtomicU64,
}

#[derive(Default)]
struct Kept {
    header: Header,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    bodies: HashMap<TargetKey, Body>,
}

impl MemoryStore {
    fn usable(&self) -> Result<(), StoreError> {
        if self.failing.load(Ordering::SeqCst) { Err(StoreError("no space left on device".into())) } else { Ok(()) }
    }
}

impl Store for MemoryStore {
    fn load(&self, plugin: &str) -> Result<Option<Saved>, StoreError> {
        let written = *self.written.lock();
        let records = |kept: &Kept| kept.records.iter().map(|(key, record)| (key.clone(), record.clone())).collect();
        let plugins = self.plugins.lock();
        Ok(plugins.get(plugin).map(|kept| Saved { header: kept.header.clone(), written, records: records(kept) }))
    }

    fn bodies(&self, plugin: &str, keys: &[TargetKey]) -> Result<HashMap<TargetKey, Body>, StoreError> {
        let plugins = self.plugins.lock();
        let Some(kept) = plugins.get(plugin) else { return Ok(HashMap::new()) };
        Ok(keys.iter().filter_map(|key| Some((key.clone(), kept.bodies.get(key)?.clone()))).collect())
    }

    fn commit(&self, batches: &[Batch], now: Duration) -> Result<Usage, StoreError> {
        self.usable()?;
        self.commits.fetch_add(1, Ordering::SeqCst);
        *self.written.lock() = now;
        let mut plugins = self.plugins.lock();
        for batch in batches {
            let kept = plugins.entry(batch.plugin.to_string()).or_default();
            if let Some(header) = &batch.header {
                kept.header = header.clone();
            }
            for change in &batch.changes {
                let key = encode_key(&change.key, change.part).unwrap();
                match &change.record {
                    Some(record) => {
                        kept.records.insert(key, record.clone());
                        kept.bodies.extend(change.body.clone().map(|body| (change.key.clone(), body)));
                    }
                    None => {
                        kept.records.remove(&key);
                        if change.part == Part::Target {
                            kept.bodies.remove(&change.key);
                        }
                    }
                }
            }
        }
        Ok(Usage { keys: plugins.values().map(|kept| kept.records.len() as u64).sum(), ..Usage::default() })
    }

    fn plugins(&self) -> Result<Vec<(String, Header)>, StoreError> {
        Ok(self.plugins.lock().iter().map(|(name, kept)| (name.clone(), kept.header.clone())).collect())
    }

    fn forget(&self, plugin: &str) -> Result<Usage, StoreError> {
        self.usable()?;
        self.plugins.lock().remove(plugin);
        Ok(Usage::default())
    }
}
