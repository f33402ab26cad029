//! Members in the order of how much they will have had: who wants and would have least with
//! what it expects is first. Owns the order and the names; what is counted, and what a member
//! has of its own, is for the caller.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One level of sharing. All operations but `join` and `leave` are at most logarithmic in the
/// members that want; none that want costs nothing. Bounded by those who have joined.
#[derive(Debug)]
pub(crate) struct Level<T> {
    /// By number; numbers are used again.
    members: Vec<Option<Member<T>>>,
    vacant: Vec<usize>,
    by_name: HashMap<Arc<str>, usize>,
    wanting: BTreeSet<Place>,
    served: u64,
}

#[derive(Debug)]
struct Member<T> {
    name: Arc<str>,
    /// How often it has joined.
    users: usize,
    had: u64,
    place: Place,
    wants: bool,
    inner: T,
}

/// Who will have had least; of those who are alike, who was served longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// With what is expected.
    will: u64,
    served: u64,
    number: usize,
}

impl<T> Level<T> {
    pub(crate) fn new() -> Self {
        Self { members: Vec::new(), vacant: Vec::new(), by_name: HashMap::new(), wanting: BTreeSet::new(), served: 0 }
    }

    /// The number of a member; a new one has had `had`. Each join is ended by a [`leave`](Self::leave).
    pub(crate) fn join(&mut self, name: &str, had: u64, make: impl FnOnce() -> T) -> usize {
        if let Some(number) = self.by_name.get(name).copied() {
            if let Some(member) = self.member(number) {
                member.users += 1;
            }
            return number;
        }
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.members.push(None);
            self.members.len() - 1
        });
        let name: Arc<str> = name.into();
        let place = Place { will: had, served: 0, number };
        if let Some(vacant) = self.members.get_mut(number) {
            *vacant = Some(Member { name: Arc::clone(&name), users: 1, had, place, wants: false, inner: make() });
        }
        self.by_name.insert(name, number);
        number
    }

    /// Ends a join; the last one removes the member.
    pub(crate) fn leave(&mut self, number: usize) {
        let Some(member) = self.member(number) else { return };
        member.users -= 1;
        if member.users > 0 {
            return;
        }
        self.rest(number);
        if let Some(gone) = self.members.get_mut(number).and_then(Option::take) {
            self.by_name.remove(&gone.name);
            self.vacant.push(number);
        }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn get(&mut self, number: usize) -> Option<&mut T> {
        self.member(number).map(|member| &mut member.inner)
    }

    /// What a member has had.
    pub(crate) fn had(&self, number: usize) -> u64 {
        self.members.get(number).and_then(Option::as_ref).map_or(0, |member| member.had)
    }

    /// What a member will have had with what it expects.
    pub(crate) fn will(&self, number: usize) -> u64 {
        self.members.get(number).and_then(Option::as_ref).map_or(0, |member| member.place.will)
    }

    /// The first of those who want.
    pub(crate) fn first(&self) -> Option<usize> {
        self.wanting.first().map(|place| place.number)
    }

    /// It wants something from now on, of which it expects to take so much.
    pub(crate) fn want(&mut self, number: usize, expects: u64) {
        self.replace(number, |had, place| place.will = had.saturating_add(expects));
        if let Some(member) = self.member(number)
            && !std::mem::replace(&mut member.wants, true)
        {
            let place = member.place;
            self.wanting.insert(place);
        }
    }

    /// It wants nothing any more.
    pub(crate) fn rest(&mut self, number: usize) {
        if let Some(member) = self.member(number)
            && std::mem::replace(&mut member.wants, false)
        {
            let place = member.place;
            self.wanting.remove(&place);
        }
    }

    /// Changes what it has had; what it expects stays.
    pub(crate) fn set(&mut self, number: usize, had: u64) {
        self.replace(number, |old, place| {
            place.will = had.saturating_add(place.will.saturating_sub(*old));
            *old = had;
        });
    }

    /// It is served now, and has had so much by it.
    pub(crate) fn serve(&mut self, number: usize, had: u64) {
        self.set(number, had);
        self.served += 1;
        let served = self.served;
        self.replace(number, |_, place| place.served = served);
    }

    fn replace(&mut self, number: usize, change: impl FnOnce(&mut u64, &mut Place)) {
        let Some(member) = self.member(number) else { return };
        let (old, wants) = (member.place, member.wants);
        change(&mut member.had, &mut member.place);
        let new = member.place;
        if wants && old != new {
            self.wanting.remove(&old);
            self.wanting.insert(new);
        }
    }

    fn member(&mut self, number: usize) -> Option<&mut Member<T>> {
        self.members.get_mut(number).and_then(Option::as_mut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_had_least_is_first_then_who_was_served_longest_ago() {
        let mut level = Level::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| level.join(name, 0, || ()));
        assert_eq!(level.first(), None);
        for number in [a, b, c] {
            level.want(number, 0);
        }
        level.serve(a, 5);
        level.serve(b, 5);
        assert_eq!(level.first(), Some(c));
        level.set(c, 5);
        assert_eq!(level.first(), Some(c), "never served");
        level.rest(c);
        assert_eq!(level.first(), Some(a), "served before b");
        level.set(a, 6);
        assert_eq!(level.first(), Some(b));
        level.want(b, 2);
        assert_eq!((level.first(), level.had(b), level.will(b)), (Some(a), 5, 7), "it expects more");
        level.serve(a, 8);
        assert_eq!(level.first(), Some(b));
    }

    #[test]
    fn numbers_of_those_who_left_are_used_again() {
        let mut level = Level::new();
        let a = level.join("a", 7, || 1);
        assert_eq!(level.join("a", 9, || 2), a);
        level.want(a, 0);
        level.leave(a);
        assert_eq!((level.len(), level.had(a), level.first()), (1, 7, Some(a)));
        level.leave(a);
        assert_eq!((level.len(), level.first()), (0, None));
        assert_eq!(level.join("b", 3, || 3), a);
        assert_eq!((level.had(a), level.get(a).copied()), (3, Some(3)));
    }
}
