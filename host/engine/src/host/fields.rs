//! Cuts a JSON document to what stands at some pointers. Owns the shape of the result: each
//! value at its own place, so that the same pointer finds it there.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use wharf_core::Pointer;

use crate::ports::ApiError;

const MAX_FIELDS: usize = 64;
/// Steps of a pointer: the cutting goes down the stack with each.
const MAX_STEPS: usize = 32;

/// What to keep of a document.
#[derive(Debug, Default)]
pub(crate) struct Fields(Node);

#[derive(Debug, Default)]
struct Node {
    /// The pointer ends here: everything below is kept.
    whole: bool,
    below: BTreeMap<String, Node>,
}

impl Fields {
    /// Reads the pointers of a guest.
    pub(crate) fn parse(pointers: &[String]) -> Result<Self, ApiError> {
        if pointers.len() > MAX_FIELDS {
            return Err(ApiError::Invalid(format!("fields: at most {MAX_FIELDS} pointers")));
        }
        let mut root = Node::default();
        for text in pointers {
            let pointer = Pointer::parse(text).map_err(|e| ApiError::Invalid(format!("fields: {e}")))?;
            if pointer.tokens().count() > MAX_STEPS {
                return Err(ApiError::Invalid(format!("fields: a pointer has at most {MAX_STEPS} steps here")));
            }
            let mut node = &mut root;
            for token in pointer.tokens() {
                node = node.below.entry(token.to_owned()).or_default();
            }
            node.whole = true;
        }
        Ok(Self(root))
    }

    /// Was no pointer given?
    pub(crate) fn is_empty(&self) -> bool {
        !self.0.whole && self.0.below.is_empty()
    }

    /// The document with only these values in it; `{}` if there are none.
    pub(crate) fn cut(&self, json: &str) -> Result<String, ApiError> {
        let mut out = String::new();
        let cut = cut(json, &self.0, &mut out).map_err(|e| ApiError::Unavailable(format!("the object cannot be read: {e}")))?;
        if !cut {
            out.push_str("{}");
        }
        Ok(out)
    }
}

/// Writes what is kept of a value; false, and nothing written, if nothing is.
fn cut(json: &str, node: &Node, out: &mut String) -> serde_json::Result<bool> {
    if node.whole {
        out.push_str(json.trim());
        return Ok(true);
    }
    match json.trim_start().bytes().next() {
        Some(b'{') => cut_object(serde_json::from_str(json)?, node, out),
        Some(b'[') => cut_array(&serde_json::from_str::<Vec<&RawValue>>(json)?, node, out),
        _ => Ok(false),
    }
}

fn cut_object(members: Members<'_>, node: &Node, out: &mut String) -> serde_json::Result<bool> {
    let start = out.len();
    for (name, value) in members.0 {
        let Some(below) = node.below.get(name.as_ref()) else { continue };
        let before = out.len();
        out.push(if before == start { '{' } else { ',' });
        out.push_str(&serde_json::to_string(&name)?);
        out.push(':');
        if !cut(value.get(), below, out)? {
            out.truncate(before);
        }
    }
    let any = out.len() > start;
    if any {
        out.push('}');
    }
    Ok(any)
}

/// Elements before the last one that is kept become `null`, so that indices stay right.
fn cut_array(elements: &[&RawValue], node: &Node, out: &mut String) -> serde_json::Result<bool> {
    let start = out.len();
    let mut kept = start;
    for (index, element) in elements.iter().enumerate() {
        out.push(if index == 0 { '[' } else { ',' });
        let below = node.below.get(&index.to_string());
        match below.map(|below| cut(element.get(), below, out)).transpose()? {
            Some(true) => kept = out.len(),
            _ => out.push_str("null"),
        }
    }
    out.truncate(kept);
    let any = kept > start;
    if any {
        out.push(']');
    }
    Ok(any)
}

/// The members of an object, in their order, names borrowed where they have no escapes.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        de.deserialize_map(Seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(json: &str, pointers: &[&str]) -> String {
        let pointers: Vec<_> = pointers.iter().map(|p| (*p).to_owned()).collect();
        Fields::parse(&pointers).unwrap().cut(json).unwrap()
    }

    #[test]
    fn values_stay_at_their_places() {
        let json = r#"{"metadata":{"name":"n","labels":{"a/b":"1","c":"2"}},"spec":{"list":[{"x":1,"y":2},{"x":3},4]},"é\n": [1, 2]}"#;
        for (pointers, want) in [
            (&["/metadata/name"][..], r#"{"metadata":{"name":"n"}}"#),
            (&["/metadata/labels/a~1b", "/metadata/name"], r#"{"metadata":{"name":"n","labels":{"a/b":"1"}}}"#),
            (&["/spec/list/1/x"], r#"{"spec":{"list":[null,{"x":3}]}}"#),
            (&["/spec/list/0", "/spec/list/0/x"], r#"{"spec":{"list":[{"x":1,"y":2}]}}"#),
            (&["/é\n"], r#"{"é\n":[1, 2]}"#),
            (&["/none", "/metadata/name/x", "/spec/list/7"], "{}"),
            (&[""], json),
        ] {
            assert_eq!(cut(json, pointers), want, "{pointers:?}");
            for pointer in pointers {
                let pointer = Pointer::parse(pointer).unwrap();
                assert_eq!(pointer.lookup(&cut(json, pointers)), pointer.lookup(json), "{pointer}");
            }
        }
    }

    #[test]
    fn caps() {
        let deep = "/a".repeat(MAX_STEPS + 1);
        assert!(matches!(Fields::parse(&[deep]), Err(ApiError::Invalid(_))));
        assert!(matches!(Fields::parse(&vec!["/a".to_owned(); MAX_FIELDS + 1]), Err(ApiError::Invalid(_))));
        assert!(matches!(Fields::parse(&["a".to_owned()]), Err(ApiError::Invalid(_))));
        assert!(Fields::parse(&[]).unwrap().is_empty());
    }
}
