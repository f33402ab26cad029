//! The hub's own tasks. Owns when the plan is looked at again, the carrying out of moves, and
//! the resync of one registration; decides nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::informers::Hub;
use crate::relocate::{Moved, relocate};
use crate::seat::Seat;

/// Objects that a handler is told of under one hold of the apply lock.
const RESYNC_STEP: usize = 256;

/// Keeps the informers as the plan wants them, until the hub is gone or stops.
pub(super) async fn run(hub: Weak<Hub>, changed: Arc<Notify>, stop: CancellationToken) {
    let mut next: Option<Instant> = None;
    loop {
        let timer = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = changed.notified() => {}
            () = timer => {}
        }
        let Some(hub) = hub.upgrade() else { return };
        let moves;
        (moves, next) = hub.reconcile();
        for to_do in moves {
            let moved = relocate(&to_do.seat, &to_do.from, &to_do.to);
            let (kind, scope) = (&to_do.seat.want.kind, &to_do.seat.want.scope);
            tracing::debug!(%kind, %scope, from = %to_do.from.spec.scope, to = %to_do.to.spec.scope, ?moved, "registration moves");
            if moved == Moved::Done {
                // The informer that it left may be needed no more.
                hub.changed.notify_one();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Tells one registration of all it sees, as unchanged, each time a period is over: only this
/// one, whoever else shares the informer. A period that begins while the store does not follow
/// the server is a tick like any other; before the first list there is nothing to tell.
pub(super) async fn resync(seat: Arc<Seat>, period: Duration, stop: CancellationToken) {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = seat.left.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let mut last = None;
        while seat.was_told_synced() {
            let Some(key) = seat.place().shared.resync(&seat, last.as_ref(), RESYNC_STEP) else { break };
            last = Some(key);
            tokio::task::yield_now().await;
        }
    }
}
