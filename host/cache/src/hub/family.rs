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
use crate::seat::Seat;
use crate::shared::Shared;
use crate::spec::{InformerSpec, Scope};
use crate::state::InformerState;

/// What the server has refused for the whole cluster is not tried again before this time, if
/// only the number of namespaces is a reason for it.
const REFUSED_FOR: Duration = Duration::from_secs(600);

/// All informers and registrations of one kind and content.
#[derive(Default)]
pub(super) struct Family {
    seats: HashMap<u64, Seated>,
    informers: HashMap<InformerSpec, Running>,
    widened: bool,
    refused_until: Option<Instant>,
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

/// Makes and starts an informer. The text is the version that its first list must not be older
/// than; empty for none.
pub(super) type Start<'a> = &'a mut dyn FnMut(&InformerSpec, Box<str>) -> (Arc<Shared>, CancellationToken);

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
        let spec = self.wishes(Some(wish)).serve(wish);
        let seat = make(self.informer(&spec, Box::default(), start));
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
        self.judge(now);
        self.widen(None, options.widen_after);
        let wishes = self.wishes(None);
        let moves = self.seats.values().filter_map(|seated| {
            let (seat, place) = (&seated.seat, seated.seat.place());
            let spec = wishes.serve(wish(seat));
            (spec != place.shared.spec).then(|| (Arc::clone(seat), place.shared, spec, seated.attached))
        });
        let moves: Vec<_> = moves.collect();
        let mut ready = Vec::new();
        let mut targets = Vec::new();
        for (seat, from, spec, attached) in moves {
            let to = self.informer(&spec, from.store.resource_version(), start);
            targets.push(to.id);
            if attached && (to.condition().borrow().synced_once || !from.condition().borrow().synced_once) {
                ready.push(Move { seat, from, to });
            }
        }
        let stop_at = self.stop_unused(&targets, now, options.linger);
        let retry_at = self.refused_until.filter(|_| self.widened);
        (ready, [stop_at, retry_at].into_iter().flatten().min())
    }

    /// Learns from the informers of the whole cluster whether the server lets it be listed.
    fn judge(&mut self, now: Instant) {
        if self.refused_until.is_some_and(|until| until <= now) {
            self.refused_until = None;
        }
        let wide = || self.informers.values().filter(|running| running.shared.spec.scope == Scope::All);
        let state = |running: &Running| running.shared.condition().borrow().state.clone();
        if wide().any(|running| matches!(state(running), InformerState::Failing { reason: Reason::Forbidden, .. })) {
            self.refused_until.get_or_insert(now + REFUSED_FOR);
        } else if wide().any(|running| state(running) == InformerState::Synced) {
            self.refused_until = None;
        }
    }

    /// Too many namespaces are a reason to watch the whole cluster, until the last
    /// registration has left.
    fn widen(&mut self, newcomer: Option<Wish<'_>>, widen_after: usize) {
        self.widened = (self.widened && !self.seats.is_empty()) || self.wishes(newcomer).namespaces() > widen_after;
    }

    fn wishes<'a>(&'a self, newcomer: Option<Wish<'a>>) -> Wishes<'a> {
        let all = self.seats.values().map(|seated| wish(&seated.seat)).chain(newcomer);
        Wishes::new(all, self.widened, self.refused_until.is_some())
    }

    fn informer(&mut self, spec: &InformerSpec, not_older_than: Box<str>, start: Start<'_>) -> Arc<Shared> {
        if let Some(running) = self.informers.get_mut(spec) {
            running.unused_since = None;
            return Arc::clone(&running.shared);
        }
        let (shared, stop) = start(spec, not_older_than);
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

fn wish(seat: &Seat) -> Wish<'_> {
    Wish { spec: &seat.want, filterable: seat.can_be_filtered() }
}
