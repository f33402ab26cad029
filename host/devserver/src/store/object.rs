//! An object as it lies in the store: its JSON as bytes, and the few fields that decisions without parsing need.
//!
//! Owns how an object is written once, at its commit, and how its version is set into bytes that are already written. Never parses
//! to write.

use std::io::Write as _;

use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value};

use super::Key;

/// A stored object. Immutable.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: Box<str>,
    /// `metadata.name`.
    pub(crate) name: Box<str>,
    /// `metadata.uid`.
    pub(crate) uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub(crate) version: u64,
    /// `metadata.labels`, in the order of the keys.
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// The object without `apiVersion` and `kind`: `{"data":…,"metadata":…}`.
    pub(crate) json: Bytes,
    /// Where in `json` the digits of the version begin.
    digits: usize,
}

impl Stored {
    /// An object at a version, as a commit makes it: apiVersion and kind are dropped, `metadata.resourceVersion` is set.
    pub(crate) fn new(key: &Key, value: Value, version: u64) -> Self {
        Draft::new(key, value).at(version)
    }

    /// False: it is not being deleted. True: look at its value. Looks at bytes only.
    pub(crate) fn may_be_deleting(&self) -> bool {
        memmem::find(&self.json, b"\"deletionTimestamp\"").is_some()
    }

    /// The object parsed, with these as apiVersion and kind.
    pub(crate) fn value(&self, api_version: &str, kind: &str) -> Value {
        let mut object: Map<String, Value> = serde_json::from_slice(&self.json).unwrap_or_default();
        object.insert("apiVersion".to_owned(), Value::from(api_version));
        object.insert("kind".to_owned(), Value::from(kind));
        Value::Object(object)
    }

    /// Appends the object's JSON; with apiVersion and kind first if given (`None` for the items of a list of a built-in kind). No parsing.
    pub(crate) fn write(&self, head: Option<(&str, &str)>, out: &mut Vec<u8>) {
        let Some((api_version, kind)) = head else {
            out.extend_from_slice(&self.json);
            return;
        };
        out.extend_from_slice(b"{\"apiVersion\":");
        put(out, &Value::from(api_version));
        out.extend_from_slice(b",\"kind\":");
        put(out, &Value::from(kind));
        let members = self.json.strip_prefix(b"{").unwrap_or(b"}");
        if members.first().is_some_and(|byte| *byte != b'}') {
            out.push(b',');
        }
        out.extend_from_slice(members);
    }

    /// The same object with another version: what a watch is shown when an object is deleted or leaves a selector.
    #[must_use]
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let end = self.digits + decimal_len(self.version);
        Self {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            version,
            labels: self.labels.clone(),
            json: splice(&self.json, self.digits, end, version),
            digits: self.digits,
        }
    }

    /// Reads what [`Stored::json`] was, e.g. from a file; `None` if it is no object with a version.
    pub(super) fn read(key: &Key, json: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(json).ok()?;
        let version = value.get("metadata")?.get("resourceVersion")?.as_str()?.parse().ok()?;
        Some(Self::new(key, value, version))
    }
}

/// An object that is written but for its version, so that a commit under the lock only copies bytes.
pub(super) struct Draft {
    namespace: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    labels: Box<[(Box<str>, Box<str>)]>,
    /// With an empty string as version.
    json: Vec<u8>,
    digits: usize,
}

impl Draft {
    /// `value` is the whole object; what is no object counts as an empty one.
    pub(super) fn new(key: &Key, value: Value) -> Self {
        let mut object = into_map(value);
        object.remove("apiVersion");
        object.remove("kind");
        let mut metadata = into_map(object.remove("metadata").unwrap_or_default());
        metadata.remove("resourceVersion");
        let uid = metadata.get("uid").and_then(Value::as_str).unwrap_or_default().into();
        let labels = labels(&metadata);

        let mut json = Vec::with_capacity(1024);
        json.push(b'{');
        // In the order of the keys, like every other JSON of this server: metadata stands where the alphabet puts it.
        let (before, after): (Vec<_>, Vec<_>) = object.iter().partition(|(name, _)| name.as_str() < "metadata");
        members(&mut json, &before);
        key_of(&mut json, "metadata");
        json.push(b'{');
        let (first, last): (Vec<_>, Vec<_>) = metadata.iter().partition(|(name, _)| name.as_str() < "resourceVersion");
        members(&mut json, &first);
        key_of(&mut json, "resourceVersion");
        json.push(b'"');
        let digits = json.len();
        json.push(b'"');
        members(&mut json, &last);
        json.push(b'}');
        members(&mut json, &after);
        json.push(b'}');
        Self { namespace: (*key.namespace).into(), name: (*key.name).into(), uid, labels, json, digits }
    }

