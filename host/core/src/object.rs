//! One Kubernetes object, as the store keeps it: raw JSON and the few fields that
//! decisions need.
//!
//! Owns the one pass over a text that reads those fields and cuts what a [`Trim`] names, and
//! the one accessor for the bytes ([`Object::json`]), so that they can be kept in another
//! form later. Never holds a parsed tree.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::pointer::Pointer;
use crate::read::{Fields, read};
use crate::selector::Selector;
use crate::trim::{Edit, Trim, range};

/// An immutable object. Costs its JSON, as far as it is kept, plus about 200 bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    key: ObjectKey,
    uid: Arc<str>,
    resource_version: Version,
    deleting: bool,
    json: Box<str>,
}

/// A resourceVersion: where it stands in the JSON, which has it anyway.
#[derive(Debug, PartialEq, Eq)]
enum Version {
    Within {
        start: u32,
        len: u32,
    },
    /// It was written with escapes, or is beyond 4 GiB: no server does either.
    Apart(Box<str>),
}

/// Why some JSON is no object.
#[derive(Debug, thiserror::Error)]
#[error("no Kubernetes object: {0}")]
pub struct ObjectError(#[from] serde_json::Error);

static MANAGED_FIELDS: LazyLock<Trim> = LazyLock::new(Trim::default);

impl Object {
    /// Reads one object from its JSON text, which is copied (never pinned) without
    /// `metadata.managedFields`. The items of a list carry no `apiVersion` and `kind`:
    /// those of `kind` are put in where they are missing.
    ///
    /// # Errors
    /// When the text is no JSON object with `metadata.name`.
    pub fn parse(text: &str, kind: &Gvk) -> Result<Self, ObjectError> {
        Self::parse_trimmed(text, kind, &MANAGED_FIELDS)
    }

    /// As [`Self::parse`], without the members that `trim` names. Costs one pass over the
    /// text and one copy of what is kept, whatever is cut.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_trimmed(text: &str, kind: &Gvk, trim: &Trim) -> Result<Self, ObjectError> {
        let text = text.trim_ascii();
        let (fields, edits) = read(text, trim.of(kind))?;
        let head = head(&fields, kind);
        Ok(Self {
            key: ObjectKey { namespace: namespace(&fields.namespace), name: fields.name.as_ref().into() },
            uid: fields.uid.as_ref().into(),
            resource_version: Version::of(&fields, text, &edits, &head),
            deleting: fields.deleting,
            json: Edit::apply(&edits, text, &head),
        })
    }

    /// An object of which only these three are known, as after a restart of the host.
    pub fn bare(key: ObjectKey, uid: Arc<str>, resource_version: &str) -> Self {
        Self { key, uid, resource_version: Version::Apart(resource_version.into()), deleting: false, json: "".into() }
    }

    /// Is nothing but key, uid and version known? Then [`Self::json`] is empty, and no label
    /// matches anything.
    pub fn is_bare(&self) -> bool {
        self.json.is_empty()
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// `metadata.uid`; empty if the server gave none.
    pub fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    /// `metadata.resourceVersion`: opaque, compared for equality only.
    pub fn resource_version(&self) -> &str {
        match &self.resource_version {
            Version::Within { start, len } => {
                let start = *start as usize;
                self.json.get(start..start + *len as usize).unwrap_or_default()
            }
            Version::Apart(version) => version,
        }
    }

    /// True once `metadata.deletionTimestamp` is set (finalizers are pending).
    pub fn deleting(&self) -> bool {
        self.deleting
    }

    /// The whole object as JSON, without what was cut.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The value at a pointer, as a slice of [`Self::json`].
    pub fn get(&self, pointer: &Pointer) -> Option<&str> {
        pointer.lookup(&self.json)
    }

    /// Do the labels match? Costs nothing for an empty selector, else one read of the
    /// text up to the labels.
    pub fn matches_labels(&self, selector: &Selector) -> bool {
        if selector.is_empty() {
            return true;
        }
        let labels = self.labels();
        selector.matches(|key| labels.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref()))
    }

    /// Does a field selector match? Only `metadata.name` and `metadata.namespace` are
    /// known here; documents with other fields are refused when they are read.
    pub fn matches_fields(&self, selector: &Selector) -> bool {
        selector.matches(|field| self.field(field))
    }

    fn field(&self, field: &str) -> Option<&str> {
        match field {
            "metadata.name" => Some(&*self.key.name),
            "metadata.namespace" => Some(self.key.namespace.as_deref().unwrap_or("")),
            _ => None,
        }
    }

    /// The first label requirement that the object does not meet, and the label's value.
    pub fn unmet_label(&self, selector: &Selector) -> Option<(Selector, Option<String>)> {
        let labels = self.labels();
        let unmet = selector.unmet(|key| labels.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref()));
        unmet.map(|(requirement, value)| (requirement, value.map(str::to_owned)))
    }

    /// The first field requirement that the object does not meet; see [`Self::matches_fields`].
    pub fn unmet_field(&self, selector: &Selector) -> Option<Selector> {
        selector.unmet(|field| self.field(field)).map(|(requirement, _)| requirement)
    }

    /// The object's labels.
    pub fn labels(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        #[derive(Deserialize)]
        struct Labeled<'a> {
            #[serde(borrow)]
            metadata: LabeledMeta<'a>,
        }
        #[derive(Deserialize)]
        struct LabeledMeta<'a> {
            #[serde(borrow, default)]
            labels: Option<Labels<'a>>,
        }
        // Parsed once already by `parse`, so this cannot fail but for labels that are no
        // strings, and those match nothing.
        serde_json::from_str::<Labeled<'_>>(&self.json).ok().and_then(|o| o.metadata.labels).map_or_else(Vec::new, |l| l.0)
    }
}

