//! What was written to the cluster. Owns the choice of the next write and the books of all of
//! them; knows nothing of hosts.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use wharf_testkit::Target;

use crate::lab::Lab;

const OBJECTS: u64 = 12;
/// How long after a `requeue` the call is due.
pub(crate) const REQUEUE_MS: u64 = 700;

/// An object as it was written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) uid: String,
    pub(crate) version: String,
    pub(crate) word: String,
}

/// The writer of one run.
pub(crate) struct Books {
    random: StdRng,
    namespace: String,
    pub(crate) live: BTreeMap<String, Written>,
    /// Uids that were deleted.
    pub(crate) gone: BTreeSet<String>,
    pub(crate) writes: u64,
}

impl Books {
    pub(crate) fn new(seed: u64, namespace: &str) -> Self {
        let (random, namespace) = (StdRng::seed_from_u64(seed), namespace.to_owned());
        Self { random, namespace, live: BTreeMap::new(), gone: BTreeSet::new(), writes: 0 }
    }

    /// A random number.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.random.random_range(0..end)
    }

    /// Writes or deletes some object.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub(crate) async fn write(&mut self, lab: &Lab) -> Result<()> {
        let name = format!("object-{}", self.below(OBJECTS));
        self.writes += 1;
        if self.live.contains_key(&name) && self.below(4) == 0 {
            ensure!(lab.cluster.api().delete(&Target::config_map(&self.namespace, &name)).await?, "somebody else deleted {name}");
            self.gone.extend(self.live.remove(&name).map(|written| written.uid));
            return Ok(());
        }
        let word = match self.below(10) {
            0 => "permanent".to_owned(),
            1 => "retry:1".to_owned(),
            2 | 3 => format!("requeue:{REQUEUE_MS}"),
            _ => "done".to_owned(),
        };
        let (uid, version) = lab.write(&self.namespace, &name, &word, self.writes).await?;
        self.live.insert(name, Written { uid, version, word });
        Ok(())
    }
}
