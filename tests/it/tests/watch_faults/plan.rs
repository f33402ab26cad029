//! What a run is made of, from its seed alone. Owns the dealing of faults: five seeds in a
//! row have every kind.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::fault::Fault;

/// So many runs go on at a time on one cluster, and share the restart of its API server.
pub(crate) const BATCH: u64 = 10;
/// So many runs in a row have every kind of fault that befalls a run.
pub(crate) const ALL_KINDS: u64 = 5;

/// Faults, and who comes and goes meanwhile.
pub(crate) type Phase = Vec<(Fault, Vec<Churn>)>;

/// What happens to handlers during a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Churn {
    /// One more comes.
    Late,
    /// One goes, or comes back.
    Again,
    /// The only one with a selector goes, and another one comes.
    Side,
    /// Some come for many other namespaces, or go.
    Crowd,
    /// One comes for the whole cluster, or goes.
    Wide,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) namespace: String,
    /// Before and after the restart of the API server.
    pub(crate) before: Phase,
    pub(crate) after: Phase,
    /// How the API server goes, if it does.
    pub(crate) restart: Option<Fault>,
    /// Is the API server without a watch cache in the first phase, or in the second?
    pub(crate) cacheless_first: bool,
    /// The server has no streaming lists.
    pub(crate) lists_only: bool,
    /// Every list is asked for in pages.
    pub(crate) paged: bool,
    /// Does client-go follow the same changes through the same proxy?
    pub(crate) side_by_side: bool,
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        // Not the generator of what happens at run time, which goes on by another count.
        let mut random = StdRng::seed_from_u64(!seed);
        let deck: Vec<Fault> = Fault::of_a_run().collect();
        let card = |at: u64| deck.iter().cycle().nth(usize::try_from(at % deck.len() as u64).unwrap_or_default()).copied();
        let cacheless_first = (seed / BATCH) % 2 == 1;
        let pair = [card(seed.wrapping_mul(2)), card(seed.wrapping_mul(2).wrapping_add(1))];
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (index, fault) in pair.into_iter().flatten().enumerate() {
            // Without a watch cache only, the end of etcd's history is the end of the watch's.
            let first = if fault == Fault::Compaction { cacheless_first } else { index == 0 };
            if first { before.push(fault) } else { after.push(fault) }
        }
        // One more, of those that need an open watch to take effect: so before the others, after
        // which an informer waits.
        let more = [Fault::CutMidway, Fault::Truncated, Fault::Slow];
        if let Some(fault) = more.get(random.random_range(0..more.len())) {
            if random.random_bool(0.5) { before.insert(0, *fault) } else { after.insert(0, *fault) }
        }
        let mut with_churn = |faults: Vec<Fault>| {
            let mut phase: Phase = faults.into_iter().map(|fault| (fault, Vec::new())).collect();
            let count = phase.len();
            let others = if seed.is_multiple_of(2) { Churn::Crowd } else { Churn::Wide };
            for churn in [Churn::Late, Churn::Again, Churn::Side, others] {
                let at = random.random_range(0..count.max(1));
                // Who moves to an informer that has just listed need not go on from an old version.
                let moved = |fault: Fault| fault == Fault::Compaction && churn == others;
                if let Some((_, changes)) = phase.get_mut(at).filter(|(fault, _)| !moved(*fault)) {
                    changes.push(churn);
                }
            }
            phase
        };
        let (before, after) = (with_churn(before), with_churn(after));
        Self {
            seed,
            namespace: format!("faults-{seed}"),
            before,
            after,
            restart: Some(if cacheless_first { Fault::Kill } else { Fault::Restart }),
            cacheless_first,
            lists_only: random.random_bool(0.5) || seed.is_multiple_of(ALL_KINDS),
            paged: random.random_bool(0.5),
            side_by_side: seed % ALL_KINDS == 2,
        }
    }

    /// Every kind of fault in it.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.before.iter().chain(&self.after).map(|(fault, _)| *fault).chain(self.restart)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn five_in_a_row_have_every_kind() {
        for first in [0, 5, 95, 1000] {
            let plans: Vec<_> = (first..first + ALL_KINDS).map(Plan::of).collect();
            let faults: BTreeSet<_> = plans.iter().flat_map(Plan::faults).collect();
            assert!(Fault::of_a_run().all(|fault| faults.contains(&fault)), "from {first}: {faults:?}");
            assert_eq!(plans.iter().filter(|plan| plan.side_by_side).count(), 1);
            assert!(plans.iter().any(|plan| plan.lists_only));
        }
    }

    #[test]
    fn compaction_comes_where_there_is_no_watch_cache() {
        for seed in 0..40 {
            let plan = Plan::of(seed);
            let cached = if plan.cacheless_first { &plan.after } else { &plan.before };
            assert!(cached.iter().all(|(fault, _)| *fault != Fault::Compaction), "{plan:?}");
            assert_eq!(format!("{plan:?}"), format!("{:?}", Plan::of(seed)));
        }
    }
}
