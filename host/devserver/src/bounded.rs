//! How much is told of what is wrong. A request of a few megabytes can be wrong in a million places, each below a path as long as the
//! request, and an answer that names them all is larger than the memory.
//!
//! Owns the bounds, of everything that is collected to be told; knows nothing of what that is.

use std::ops::Deref;

/// Things that one refusal tells, at most.
pub(crate) const MOST: usize = 500;
/// Bytes of them together, at most; the first one is told whatever its length.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// What can be told.
pub(crate) trait Told {
    /// How long it is.
    fn bytes(&self) -> usize;
}

/// The first ones of what was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bounded<T> {
    told: Vec<T>,
    bytes: usize,
    full: bool,
}

impl<T: Told> Bounded<T> {
    /// Tells of one more, unless it is too much. What comes after one that was too much is not told either: these are the first ones.
    pub(crate) fn push(&mut self, one: T) {
        let bytes = self.bytes.saturating_add(one.bytes());
        if self.is_full() || (bytes > MOST_BYTES && !self.told.is_empty()) {
            self.full = true;
        } else {
            self.bytes = bytes;
            self.told.push(one);
        }
    }

    /// Whether nothing more will be told. Who walks through what may be wrong ends there: already to name a place may be long.
    pub(crate) fn is_full(&self) -> bool {
        self.full || self.told.len() >= MOST || self.bytes >= MOST_BYTES
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.told
    }
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { told: Vec::new(), bytes: 0, full: false }
    }
}

impl<T> Deref for Bounded<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.told
    }
}

impl<T: Told> Extend<T> for Bounded<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        for one in all {
            self.push(one);
            if self.is_full() {
                break;
            }
        }
    }
}

impl<T> IntoIterator for Bounded<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.told.into_iter()
    }
}

impl Told for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Told> Told for &T {
    fn bytes(&self) -> usize {
        T::bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sizes: &[usize]) -> Vec<usize> {
        let mut all = Bounded::default();
        all.extend(sizes.iter().map(|size| "x".repeat(*size)));
        all.iter().map(String::len).collect()
    }

    #[test]
    fn the_first_ones_are_told() {
        assert_eq!(told(&[1; 3]), [1; 3]);
        assert_eq!(told(&[1; MOST + 1]).len(), MOST);
        assert_eq!(told(&[MOST_BYTES / 2, MOST_BYTES / 2, 1]), [MOST_BYTES / 2; 2]);
        assert_eq!(told(&[1, MOST_BYTES, 1]), [1]);
        assert_eq!(told(&[MOST_BYTES + 1, 1]), [MOST_BYTES + 1]);
    }
}
