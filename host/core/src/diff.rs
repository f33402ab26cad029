//! The table: what the ledger knows of a key and the object now make a call, or none.
//!
//! Owns the decision ([`decide`]) and what it reads. It is pure and knows no time: whether
//! something is due is one bit. It never changes the ledger (that is `ledger`), and never
//! says when a key is looked at (that is the queue's).

use std::sync::Arc;

use crate::event::{Event, Removal};
use crate::object::Object;

/// One state of an object, cheap to clone (an `Arc`).
pub trait State: Clone {
    /// Tells two objects of the same name apart.
    fn uid(&self) -> &str;

    /// Tells two states of one object apart; compared for equality only.
    fn resource_version(&self) -> &str;
}

impl State for Arc<Object> {
    fn uid(&self) -> &str {
        Object::uid(self)
    }

    fn resource_version(&self) -> &str {
        Object::resource_version(self)
    }
}

/// Which calls a subscription wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventSet(u8);

impl EventSet {
    /// Every call.
    pub const ALL: Self = Self(0b111);
    /// No call.
    pub const NONE: Self = Self(0);

    /// Is this call wanted?
    pub const fn contains(self, event: Event) -> bool {
        self.0 & Self::bit(event) != 0
    }

    /// Is no call wanted?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn bit(event: Event) -> u8 {
        match event {
            Event::Add => 0b001,
            Event::Update => 0b010,
            Event::Delete => 0b100,
        }
    }
}

impl FromIterator<Event> for EventSet {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self(events.into_iter().fold(0, |set, event| set | Self::bit(event)))
    }
}

/// What the subscription of a key wants. Changes are dropped by it, calls that are due never.
pub struct Rules<'a, S> {
    /// Is the object one of the subscription's (selectors, scope)?
    pub matches: &'a dyn Fn(&S) -> bool,
    /// Changes that make other calls are dropped.
    pub events: EventSet,
    /// What the other filters say of the change from the first state (`None` where there is
    /// nothing to compare with) to the second. Asked at most once, and only of a change that
    /// makes a wanted call.
    pub verdict: &'a dyn Fn(Option<&S>, &S) -> Verdict,
}

/// What the filters say of one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leads to a call.
    Wanted,
    /// It is dropped.
    Dropped(Dropped),
    /// It has not been judged yet: that is done first, and then all is decided anew.
    Unknown,
}

/// Which filter dropped a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dropped {
    /// The subscription does not want its event.
    Events,
    /// None of the values that count has changed.
    OnlyIfChanged,
    /// An expression said no.
    Filter,
    /// It was made by the plugin itself.
    OwnWrite,
}

impl Dropped {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Events, Self::OnlyIfChanged, Self::Filter, Self::OwnWrite];

    /// The field of the document that asks for it; used in logs and metrics too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::OnlyIfChanged => "onlyIfChanged",
            Self::Filter => "filter",
            Self::OwnWrite => "ignoreOwnWrites",
        }
    }
}

/// What the ledger knows of a key, as far as the table needs it. All states are of one uid.
#[derive(Clone, Debug)]
pub struct Known<'a, S> {
    /// State of the last `add` or `update`, whether or not it succeeded, or a later one
    /// that was filtered. Changes are judged against it.
    pub last: &'a S,
    /// State that was last delivered with success, or filtered while no failed call was
    /// outstanding: the *a* of the table, shown as `previous`.
    pub delivered: Option<&'a S>,
    /// An `add` or `update` was called and has not succeeded (yet).
    pub tried: bool,
    /// `delete` was called and has not succeeded (yet).
    pub dying: bool,
    /// The last state of an object that is gone, and whether it is surely the final one.
    pub tombstone: Option<(&'a S, bool)>,
}

/// What to do with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<S> {
    /// Nothing at all.
    Nothing,
    /// No call; what changed is dropped, and the object now becomes what later changes
    /// are judged against.
    Filter(Dropped),
    /// The filters must judge the change from this state to the object now.
    Judge {
        /// `None`: there is nothing to compare with.
        old: Option<S>,
    },
    /// Drop the entry and decide again: the subscription wants no `delete`.
    Forget,
    /// Call the guest.
    Call(Planned<S>),
}

