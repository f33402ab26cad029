//! The task of one plugin: from what is wished to what serves.
//!
//! Owns the only place where a revision is exchanged, and what becomes of it afterwards: it is
//! compared with the one before, and withdrawn if it is worse. Of several wishes it works on the
//! latest. Whatever fails on the way changes nothing that serves; where nothing serves yet, the last
//! revision that was good does.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;
use wharf_core::plugin::{PluginDocument, PluginName};
use wharf_engine::ApiError;

use super::account::{self, Account};
use super::book::{Kept, Standing};
use super::desired::{Desired, Refusal, Wish};
use super::identity::identity;
use super::order::Order;
use super::progress::{Progress, Step};
use super::record::Record;
use super::registry::{PluginState, Registry, Status};
use super::stage::{Loaded, Staged};
use super::trial::Bake;
use crate::dispatch::{Dispatcher, Numbers, Replaying, Serving, Subscribed, Tally};
use crate::telemetry::events::{PluginHeld, PluginRefused, PluginServing};

/// Staging that was refused is tried again after this time: a missing kind's rights or an
/// unreachable server may have changed without the plugin's file changing.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What the task is about to do.
pub(super) enum Goal {
    /// What is wished.
    Wish,
    /// A revision of before; in place of the one with the number, which was withdrawn.
    Before(Kept, Option<u64>),
}

/// What came of that.
enum Reached {
    /// It was told to be still.
    Suspended,
    /// It serves already.
    Serves(String),
    /// It can serve.
    Ready(Box<Ready>),
    /// It could serve, and this host leads now: what the one before has decided is to be read first.
    Leads(Arc<Subscribed>),
    /// It waits for a server that refuses it something, and something else may serve meanwhile.
    Waits(Refusal),
}

/// A revision that can serve at once.
struct Ready {
    document: Arc<PluginDocument>,
    loaded: Loaded,
    staged: Staged,
    identity: String,
    /// It is not what is wished, but stands in for it.
    instead: bool,
    /// In place of this one, which was withdrawn.
    withdrawn: Option<u64>,
    started: Instant,
}

/// What serves.
pub(super) struct Served {
    pub(super) document: Arc<PluginDocument>,
    identity: String,
    pub(super) number: u64,
    pub(super) tally: Arc<Tally>,
    /// Of the wish that it met, or stands in for.
    pub(super) generation: Option<u64>,
}

/// The task of one plugin.
pub(super) struct Task {
    pub(super) label: Arc<str>,
    pub(super) registry: Arc<Registry>,
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) status: Arc<Mutex<Status>>,
    pub(super) progress: Progress,
    pub(super) record: Record,
    pub(super) served: Option<Served>,
    pub(super) bake: Option<Bake>,
    /// Keeps the watches of what was staged on standby until it is staged again.
    warm: Option<Arc<Subscribed>>,
    /// Of the revision that serves.
    account: Account,
    /// A wish that was withdrawn is to be staged all the same.
    pub(super) forgiven: bool,
    /// What is wished was refused, or the way back: it is tried again after a while.
    pub(super) refused: bool,
    /// A wish came that was not worked on yet, or gave way to something that goes first.
    pub(super) newer: bool,
    /// Of the wish that the state speaks of.
    pub(super) generation: Option<u64>,
}

impl Task {
    pub(super) fn new(name: PluginName, registry: &Arc<Registry>, dispatcher: Arc<Dispatcher>, status: Arc<Mutex<Status>>) -> Self {
        let label = Arc::from(name.to_string());
        let progress = status.lock().progress.clone();
        let record = Record::new(registry.revisions.clone(), name, registry.shared.tenure.clone());
        let registry = Arc::clone(registry);
        Self {
            label,
            registry,
            dispatcher,
            status,
            progress,
            record,
            served: None,
            bake: None,
            warm: None,
            account: Account::Settled,
            forgiven: false,
            refused: false,
            newer: false,
            generation: None,
        }
    }

    /// Works until stopped. After a defect of the host's what serves goes on, and it is said that nothing else will.
    pub(super) async fn run(self, wishes: watch::Receiver<Wish>, orders: mpsc::Receiver<Order>, stop: CancellationToken) {
        let (registry, status, label) = (Arc::clone(&self.registry), Arc::clone(&self.status), Arc::clone(&self.label));
        if AssertUnwindSafe(self.work(wishes, orders, stop)).catch_unwind().await.is_ok() {
            return;
        }
        let refusal =
            Refusal::new(Reason::HostError, "the host's task of this plugin has panicked; nothing is staged until the host is restarted");
        let mut status = status.lock();
        let (reason, error, hint) = (refusal.reason, &refusal.message, &refusal.hint);
        PluginRefused { plugin: &label, reason, error, hint, serving: !status.revision.is_empty() }.emit(&registry.shared.metrics);
        (status.state, status.since) = (PluginState::Refused(refusal), Instant::now());
    }

