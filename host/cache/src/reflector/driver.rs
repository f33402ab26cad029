//! The task of one informer: a loop that carries out what the machine decides. Never
//! decides by itself and never sleeps but where it is told to.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_core::{ResourceKind, Trim};

use super::admit::Counted;
use super::machine::Machine;
use super::step::{Decision, Health, Input, Step, StoreCall};
use crate::budget::Budget;
use crate::classify::{Class, Failure};
use crate::decode::Decoder;
use crate::discovery::{Discovery, DiscoveryError};
use crate::options::Options;
use crate::shared::Shared;
use crate::source::Source;
use crate::spec::Content;

/// How an informer begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begin {
    /// Its first state is not older than this resourceVersion, which somebody has seen already; empty if nobody
    /// has.
    pub(crate) not_older_than: Box<str>,
    /// All that it will have is in memory already, in the store of another one that it replaces.
    pub(crate) admitted: bool,
}

/// Keeps the store of one informer equal to the server.
pub(crate) struct Reflector<'a> {
    pub(super) shared: &'a Shared,
    pub(super) source: Source,
    pub(super) discovery: &'a Discovery,
    pub(super) machine: Machine,
    pub(super) options: Options,
    pub(super) decoder: Decoder,
    pub(super) budget: &'a Budget,
    /// The first state has been found to fit into the memory.
    pub(super) admitted: bool,
    /// What was too much when it was counted last.
    pub(super) counted: Option<Counted>,
    resource: Option<ResourceKind>,
}

/// After so many objects other tasks get a turn.
pub(super) const OBJECTS_PER_TURN: usize = 64;

impl<'a> Reflector<'a> {
    pub(crate) fn new(
        shared: &'a Shared,
        source: Source,
        discovery: &'a Discovery,
        budget: &'a Budget,
        options: Options,
        begin: Begin,
    ) -> Self {
        let machine = Machine::new(&options, begin.not_older_than, rand::random::<f64>);
        // What it had once is not asked for again.
        let admitted = begin.admitted || shared.condition().borrow().synced_once;
        if admitted {
            budget.count(shared.id, &shared.store);
        }
        let decoder = Decoder::new(shared.spec.sent_kind(), Trim::new(&options.omit, shared.spec.content == Content::Redacted));
        Self { shared, source, discovery, machine, options, decoder, budget, admitted, counted: None, resource: None }
    }

    /// Runs until it is dropped; what was applied up to then stays whole.
    pub(crate) async fn run(mut self) {
        let mut step = Step::Resolve { fresh: false };
        loop {
            let input = match step {
                Step::Resolve { fresh } => self.resolve(fresh).await,
                Step::List(request) => self.list(&request).await,
                Step::Watch(request) => Input::WatchEnded(self.watch(&request).await),
                Step::Sleep(time) => {
                    sleep(time).await;
                    Input::Woke
                }
            };
            let Decision { store, health, step: next } = self.machine.next(input, Instant::now());
            self.carry_out(&store, &health);
            step = next;
        }
    }

    /// What happens to the store, and what is said about it.
    pub(super) fn carry_out(&self, store: &StoreCall, health: &Health) {
        match store {
            StoreCall::Nothing => {}
            StoreCall::Finish { resource_version } => self.shared.finish_list(resource_version),
            StoreCall::Vanish => self.shared.vanish(),
        }
        if *store != StoreCall::Nothing {
            self.budget.filled(self.shared.id);
        }
        let (kind, scope) = (&self.shared.spec.kind, &self.shared.spec.scope);
        match health {
            Health::Unchanged => {}
            Health::Synced => {
                tracing::debug!(%kind, %scope, objects = self.shared.store.len(), "informer is synced");
                self.shared.set_synced();
            }
            Health::Sleeping(failure) => {
                let reason = failure.class.reason();
                tracing::info!(%kind, %scope, %reason, hint = reason.hint(), "informer sleeps");
                self.shared.set_sleeping(reason, &failure.message);
            }
            Health::Failing(failure) => {
                let reason = failure.class.reason();
                tracing::warn!(%kind, %scope, %reason, error = %failure, hint = reason.hint(), "informer is failing");
                self.shared.set_failing(failure);
                self.shared.report(|metrics, spec| metrics.failed(spec, reason));
            }
            Health::Noted(failure) => {
                let reason = failure.class.reason();
                tracing::debug!(%kind, %scope, %reason, error = %failure, "list or watch ended");
                self.shared.note_error(&failure.message);
                self.shared.report(|metrics, spec| metrics.failed(spec, reason));
            }
        }
    }

    async fn resolve(&mut self, fresh: bool) -> Input {
        let kind = &self.shared.spec.kind;
        if fresh {
            self.discovery.invalidate(kind);
        }
        match self.discovery.resolve(kind).await {
            Ok(resource) => {
                self.resource = Some(resource);
                Input::Resolved
            }
            Err(error) => {
                let class = match &error {
                    DiscoveryError::NotFound { .. } => {
                        // What comes back may be another kind.
                        self.admitted = false;
                        Class::NotFound
                    }
                    DiscoveryError::Unauthorized { .. } => Class::Unauthorized,
                    DiscoveryError::Forbidden { .. } => Class::Forbidden,
                    DiscoveryError::Unavailable { .. } => Class::Unreachable,
                };
                Input::Unresolved(Failure::new(class, error))
            }
        }
    }

    pub(super) fn resource(&self) -> Result<&ResourceKind, Failure> {
        self.resource.as_ref().ok_or_else(|| Failure::new(Class::Other, "the kind has not been resolved"))
    }

    /// What is asked, for messages.
    pub(super) fn what(&self, verb: &str) -> String {
        let spec = &self.shared.spec;
        match spec.scope.namespace() {
            Some(namespace) => format!("{verb} {} in namespace {namespace}", spec.kind),
            None => format!("{verb} {}", spec.kind),
        }
    }
}

/// The length of a watch in whole seconds, at least one.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}
