//! Reading and filling JSON objects by member names and paths, without a panic and without caring whether a member is there.
//!
//! Owns no rule about any kind. What is absent reads as null, empty text or an empty list.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// The JSON Pointer of a path of plain names: `.spec.color` is `/spec/color`.
pub(crate) fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

/// Reads members; absent ones and those of another type are as good as empty.
pub(crate) trait Read {
    /// The member, or null.
    fn at(&self, name: &str) -> &Value;

    /// Null, `{}`, `[]` or the empty text: what Go's zero value would be.
    fn is_void(&self) -> bool;

    /// The member at the end of a path of at least one name, or null.
    fn path(&self, names: &[&str]) -> &Value {
        match names {
            [] => &NULL,
            [first, rest @ ..] => rest.iter().fold(self.at(first), |value, name| value.at(name)),
        }
    }

    /// The member's text, or the empty one.
    fn text(&self, name: &str) -> &str {
        self.at(name).as_str().unwrap_or_default()
    }

    /// The member's integer.
    fn int(&self, name: &str) -> Option<i64> {
        self.at(name).as_i64()
    }

    /// Whether the member is `true`.
    fn flag(&self, name: &str) -> bool {
        self.at(name).as_bool().unwrap_or_default()
    }

    /// The member's items, or none.
    fn list(&self, name: &str) -> &[Value] {
        self.at(name).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The texts among the member's items.
    fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list(name).iter().filter_map(Value::as_str)
    }

    /// The member's own members, or none, in the order of their names.
    fn entries(&self, name: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.at(name).as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether the member is there and not null.
    fn has(&self, name: &str) -> bool {
        !self.at(name).is_null()
    }
}

impl Read for Value {
    fn at(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }

    fn is_void(&self) -> bool {
        match self {
            Self::Null => true,
            Self::String(text) => text.is_empty(),
            Self::Array(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
            Self::Bool(_) | Self::Number(_) => false,
        }
    }
}

impl Read for Map<String, Value> {
    fn at(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }

    fn is_void(&self) -> bool {
        self.is_empty()
    }
}

/// Fills and changes members. Does nothing to a value that is no object.
pub(crate) trait Write {
    /// Sets the member if it is absent, null or the empty text.
    fn fill(&mut self, name: &str, value: impl Into<Value>);
    /// Sets the member.
    fn put(&mut self, name: &str, value: impl Into<Value>);
    /// Sets the member to what it is in `other`, absent if it is absent there.
    fn copy(&mut self, name: &str, other: &Value);
    /// Removes the member.
    fn cut(&mut self, name: &str);
    /// The member as an object, made if it is absent or null.
    fn open(&mut self, name: &str) -> Option<&mut Value>;
    /// The member if it is there and not null.
    fn within(&mut self, name: &str) -> Option<&mut Value>;
    /// The member at the end of a path, if all of it is there.
    fn inside(&mut self, names: &[&str]) -> Option<&mut Value>;
    /// The items of the member.
    fn each(&mut self, name: &str) -> impl Iterator<Item = &mut Value>;
}

impl Write for Value {
    fn fill(&mut self, name: &str, value: impl Into<Value>) {
        if matches!(self.at(name), Self::Null) || self.at(name).as_str() == Some("") {
            self.put(name, value);
        }
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        if let Some(members) = self.as_object_mut() {
            members.insert(name.to_owned(), value.into());
        }
    }

    fn copy(&mut self, name: &str, other: &Value) {
        match other.get(name) {
            Some(value) => self.put(name, value.clone()),
            None => self.cut(name),
        }
    }

    fn cut(&mut self, name: &str) {
        if let Some(members) = self.as_object_mut() {
            members.remove(name);
        }
    }

    fn open(&mut self, name: &str) -> Option<&mut Value> {
        let member = self.as_object_mut()?.entry(name).or_insert(Self::Null);
        if member.is_null() {
            *member = Self::Object(Map::new());
        }
        member.is_object().then_some(member)
    }

    fn within(&mut self, name: &str) -> Option<&mut Value> {
        self.get_mut(name).filter(|member| !member.is_null())
    }

    fn inside(&mut self, names: &[&str]) -> Option<&mut Value> {
        names.iter().try_fold(self, |value, name| value.within(name))
    }

    fn each(&mut self, name: &str) -> impl Iterator<Item = &mut Value> {
        self.get_mut(name).and_then(Self::as_array_mut).into_iter().flatten()
    }
}

/// Made-up JSON for property tests.
#[cfg(test)]
pub(crate) mod testing {
    use proptest::prelude::*;
    use serde_json::Value;

    /// These leaves, in lists and under these names in objects, so many levels deep.
    pub(crate) fn nested(
        leaf: impl Strategy<Value = Value> + 'static,
        names: &'static [&'static str],
        depth: u32,
    ) -> impl Strategy<Value = Value> {
        leaf.prop_recursive(depth, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::btree_map(prop::sample::select(names).prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }
}