    async fn work(mut self, mut wishes: watch::Receiver<Wish>, mut orders: mpsc::Receiver<Order>, stop: CancellationToken) {
        self.record.read().await;
        self.hold();
        let mut goal = Some(Goal::Wish);
        loop {
            // A wish that came during an exchange, or before one that goes first, is met afterwards.
            let Wish { generation, desired: wish, .. } = {
                let now = wishes.borrow_and_update();
                self.newer |= now.has_changed();
                now.clone()
            };
            let goes_back = matches!(goal, Some(Goal::Before(_, Some(_))));
            if self.newer && !goes_back {
                (goal, self.newer) = (Some(Goal::Wish), false);
            }
            self.generation = match &self.served {
                Some(served) if goes_back => served.generation,
                _ => generation,
            };
            self.record.refresh().await;
            // Until a document can be read that says otherwise.
            if wish.as_ref().is_ok_and(|desired| !desired.document.suspend) {
                self.record.suspend(false).await;
                self.hold();
            }
            // What is seldom done has memory only while it is done: most plugins of a host wait here for most of the time.
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = wishes.changed() => match changed {
                    // A newer wish ends the staging of an older one: nothing of it serves yet. But a revision that was
                    // withdrawn goes first.
                    Ok(()) => {
                        self.newer = true;
                        goal
                    }
                    Err(_) => return,
                },
                Some(order) = orders.recv() => Box::pin(self.obey(order, goal)).await,
                verdict = self.baked(), if self.bake.is_some() => Box::pin(self.judge(verdict, goal)).await,
                reached = async { Box::pin(self.reach(&wish, goal.as_ref())).await }, if goal.is_some() => match reached {
                    Ok(reached) => Box::pin(self.serve(reached, goal)).await,
                    Err(refusal) => self.fail(refusal, goal),
                },
                () = sleep(RETRY_AFTER), if goal.is_none() && self.refused => Some(self.again()),
                account = async { Box::pin(self.account()).await }, if goal.is_none() && self.account != Account::Settled => {
                    self.note_account(account);
                    goal
                }
            };
            goal = next;
        }
    }

    /// Stages the goal. Changes nothing, so it can be broken off.
    async fn reach(&self, wish: &Result<Desired, Refusal>, goal: Option<&Goal>) -> Result<Reached, Refusal> {
        let started = Instant::now();
        let stage = &self.registry.stage;
        self.record.known()?;
        let (document, loaded, withdrawn) = match goal {
            Some(Goal::Before(kept, withdrawn)) => {
                let (document, wasm) = self.record.revision(kept).await?;
                (document, stage.compile(wasm, &self.progress).await?, *withdrawn)
            }
            Some(Goal::Wish) | None => {
                let desired = wish.as_ref().map_err(Clone::clone)?;
                if desired.document.suspend {
                    return Ok(Reached::Suspended);
                }
                (Arc::clone(&desired.document), stage.load(&desired.component, &self.progress).await?, None)
            }
        };
        let identity = identity(loaded.artifact.digest(), &document);
        // Also while it serves still, because the way back is not open.
        if let Some(bad) =
            self.record.book().withdrawn(&identity, &document.source).filter(|_| matches!(goal, Some(Goal::Wish)) && !self.forgiven)
        {
            return Err(rolled_back(bad));
        }
        if self.served.as_ref().is_some_and(|served| served.document == document && served.identity == identity) {
            return Ok(Reached::Serves(loaded.artifact.digest().to_owned()));
        }
        let staged = stage.stage(&document, &loaded.artifact, &self.dispatcher, &self.progress).await?;
        self.progress.begin(Step::Sync);
        if let Err(refusal) = self.settle(&staged.subscribed, self.is_patient(goal, &identity, &document)).await {
            return Ok(Reached::Waits(refusal));
        }
        if self.stand_by(goal, loaded.artifact.digest(), &staged.subscribed).await {
            return Ok(Reached::Leads(staged.subscribed));
        }
        self.dispatcher.let_catch_up(&staged.subscribed).await;
        let instead = matches!(goal, Some(Goal::Before(..)));
        Ok(Reached::Ready(Box::new(Ready { document, loaded, staged, identity, instead, withdrawn, started })))
    }

    /// Puts what was reached into service. Never broken off.
    async fn serve(&mut self, reached: Reached, goal: Option<Goal>) -> Option<Goal> {
        self.refused = false;
        match reached {
            Reached::Leads(subscribed) => {
                self.record.read().await;
                self.hold();
                self.warm = Some(subscribed);
                if matches!(goal, Some(Goal::Wish)) {
                    self.set(PluginState::Starting);
                }
                return goal;
            }
            Reached::Waits(refusal) => {
                self.refuse(refusal);
                self.refused = true;
                return self.instead_of(goal.as_ref());
            }
            Reached::Suspended => {
                self.progress.rest();
                self.warm = None;
                self.record.suspend(true).await;
                self.hold();
                if self.set(PluginState::Suspended) {
                    PluginHeld { plugin: &self.label, how: "plugin suspended" }.emit();
                }
            }
            Reached::Serves(digest) => {
                self.forgiven = false;
                if let Some(served) = &mut self.served {
                    served.generation = self.generation;
                }
                self.try_once_more().await;
                self.rest();
                // Only then it is news: another wish was refused in between.
                if let Some(serving) = self.dispatcher.serving().filter(|_| self.set(PluginState::Serving)) {
                    PluginServing {
                        plugin: &self.label,
                        revision: &serving.tag,
                        digest: &digest,
                        duration: Duration::ZERO,
                        swapped: false,
                    }
                    .emit(&self.registry.shared.metrics);
                }
            }
            Reached::Ready(ready) => {
                let instead = ready.instead;
                self.swap(*ready).await;
                // Why the wish is not met was told, and stays true; what was withdrawn is not tried again.
                let withdrawn =
                    |state: &PluginState| matches!(state, PluginState::Refused(refusal) if refusal.reason == Reason::RolledBack);
                self.refused = instead && !withdrawn(&self.status.lock().state);
                if !instead {
                    self.set(PluginState::Serving);
                }
            }
        }
        self.hold();
        None
    }

    /// The exchange itself.
    async fn swap(&mut self, ready: Ready) {
        let Ready { document, loaded, staged, identity, instead, withdrawn, started } = ready;
        self.progress.begin(Step::Swap);
        let digest = loaded.artifact.digest().to_owned();
        let number = match &self.served {
            Some(served) => served.number.max(self.record.book().last()) + 1,
            None => {
                let known = self.dispatcher.recall(&staged.subscribed, &identity).await;
                self.record.book().continued(known, &identity)
            }
        };
        let tag: Arc<str> = format!("{number}-{}", short(&digest)).into();
        staged.ports.serve_as(Arc::clone(&tag));
        let tally = Arc::new(Tally::default());
        let serving = Serving {
            revision: staged.revision,
            number,
            identity: identity.as_str().into(),
            tag: Arc::clone(&tag),
            limits: staged.limits,
            reasons: staged.reasons,
            tally: Arc::clone(&tally),
        };
        let replaying = withdrawn.map_or(Replaying::Policy(document.replay), Replaying::Withdrawn);
        // One that is on trial, or was withdrawn, is no measure for those that follow.
        if let Some(served) = self.served.as_ref().filter(|_| self.standing() == Some(Standing::Good)) {
            self.record.measure(&served.identity, served.tally.numbers());
        }
        let (swapped, troubled) = (self.served.is_some(), self.dispatcher.tripped().is_some());
        // Dropping the old subscriptions stops the watches that nobody needs any more.
        drop(self.dispatcher.swap(serving, staged.subscribed, replaying));
        self.warm = None;
        {
            let mut status = self.status.lock();
            (status.revision, status.digest) = (tag.to_string(), digest.clone());
        }
        let subscribed = self.dispatcher.subscribed();
        let kinds = subscribed.subscriptions().map(|subscription| &*subscription.kind);
        let reasons = self.dispatcher.serving().map(|serving| serving.reasons.clone()).unwrap_or_default();
        self.registry.shared.metrics.subscribed(&self.label, kinds, &reasons);
        let duration = started.elapsed();
        PluginServing { plugin: &self.label, revision: &tag, digest: &digest, duration, swapped }.emit(&self.registry.shared.metrics);
        if instead {
            self.registry.shared.metrics.stands_in(&self.label);
        }
        let bake = self.record.serves(number, &identity, &digest, &document, loaded.wasm, instead).await;
        self.bake = bake.map(|left| Bake::new(left, self.record.book().measure.numbers(), Numbers::default()).after(troubled));
        let account = document.service_account.clone();
        if self.served.as_ref().is_none_or(|served| served.document.service_account != account) {
            self.note_account(Account::Settled);
        }
        self.account = if account.is_some() { Account::Unknown } else { Account::Settled };
        self.served = Some(Served { document, identity, number, tally, generation: self.generation });
        self.forgiven = false;
        self.rest();
    }

    /// Waits until something else is known of the account of the revision that serves.
    async fn account(&self) -> Account {
        let Some(document) = self.served.as_ref().map(|served| &served.document) else { return Account::Settled };
        let Some(name) = &document.service_account else { return Account::Settled };
        let stage = &self.registry.stage;
        let ask = async || {
            let asked = account::ask(&stage.ports.api, &document.name.namespace, name).await;
            match asked {
                Err(ApiError::NotFound) if stage.makes_accounts => account::make(&stage.ports.api, &document.name.namespace, name).await,
                _ => asked,
            }
        };
        account::changed(self.account, ask).await
    }

    /// Something else is known of it. Says it if it is missing.
    fn note_account(&mut self, account: Account) {
        self.account = account;
        let name = self.served.as_ref().and_then(|served| served.document.service_account.clone());
        let missing = name.filter(|_| account == Account::Missing);
        let before = std::mem::replace(&mut self.status.lock().lacks_account, missing.clone());
        if let (Some(account), None) = (missing, before) {
            let reason = Reason::ServiceAccountNotFound;
            tracing::warn!(target: "wharf::plugin", plugin = &*self.label, %reason, account = &*account, hint = reason.hint(), "service account not found");
        }
    }

    /// The goal was not reached. What serves goes on; if nothing does, the last good revision will.
    fn fail(&mut self, refusal: Refusal, goal: Option<Goal>) -> Option<Goal> {
        self.progress.rest();
        // What was withdrawn is not tried again; but as long as it serves, the way back is.
        self.refused = refusal.reason != Reason::RolledBack || self.standing() == Some(Standing::Withdrawn);
        self.forgiven = false;
        let before = matches!(goal, Some(Goal::Before(..)));
        self.refuse(refusal);
        // It is not suspended any more.
        self.hold();
        // What was good is tried once for each refusal of the wish.
        if before { None } else { self.stand_in() }
    }

    /// Says it once per reason: a refusal that is tried again in vain is no news.
    pub(super) fn refuse(&self, refusal: Refusal) {
        if self.status.lock().state == PluginState::Refused(refusal.clone()) {
            // It may speak of a newer document.
            self.status.lock().generation = self.generation;
            return;
        }
        let reason: Reason = refusal.reason;
        PluginRefused { plugin: &self.label, reason, error: &refusal.message, hint: &refusal.hint, serving: self.served.is_some() }
            .emit(&self.registry.shared.metrics);
        self.set(PluginState::Refused(refusal));
    }

    /// True if that is news.
    pub(super) fn set(&self, state: PluginState) -> bool {
        let mut status = self.status.lock();
        status.generation = self.generation;
        let news = status.state != state;
        if news {
            status.state = state;
            status.since = Instant::now();
        }
        news
    }

    /// No step is under way but that of baking.
    pub(super) fn rest(&self) {
        if self.bake.is_some() { self.progress.begin(Step::Bake) } else { self.progress.rest() }
    }

    /// Keys are handed out, or not.
    pub(super) fn hold(&mut self) {
        let paused = self.record.book().paused;
        let suspended = self.record.book().suspended;
        {
            let mut status = self.status.lock();
            if (status.paused, status.suspended) != (paused, suspended) {
                (status.paused, status.suspended, status.since) = (paused, suspended, Instant::now());
            }
        }
        let held = paused || suspended || self.record.known().is_err();
        self.dispatcher.hold(held);
        if let Some(bake) = &mut self.bake {
            bake.hold(held);
        }
    }
}

pub(super) fn rolled_back(bad: &Kept) -> Refusal {
    let message = format!("revision {} was withdrawn: {}", bad.number, bad.message);
    Refusal::new(Reason::RolledBack, message)
}

/// The first twelve digits of a digest, for people.
fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}

#[cfg(test)]
mod tests;