/// A call that the table asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<S> {
    /// Which function.
    pub event: Event,
    /// The object now; in `delete` its final state, as far as it is known.
    pub current: S,
    /// The state that the plugin was last told with success; `None` in `add`.
    pub previous: Option<S>,
    /// Why `delete` is called.
    pub removal: Removal,
    /// `delete` only: `current` may lack the last changes.
    pub final_state_unknown: bool,
    /// The call is made only because something is due.
    pub only_due: bool,
    /// A change was dropped on the way: first treat it as [`Decision::Filter`] does.
    pub dropped: Option<Dropped>,
}

/// The table. `known` is the ledger's entry and `now` the object in the store, whether or
/// not it matches; `due`: a mark is pending or the due time has come. Costs a few
/// comparisons, one call of `rules.matches` and one of `rules.verdict`, and clones of states.
pub fn decide<S: State>(known: Option<&Known<'_, S>>, now: Option<&S>, rules: &Rules<'_, S>, due: bool) -> Decision<S> {
    let here = now.filter(|now| (rules.matches)(now));
    match (known, here) {
        (None, None) => Decision::Nothing,
        (None, Some(now)) => first_sight(now, rules),
        (Some(known), Some(now)) if now.uid() == known.last.uid() => present(known, now, rules, due),
        (Some(known), _) => removed(known, now, here.is_some(), rules.events, due),
    }
}

fn first_sight<S: State>(now: &S, rules: &Rules<'_, S>) -> Decision<S> {
    match rules.of(Event::Add, None, now) {
        Verdict::Wanted => Decision::Call(Planned::of(Event::Add, now)),
        Verdict::Dropped(by) => Decision::Filter(by),
        Verdict::Unknown => Decision::Judge { old: None },
    }
}

/// The same object is there and matches.
fn present<S: State>(known: &Known<'_, S>, now: &S, rules: &Rules<'_, S>, due: bool) -> Decision<S> {
    // Once `delete` was tried the plugin may have undone its work: it starts anew.
    let (base, delivered) = if known.dying { (None, None) } else { (Some(known.last), known.delivered) };
    let changed = base.is_none_or(|base| now.resource_version() != base.resource_version());
    let event = if delivered.is_some() { Event::Update } else { Event::Add };
    let planned = Planned { previous: delivered.cloned(), ..Planned::of(event, now) };
    let dropped = match changed.then(|| rules.of(event, base, now)) {
        None => None,
        Some(Verdict::Wanted) => return Decision::Call(planned),
        Some(Verdict::Dropped(by)) => Some(by),
        Some(Verdict::Unknown) => return Decision::Judge { old: base.cloned() },
    };
    if due && !known.dying {
        // A dropped change moves what `previous` shows, unless a failed call is outstanding.
        let moved = changed && delivered.is_some() && !known.tried;
        let previous = if moved { Some(now.clone()) } else { planned.previous };
        return Decision::Call(Planned { previous, only_due: true, dropped, ..planned });
    }
    dropped.map_or(Decision::Nothing, Decision::Filter)
}

impl<S> Rules<'_, S> {
    fn of(&self, event: Event, old: Option<&S>, new: &S) -> Verdict {
        if self.events.contains(event) { (self.verdict)(old, new) } else { Verdict::Dropped(Dropped::Events) }
    }
}

/// The object of the entry is gone, or does not match, or another one has its name.
fn removed<S: State>(known: &Known<'_, S>, now: Option<&S>, newcomer: bool, events: EventSet, due: bool) -> Decision<S> {
    if !events.contains(Event::Delete) {
        return Decision::Forget;
    }
    if known.dying && !due {
        return Decision::Nothing;
    }
    let (current, removal, final_known) = match now.filter(|now| now.uid() == known.last.uid()) {
        Some(now) => (now, Removal::Unmatched, true),
        None => {
            // Without a tombstone the delete was missed: the best known state stands in.
            let (state, final_known) = known.tombstone.unwrap_or((known.last, false));
            (state, if newcomer { Removal::Replaced } else { Removal::Gone }, final_known)
        }
    };
    Decision::Call(Planned {
        previous: known.delivered.cloned(),
        removal,
        final_state_unknown: !final_known,
        only_due: known.dying,
        ..Planned::of(Event::Delete, current)
    })
}

