//! The bytes of a target's key in the store. Owns their form; part of the format that
//! `file` numbers.

use std::sync::Arc;

use wharf_core::{Gvk, ObjectKey, TargetKey};

/// The only kind of target so far.
const OBJECT: u8 = 1;
/// Ends each part: no name of Kubernetes has it.
const END: u8 = 0;

/// Writes a key: its kind first, so that the keys of a kind lie together. `None` for a target
/// that this version cannot keep.
pub fn encode_key(key: &TargetKey) -> Option<Vec<u8>> {
    let TargetKey::Object { kind, key } = key else { return None };
    let parts = [&*kind.group, &*kind.version, &*kind.kind, key.namespace.as_deref().unwrap_or_default(), &*key.name];
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len()).sum::<usize>().saturating_add(parts.len() + 1));
    out.push(OBJECT);
    for part in parts {
        if part.as_bytes().contains(&END) {
            return None;
        }
        out.extend_from_slice(part.as_bytes());
        out.push(END);
    }
    Some(out)
}

/// Reads what [`encode_key`] wrote. `kind` shares the kind of the key before, which is mostly the
/// same.
pub fn decode_key(bytes: &[u8], kind: &mut Option<Arc<Gvk>>) -> Option<TargetKey> {
    let rest = bytes.strip_prefix(&[OBJECT])?.strip_suffix(&[END])?;
    let mut parts = std::str::from_utf8(rest).ok()?.split('\0');
    let mut part = || parts.next();
    let (group, version, name_of_kind, namespace, name) = (part()?, part()?, part()?, part()?, part()?);
    if part().is_some() {
        return None;
    }
    let same = kind.as_ref().filter(|kind| *kind.group == *group && *kind.version == *version && *kind.kind == *name_of_kind);
    let kind = match same {
        Some(kind) => Arc::clone(kind),
        None => Arc::clone(kind.insert(Arc::new(Gvk::new(group, version, name_of_kind)))),
    };
    Some(TargetKey::object(kind, ObjectKey::new(namespace, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(group: &str, namespace: &str, name: &str) -> TargetKey {
        TargetKey::object(Arc::new(Gvk::new(group, "v1", "Kind")), ObjectKey::new(namespace, name))
    }

    #[test]
    fn keys_of_a_kind_share_it() {
        let mut kind = None;
        let read = |name: &str, kind: &mut Option<Arc<Gvk>>| decode_key(&encode_key(&key("g", "n", name)).unwrap(), kind).unwrap();
        let (TargetKey::Object { kind: one, .. }, TargetKey::Object { kind: two, .. }) = (read("a", &mut kind), read("b", &mut kind))
        else {
            panic!("objects")
        };
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(encode_key(&key("g", "n\0", "x")), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(group in "[a-z.]{0,9}", namespace in "[a-z-]{0,9}", name in "[a-z.:-]{1,9}") {
            let key = key(&group, &namespace, &name);
            prop_assert_eq!(decode_key(&encode_key(&key).unwrap(), &mut None), Some(key));
        }

        #[test]
        fn junk_never_panics(junk in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = decode_key(&junk, &mut None);
        }
    }
}
