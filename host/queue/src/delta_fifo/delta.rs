//! One change of one key. Owns the kinds of changes, which are client-go's, and which of
//! two deletions says more; never a key.

/// A change, with the object as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta<T> {
    /// The object was added.
    Added(T),
    /// The object was changed.
    Updated(T),
    /// A full list shows the object; whether it was there before is not known.
    Replaced(T),
    /// A resync shows the object again, unchanged.
    Sync(T),
    /// The object is gone.
    Deleted(Deletion<T>),
}

/// How a deletion became known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion<T> {
    /// It was seen; this is the object's final state.
    Seen(T),
    /// It was not seen: a full list does not have the key. With the last state that is
    /// known, which may be old; client-go's `DeletedFinalStateUnknown`.
    FinalStateUnknown(Option<T>),
}

/// The kind of a [`Delta`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaKind {
    /// [`Delta::Added`].
    Added,
    /// [`Delta::Updated`].
    Updated,
    /// [`Delta::Replaced`].
    Replaced,
    /// [`Delta::Sync`].
    Sync,
    /// [`Delta::Deleted`].
    Deleted,
}

impl<T> Delta<T> {
    /// What kind of change.
    pub const fn kind(&self) -> DeltaKind {
        match self {
            Self::Added(_) => DeltaKind::Added,
            Self::Updated(_) => DeltaKind::Updated,
            Self::Replaced(_) => DeltaKind::Replaced,
            Self::Sync(_) => DeltaKind::Sync,
            Self::Deleted(_) => DeltaKind::Deleted,
        }
    }

    /// The object; of a deletion its last state, if one is known.
    pub const fn object(&self) -> Option<&T> {
        match self {
            Self::Added(object) | Self::Updated(object) | Self::Replaced(object) | Self::Sync(object) => Some(object),
            Self::Deleted(deletion) => deletion.object(),
        }
    }

    pub(super) const fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }
}

impl<T> Deletion<T> {
    /// The last state that is known.
    pub const fn object(&self) -> Option<&T> {
        match self {
            Self::Seen(object) => Some(object),
            Self::FinalStateUnknown(object) => object.as_ref(),
        }
    }

    const fn weight(&self) -> u8 {
        match self {
            Self::Seen(_) => 2,
            Self::FinalStateUnknown(Some(_)) => 1,
            Self::FinalStateUnknown(None) => 0,
        }
    }
}

/// Of two changes in a row, are both deletions, so that one is enough? Then: is it the later
/// one? A deletion that was seen says more than a tombstone, and one with an object more
/// than one without; of two that were seen the later one stays, of two tombstones the earlier.
pub(super) fn merge<T>(earlier: &Delta<T>, later: &Delta<T>) -> Option<Keep> {
    let (Delta::Deleted(earlier), Delta::Deleted(later)) = (earlier, later) else { return None };
    let later_wins = later.weight() > earlier.weight() || matches!(later, Deletion::Seen(_));
    Some(if later_wins { Keep::Later } else { Keep::Earlier })
}

/// Which of two deletions stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Earlier,
    Later,
}
