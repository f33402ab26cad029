//! The bytes of a last state in the store: its uid and version, then its JSON, compressed. Owns
//! their form, and the largest object that is kept; part of the format that `file` numbers.

use wharf_core::{Object, TargetKey};

use super::store::Body;

/// Larger objects are not kept whole.
const MAX_JSON: usize = 1 << 20;

/// Compresses an object, unless it is too large or bare.
pub(super) fn encode(object: &Object) -> Option<Vec<u8>> {
    if object.is_bare() || object.json().len() > MAX_JSON {
        return None;
    }
    let mut out = head(object)?;
    out.extend(lz4_flex::compress_prepend_size(object.json().as_bytes()));
    Some(out)
}

/// Are these the bytes of just this state?
pub(super) fn is(bytes: &[u8], object: &Object) -> bool {
    head(object).is_some_and(|head| bytes.starts_with(&head))
}

fn head(object: &Object) -> Option<Vec<u8>> {
    let (uid, version) = (object.uid().as_bytes(), object.resource_version().as_bytes());
    let mut out = vec![u8::try_from(uid.len()).ok()?];
    out.extend_from_slice(uid);
    out.push(u8::try_from(version.len()).ok()?);
    out.extend_from_slice(version);
    Some(out)
}

/// Reads what [`encode`] wrote; `None` if it is anything else.
pub(super) fn decode(bytes: &[u8], key: &TargetKey) -> Option<Body> {
    let TargetKey::Object { kind, key } = key else { return None };
    let (uid, rest) = text(bytes)?;
    let (version, rest) = text(rest)?;
    let (size, _) = lz4_flex::block::uncompressed_size(rest).ok()?;
    if size > MAX_JSON {
        return None;
    }
    let json = lz4_flex::decompress_size_prepended(rest).ok()?;
    let object = Object::parse(std::str::from_utf8(&json).ok()?, kind).ok()?;
    let same = object.key() == key && **object.uid() == *uid && object.resource_version() == version;
    same.then(|| Body(object.into()))
}

fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*len))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use proptest::prelude::*;
    use wharf_core::{Gvk, ObjectKey};

    fn key() -> TargetKey {
        TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("a", "x"))
    }

    fn object(version: u32, value: &str) -> Object {
        let json = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value},
            "metadata": {"namespace": "a", "name": "x", "uid": "u", "resourceVersion": version.to_string()},
        });
        Object::parse(&json.to_string(), &Gvk::new("", "v1", "ConfigMap")).unwrap()
    }

    #[test]
    fn a_body_is_smaller_and_comes_back() {
        let whole = object(7, &"the same again and ".repeat(100));
        let bytes = encode(&whole).unwrap();
        assert!(bytes.len() < whole.json().len() / 10, "{}", bytes.len());
        assert_eq!(*decode(&bytes, &key()).unwrap().0, whole);
        assert!(is(&bytes, &whole) && !is(&bytes, &object(70, "")) && !is(&bytes, &object(8, "")));
    }

    #[test]
    fn what_cannot_be_kept_is_not() {
        let bare = Object::bare(ObjectKey::new("a", "x"), "u".into(), "7");
        assert_eq!(encode(&bare), None);
        assert_eq!(encode(&object(1, &"x".repeat(MAX_JSON))), None);
        let other = TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("a", "y"));
        assert!(decode(&encode(&object(1, "")).unwrap(), &other).is_none());
    }

    proptest! {
        #[test]
        fn junk_never_panics(junk in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&junk, &key());
            let bytes = encode(&object(1, "v")).unwrap();
            let _ = decode(&[&bytes[..bytes.len() / 2], &junk].concat(), &key());
        }
    }
}
