//! Which components the books name, counted in memory, so that it is known without reading all of them which
//! ones nobody needs any more. Reads and removes nothing (see `revisions`).

use std::collections::{BTreeSet, HashMap, HashSet};

use wharf_core::plugin::PluginName;

/// The digests that books name; as many as there are kept revisions, at most.
#[derive(Debug, Default)]
pub(super) struct Named {
    books: HashMap<PluginName, HashSet<String>>,
    /// By digest, in how many books it stands.
    counts: HashMap<String, usize>,
    /// Books that cannot be read: nobody knows what they name.
    hidden: BTreeSet<PluginName>,
    /// What would have gone if that were known.
    waiting: HashSet<String>,
}

impl Named {
    /// A book that cannot be read.
    pub(super) fn hides(&mut self, plugin: &PluginName) {
        self.hidden.insert(plugin.clone());
    }

    /// Is it known what every book names?
    pub(super) fn all_known(&self) -> bool {
        self.hidden.is_empty()
    }

    /// Does a book name it?
    pub(super) fn contains(&self, digest: &str) -> bool {
        self.counts.contains_key(digest)
    }

    /// A book names these from now on, and no others. Returns those that no book names any more.
    pub(super) fn names(&mut self, plugin: &PluginName, digests: impl IntoIterator<Item = String>) -> Vec<String> {
        self.hidden.remove(plugin);
        let now: HashSet<String> = digests.into_iter().collect();
        for digest in &now {
            *self.counts.entry(digest.clone()).or_default() += 1;
        }
        let before = self.books.remove(plugin).unwrap_or_default();
        if !now.is_empty() {
            self.books.insert(plugin.clone(), now);
        }
        for digest in before {
            if let Some(count) = self.counts.get_mut(&digest) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&digest);
                    self.waiting.insert(digest);
                }
            }
        }
        if !self.all_known() {
            return Vec::new();
        }
        std::mem::take(&mut self.waiting).into_iter().filter(|digest| !self.counts.contains_key(digest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str) -> PluginName {
        PluginName::new("team-a", name).unwrap()
    }

    fn names(named: &mut Named, name: &str, digests: &[&str]) -> Vec<String> {
        let mut gone = named.names(&plugin(name), digests.iter().map(|digest| (*digest).to_owned()));
        gone.sort();
        gone
    }

    #[test]
    fn what_the_last_book_drops_is_gone() {
        let mut named = Named::default();
        assert!(names(&mut named, "one", &["a", "b", "b"]).is_empty() && names(&mut named, "two", &["b", "c"]).is_empty());
        assert_eq!(names(&mut named, "one", &["a"]), [""; 0], "another book names it");
        assert_eq!(names(&mut named, "two", &["d"]), ["b", "c"]);
        assert_eq!(names(&mut named, "two", &[]), ["d"]);
        assert!(named.contains("a") && !named.contains("d"));
    }

    #[test]
    fn nothing_goes_that_an_unreadable_book_may_name() {
        let mut named = Named::default();
        named.hides(&plugin("broken"));
        names(&mut named, "one", &["a", "b"]);
        assert!(names(&mut named, "one", &[]).is_empty() && !named.all_known());
        names(&mut named, "one", &["b"]);
        assert_eq!(names(&mut named, "broken", &["c"]), ["a"]);
    }
}
