//! One Kubernetes object, as the store keeps it: raw JSON and the few fields that
//! decisions need.
//!
//! Owns what is cut on the way in (`metadata.managedFields`) and the one accessor for the
//! bytes ([`Object::json`]), so that they can be kept in another form later. Never holds a
//! parsed tree.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::pointer::Pointer;
use crate::selector::Selector;

/// An immutable object. Costs its JSON without managedFields plus about 200 bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    key: ObjectKey,
    uid: Arc<str>,
    resource_version: Box<str>,
    deleting: bool,
    json: Box<str>,
}

/// Why some JSON is no object.
#[derive(Debug, thiserror::Error)]
#[error("no Kubernetes object: {0}")]
pub struct ObjectError(#[from] serde_json::Error);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(borrow)]
    deletion_timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

impl Object {
    /// Reads one object from its JSON text, which is copied (never pinned) without
    /// `metadata.managedFields`. The items of a list carry no `apiVersion` and `kind`:
    /// those of `kind` are put in where they are missing.
    ///
    /// # Errors
    /// When the text is no JSON object with `metadata.name`.
    pub fn parse(text: &str, kind: &Gvk) -> Result<Self, ObjectError> {
        let raw: Raw<'_> = serde_json::from_str(text)?;
        let meta = &raw.metadata;
        let mut head = String::new();
        if raw.kind.is_none() {
            head.push_str(&format!("\"kind\":{},", serde_json::Value::from(&*kind.kind)));
        }
        if raw.api_version.is_none() {
            head.push_str(&format!("\"apiVersion\":{},", serde_json::Value::from(kind.api_version())));
        }
        let body = match meta.managed_fields {
            Some(fields) => without_managed_fields(text, fields.get())?,
            None => Cow::Borrowed(text.trim()),
        };
        let json = match body.strip_prefix('{') {
            Some(rest) if !head.is_empty() => format!("{{{head}{rest}").into_boxed_str(),
            _ => body.into(),
        };
        Ok(Self {
            key: ObjectKey::new(meta.namespace.as_deref().unwrap_or(""), &meta.name),
            uid: meta.uid.as_ref().into(),
            resource_version: meta.resource_version.as_ref().into(),
            deleting: meta.deletion_timestamp.is_some(),
            json,
        })
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
        &self.resource_version
    }

    /// True once `metadata.deletionTimestamp` is set (finalizers are pending).
    pub fn deleting(&self) -> bool {
        self.deleting
    }

    /// The whole object as compact JSON, without managedFields.
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
        selector.matches(|field| match field {
            "metadata.name" => Some(&*self.key.name),
            "metadata.namespace" => Some(self.key.namespace.as_deref().unwrap_or("")),
            _ => None,
        })
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

/// `text` without the member `"managedFields": fields`; `fields` is a slice of `text`.
fn without_managed_fields<'a>(text: &'a str, fields: &str) -> Result<Cow<'a, str>, ObjectError> {
    const NAME: &str = "\"managedFields\"";
    let start = (fields.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    let cut = text.get(..start).zip(text.get(start.saturating_add(fields.len())..)).and_then(|(before, after)| {
        let before = before.trim_end().strip_suffix(':')?.trim_end().strip_suffix(NAME)?.trim_end();
        Some(match before.strip_suffix(',') {
            Some(before) => (before, after),
            None => (before, after.trim_start().strip_prefix(',').unwrap_or(after)),
        })
    });
    if let Some((before, after)) = cut {
        return Ok(Cow::Owned([before.trim_start(), after.trim_end()].concat()));
    }
    // The name was written with escapes: no server does that, so the slow way will do.
    let mut value: serde_json::Value = serde_json::from_str(text)?;
    if let Some(meta) = value.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        meta.remove("managedFields");
    }
    Ok(Cow::Owned(value.to_string()))
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
        for text in ["", "[]", "{}", r#"{"metadata":{}}"#, r#"{"metadata":{"name":1}}"#, "null"] {
            assert!(Object::parse(text, &kind()).is_err(), "{text}");
        }
    }

    proptest! {
        /// Cutting by position gives what cutting from the tree gives.
        #[test]
        fn cutting_agrees_with_the_tree(before in "[a-z]{1,3}", after in "[n-z]{1,3}", pretty: bool, fields in "[a-z\"{}\\\\,:]{0,12}") {
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
