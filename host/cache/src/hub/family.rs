//! The informers and registrations of one kind and content. Owns which of them exist, and
//! carries out the plan: it starts what is missing, names the moves, and stops what nobody
//! needs. Behind the hub's lock; never calls a handler.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;

use super::plan::{Wish, Wishes};
use crate::reflector::Begin;
use crate::seat::Seat;
use crate::shared::{Condition, Shared};
use crate::spec::{InformerSpec, Scope};
use crate::state::InformerState;

/// What the server refuses for the whole cluster, or what has no room, is not tried again for so long, if only the
/// number of namespaces is a reason for it; each time twice as long, up to a bound. So a server
/// that allows the list and not the watch makes registrations move a few times a day.
const REFUSED_FOR: Duration = Duration::from_secs(600);
const REFUSED_AT_MOST: Duration = Duration::from_secs(8 * 3600);

/// An informer of the whole cluster that has worked, or that fails for another reason than a
/// refusal, has so long to recover: credentials are renewed, a server that has just started does
/// not know all roles yet.
const PATIENCE: Duration = Duration::from_secs(30);

/// All informers and registrations of one kind and content.
#[derive(Default)]
pub(super) struct Family {
    seats: HashMap<u64, Seated>,
    informers: HashMap<InformerSpec, Running>,
    widened: bool,
    refused_until: Option<Instant>,
    /// How often it was refused in a row.
    refusals: u32,
    /// Since when an informer of the whole cluster does not do its work.
    failing_since: Option<Instant>,
}

struct Seated {
    seat: Arc<Seat>,
    /// The informer knows it. Before that it does not move.
    attached: bool,
}

struct Running {
    shared: Arc<Shared>,
    stop: CancellationToken,
    unused_since: Option<Instant>,
}

/// A registration that is to change its informer.
pub(super) struct Move {
    pub(super) seat: Arc<Seat>,
    pub(super) from: Arc<Shared>,
    pub(super) to: Arc<Shared>,
}

/// Makes and starts an informer.
pub(super) type Start<'a> = &'a mut dyn FnMut(&InformerSpec, Begin) -> (Arc<Shared>, CancellationToken);

impl Family {
    /// Seats a registration at the informer that is to serve it. `make` makes the seat there.
    pub(super) fn enter(
        &mut self,
        want: &InformerSpec,
        filterable: bool,
        widen_after: usize,
        start: Start<'_>,
        make: impl FnOnce(Arc<Shared>) -> Arc<Seat>,
    ) -> Arc<Seat> {
        let wish = Wish { spec: want, filterable };
        self.widen(Some(wish), widen_after);
        // Who comes now is not seated where it does not work.
        let spec = self.wishes(Some(wish), self.refused_until.is_some() || self.wide_fails()).serve(wish);
        let seat = make(self.informer(&spec, Begin::default(), start));
        self.seats.insert(seat.id, Seated { seat: Arc::clone(&seat), attached: false });
        seat
    }

    /// The seat's informer knows it now.
    pub(super) fn attached(&mut self, id: u64) {
        if let Some(seated) = self.seats.get_mut(&id) {
            seated.attached = true;
        }
    }

    /// The registration has left.
    pub(super) fn leave(&mut self, id: u64) {
        self.seats.remove(&id);
    }

    /// Is there nothing left?
    pub(super) fn is_over(&self) -> bool {
        self.seats.is_empty() && self.informers.is_empty()
    }

    /// All informers.
    pub(super) fn informers(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.informers.values().map(|running| &running.shared)
    }

    /// Carries out the plan as far as that is possible now: starts and stops informers, and
    /// returns the moves to try. Call it when an informer's state has changed, when a
    /// registration came or left, and at the time that the last call returned.
    pub(super) fn reconcile(&mut self, options: Times, start: Start<'_>) -> (Vec<Move>, Option<Instant>) {
        let now = Instant::now();
        let judge_at = self.judge(now);
        self.widen(None, options.widen_after);
        let wishes = self.wishes(None, self.refused_until.is_some());
        let moves = self.seats.values().filter_map(|seated| {
            let (seat, place) = (&seated.seat, seated.seat.place());
            let spec = wishes.serve(wish(seat));
            (spec != place.shared.spec).then(|| (Arc::clone(seat), place.shared, spec, seated.attached))
        });
        let moves: Vec<_> = moves.collect();
        let mut ready = Vec::new();
        let mut targets = Vec::new();
        for (seat, from, spec, attached) in moves {
            // Of what the whole cluster has each namespace is a part.
            let admitted = from.spec.scope == Scope::All && from.condition().borrow().synced_once;
            let to = self.informer(&spec, Begin { not_older_than: from.store.resource_version(), admitted }, start);
            targets.push(to.id);
            if attached && better(&from.condition().borrow(), &to.condition().borrow(), spec == seat.want) {
                ready.push(Move { seat, from, to });
            }
        }
        let stop_at = self.stop_unused(&targets, now, options.linger);
        let retry_at = self.refused_until.filter(|_| self.widened);
        (ready, [judge_at, stop_at, retry_at].into_iter().flatten().min())
    }