impl<S: State> Planned<S> {
    fn of(event: Event, current: &S) -> Self {
        Self {
            event,
            current: current.clone(),
            previous: None,
            removal: Removal::None,
            final_state_unknown: false,
            only_due: false,
            dropped: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uid, resourceVersion, does it match?
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Obj(&'static str, &'static str, bool);

    impl State for Obj {
        fn uid(&self) -> &str {
            self.0
        }
        fn resource_version(&self) -> &str {
            self.1
        }
    }

    const U1: Obj = Obj("u", "1", true);
    const U2: Obj = Obj("u", "2", true);
    const U3: Obj = Obj("u", "3", true);
    const U4_AWAY: Obj = Obj("u", "4", false);
    const V5: Obj = Obj("v", "5", true);
    const V5_AWAY: Obj = Obj("v", "5", false);

    const DELIVERED: Known<'_, Obj> = Known { last: &U1, delivered: Some(&U1), tried: false, dying: false, tombstone: None };
    const TRIED: Known<'_, Obj> = Known { last: &U1, delivered: None, tried: true, ..DELIVERED };
    const FAILED: Known<'_, Obj> = Known { last: &U2, delivered: Some(&U1), tried: true, ..DELIVERED };
    const DYING: Known<'_, Obj> = Known { dying: true, ..DELIVERED };

    fn with(events: EventSet, known: Option<Known<'_, Obj>>, now: Option<Obj>, due: bool) -> Decision<Obj> {
        let verdict = |_: Option<&Obj>, _: &Obj| Verdict::Wanted;
        decide(known.as_ref(), now.as_ref(), &Rules { matches: &|o: &Obj| o.2, events, verdict: &verdict }, due)
    }

    /// All events, and filters that say this; and what they were asked.
    fn judged(verdict: Verdict, known: Option<Known<'_, Obj>>, now: Obj, due: bool) -> (Decision<Obj>, Vec<(Option<Obj>, Obj)>) {
        let asked = std::cell::RefCell::new(Vec::new());
        let judge = |old: Option<&Obj>, new: &Obj| {
            asked.borrow_mut().push((old.cloned(), new.clone()));
            verdict
        };
        let rules = Rules { matches: &|o: &Obj| o.2, events: EventSet::ALL, verdict: &judge };
        let decision = decide(known.as_ref(), Some(&now), &rules, due);
        (decision, asked.into_inner())
    }

    fn all(known: Known<'_, Obj>, now: Option<Obj>, due: bool) -> Decision<Obj> {
        with(EventSet::ALL, Some(known), now, due)
    }

    fn without(event: Event) -> EventSet {
        Event::ALL.into_iter().filter(|e| *e != event).collect()
    }

    fn call(event: Event, current: Obj, previous: Option<Obj>) -> Planned<Obj> {
        Planned { previous, ..Planned::of(event, &current) }
    }

    fn delete(current: Obj, previous: Option<Obj>, removal: Removal) -> Planned<Obj> {
        Planned { removal, ..call(Event::Delete, current, previous) }
    }

    #[test]
    fn event_sets() {
        assert!(EventSet::NONE.is_empty() && !EventSet::ALL.is_empty());
        for event in Event::ALL {
            assert!(EventSet::ALL.contains(event) && !EventSet::NONE.contains(event) && !without(event).contains(event));
        }
    }

    #[test]
    fn row_none_and_an_object_is_add() {
        assert_eq!(with(EventSet::ALL, None, Some(U1), false), Decision::Call(call(Event::Add, U1, None)));
        assert_eq!(with(without(Event::Add), None, Some(U1), false), Decision::Filter(Dropped::Events));
    }

    #[test]
    fn row_never_called_and_none_is_nothing() {
        assert_eq!(with(EventSet::ALL, None, None, true), Decision::Nothing);
        assert_eq!(with(EventSet::ALL, None, Some(U4_AWAY), true), Decision::Nothing);
    }

    #[test]
    fn row_tried_never_delivered_is_add_again() {
        assert_eq!(all(TRIED, Some(U2), false), Decision::Call(call(Event::Add, U2, None)));
        assert_eq!(all(TRIED, Some(U1), true), Decision::Call(Planned { only_due: true, ..call(Event::Add, U1, None) }));
        assert_eq!(all(TRIED, Some(U1), false), Decision::Nothing);
    }

    #[test]
    fn row_delivered_and_a_change_is_update_with_the_delivered_as_previous() {
        assert_eq!(all(DELIVERED, Some(U2), false), Decision::Call(call(Event::Update, U2, Some(U1))));
        assert_eq!(all(DELIVERED, Some(U1), true), Decision::Call(Planned { only_due: true, ..call(Event::Update, U1, Some(U1)) }));
    }

    #[test]
    fn row_delivered_then_failed_is_judged_against_the_failed_and_shows_the_delivered() {
        assert_eq!(all(FAILED, Some(U3), false), Decision::Call(call(Event::Update, U3, Some(U1))));
        assert_eq!(all(FAILED, Some(U2), false), Decision::Nothing);
        // Even going back to the delivered state is a change.
        assert_eq!(all(FAILED, Some(U1), false), Decision::Call(call(Event::Update, U1, Some(U1))));
        assert_eq!(all(FAILED, Some(U2), true), Decision::Call(Planned { only_due: true, ..call(Event::Update, U2, Some(U1)) }));
    }

    #[test]
    fn row_nothing_changed_and_nothing_due_is_nothing() {
        assert_eq!(all(DELIVERED, Some(U1), false), Decision::Nothing);
    }

    #[test]
    fn row_tombstone_is_delete_with_the_final_state() {
        let known = Known { tombstone: Some((&U2, true)), ..DELIVERED };
        assert_eq!(all(known, None, false), Decision::Call(delete(U2, Some(U1), Removal::Gone)));
        let known = Known { tombstone: Some((&U2, false)), ..TRIED };
        assert_eq!(all(known, None, false), Decision::Call(Planned { final_state_unknown: true, ..delete(U2, None, Removal::Gone) }));
    }

    #[test]
    fn row_gone_without_tombstone_hands_out_the_last_state_as_unknown() {
        assert_eq!(all(FAILED, None, false), Decision::Call(Planned { final_state_unknown: true, ..delete(U2, Some(U1), Removal::Gone) }));
    }

    #[test]
    fn row_no_longer_matches_is_delete_unmatched_with_the_object_now() {
        assert_eq!(all(DELIVERED, Some(U4_AWAY), false), Decision::Call(delete(U4_AWAY, Some(U1), Removal::Unmatched)));
    }

    #[test]
    fn row_another_uid_is_delete_replaced_only_if_the_newcomer_matches() {
        let known = Known { tombstone: Some((&U2, true)), ..DELIVERED };
        assert_eq!(all(known.clone(), Some(V5), false), Decision::Call(delete(U2, Some(U1), Removal::Replaced)));
        assert_eq!(all(known, Some(V5_AWAY), false), Decision::Call(delete(U2, Some(U1), Removal::Gone)));
    }

    #[test]
    fn row_delete_tried_and_the_same_uid_matches_again_is_add() {
        assert_eq!(all(DYING, Some(U1), false), Decision::Call(call(Event::Add, U1, None)));
        // Not wanted: the entry starts anew, due or not.
        for due in [false, true] {
            assert_eq!(with(without(Event::Add), Some(DYING), Some(U1), due), Decision::Filter(Dropped::Events));
        }
    }

    #[test]
    fn row_delete_tried_is_called_again_only_when_due() {
        for now in [None, Some(U4_AWAY), Some(V5)] {
            assert_eq!(all(DYING, now, false), Decision::Nothing);
        }
        let want = Planned { final_state_unknown: true, only_due: true, ..delete(U1, Some(U1), Removal::Gone) };
        assert_eq!(all(DYING, None, true), Decision::Call(want));
    }

    #[test]
    fn events_drop_changes_but_never_due_calls() {
        let only_add = without(Event::Update);
        assert_eq!(with(only_add, Some(DELIVERED), Some(U2), false), Decision::Filter(Dropped::Events));
        // The dropped change counts as told: `previous` is the object now.
        let want = Planned { only_due: true, dropped: Some(Dropped::Events), ..call(Event::Update, U2, Some(U2)) };
        assert_eq!(with(only_add, Some(DELIVERED), Some(U2), true), Decision::Call(want));
        // But not while a failed call is outstanding.
        let want = Planned { only_due: true, dropped: Some(Dropped::Events), ..call(Event::Update, U3, Some(U1)) };
        assert_eq!(with(only_add, Some(FAILED), Some(U3), true), Decision::Call(want));
    }

    #[test]
    fn filters_are_asked_about_the_state_of_the_last_call() {
        let wanted = |known, now| judged(Verdict::Wanted, known, now, false);
        let call = |event, current, previous| Decision::Call(call(event, current, previous));
        assert_eq!(wanted(None, U1), (call(Event::Add, U1, None), vec![(None, U1)]));
        assert_eq!(wanted(Some(DELIVERED), U2), (call(Event::Update, U2, Some(U1)), vec![(Some(U1), U2)]));
        // Failed or not.
        assert_eq!(wanted(Some(FAILED), U3), (call(Event::Update, U3, Some(U1)), vec![(Some(U2), U3)]));
        assert_eq!(wanted(Some(TRIED), U2), (call(Event::Add, U2, None), vec![(Some(U1), U2)]));
        // After a `delete` there is nothing to compare with.
        assert_eq!(wanted(Some(DYING), U1), (call(Event::Add, U1, None), vec![(None, U1)]));
        // Nothing changed, nothing asked.
        assert_eq!(judged(Verdict::Wanted, Some(DELIVERED), U1, true).1, []);
        // Never about a removal.
        assert_eq!(wanted(Some(DELIVERED), U4_AWAY).1, []);
        assert_eq!(wanted(Some(DELIVERED), V5).1, []);
    }

    #[test]
    fn filters_drop_changes_but_never_due_calls() {
        for by in Dropped::ALL {
            let dropped = |known, now, due| judged(Verdict::Dropped(by), known, now, due).0;
            assert_eq!(dropped(None, U1, false), Decision::Filter(by));
            assert_eq!(dropped(Some(DELIVERED), U2, false), Decision::Filter(by));
            assert_eq!(dropped(Some(TRIED), U2, false), Decision::Filter(by));
            assert_eq!(dropped(Some(DYING), U1, true), Decision::Filter(by));
            let due = Planned { only_due: true, dropped: Some(by), ..call(Event::Update, U2, Some(U2)) };
            assert_eq!(dropped(Some(DELIVERED), U2, true), Decision::Call(due));
            let due = Planned { only_due: true, dropped: Some(by), ..call(Event::Update, U3, Some(U1)) };
            assert_eq!(dropped(Some(FAILED), U3, true), Decision::Call(due), "a failed call is outstanding");
            let due = Planned { only_due: true, dropped: Some(by), ..call(Event::Add, U2, None) };
            assert_eq!(dropped(Some(TRIED), U2, true), Decision::Call(due));
        }
    }

    #[test]
    fn what_was_not_judged_yet_is_not_decided() {
        let unknown = |known, now, due| judged(Verdict::Unknown, known, now, due).0;
        assert_eq!(unknown(None, U1, false), Decision::Judge { old: None });
        for due in [false, true] {
            assert_eq!(unknown(Some(DELIVERED), U2, due), Decision::Judge { old: Some(U1) });
            assert_eq!(unknown(Some(FAILED), U3, due), Decision::Judge { old: Some(U2) });
            assert_eq!(unknown(Some(DYING), U1, due), Decision::Judge { old: None });
        }
    }

    #[test]
    fn without_delete_the_entry_is_forgotten() {
        for now in [None, Some(U4_AWAY), Some(V5)] {
            assert_eq!(with(without(Event::Delete), Some(DELIVERED), now, false), Decision::Forget);
        }
    }
}
