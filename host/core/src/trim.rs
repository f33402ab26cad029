//! What is left out of objects before they are kept. Owns the compiled list of members and
//! the edits of a text that leave them out; never builds a tree and never decides who may
//! see what is left.

use crate::kind::Gvk;
use crate::pointer::Pointer;

/// Members that are removed from each object as it is read, once, before anything is kept.
///
/// `/metadata/managedFields` is always among them. Compiled once per informer; objects
/// are then cut in the same pass that reads their metadata.
#[derive(Clone, Debug)]
pub struct Trim {
    plain: Node,
    /// For v1 Secrets, if their values are redacted.
    secret: Option<Node>,
}

/// What happens to the value at a place of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// It stays, but something below may not.
    #[default]
    Keep,
    /// It is removed, with its name.
    Cut,
    /// The names of its members stay, their values become empty strings.
    Blank,
}

/// A place of the object and the places below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) action: Action,
    below: Vec<(Box<str>, Self)>,
}

/// A part of a text that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) with: &'static str,
}

const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];
/// `kubectl apply` keeps the whole Secret in here once more.
const LAST_APPLIED: &[&str] = &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"];
const SECRET_VALUES: [&[&str]; 2] = [&["data"], &["stringData"]];
/// What the host itself reads in every object.
const NEEDED: [&[&str]; 8] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "labels"],
];

impl Trim {
    /// Removes what `omit` points at. Array elements can be named too, by their position in
    /// the text of the server. Pointers for which [`Self::is_needed`] holds change nothing.
    ///
    /// With `redact_secrets`, of a v1 Secret only the names in `/data` and `/stringData`
    /// are kept, their values become `""`, and the copy that `kubectl apply` leaves in an annotation is
    /// removed.
    pub fn new(omit: &[Pointer], redact_secrets: bool) -> Self {
        let mut plain = Node::default();
        plain.set(MANAGED_FIELDS.iter().copied(), Action::Cut);
        for pointer in omit.iter().filter(|pointer| !Self::is_needed(pointer)) {
            plain.set(pointer.tokens(), Action::Cut);
        }
        let secret = redact_secrets.then(|| {
            let mut secret = plain.clone();
            for values in SECRET_VALUES {
                secret.set(values.iter().copied(), Action::Blank);
            }
            secret.set(LAST_APPLIED.iter().copied(), Action::Cut);
            secret
        });
        Self { plain, secret }
    }

    /// Does the host need what is at, above or (for labels) below this pointer? Removing it would
    /// break keys, versions or selectors, so whoever reads such a setting refuses it.
    pub fn is_needed(pointer: &Pointer) -> bool {
        let tokens: Vec<&str> = pointer.tokens().collect();
        NEEDED.iter().any(|needed| needed.starts_with(&tokens)) || tokens.starts_with(&["metadata", "labels"])
    }

    /// What is cut from objects of a kind.
    pub(crate) fn of(&self, kind: &Gvk) -> &Node {
        let is_secret = kind.group.is_empty() && *kind.version == *"v1" && *kind.kind == *"Secret";
        self.secret.as_ref().filter(|_| is_secret).unwrap_or(&self.plain)
    }
}

impl Default for Trim {
    /// Removes managedFields alone.
    fn default() -> Self {
        Self::new(&[], false)
    }
}

impl Node {
    /// The place below under that name, if anything happens there.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.below.iter().find(|(child, _)| **child == *name).map(|(_, node)| node)
    }

    /// What is removed above stays removed.
    fn set<'t>(&mut self, path: impl Iterator<Item = &'t str>, action: Action) {
        let mut node = self;
        for token in path {
            if node.action == Action::Cut {
                return;
            }
            let at = node.below.iter().position(|(child, _)| **child == *token).unwrap_or_else(|| {
                node.below.push((token.into(), Self::default()));
                node.below.len() - 1
            });
            let Some((_, child)) = node.below.get_mut(at) else { return };
            node = child;
        }
        // Removing is more than emptying.
        if node.action != Action::Cut {
            node.action = action;
        }
    }
}

