//! The bytes of a key in the store. Owns their form; part of the format that `file` numbers.

use std::sync::Arc;

use wharf_core::{Gvk, ObjectKey, TargetKey};

/// An object in its part as a target, the only kind of target so far.
const OBJECT: u8 = 1;
/// An object in its part as the source of a mapping.
const SOURCE: u8 = 2;
/// Ends each part: no name of Kubernetes has it.
const END: u8 = 0;

/// What is known of an object: two things, each with a record of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// What the plugin was told of it.
    #[default]
    Target,
    /// Which others it names.
    Source,
}

/// Writes a key: its kind first, so that the keys of a kind lie together. `None` for a target
/// that this version cannot keep.
pub fn encode_key(key: &TargetKey, part: Part) -> Option<Vec<u8>> {
    let TargetKey::Object { kind, key } = key else { return None };
    let parts = [&*kind.group, &*kind.version, &*kind.kind, key.namespace.as_deref().unwrap_or_default(), &*key.name];
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len()).sum::<usize>().saturating_add(parts.len() + 1));
    out.push(match part {
        Part::Target => OBJECT,
        Part::Source => SOURCE,
    });
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
pub fn decode_key(bytes: &[u8], kind: &mut Option<Arc<Gvk>>) -> Option<(TargetKey, Part)> {
    let (first, rest) = bytes.split_first()?;
    let of = match *first {
        OBJECT => Part::Target,
        SOURCE => Part::Source,
        _ => return None,
    };
    let rest = rest.strip_suffix(&[END])?;
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
    Some((TargetKey::object(kind, ObjectKey::new(namespace, name)), of))
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
        let read =
            |name: &str, kind: &mut Option<Arc<Gvk>>| decode_key(&encode_key(&key("g", "n", name), Part::Target).unwrap(), kind).unwrap().0;
        let (TargetKey::Object { kind: one, .. }, TargetKey::Object { kind: two, .. }) = (read("a", &mut kind), read("b", &mut kind))
        else {
            panic!("objects")
        };
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(encode_key(&key("g", "n\0", "x"), Part::Target), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(group in "[a-z.]{0,9}", namespace in "[a-z-]{0,9}", name in "[a-z.:-]{1,9}") {
            let key = key(&group, &namespace, &name);
            let [target, source] = [Part::Target, Part::Source].map(|part| encode_key(&key, part).unwrap());
            prop_assert_eq!(decode_key(&target, &mut None), Some((key.clone(), Part::Target)));
            prop_assert_eq!(decode_key(&source, &mut None), Some((key, Part::Source)));
        }

        #[test]
        fn junk_never_panics(junk in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = decode_key(&junk, &mut None);
        }
    }
}