/// The members that list items lack, to be put in after an object's first brace.
fn head(fields: &Fields<'_>, kind: &Gvk) -> String {
    let mut head = String::new();
    if fields.kind.is_none() {
        push_member(&mut head, "kind", &kind.kind);
    }
    if fields.api_version.is_none() {
        push_member(&mut head, "apiVersion", &kind.api_version());
    }
    head
}

fn push_member(out: &mut String, name: &str, value: &str) {
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
    let (quote, value) = if plain { ("\"", Cow::Borrowed(value)) } else { ("", serde_json::Value::from(value).to_string().into()) };
    for part in ["\"", name, "\":", quote, &value, quote, ","] {
        out.push_str(part);
    }
}

/// The namespace as a shared text; empty is none. Lists come namespace by namespace, so the one
/// that was read last on this thread is mostly the one that is wanted.
fn namespace(text: &str) -> Option<Arc<str>> {
    thread_local! {
        static LAST: RefCell<Arc<str>> = RefCell::new("".into());
    }
    if text.is_empty() {
        return None;
    }
    LAST.with_borrow_mut(|last| {
        if **last != *text {
            *last = text.into();
        }
        Some(last.clone())
    })
}

impl Version {
    fn of(fields: &Fields<'_>, text: &str, edits: &[Edit], head: &str) -> Self {
        let within = match &fields.resource_version {
            Cow::Borrowed(version) if !version.is_empty() => Some(range(text, version)),
            _ => None,
        };
        let within = within.and_then(|(from, to)| {
            let start = u32::try_from(Edit::moved(edits, from, head)).ok()?;
            Some(Self::Within { start, len: u32::try_from(to - from).ok()? })
        });
        within.unwrap_or_else(|| Self::Apart(fields.resource_version.as_ref().into()))
    }
}

