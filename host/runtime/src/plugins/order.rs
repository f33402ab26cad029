//! What operators ask of a plugin: the way to its task and back, and what the task makes of it. Owns
//! that every question is answered; exchanges no revision itself.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::book::Book;
use super::desired::Refusal;
use super::registry::Registry;
use super::task::{Goal, Task};
use crate::telemetry::events::PluginHeld;

/// A task that does not answer for so long is exchanging a revision.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an operator asks of a plugin.
#[derive(Debug)]
pub struct Order {
    /// What.
    pub what: Ordered,
    /// What has become of it, in words; an error says why nothing has.
    pub answer: oneshot::Sender<Result<String, Refusal>>,
}

/// What an operator can ask of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// Stage the wish again, also one that was withdrawn.
    Reload,
    /// Go back to the revision of this number, or to the last good one before that which serves.
    Rollback(Option<u64>),
    /// Tell it of nothing.
    Pause,
    /// Tell it of what has happened.
    Resume,
}

impl Registry {
    /// Asks something of a plugin; `None` if there is no such plugin.
    pub async fn order(&self, name: &PluginName, what: Ordered) -> Option<Result<String, Refusal>> {
        let orders = self.plugins.lock().get(name)?.orders.clone();
        let (answer, answered) = oneshot::channel();
        let asked = async {
            orders.send(Order { what, answer }).await.ok()?;
            answered.await.ok()
        };
        let busy = || Err(Refusal::new(Reason::Other, "it is busy with another revision; ask again"));
        Some(timeout(PATIENCE, asked).await.ok().flatten().unwrap_or_else(busy))
    }

    /// The revisions of a plugin that are kept; `None` if there is no such plugin.
    pub async fn history(&self, name: &PluginName) -> Option<Result<Book, Refusal>> {
        if !self.plugins.lock().contains_key(name) {
            return None;
        }
        let (Some(revisions), name) = (self.revisions.clone(), name.clone()) else { return Some(Ok(Book::default())) };
        let read = tokio::task::spawn_blocking(move || revisions.load(&name)).await;
        let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        Some(read.map_err(|error| Refusal::new(Reason::RevisionsUnusable, error.to_string())))
    }
}

impl Task {
    /// Does what an operator asks.
    pub(super) async fn obey(&mut self, order: Order, goal: Option<Goal>) -> Option<Goal> {
        let Order { what, answer } = order;
        // Whoever asked was told that nothing has become of it.
        if answer.is_closed() {
            return goal;
        }
        let (said, next) = match what {
            Ordered::Reload => {
                self.forgiven = true;
                self.dispatcher.try_now();
                (Ok("is loaded again".to_owned()), Some(Goal::Wish))
            }
            Ordered::Rollback(to) => match self.rollback(to, goal.as_ref()).await {
                Ok((text, next)) => (Ok(text), Some(next)),
                Err(refusal) => (Err(refusal), goal),
            },
            Ordered::Pause | Ordered::Resume => {
                let paused = what == Ordered::Pause;
                let changed = self.record.pause(paused).await;
                if changed {
                    PluginHeld { plugin: &self.label, how: if paused { "plugin paused" } else { "plugin resumed" } }.emit();
                }
                self.hold();
                let lost =
                    if changed && self.record.failing() { "; it cannot be written down, so the next host will not know" } else { "" };
                let suspended = if self.record.book().suspended { "; its document suspends it" } else { "" };
                let said = match (paused, changed) {
                    (true, true) => "paused",
                    (true, false) => "is paused already",
                    (false, true) => "resumed",
                    (false, false) => "was not paused",
                };
                (Ok(format!("{said}{suspended}{lost}")), goal)
            }
        };
        // Whoever asked may have gone.
        let _heard = answer.send(said);
        next
    }

    async fn rollback(&mut self, to: Option<u64>, goal: Option<&Goal>) -> Result<(String, Goal), Refusal> {
        let refuse =
            |message: String| Refusal { hint: "`wharf history` lists the revisions".into(), ..Refusal::new(Reason::RolledBack, message) };
        let serving = self.served.as_ref().map(|served| served.number);
        let Some(number) = serving else { return Err(refuse("no revision serves".into())) };
        let book = self.record.book();
        let target = match to {
            Some(to) if to == number => return Err(refuse(format!("revision {to} serves already"))),
            Some(to) => book.numbered(to).cloned().ok_or_else(|| refuse(format!("revision {to} is not kept")))?,
            None => book.before(number).cloned().ok_or_else(|| refuse("there is no revision before it".into()))?,
        };
        let why = format!("an operator went back to revision {}", target.number);
        let said = format!("goes back from revision {number} to {}", target.number);
        Ok((said, self.withdraw(number, target, &why, goal).await))
    }
}
