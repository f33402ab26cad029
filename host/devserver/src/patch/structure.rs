//! What patches ask about the place of a value, so that the algorithms do not know where the answers come from.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::schema::{ListKind, MergeKind, Shape, TypeId, decode};

/// The schema at one place in an object.
pub(crate) trait Structure: Copy {
    /// The place of a member; none if the schema does not have it.
    fn member(self, name: &str) -> Option<Self>;

    /// The place of the items of a list.
    fn items(self) -> Self;

    /// Whether an object here is owned as one value.
    fn is_atomic_map(self) -> bool;

    /// Whether the schema wants a list here.
    fn is_list(self) -> bool;

    /// How server-side apply tells the items of a list apart.
    fn list_kind(self) -> ListKind;

    /// How strategic merge patch merges a list.
    fn merge_kind(self) -> MergeKind;

    /// Whether strategic merge patch replaces an object here instead of merging it.
    fn replaces_object(self) -> bool;

    /// The default of a key of the items of a list.
    fn key_default(self, key: &str) -> Option<Value>;

    /// Whether the kind at the top is built in: its status can be written through the status subresource only.
    fn is_builtin(self) -> bool;

    /// What an object of the same kind looks like that has nothing but the members that are always written.
    fn blank(self, object: &Value) -> Value;

    /// Whether the member is a field of a struct, not an entry of a map with free keys: a map takes any name.
    fn declares(self, name: &str) -> bool {
        const NOBODY: &str = "\u{0}";
        self.member(NOBODY).is_none() && self.member(name).is_some()
    }
}

impl Structure for Shape<'_> {
    fn member(self, name: &str) -> Option<Self> {
        Shape::member(&self, name)
    }

    fn items(self) -> Self {
        Shape::items(&self)
    }

    fn is_atomic_map(self) -> bool {
        Shape::is_atomic_map(&self)
    }

    fn is_list(self) -> bool {
        Shape::is_list(&self)
    }

    fn list_kind(self) -> ListKind {
        Shape::list_kind(&self)
    }

    fn merge_kind(self) -> MergeKind {
        Shape::merge_kind(&self)
    }

    fn replaces_object(self) -> bool {
        Shape::is_replaced(&self)
    }

    fn key_default(self, key: &str) -> Option<Value> {
        Shape::key_default(&self, key).map(Cow::into_owned)
    }

    fn is_builtin(self) -> bool {
        matches!(self, Shape::Builtin(_))
    }

    fn blank(self, object: &Value) -> Value {
        let empty = || Value::Object(Map::new());
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = TypeId::of_kind(text("apiVersion"), text("kind")).filter(|_| self.is_builtin());
        id.and_then(|id| decode(id, empty()).ok()).map_or_else(empty, |decoded| decoded.value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A schema written as JSON: `{"fields": {..}}` a struct, `{"values": T}` a map, `{"list": T, "keys": [..]}` (or `"set": true`)
    /// a list, `{"any": true}` anything, `{}` a scalar; with `atomic`, `merge` (a key, or `""` for a union), `replace`, `default`.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Described<'a>(pub(crate) &'a Value);

    impl Described<'_> {
        fn flag(self, name: &str) -> bool {
            self.0.get(name) == Some(&Value::Bool(true))
        }
    }

    impl Structure for Described<'_> {
        fn member(self, name: &str) -> Option<Self> {
            if self.flag("any") {
                return Some(self);
            }
            self.0.get("values").or_else(|| self.0.get("fields")?.get(name)).map(Described)
        }

        fn items(self) -> Self {
            self.0.get("list").map_or(self, Described)
        }

        fn is_atomic_map(self) -> bool {
            self.flag("atomic")
        }

        fn is_list(self) -> bool {
            self.0.get("list").is_some()
        }

        fn list_kind(self) -> ListKind {
            let keys = self.0.get("keys").and_then(Value::as_array);
            match keys {
                Some(keys) => ListKind::Map(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
                None if self.flag("set") => ListKind::Set,
                None => ListKind::Atomic,
            }
        }

        fn merge_kind(self) -> MergeKind {
            match self.0.get("merge").and_then(Value::as_str) {
                None => MergeKind::Replace,
                Some("") => MergeKind::Union,
                Some(key) => MergeKind::ByKey(key.to_owned()),
            }
        }

        fn replaces_object(self) -> bool {
            self.flag("replace")
        }

        fn key_default(self, key: &str) -> Option<Value> {
            self.items().0.get("default")?.get(key).cloned()
        }

        fn is_builtin(self) -> bool {
            self.flag("builtin")
        }

        fn blank(self, _object: &Value) -> Value {
            self.0.get("blank").cloned().unwrap_or_else(|| json!({}))
        }
    }

    #[test]
    fn fields_of_structs_are_declared_and_keys_of_maps_are_not() {
        let schema = json!({"fields": {"labels": {"values": {}}, "free": {"any": true}}});
        let top = Described(&schema);
        assert!(top.declares("labels") && !top.declares("other"));
        assert!(!top.member("labels").unwrap().declares("a"));
        assert!(!top.member("free").unwrap().declares("a"));
    }
}
