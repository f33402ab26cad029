//! Due marks: reasons to call a key although nothing changed. Owns which marks are
//! pending and which of them the running call has seen; never decides whether they lead
//! to a call.

use crate::event::Cause;

/// A reason to call that is not a change of the object and not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A pass over everything. Parked keys ignore it.
    Resync,
    /// A new revision or configuration is in service, or a revision was withdrawn.
    Reload,
    /// An object that maps to the key changed.
    Related,
    /// An operator asked for it.
    Manual,
}

impl Mark {
    /// Weakest first.
    pub(super) const ALL: [Self; 4] = [Self::Resync, Self::Related, Self::Reload, Self::Manual];

    /// What the guest is told.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Resync => Cause::Resync,
            Self::Reload => Cause::Reload,
            Self::Related => Cause::Related,
            Self::Manual => Cause::Manual,
        }
    }

    pub(super) const fn bit(self) -> u8 {
        match self {
            Self::Resync => 0b0001,
            Self::Reload => 0b0010,
            Self::Related => 0b0100,
            Self::Manual => 0b1000,
        }
    }
}

/// A set of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkSet(u8);

impl MarkSet {
    /// Is it in the set?
    pub const fn contains(self, mark: Mark) -> bool {
        self.0 & mark.bit() != 0
    }

    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    /// Is nothing in the set?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The marks of one entry.
///
/// A second mark of a kind adds nothing while the first is pending, so a bit per kind is
/// enough. A mark that comes during a call takes its bit out of `taken`: the end of that
/// call does not use it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pending: MarkSet,
    taken: MarkSet,
    newest: Option<Mark>,
}

impl Marks {
    pub(super) const fn pending(self) -> MarkSet {
        self.pending
    }

    pub(super) fn insert(&mut self, mark: Mark) {
        self.pending.0 |= mark.bit();
        self.taken.0 &= !mark.bit();
        self.newest = Some(mark);
    }

    pub(super) fn remove(&mut self, mark: Mark) {
        self.pending.0 &= !mark.bit();
    }

    /// A call starts: it has seen what is pending.
    pub(super) fn take(&mut self) -> MarkSet {
        self.taken = self.pending;
        self.taken
    }

    /// The call ended: what it had seen is used up.
    pub(super) fn use_up(&mut self) {
        self.pending.0 &= !self.taken.0;
        self.taken = MarkSet::default();
    }

    /// The mark that came last, or the strongest where that one is gone.
    pub(super) fn leading(self) -> Option<Mark> {
        let pending = |mark: &Mark| self.pending.contains(*mark);
        self.newest.filter(pending).or_else(|| Mark::ALL.into_iter().rev().find(pending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_uses_up_only_what_it_saw() {
        let mut marks = Marks::default();
        marks.insert(Mark::Related);
        marks.insert(Mark::Resync);
        let taken = marks.take();
        assert!(taken.contains(Mark::Related) && taken.contains(Mark::Resync) && !taken.contains(Mark::Manual));
        marks.insert(Mark::Related);
        marks.insert(Mark::Manual);
        marks.use_up();
        assert!(marks.pending().contains(Mark::Related) && marks.pending().contains(Mark::Manual));
        assert!(!marks.pending().contains(Mark::Resync));
        // The next call uses up the rest.
        marks.take();
        marks.use_up();
        assert!(marks.pending().is_empty());
    }

    #[test]
    fn an_interrupted_call_uses_up_nothing() {
        let mut marks = Marks::default();
        marks.insert(Mark::Reload);
        marks.take();
        assert!(marks.pending().contains(Mark::Reload) && marks.take().contains(Mark::Reload));
    }

    #[test]
    fn the_last_mark_leads() {
        let mut marks = Marks::default();
        assert_eq!(marks.leading(), None);
        for mark in [Mark::Manual, Mark::Reload, Mark::Related, Mark::Resync] {
            marks.insert(mark);
            assert_eq!(marks.leading(), Some(mark));
        }
        marks.remove(Mark::Resync);
        assert_eq!(marks.leading(), Some(Mark::Manual));
    }

    #[test]
    fn every_mark_has_a_bit_and_a_cause_of_its_own() {
        for (n, mark) in Mark::ALL.into_iter().enumerate() {
            for other in Mark::ALL.into_iter().skip(n.saturating_add(1)) {
                assert!(mark.bit() != other.bit() && mark.cause() != other.cause());
            }
        }
    }
}