    /// Learns from the informers of the whole cluster whether the server lets it be listed. Returns
    /// when to look again.
    fn judge(&mut self, now: Instant) -> Option<Instant> {
        if self.refused_until.is_some_and(|until| until <= now) {
            self.refused_until = None;
        }
        let wide = self.informers.values().filter(|running| running.shared.spec.scope == Scope::All);
        let conditions: Vec<Condition> = wide.map(|running| running.shared.condition().borrow().clone()).collect();
        let at_once = |condition: &Condition| !condition.synced_once && refused(condition);
        if conditions.iter().any(useless) {
            let patience = *self.failing_since.get_or_insert(now) + PATIENCE;
            if self.refused_until.is_none() && (conditions.iter().any(at_once) || patience <= now) {
                let wait = REFUSED_FOR.saturating_mul(2_u32.saturating_pow(self.refusals)).min(REFUSED_AT_MOST);
                self.refusals = self.refusals.saturating_add(1);
                self.refused_until = Some(now + wait);
            }
            return Some(patience).filter(|at| *at > now);
        }
        self.failing_since = None;
        if conditions.iter().any(|condition| condition.state == InformerState::Synced) {
            self.refused_until = None;
        }
        None
    }

    /// Too many namespaces are a reason to watch the whole cluster, until the last
    /// registration has left.
    fn widen(&mut self, newcomer: Option<Wish<'_>>, widen_after: usize) {
        self.widened = (self.widened && !self.seats.is_empty()) || self.wishes(newcomer, false).namespaces() > widen_after;
    }

    fn wide_fails(&self) -> bool {
        let mut wide = self.informers.values().filter(|running| running.shared.spec.scope == Scope::All);
        wide.any(|running| useless(&running.shared.condition().borrow()))
    }

    fn wishes<'a>(&'a self, newcomer: Option<Wish<'a>>, refused: bool) -> Wishes<'a> {
        let all = self.seats.values().map(|seated| wish(&seated.seat)).chain(newcomer);
        Wishes::new(all, self.widened, refused)
    }

    fn informer(&mut self, spec: &InformerSpec, begin: Begin, start: Start<'_>) -> Arc<Shared> {
        if let Some(running) = self.informers.get_mut(spec) {
            running.unused_since = None;
            return Arc::clone(&running.shared);
        }
        let (shared, stop) = start(spec, begin);
        self.informers.insert(spec.clone(), Running { shared: Arc::clone(&shared), stop, unused_since: None });
        shared
    }

    /// Stops informers that serve nobody and are nobody's target, after they have lingered.
    /// Returns when to look again.
    fn stop_unused(&mut self, targets: &[u32], now: Instant, linger: Duration) -> Option<Instant> {
        let mut used: Vec<u32> = self.seats.values().map(|seated| seated.seat.place().shared.id).collect();
        used.extend(targets);
        let mut next = None;
        self.informers.retain(|_, running| {
            if used.contains(&running.shared.id) {
                running.unused_since = None;
                return true;
            }
            let over = *running.unused_since.get_or_insert(now) + linger;
            if over > now {
                next = Some(next.map_or(over, |at: Instant| at.min(over)));
                return true;
            }
            running.stop.cancel();
            // Under the hub's lock, so that a new informer for the same spec reports after it.
            running.shared.stop();
            false
        });
        next
    }
}

/// What a family needs to know of the options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) widen_after: usize,
    pub(super) linger: Duration,
}

/// Does it neither work nor have what it once had a right to?
fn useless(condition: &Condition) -> bool {
    failing(condition) && (!condition.synced_once || refused(condition))
}

/// Is there something to gain by a move, or nothing to lose? Where nothing works, each is at the
/// informer of its `own`, whose failure is its business.
fn better(from: &Condition, to: &Condition, own: bool) -> bool {
    let works = to.synced_once && !failing(to);
    works || (!from.synced_once && (own || !failing(to)))
}

fn refused(condition: &Condition) -> bool {
    matches!(condition.state, InformerState::Failing { reason, .. } if reason.is_refusal() || reason == Reason::CacheBudgetExceeded)
}

fn failing(condition: &Condition) -> bool {
    matches!(condition.state, InformerState::Failing { .. })
}

fn wish(seat: &Seat) -> Wish<'_> {
    Wish { spec: &seat.want, filterable: seat.can_be_filtered() }
}