impl Edit {
    /// Removes a member of an object or an element of an array from a text of valid JSON,
    /// with one comma. `value` is its value's range; `named` says that a name stands before
    /// it; `kept` says that something before it in the same object or array stays.
    pub(crate) fn cut(text: &str, value: (usize, usize), named: bool, kept: bool) -> Self {
        let start = if named { name_start(text, value.0) } else { value.0 };
        if kept {
            let before = text.get(..start).unwrap_or_default().trim_ascii_end();
            return Self { from: before.strip_suffix(',').unwrap_or(before).len(), to: value.1, with: "" };
        }
        let after = text.get(value.1..).unwrap_or_default();
        let rest = after.trim_ascii_start();
        let comma = if rest.starts_with(',') { after.len() - rest.len() + 1 } else { 0 };
        Self { from: start, to: value.1 + comma, with: "" }
    }

    /// The text with all edits, which are in the order of the text and do not overlap, and
    /// with `head` put in after its first byte. Allocates once.
    pub(crate) fn apply(edits: &[Self], text: &str, head: &str) -> Box<str> {
        let cut: usize = edits.iter().map(|edit| edit.to - edit.from).sum();
        let put: usize = edits.iter().map(|edit| edit.with.len()).sum();
        let mut out = String::with_capacity((text.len() + head.len() + put).saturating_sub(cut));
        let (first, _) = text.split_at_checked(1).unwrap_or_default();
        out.push_str(first);
        out.push_str(head);
        let mut at = first.len();
        for edit in edits {
            out.push_str(text.get(at..edit.from).unwrap_or_default());
            out.push_str(edit.with);
            at = edit.to;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out.into_boxed_str()
    }

    /// Where a position of the text, outside of all edits, comes to lie.
    pub(crate) fn moved(edits: &[Self], at: usize, head: &str) -> usize {
        let before = edits.iter().take_while(|edit| edit.to <= at);
        before.fold(at + head.len(), |at, edit| (at + edit.with.len()).saturating_sub(edit.to - edit.from))
    }
}

/// Where the name of the member begins whose value begins at `value`, looking back from
/// there: a quote inside a name is written with an odd number of backslashes before it.
fn name_start(text: &str, value: usize) -> usize {
    let before = text.get(..value).unwrap_or_default().trim_ascii_end();
    let before = before.strip_suffix(':').unwrap_or(before).trim_ascii_end();
    let mut name = before.strip_suffix('"').unwrap_or(before);
    while let Some(quote) = name.rfind('"') {
        name = name.get(..quote).unwrap_or_default();
        if (name.len() - name.trim_end_matches('\\').len()).is_multiple_of(2) {
            return quote;
        }
    }
    value
}

/// The range of a slice of `text` in it.
pub(crate) fn range(text: &str, part: &str) -> (usize, usize) {
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize).min(text.len());
    (start, start.saturating_add(part.len()).min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn trim(pointers: &[&str]) -> Trim {
        Trim::new(&pointers.iter().map(|text| Pointer::parse(text).unwrap()).collect::<Vec<_>>(), true)
    }

    fn read(value: &Value, kind: &str, trim: &Trim) -> Value {
        let object = Object::parse_trimmed(&value.to_string(), &Gvk::new("", "v1", kind), trim).unwrap();
        serde_json::from_str(object.json()).unwrap()
    }

    /// What is declared is gone, wherever it stands and however many there are.
    #[test]
    fn cr19_declared_members_are_removed_while_reading() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"managedFields": [1], "name": "n", "annotations": {"a/b": "x", "c": "y"}},
            "spec": {"containers": [{"env": [1, 2], "name": "c0"}, {"env": [3]}], "x": null}, "status": {"a": 1}});
        let omit = ["/status", "/metadata/annotations/a~1b", "/spec/containers/0/env", "/spec/containers/1", "/spec/none/x"];
        let want = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "annotations": {"c": "y"}},
            "spec": {"containers": [{"name": "c0"}], "x": null}});
        assert_eq!(read(&pod, "Pod", &trim(&omit)), want);
    }

    #[test]
    fn names_with_quotes_and_escapes_are_cut_whole() {
        let text = r#"{"kind":"C","apiVersion":"v1","metadata":{"name":"n"},"a":{"q\"\\" : [1] ,"st\u0061tus":2,"\\":3}}"#;
        let trim = Trim::new(&["/a/q\"\\", "/a/status"].map(|text| Pointer::parse(text).unwrap()), false);
        let object = Object::parse_trimmed(text, &Gvk::new("", "v1", "C"), &trim).unwrap();
        assert_eq!(object.json(), r#"{"kind":"C","apiVersion":"v1","metadata":{"name":"n"},"a":{"\\":3}}"#);
    }

    /// Of a Secret the names stay, the values do not, in none of the places that have them.
    #[test]
    fn secrets_are_redacted() {
        let secret = json!({"metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "cGFzcw==", "z": "1"}},
            "data": {"password": "cGFzcw==", "user": null}, "stringData": {"p": "pass"}, "type": "Opaque"});
        let want = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"z": "1"}},
            "data": {"password": "", "user": ""}, "stringData": {"p": ""}, "type": "Opaque"});
        assert_eq!(read(&secret, "Secret", &trim(&[])), want);
        assert_eq!(read(&secret, "ConfigMap", &trim(&[]))["data"], secret["data"]);
        let full = Object::parse(&secret.to_string(), &Gvk::new("", "v1", "Secret")).unwrap();
        assert!(full.json().contains("cGFzcw=="));
        for data in [json!("text"), json!(["x"]), json!(7)] {
            let odd = json!({"metadata": {"name": "n"}, "data": data});
            assert_eq!(read(&odd, "Secret", &trim(&[]))["data"], Value::Null);
        }
        assert_eq!(read(&secret, "Secret", &trim(&["/data"])).get("data"), None);
    }

    #[test]
    fn what_the_host_needs_stays() {
        for pointer in ["", "/metadata", "/metadata/name", "/metadata/labels", "/metadata/labels/a", "/kind", "/metadata/uid"] {
            assert!(Trim::is_needed(&Pointer::parse(pointer).unwrap()), "{pointer}");
        }
        for pointer in ["/metadata/annotations", "/metadata/names", "/spec", "/status/kind", "/metadata/ownerReferences"] {
            assert!(!Trim::is_needed(&Pointer::parse(pointer).unwrap()), "{pointer}");
        }
        let object = json!({"apiVersion": "v1", "kind": "C", "metadata": {"name": "n", "labels": {"a": "b"}}});
        assert_eq!(read(&object, "C", &trim(&["", "/metadata", "/metadata/labels/a"])), object);
    }

    proptest! {
        /// Cutting the text gives what cutting the tree gives, for any subset of members and
        /// any spelling; the version is found at its new place.
        #[test]
        fn agrees_with_the_tree(names in proptest::collection::btree_set("[a-c\"\\\\/~é]{1,3}", 0..6), cut in proptest::collection::vec(any::<bool>(), 6), pretty: bool, rv in "[0-9]{1,4}") {
            let mut value = json!({"apiVersion": "v1", "kind": "C", "metadata": {"name": "n", "resourceVersion": rv, "managedFields": [{}]}, "spec": {}});
            let mut want = value.clone();
            want["metadata"].as_object_mut().unwrap().remove("managedFields");
            let mut pointers = Vec::new();
            for (name, cut) in names.iter().zip(cut) {
                for place in ["spec", "metadata"] {
                    value[place][name] = json!([name, 1]);
                    if cut {
                        pointers.push(Pointer::parse(&format!("/{place}/{}", name.replace('~', "~0").replace('/', "~1"))).unwrap());
                    } else {
                        want[place][name] = json!([name, 1]);
                    }
                }
            }
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let object = Object::parse_trimmed(&text, &Gvk::new("", "v1", "C"), &Trim::new(&pointers, true)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(object.json()).unwrap(), want);
            prop_assert_eq!(object.resource_version(), rv);
        }
    }
}
