//! A handler's place among the informers, as its owner holds it. Owns how a handler leaves;
//! never decides which informer serves it.

use std::fmt;
use std::sync::Arc;

use super::informers::Hub;
use crate::seat::{Seat, in_handler};
use crate::shared::Condition;
use crate::spec::InformerSpec;
use crate::state::InformerState;
use crate::view::View;

/// A handler's registration. Dropping it detaches the handler: once the drop returns it is not
/// called any more. Dropped from within a handler it is not called again either, but the call
/// that is running goes on, of course.
pub struct Registration {
    hub: Arc<Hub>,
    seat: Arc<Seat>,
}

/// The handler asked to wait for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a handler cannot wait until no handler is called: drop the registration instead")]
pub struct FromHandler;

impl Registration {
    pub(super) fn new(hub: Arc<Hub>, seat: Arc<Seat>) -> Self {
        Self { hub, seat }
    }

    /// What there is, as far as it was asked for.
    pub fn view(&self) -> View {
        View::of(Arc::clone(&self.seat))
    }

    /// What was asked for.
    pub fn spec(&self) -> &InformerSpec {
        &self.seat.want
    }

    /// What the informer watches that serves it now: as much as [`Self::spec`], or more.
    pub fn served_by(&self) -> InformerSpec {
        self.seat.place().shared.spec.clone()
    }

    /// Bytes of the store that serves it, divided by those whom it serves.
    pub fn share(&self) -> u64 {
        self.seat.place().shared.share()
    }

    /// Is it known what there is? True once the store was synced for the first time, once
    /// the kind is known not to exist, once the server has refused, or once the informer
    /// is stopped; it stays true.
    pub fn settled(&self) -> bool {
        let shared = self.seat.place().shared;
        let condition = shared.condition();
        let settled = settles(&condition.borrow(), shared.spec == self.seat.want);
        settled || self.seat.was_told_synced()
    }

    /// Waits until [`Self::settled`]. Cancel safe. Has no deadline of its own: a server that cannot
    /// be reached settles nothing.
    pub async fn settle(&self) {
        let mut moves = self.seat.moves();
        while !self.settled() {
            let shared = self.seat.place().shared;
            let own = shared.spec == self.seat.want;
            let mut condition = shared.condition();
            tokio::select! {
                // The sender lives in `shared`: the wait cannot fail.
                _settled = condition.wait_for(|condition| settles(condition, own)) => {}
                _moved = moves.changed() => {}
            }
        }
    }

    /// Has the handler been told of a first full list?
    pub fn has_synced(&self) -> bool {
        self.seat.was_told_synced()
    }

    /// How the informer is doing now.
    pub fn state(&self) -> InformerState {
        self.seat.place().shared.condition().borrow().state.clone()
    }

    /// Detaches the handler and says so if that cannot be awaited: client-go's
    /// `ShutDownEventHandler`, which would wait for ever.
    ///
    /// # Errors
    /// From within a handler. The handler is detached all the same, once the call that is
    /// running has ended.
    pub fn remove_and_wait(self) -> Result<(), FromHandler> {
        let result = if in_handler() { Err(FromHandler) } else { Ok(()) };
        drop(self);
        result
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.seat.left.cancel();
        if in_handler() {
            // This thread holds an apply lock; another one takes the seat away.
            let (hub, seat) = (Arc::clone(&self.hub), Arc::clone(&self.seat));
            self.hub.spawn(async move { leave(&hub, &seat) });
        } else {
            leave(&self.hub, &self.seat);
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("spec", &self.seat.want).field("id", &self.seat.id).finish_non_exhaustive()
    }
}

fn leave(hub: &Hub, seat: &Seat) {
    // It may move meanwhile; then it is looked for where it has arrived.
    loop {
        let shared = seat.place().shared;
        seat.drop_indexes(&shared.store);
        if shared.detach(seat.id) || seat.place().shared.id == shared.id {
            break;
        }
    }
    hub.leave(seat);
}

/// Does the state of the informer say all there is to know? A refusal of more than was asked for
/// does not: an informer of its own will tell.
fn settles(condition: &Condition, own: bool) -> bool {
    let refused = matches!(condition.state, InformerState::Failing { reason, .. } if reason.is_refusal());
    condition.settled && (own || condition.synced_once || !refused)
}
