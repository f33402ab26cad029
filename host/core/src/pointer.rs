//! RFC 6901 pointers, looked up in raw JSON text without building a tree.
//!
//! A lookup reads the text up to the value and no further, and returns the value as a
//! slice of the same text: its cost grows with the value's position, not with the
//! object's size.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A parsed RFC 6901 pointer. The empty pointer is the whole document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    tokens: Vec<Box<str>>,
}

/// Why a text is no pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// A pointer that is not empty starts with a slash.
    #[error("a pointer starts with '/' (RFC 6901), for example /metadata/name")]
    NoSlash,
    /// `~` must be followed by 0 or 1.
    #[error("'~' in a pointer is written '~0', '/' is written '~1' (RFC 6901)")]
    Escape,
    /// Longer than [`Pointer::MAX_BYTES`].
    #[error("a pointer has at most {} bytes", Pointer::MAX_BYTES)]
    TooLong,
}

impl Pointer {
    /// The longest pointer that is accepted, in bytes.
    pub const MAX_BYTES: usize = 4096;

    /// Parses a pointer.
    ///
    /// # Errors
    /// When the text does not follow RFC 6901 or is longer than [`Self::MAX_BYTES`].
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PointerError::TooLong);
        }
        if text.is_empty() {
            return Ok(Self { tokens: Vec::new() });
        }
        let rest = text.strip_prefix('/').ok_or(PointerError::NoSlash)?;
        let tokens = rest.split('/').map(unescape).collect::<Result<_, _>>()?;
        Ok(Self { tokens })
    }

    /// The pointer through members of these names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { tokens: names.into_iter().map(Box::from).collect() }
    }

    /// The reference tokens, unescaped.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(AsRef::as_ref)
    }

    /// The value at this pointer as a slice of `json`; `None` if nothing is there or the
    /// text before it is not JSON.
    pub fn lookup<'a>(&self, json: &'a str) -> Option<&'a str> {
        let found = Cell::new(None);
        let mut de = serde_json::Deserializer::from_str(json);
        // The error is how the walk stops early; what it found stands in the cell.
        let _stopped = Seek { path: &self.tokens, found: &found }.deserialize(&mut de);
        found.get()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(f, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

fn unescape(token: &str) -> Result<Box<str>, PointerError> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '~' { chars.next() } else { None }) {
            ('~', Some('0')) => out.push('~'),
            ('~', Some('1')) => out.push('/'),
            ('~', _) => return Err(PointerError::Escape),
            (c, _) => out.push(c),
        }
    }
    Ok(out.into())
}

/// Walks one level down per token and stops the whole deserialisation at the value.
struct Seek<'p, 'de> {
    path: &'p [Box<str>],
    found: &'p Cell<Option<&'de str>>,
}

impl<'de> DeserializeSeed<'de> for Seek<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, de: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            let raw = <&'de RawValue as serde::Deserialize>::deserialize(de)?;
            self.found.set(Some(raw.get()));
            return Err(D::Error::custom("found"));
        }
        de.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return Ok(()) };
        while let Some(Key(key)) = map.next_key()? {
            if key == **first {
                return map.next_value_seed(Seek { path: rest, found: self.found });
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return Ok(()) };
        let Some(index) = array_index(first) else { return Err(A::Error::custom("no index")) };
        for _ in 0..index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        seq.next_element_seed(Seek { path: rest, found: self.found })?;
        Ok(())
    }
}

/// A string, for example a key; borrowed where the text has no escapes.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        de.deserialize_str(Text)
    }
}

/// RFC 6901 array index: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    if token.len() > 1 && token.starts_with('0') || token.starts_with('+') {
        return None;
    }
    token.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn get(json: &str, pointer: &str) -> Option<String> {
        Pointer::parse(pointer).unwrap().lookup(json).map(str::to_owned)
    }

    #[test]
    fn finds_values() {
        let json = r#"{"a":{"b/c":[1,{"x":"y"},3],"~t":null},"é\n":true,"":7}"#;
        for (pointer, want) in [
            ("", Some(json)),
            ("/a/b~1c/0", Some("1")),
            ("/a/b~1c/1/x", Some(r#""y""#)),
            ("/a/b~1c/3", None),
            ("/a/b~1c/01", None),
            ("/a/b~1c/-", None),
            ("/a/~0t", Some("null")),
            ("/é\n", Some("true")),
            ("/", Some("7")),
            ("/a/b~1c/0/x", None),
            ("/none", None),
        ] {
            assert_eq!(get(json, pointer).as_deref(), want, "{pointer}");
        }
    }

    #[test]
    fn refuses_what_is_no_pointer() {
        assert_eq!(Pointer::parse("a"), Err(PointerError::NoSlash));
        assert_eq!(Pointer::parse("/~2"), Err(PointerError::Escape));
        assert_eq!(Pointer::parse("/~"), Err(PointerError::Escape));
    }

    proptest! {
        /// The same answer as serde_json's own pointer on the parsed tree, and no panic.
        #[test]
        fn agrees_with_serde_json(keys in proptest::collection::vec("[a-z/~\"\\\\]{0,4}", 1..4), junk in ".{0,40}") {
            let mut value = serde_json::json!(["leaf", 2]);
            for key in keys.iter().rev() {
                value = serde_json::json!({ "zz": [1, 2], key.clone(): value });
            }
            let json = value.to_string();
            let pointer = keys.iter().map(|k| format!("/{}", k.replace('~', "~0").replace('/', "~1"))).collect::<String>() + "/1";
            let want = value.pointer(&pointer).map(ToString::to_string);
            prop_assert_eq!(get(&json, &pointer), want);
            let _ = get(&junk, &pointer);
            if let Ok(p) = Pointer::parse(&junk) { prop_assert_eq!(p.to_string(), junk); }
        }
    }
}
