//! The calls of a plugin that have failed one after the other. Owns when they are so many that the plugin is
//! in trouble as a whole; which keys fail, and what follows for each, is the ledger's.
//!
//! One key that fails again and again beside others that do not is no trouble of the plugin. So either several
//! keys must have begun to fail without a success between, or all keys that there are fail.

use parking_lot::Mutex;
use wharf_core::ledger::Finished;
use wharf_core::plugin::PluginName;
use wharf_core::printable;

use super::tally::Ended;

/// Fewer calls may fail by chance.
pub(super) const CALLS: u64 = 5;
/// So many keys that begin to fail stand for all.
pub(super) const KEYS: u64 = 3;
/// Bytes of a reason, which a guest may have chosen.
const MAX_REASON: usize = 64;

/// Counts the calls since the last success.
#[derive(Debug, Default)]
pub(super) struct Streak(Mutex<Run>);

#[derive(Debug, Default)]
struct Run {
    failed: u64,
    /// Those of them that were the first of their key to fail.
    keys: u64,
    noted: InVain,
}

/// So many calls in a row, and perhaps a few more, have failed. Changes seldom: the number is a round one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InVain {
    /// The number.
    pub calls: u64,
    /// How the last of them ended.
    pub reason: String,
}

impl InVain {
    /// What that means, for people.
    pub fn message(&self, plugin: &PluginName) -> String {
        let Self { calls, reason } = self;
        format!("at least {calls} calls in a row have failed, the last of them with {reason}; `wharf get failures {plugin}` shows them")
    }
}

impl Streak {
    /// A call of a key has ended.
    pub(super) fn count(&self, finished: &Finished, attempt: u32) {
        let mut run = self.0.lock();
        match Ended::from(finished) {
            Ended::Excused => {}
            Ended::Well if run.failed == 0 => {}
            Ended::Well => *run = Run::default(),
            Ended::Failed | Ended::Struck => {
                run.failed = run.failed.saturating_add(1);
                run.keys = run.keys.saturating_add(u64::from(attempt <= 1));
                if is_round(run.failed) {
                    run.noted = InVain { calls: run.failed, reason: reason(finished) };
                }
            }
        }
    }

    /// Are the plugin's calls in vain, given how many of its keys fail?
    pub(super) fn in_vain(&self, failing: usize, all: usize) -> Option<InVain> {
        let run = self.0.lock();
        (run.failed >= CALLS && (run.keys >= KEYS || failing >= all)).then(|| run.noted.clone())
    }
}

/// 5, 10, 20, 50, 100 and so on.
fn is_round(calls: u64) -> bool {
    let mut lead = calls;
    while lead >= 10 && lead.is_multiple_of(10) {
        lead /= 10;
    }
    calls >= CALLS && matches!(lead, 1 | 2 | 5)
}

fn reason(finished: &Finished) -> String {
    match finished {
        Finished::Retry(fault) | Finished::Permanent(fault) => {
            let reason = printable(&fault.reason);
            reason.get(..reason.floor_char_boundary(MAX_REASON)).unwrap_or_default().to_owned()
        }
        Finished::Strike(strike) => strike.reason.to_string(),
        Finished::Waiting { reason, .. } => reason.to_string(),
        Finished::Done | Finished::RequeueAfter(_) | Finished::Cancelled => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use wharf_core::{Fault, Reason, Strike};

    use super::*;

    fn retry(reason: &str) -> Finished {
        Finished::Retry(Fault { reason: reason.into(), message: String::new(), retry_after: None })
    }

    fn waiting() -> Finished {
        Finished::Waiting { reason: Reason::ServerUnavailable, message: String::new() }
    }

    #[test]
    fn keys_that_begin_to_fail_stand_for_all() {
        let streak = Streak::default();
        for attempt in [1, 1, 2, 1] {
            streak.count(&retry("A"), attempt);
            assert_eq!(streak.in_vain(3, 1000), None, "too few calls");
        }
        streak.count(&waiting(), 1);
        assert_eq!(streak.in_vain(3, 1000), None, "nobody's fault");
        streak.count(&Finished::Strike(Strike { reason: Reason::Trap, message: String::new() }), 2);
        let five = InVain { calls: 5, reason: "Trap".into() };
        assert_eq!(streak.in_vain(3, 1000), Some(five.clone()));
        (0..4).for_each(|_| streak.count(&retry("B"), 3));
        assert_eq!(streak.in_vain(3, 1000), Some(five), "it does not change with each call");
        streak.count(&retry("B\n"), 3);
        assert_eq!(streak.in_vain(3, 1000), Some(InVain { calls: 10, reason: "B\\n".into() }));
        streak.count(&Finished::Done, 4);
        assert_eq!(streak.in_vain(2, 1000), None);
    }

    #[test]
    fn one_key_beside_others_is_no_trouble_of_the_plugin() {
        let streak = Streak::default();
        (1..100).for_each(|attempt| streak.count(&retry("A"), attempt));
        assert_eq!(streak.in_vain(1, 2), None);
        assert_eq!(streak.in_vain(1, 1).map(|vain| vain.calls), Some(50), "it is all that there is");
        // Two keys that go on failing between the successes of others.
        let streak = Streak::default();
        for attempt in 1..100 {
            streak.count(&retry("A"), attempt);
            streak.count(&retry("A"), attempt);
            assert_eq!(streak.in_vain(2, 3), None);
            if attempt % 9 == 0 {
                streak.count(&Finished::Done, 1);
            }
        }
    }

    #[test]
    fn round_numbers() {
        let round: Vec<u64> = (0..=2000).filter(|calls| is_round(*calls)).collect();
        assert_eq!(round, [5, 10, 20, 50, 100, 200, 500, 1000, 2000]);
    }
}
