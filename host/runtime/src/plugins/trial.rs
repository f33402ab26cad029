//! A revision on trial: how long, what it is compared with, and what becomes of it. Owns that time in which
//! the plugin is called for nothing proves nothing, and that a wish outlives the way back; stages nothing
//! (that is the task's).

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use wharf_core::Reason;

use super::bake::{Worse, worse};
use super::book::{Kept, Standing};
use super::desired::Refusal;
use super::task::{Goal, Task, rolled_back};
use crate::dispatch::Numbers;
use crate::telemetry::events::PluginWithdrawn;

/// How often the numbers of a revision that bakes are looked at; each strike is looked at at once.
const BAKE_LOOK: Duration = Duration::from_secs(1);

/// A revision that is compared with the one before.
pub(super) struct Bake {
    until: Instant,
    /// Since when it is called for nothing, if so.
    held: Option<Instant>,
    before: Numbers,
    /// What it had done when the trial began.
    from: Numbers,
    /// The one before was held back by its breaker: that this one is, too, is nothing new.
    troubled: bool,
}

impl Bake {
    pub(super) fn new(long: Duration, before: Numbers, from: Numbers) -> Self {
        Self { until: Instant::now() + long, held: None, before, from, troubled: false }
    }

    /// The one before was held back by its breaker, or not.
    pub(super) fn after(self, troubled: bool) -> Self {
        Self { troubled, ..self }
    }

    /// It is called for nothing from now on, or no longer.
    pub(super) fn hold(&mut self, held: bool) {
        match (self.held, held) {
            (None, true) => self.held = Some(Instant::now()),
            (Some(since), false) => {
                self.until += since.elapsed();
                self.held = None;
            }
            _ => {}
        }
    }
}

impl Task {
    /// How a revision that bakes has proved itself: worse in something, or not.
    pub(super) async fn baked(&self) -> Option<Worse> {
        let (Some(bake), Some(served)) = (&self.bake, &self.served) else { return None };
        loop {
            if let Some(worse) = worse(bake.before, served.tally.numbers() - bake.from) {
                return Some(worse);
            }
            let open = self.dispatcher.tripped().filter(|tripped| tripped.until.is_some());
            if let Some(open) = open.filter(|_| !bake.troubled && self.record.book().good().is_some()) {
                return Some(Worse::Breaker(open.reason));
            }
            tokio::select! {
                () = sleep_until(bake.until), if bake.held.is_none() => return None,
                () = served.tally.struck() => {}
                () = sleep(BAKE_LOOK) => {}
            }
        }
    }

    /// A revision has baked: it is good, or is withdrawn in favour of the last good one.
    pub(super) async fn judge(&mut self, verdict: Option<Worse>, goal: Option<Goal>) -> Option<Goal> {
        self.bake = None;
        let Some(number) = self.served.as_ref().map(|served| served.number) else { return goal };
        match (verdict, self.record.book().good().cloned()) {
            (None, _) => {
                self.record.judge(number, Standing::Good, "").await;
                self.rest();
                goal
            }
            (Some(worse), Some(good)) => Some(self.withdraw(number, good, &worse.to_string(), goal.as_ref()).await),
            // There is nothing to go back to.
            (Some(_), None) => goal,
        }
    }

    /// Withdraws the revision that serves, in favour of another one. What was to be staged meanwhile, or to be tried
    /// again, is afterwards.
    pub(super) async fn withdraw(&mut self, number: u64, to: Kept, why: &str, goal: Option<&Goal>) -> Goal {
        self.newer |= self.refused || matches!(goal, Some(Goal::Wish));
        self.bake = None;
        self.record.judge(number, Standing::Withdrawn, why).await;
        PluginWithdrawn { plugin: &self.label, number, back_to: to.number, why }.emit(&self.registry.shared.metrics);
        // That is not said of a newer wish.
        self.generation = self.served.as_ref().and_then(|served| served.generation);
        let refusal = self.record.book().numbered(number).map_or_else(|| Refusal::new(Reason::RolledBack, why), rolled_back);
        self.refuse(refusal);
        Goal::Before(to, Some(number))
    }

    /// What was withdrawn serves still, because the way back was not open, and an operator wants it: it is on trial again.
    pub(super) async fn try_once_more(&mut self) {
        let Some(served) = self.served.as_ref().filter(|_| self.standing() == Some(Standing::Withdrawn)) else { return };
        let (number, long, from) = (served.number, served.document.bake, served.tally.numbers());
        let standing = if long.is_zero() { Standing::Good } else { Standing::New };
        self.record.judge(number, standing, "").await;
        self.bake = (standing == Standing::New).then(|| Bake::new(long, self.record.book().measure.numbers(), from));
    }

    /// What became of the revision that serves.
    pub(super) fn standing(&self) -> Option<Standing> {
        let number = self.served.as_ref()?.number;
        self.record.book().numbered(number).map(|kept| kept.standing)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_it_is_held_does_not_count() {
        let long = Duration::from_secs(60);
        let mut bake = Bake::new(long, Numbers::default(), Numbers::default());
        bake.hold(false);
        advance(Duration::from_secs(10)).await;
        for _ in 0..2 {
            bake.hold(true);
            advance(Duration::from_secs(100)).await;
            bake.hold(true);
            advance(Duration::from_secs(100)).await;
            bake.hold(false);
        }
        assert_eq!(bake.until - Instant::now(), Duration::from_secs(50));
    }
}