/// String pairs of a JSON object, borrowed where the text has no escapes.
struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Pairs;
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        impl<'de> serde::de::Visitor<'de> for Pairs {
            type Value = Labels<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
                let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(4));
                while let Some((Text(key), Text(value))) = map.next_entry()? {
                    pairs.push((key, value));
                }
                Ok(Labels(pairs))
            }
        }
        de.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind() -> Gvk {
        Gvk::new("", "v1", "ConfigMap")
    }

    #[test]
    fn cuts_managed_fields_wherever_they_stand() {
        for (text, want) in [
            (
                r#"{"apiVersion":"v1","kind":"C","metadata":{"managedFields":[{"a":1}],"name":"n"}}"#,
                r#"{"apiVersion":"v1","kind":"C","metadata":{"name":"n"}}"#,
            ),
            (
                r#"{"apiVersion":"v1","kind":"C","metadata":{"name":"n","managedFields":[]},"data":{"x":"managedFields"}}"#,
                r#"{"apiVersion":"v1","kind":"C","metadata":{"name":"n"},"data":{"x":"managedFields"}}"#,
            ),
            (
                r#"{"metadata":{"name":"n" , "managedFields" : [ ] , "uid":"u"},"kind":"C","apiVersion":"v1"}"#,
                r#"{"metadata":{"name":"n"  , "uid":"u"},"kind":"C","apiVersion":"v1"}"#,
            ),
            (
                r#"{"apiVersion":"v1","kind":"C","metadata":{"name":"n","managed\u0046ields":[1]}}"#,
                r#"{"apiVersion":"v1","kind":"C","metadata":{"name":"n"}}"#,
            ),
        ] {
            assert_eq!(Object::parse(text, &kind()).unwrap().json(), want);
        }
    }

    #[test]
    fn list_items_get_their_kind() {
        let object = Object::parse(
            r#"{"metadata":{"name":"n","namespace":"a","uid":"u","resourceVersion":"7","deletionTimestamp":"t","labels":{"a":"b"}}}"#,
            &kind(),
        )
        .unwrap();
        assert_eq!(object.key(), &ObjectKey::new("a", "n"));
        assert_eq!((&**object.uid(), object.resource_version(), object.deleting()), ("u", "7", true));
        assert_eq!(object.get(&Pointer::parse("/kind").unwrap()), Some("\"ConfigMap\""));
        assert_eq!(object.get(&Pointer::parse("/apiVersion").unwrap()), Some("\"v1\""));
        assert!(object.matches_labels(&Selector::parse("a=b").unwrap()));
        assert!(!object.matches_labels(&Selector::parse("a=c").unwrap()));
        assert!(object.matches_fields(&Selector::parse("metadata.name=n").unwrap()));
    }

    #[test]
    fn refuses_what_is_no_object() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"name":1}}"#,
            "null",
            r#"{"metadata":[]}"#,
            r#"{"metadata":{"name":"n"}} x"#,
        ] {
            assert!(Object::parse(text, &kind()).is_err(), "{text}");
        }
    }

    /// The version is a part of the JSON, or kept apart where it is none of it.
    #[test]
    fn versions() {
        for (text, want) in [
            (r#"{"metadata":{"managedFields":[1],"name":"n","resourceVersion":"12"}}"#, "12"),
            (r#" {"metadata":{"name":"n","resourceVersion":"\u0031\u0032"}}"#, "12"),
            (r#"{"metadata":{"name":"n","resourceVersion":""}}"#, ""),
            (r#"{"metadata":{"name":"n","resourceVersion":null,"uid":null,"deletionTimestamp":null}}"#, ""),
        ] {
            let object = Object::parse(text, &kind()).unwrap();
            assert_eq!((object.resource_version(), &**object.uid(), object.deleting()), (want, "", false), "{text}");
        }
        assert!(size_of::<Version>() <= 16);
    }

    #[test]
    fn a_bare_object_has_no_body() {
        let bare = Object::bare(ObjectKey::new("a", "n"), "u".into(), "7");
        assert_eq!((&**bare.uid(), bare.resource_version(), bare.is_bare(), bare.deleting()), ("u", "7", true, false));
        assert_eq!((bare.json(), bare.get(&Pointer::parse("/metadata").unwrap())), ("", None));
        assert!(!bare.matches_labels(&Selector::parse("a").unwrap()));
        assert!(!Object::parse(r#"{"metadata":{"name":"n"}}"#, &kind()).unwrap().is_bare());
    }

    proptest! {
        /// Cutting by position gives what cutting from the tree gives.
        #[test]
        fn cutting_agrees_with_the_tree(before in "[a-l]{1,3}", after in "[n-z]{1,3}", pretty: bool, fields in "[a-z\"{}\\\\,:]{0,12}") {
            let value = serde_json::json!({"apiVersion": "v1", "kind": "C", "metadata": {"name": "n", before: 1, "managedFields": [fields], after: 2}});
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let mut want = value;
            want["metadata"].as_object_mut().unwrap().remove("managedFields");
            let got: serde_json::Value = serde_json::from_str(Object::parse(&text, &kind()).unwrap().json()).unwrap();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn junk_never_panics(text in "[\\{\\}\\[\\]\":,a-z0-9 ]{0,60}") {
            let _ = Object::parse(&text, &kind());
        }
    }
}
