//! What the filters of a subscription say of one change. Owns when that is found out: never
//! under a lock that a watch may wait for. It takes as long as the filters may, on the thread of
//! the plugin's worker, which is none of the host's own. What a filter means is `wharf_core::filter`'s; which change is judged is the ledger's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use wharf_core::diff::Verdict;
use wharf_core::filter::{EvalError, Expression};
use wharf_core::{Dropped, Object, OwnWrites, TargetKey};

use super::dispatcher::Dispatcher;
use super::subscribed::Subscribed;
use crate::telemetry::events::{ChangeDropped, FilterFailed};

/// A change that has to be judged.
pub(super) struct Case {
    pub(super) subscribed: Arc<Subscribed>,
    /// `None`: there is nothing to compare with.
    pub(super) old: Option<Arc<Object>>,
    pub(super) new: Arc<Object>,
}

/// A change that was judged.
pub(super) struct Judged {
    case: Case,
    dropped: Option<Dropped>,
}

/// An expression that could not be evaluated, and why.
type Failure = (String, String);

impl Case {
    /// Asks the filters. If they panic the change is wanted: nothing is lost.
    pub(super) fn judge(self, dispatcher: &Dispatcher, key: &TargetKey) -> Judged {
        let asked = catch_unwind(AssertUnwindSafe(|| self.ask(key)));
        let (dropped, failures) = asked.unwrap_or_default();
        for (expression, error) in &failures {
            let subscription = self.subscribed.subscription(key).map_or("", |subscription| &subscription.name);
            FilterFailed { plugin: &dispatcher.label, subscription, key, expression, error }.emit(&dispatcher.shared.metrics);
        }
        Judged { case: self, dropped }
    }

    fn ask(&self, key: &TargetKey) -> (Option<Dropped>, Vec<Failure>) {
        let mut failures = Vec::new();
        let dropped = self.subscribed.subscription(key).and_then(|subscription| {
            let failed = |expression: &Expression, error: &EvalError| failures.push((expression.to_string(), error.to_string()));
            subscription.filters.drops(self.old.as_deref(), &self.new, failed)
        });
        (dropped, failures)
    }
}

/// What is known of a change by now.
pub(super) fn verdict(
    subscribed: &Arc<Subscribed>,
    key: &TargetKey,
    own: &OwnWrites<TargetKey>,
    judged: Option<&Judged>,
    (old, new): (Option<&Arc<Object>>, &Arc<Object>),
) -> Verdict {
    let Some(subscription) = subscribed.subscription(key) else { return Verdict::Wanted };
    if subscription.ignore_own_writes && old.is_some_and(|old| own.lead(key, old.resource_version(), new.resource_version())) {
        return Verdict::Dropped(Dropped::OwnWrite);
    }
    // Of a state that an earlier host left without its body nothing can be said.
    if subscription.filters.is_empty() || old.is_some_and(|old| old.is_bare()) {
        return Verdict::Wanted;
    }
    let same = |judged: &&Judged| {
        let case = &judged.case;
        let same_old = match (&case.old, old) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        same_old && Arc::ptr_eq(&case.new, new) && Arc::ptr_eq(&case.subscribed, subscribed)
    };
    match judged.filter(same) {
        Some(judged) => judged.dropped.map_or(Verdict::Wanted, Verdict::Dropped),
        None => Verdict::Unknown,
    }
}

/// Counts a change that was dropped, if one was.
pub(super) fn note(dispatcher: &Dispatcher, key: &TargetKey, dropped: Option<Dropped>) {
    if let Some(by) = dropped {
        ChangeDropped { plugin: &dispatcher.label, key, by }.emit(&dispatcher.shared.metrics);
    }
}