    pub(super) fn at(self, version: u64) -> Stored {
        let json = splice(&self.json, self.digits, self.digits, version);
        Stored { namespace: self.namespace, name: self.name, uid: self.uid, version, labels: self.labels, json, digits: self.digits }
    }
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn labels(metadata: &Map<String, Value>) -> Box<[(Box<str>, Box<str>)]> {
    let Some(Value::Object(labels)) = metadata.get("labels") else {
        return Box::default();
    };
    let mut pairs: Vec<(Box<str>, Box<str>)> =
        labels.iter().filter_map(|(name, value)| Some((name.as_str().into(), value.as_str()?.into()))).collect();
    pairs.sort_unstable();
    pairs.into()
}

/// `json` with the decimal digits of `version` instead of the bytes from `from` to `to`.
fn splice(json: &[u8], from: usize, to: usize, version: u64) -> Bytes {
    let mut out = Vec::with_capacity(json.len() + 20);
    out.extend_from_slice(json.get(..from).unwrap_or_default());
    // Writing into memory cannot fail.
    let _ = write!(out, "{version}");
    out.extend_from_slice(json.get(to..).unwrap_or_default());
    Bytes::from(out)
}

fn decimal_len(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends members, with a comma where one is needed.
fn members(out: &mut Vec<u8>, pairs: &[(&String, &Value)]) {
    for (name, value) in pairs {
        key_of(out, name);
        put(out, value);
    }
}

fn key_of(out: &mut Vec<u8>, name: &str) {
    if out.last().is_some_and(|byte| *byte != b'{') {
        out.push(b',');
    }
    put(out, &Value::from(name));
    out.push(b':');
}

fn put(out: &mut Vec<u8>, value: &Value) {
    // A Value always has a JSON form, and writing into memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn key(namespace: &str, name: &str) -> Key {
        Key { storage: "configmaps".into(), namespace: namespace.into(), name: name.into() }
    }

    fn text(object: &Stored, head: Option<(&str, &str)>) -> String {
        let mut out = Vec::new();
        object.write(head, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_object_is_written_once_with_its_version() {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "\"resourceVersion\":\"1\""}, "spec": {},
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "77", "labels": {"b": "2", "a": "1"}},
        });
        let object = Stored::new(&key("n", "a"), value, 9);
        let plain = r#"{"data":{"a":"\"resourceVersion\":\"1\""},"metadata":{"labels":{"a":"1","b":"2"},"name":"a","namespace":"n","resourceVersion":"9","uid":"u"},"spec":{}}"#;
        assert_eq!(text(&object, None), plain);
        assert_eq!(
            text(&object, Some(("v1", "ConfigMap"))),
            format!(r#"{{"apiVersion":"v1","kind":"ConfigMap",{}"#, plain.trim_start_matches('{'))
        );
        assert_eq!((&*object.uid, object.version), ("u", 9));
        assert_eq!(object.labels.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!(object.value("v1", "ConfigMap"), serde_json::from_str::<Value>(&text(&object, Some(("v1", "ConfigMap")))).unwrap());

        let longer = object.at_version(1_000_000);
        assert_eq!(text(&longer, None), plain.replace(r#"Version":"9""#, r#"Version":"1000000""#));
        assert_eq!(text(&longer.at_version(10), None), plain.replace(r#"Version":"9""#, r#"Version":"10""#));
        assert_eq!(text(&longer.at_version(0), None), plain.replace(r#"Version":"9""#, r#"Version":"0""#));
    }

    #[test]
    fn what_is_no_object_is_an_empty_one() {
        for value in [json!({}), json!(null), json!([1]), json!({"metadata": 1}), json!({"apiVersion": "v1", "kind": "X"})] {
            let object = Stored::new(&key("", "a"), value, 1);
            assert_eq!(text(&object, None), r#"{"metadata":{"resourceVersion":"1"}}"#);
            assert_eq!(text(&object, Some(("v1", "X"))), r#"{"apiVersion":"v1","kind":"X","metadata":{"resourceVersion":"1"}}"#);
        }
    }

    #[test]
    fn an_object_without_members_gets_no_comma() {
        let mut object = Stored::new(&key("", "a"), json!({}), 1);
        object.json = Bytes::from_static(b"{}");
        assert_eq!(text(&object, Some(("v1", "X"))), r#"{"apiVersion":"v1","kind":"X"}"#);
        assert_eq!(text(&object, None), "{}");
    }

    #[test]
    fn an_object_is_read_back() {
        let object = Stored::new(&key("n", "a"), json!({"metadata": {"name": "a", "uid": "u", "labels": {"a": "1"}}, "x": 1}), 42);
        let again = Stored::read(&key("n", "a"), &object.json).unwrap();
        assert_eq!((again.version, &again.json, &again.labels, &again.uid), (42, &object.json, &object.labels, &object.uid));
        for bad in ["", "[]", "{}", r#"{"metadata":{"resourceVersion":7}}"#, r#"{"metadata":{"resourceVersion":"x"}}"#] {
            assert!(Stored::read(&key("n", "a"), bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
