//! Moving a registration from one informer to another. Owns the step in which its handler is
//! told what the two stores differ in, so that nothing is lost and nothing is told twice; never
//! decides who moves where.

use std::collections::HashMap;
use std::sync::Arc;

use wharf_core::Object;

use crate::change::{Change, ChangeCause};
use crate::filter::Filter;
use crate::seat::{Calling, Seat};
use crate::shared::{Apply, Shared, number};
use crate::view;

/// What became of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The seat is at the new informer.
    Done,
    /// The new informer has not seen yet what the handler was told by the old one. The hub is
    /// notified when it has seen more.
    Behind,
    /// The seat has left, is elsewhere, or one of the two has stopped.
    Void,
}

/// Moves a seat, under both apply locks. Costs a walk over what the seat sees of both stores.
///
/// The handler sees a step forward in time: the new store must be at least as new as all that
/// the old one has shown, where versions can be compared. A handler that was told nothing yet
/// may move to an informer that has nothing yet.
pub(crate) fn relocate(seat: &Arc<Seat>, from: &Arc<Shared>, to: &Arc<Shared>) -> Moved {
    // Always in the same order, so that two moves never wait for each other.
    let (mut source, mut target);
    if from.id < to.id {
        source = from.lock();
        target = to.lock();
    } else {
        target = to.lock();
        source = from.lock();
    }
    let before = seat.place();
    if seat.left.is_cancelled() || before.shared.id != from.id || target.stopped {
        return Moved::Void;
    }
    let told = source.synced_once;
    let behind = number(&to.store.resource_version()) < seat.told() || (source.vanished && !target.vanished);
    let shown = told || !view::page(&from.store, before.filter.as_ref(), None, None, 1).is_empty();
    if shown && !target.vanished && (!target.synced_once || behind) {
        target.awaited = true;
        return Moved::Behind;
    }
    if !source.audience.remove(seat.id) {
        return Moved::Void;
    }
    let _calling = Calling::handlers();
    seat.get_up();
    seat.call(|handler| handler.on_moving());
    let place = seat.sit(Arc::clone(to));
    seat.call(|handler| handler.on_attached(to.store.sequence()));
    differ(seat, (from, before.filter.as_ref()), (to, place.filter.as_ref()), told);
    finish(seat, place.filter, &mut target);
    seat.drop_indexes(&from.store);
    seat.call(|handler| handler.on_recovered());
    Moved::Done
}

fn finish(seat: &Arc<Seat>, filter: Option<Filter>, target: &mut Apply) {
    if target.synced_once {
        seat.tell_synced();
    }
    target.audience.add(Arc::clone(seat), filter);
    seat.settle_in();
}

type Side<'a> = (&'a Arc<Shared>, Option<&'a Filter>);

/// Tells the seat in what the two stores differ.
fn differ(seat: &Seat, from: Side<'_>, to: Side<'_>, told: bool) {
    let objects = |(shared, filter): Side<'_>| view::page(&shared.store, filter, None, None, usize::MAX);
    let sequence = to.0.store.sequence();
    let cause = if told { ChangeCause::Relist } else { ChangeCause::InitialList };
    let known = objects(from);
    let mut known: HashMap<_, &Arc<Object>> = known.iter().map(|object| (object.key(), object)).collect();
    let now = objects(to);
    for new in &now {
        match known.remove(new.key()) {
            Some(old) if old.uid() == new.uid() && old.resource_version() == new.resource_version() => {}
            old => seat.tell(None, &Change::put(new, old, to.0.slot_of(new.key()), cause, sequence)),
        }
    }
    for old in known.into_values() {
        seat.tell(None, &Change::removal(old, old, false, None, cause, sequence));
    }
}
