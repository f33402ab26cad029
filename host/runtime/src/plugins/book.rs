//! The revisions of one plugin, and what became of each. Owns the rules: which one is good, which was
//! withdrawn, which number is next, which are forgotten. Reads and writes nothing (see `revisions`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bake::Good;

/// Longer messages are cut, in characters.
const MAX_MESSAGE: usize = 1024;

/// What is kept of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// An operator has paused it.
    pub paused: bool,
    /// The last document that could be read says `suspend: true`.
    pub suspended: bool,
    /// What a new revision is compared with.
    pub measure: Good,
    /// The oldest first.
    pub revisions: Vec<Kept>,
}

/// One revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its number.
    pub number: u64,
    /// Tells it from others; see `identity`.
    pub identity: String,
    /// `sha256:…` of its component.
    pub digest: String,
    /// The document, as JSON.
    pub document: String,
    /// When it went into service, seconds since 1970.
    pub since: u64,
    /// What became of it.
    pub standing: Standing,
    /// Why it was withdrawn, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What became of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It serves, or has served, and it is not known yet whether it is good.
    New,
    /// It has proved itself.
    Good,
    /// It was worse than the one before, or an operator did not want it.
    Withdrawn,
}

impl Kept {
    fn is(&self, identity: &str, document: &str) -> bool {
        self.identity == identity && self.document == document
    }
}

impl Book {
    /// The last one that has proved itself.
    pub fn good(&self) -> Option<&Kept> {
        self.revisions.iter().rev().find(|kept| kept.standing == Standing::Good)
    }

    /// Was this one withdrawn, and not served since?
    pub fn withdrawn(&self, identity: &str, document: &str) -> Option<&Kept> {
        let last = self.revisions.iter().rev().find(|kept| kept.is(identity, document))?;
        Some(last).filter(|kept| kept.standing == Standing::Withdrawn)
    }

    /// What became of one, in a word, while that with the number `serving` serves. On trial is only what serves, or served
    /// last: of another one it will never be known.
    pub fn word(&self, kept: &Kept, serving: Option<u64>) -> &'static str {
        match kept.standing {
            Standing::New if kept.number != serving.unwrap_or(self.last()) => "Superseded",
            Standing::New => "New",
            Standing::Good => "Good",
            Standing::Withdrawn => "Withdrawn",
        }
    }

    /// The one with a number.
    pub fn numbered(&self, number: u64) -> Option<&Kept> {
        self.revisions.iter().rev().find(|kept| kept.number == number)
    }

    /// Notes what became of the one with a number.
    pub fn judge(&mut self, number: u64, standing: Standing, message: &str) {
        if let Some(kept) = self.revisions.iter_mut().rev().find(|kept| kept.number == number) {
            kept.standing = standing;
            kept.message = message.chars().take(MAX_MESSAGE).collect();
        }
    }

    /// The newest.
    pub fn newest(&self) -> Option<&Kept> {
        self.revisions.iter().max_by_key(|kept| kept.number)
    }

    /// Its number; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.newest().map_or(0, |kept| kept.number)
    }

    /// The number of a revision that is the first to serve in this process. `known` is what the checkpoint says: it goes
    /// on if that is this very revision, or if nothing else has that number.
    pub fn continued(&self, known: u64, identity: &str) -> u64 {
        match self.numbered(known) {
            Some(kept) if kept.identity == identity => known,
            _ => known.max(self.last().saturating_add(1)),
        }
    }

    /// The last good one before a number that is another revision.
    pub fn before(&self, number: u64) -> Option<&Kept> {
        let serving = self.numbered(number)?;
        let mut earlier = self.revisions.iter().rev().filter(|kept| kept.number < number && !kept.is(&serving.identity, &serving.document));
        earlier.find(|kept| kept.standing == Standing::Good)
    }

    /// One goes into service. Returns what becomes of it until it is judged.
    pub fn serves(&mut self, kept: Kept) -> Standing {
        if let Some(same) = self.numbered(kept.number) {
            return same.standing;
        }
        // Nothing can be worse than nothing, and what was good is not judged again.
        let known = self.good().is_none_or(|good| good.identity == kept.identity);
        let standing = if known { Standing::Good } else { kept.standing };
        self.revisions.push(Kept { standing, ..kept });
        standing
    }

    /// Drops the oldest of more than `keep`: never the last good one.
    pub fn shorten(&mut self, keep: usize) {
        let good = self.good().map(|kept| kept.number);
        while self.revisions.len() > keep.max(2) {
            let Some(oldest) = self.revisions.iter().position(|kept| Some(kept.number) != good) else { return };
            self.revisions.remove(oldest);
        }
    }
}

/// Now, in seconds since 1970.
pub fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: u64, identity: &str) -> Kept {
        Kept {
            number,
            identity: identity.into(),
            digest: String::new(),
            document: String::new(),
            since: now(),
            standing: Standing::New,
            message: String::new(),
        }
    }

    #[test]
    fn the_first_is_good_and_others_have_to_prove_themselves() {
        let mut book = Book::default();
        assert_eq!(book.serves(kept(1, "a")), Standing::Good);
        assert_eq!(book.serves(kept(2, "b")), Standing::New);
        assert_eq!(book.good().map(|kept| kept.number), Some(1));
        // After a restart it goes on as it was.
        assert_eq!(book.serves(kept(2, "b")), Standing::New);
        book.judge(2, Standing::Withdrawn, "it traps");
        assert_eq!(book.withdrawn("b", "").map(|kept| &*kept.message), Some("it traps"));
        assert_eq!(book.withdrawn("a", ""), None);
        // Another document may do what this one did not.
        assert_eq!(book.withdrawn("b", "{}"), None);
        assert_eq!(book.serves(kept(3, "a")), Standing::Good);
        // It is wished once more.
        assert_eq!(book.serves(kept(4, "b")), Standing::New);
        assert_eq!(book.withdrawn("b", ""), None);
        book.judge(4, Standing::Good, "");
        assert_eq!((book.before(4).map(|kept| kept.number), book.last()), (Some(3), 4));
    }

    #[test]
    fn on_trial_is_only_what_serves() {
        let mut book = Book::default();
        for (number, identity) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
            let _ = book.serves(kept(number, identity));
        }
        book.judge(3, Standing::Withdrawn, "it traps");
        let words = |serving| book.revisions.iter().map(|kept| book.word(kept, serving)).collect::<Vec<_>>();
        assert_eq!(words(Some(4)), ["Good", "Superseded", "Withdrawn", "New"]);
        assert_eq!(words(Some(1)), ["Good", "Superseded", "Withdrawn", "Superseded"]);
        // Nothing serves yet, or another host leads.
        assert_eq!(words(None), ["Good", "Superseded", "Withdrawn", "New"]);
    }

    #[test]
    fn numbers_go_on_and_are_never_used_twice() {
        let mut book = Book::default();
        assert_eq!(book.continued(1, "a"), 1);
        let _ = book.serves(kept(1, "a"));
        let _ = book.serves(kept(2, "b"));
        assert_eq!(book.continued(2, "b"), 2);
        assert_eq!(book.continued(2, "c"), 3);
        // The checkpoint is gone, or is ahead.
        assert_eq!(book.continued(1, "c"), 3);
        assert_eq!(book.continued(7, "c"), 7);
    }
}
