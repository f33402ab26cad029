//! Finds members that a JSON text names twice: a parsed value cannot tell any more. Owns nothing else; a text that is no JSON is left
//! to whoever parses it.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// As many problems as the real server tells of one request.
pub(super) const MOST: usize = 100;
/// Paths are told as long as they have no more bytes than this together.
pub(super) const MOST_BYTES: usize = 64 * 1024;

/// The paths of members that come more than once (`data.a`, `spec.containers[0].name`), each once, in the order of the text.
pub(crate) fn duplicates(json_text: &[u8]) -> Vec<String> {
    let mut search = Search::default();
    let mut reader = serde_json::Deserializer::from_slice(json_text);
    // An error is found again, and told, by who reads the text for its values.
    let _ = Node(&mut search).deserialize(&mut reader);
    search.found
}

#[derive(Default)]
struct Search {
    path: String,
    found: Vec<String>,
    told: HashSet<String>,
    bytes: usize,
}

impl Search {
    fn tell(&mut self) {
        let bytes = self.bytes + self.path.len();
        if self.found.len() < MOST && bytes <= MOST_BYTES && self.told.insert(self.path.clone()) {
            self.bytes = bytes;
            self.found.push(self.path.clone());
        }
    }
}

/// A value at the search's path.
struct Node<'a>(&'a mut Search);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let whole = self.0.path.len();
        for index in 0_usize.. {
            self.0.path.push_str(&format!("[{index}]"));
            let more = list.next_element_seed(Node(self.0))?;
            self.0.path.truncate(whole);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let whole = self.0.path.len();
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if self.0.found.len() >= MOST {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if whole > 0 {
                self.0.path.push('.');
            }
            self.0.path.push_str(&name);
            if !names.insert(name) {
                self.0.tell();
            }
            map.next_value_seed(Node(self.0))?;
            self.0.path.truncate(whole);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_that_come_twice() {
        for (text, want) in [
            (r#"{"a":1,"b":{"a":2}}"#, &[][..]),
            (r#"{"data":{"a":"1","b":"","a":"2","a":"3"}}"#, &["data.a"]),
            (r#"{"spec":{"containers":[{"name":"a"},{"name":"a","name":"b"}]},"spec":null}"#, &["spec.containers[1].name", "spec"]),
            (r#"{"a":{"b":1},"a":{"c":1,"c":1}}"#, &["a", "a.c"]),
            (r#"{"a":1,"a":2,"#, &["a"]),
            ("[[{\"a\":0,\"a\":0}]]", &["[0][0].a"]),
            ("no json", &[]),
            ("", &[]),
        ] {
            assert_eq!(duplicates(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn hostile_texts_are_bounded() {
        assert!(duplicates("[".repeat(1_000_000).as_bytes()).is_empty());
        let many: String = (0..1000).map(|n| format!("\"k{n}\":0,\"k{n}\":0,")).collect();
        assert_eq!(duplicates(format!("{{{many}\"z\":0}}").as_bytes()).len(), MOST);
    }

    proptest! {
        #[test]
        fn junk_never_panics(bytes: Vec<u8>) { let _ = duplicates(&bytes); }
    }
}
