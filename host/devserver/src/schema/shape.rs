//! One face for what is known of a place in an object, whether a built-in type or a definition's schema says it. Owns the answers
//! that merging asks for; decides nothing itself.

use std::borrow::Cow;

use serde_json::Value;

use super::types::{Kind, Place};
use crate::crd::CustomSchema;
use crate::kind::{Resource, Schema};

/// What is known about the values at one place in objects. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A type of the generated table (struct, list, map or scalar).
    Builtin(Place),
    /// A part of a CustomResourceDefinition's schema.
    Custom(&'a CustomSchema),
    /// Nothing is known: anything goes.
    Free,
}

/// How the members of a list are told apart by server-side apply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ListKind {
    /// One value, owned as a whole.
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects told apart by these members.
    Map(Vec<String>),
}

/// What a strategic merge patch does with a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeKind {
    /// The patch's list replaces the old one.
    Replace,
    /// Objects are merged by this key.
    ByKey(String),
    /// Scalars are united.
    Union,
}

/// The shape of `metadata` of any object, built in or custom.
pub(crate) fn builtin_meta<'a>() -> Shape<'a> {
    Shape::Builtin(Place::object_meta())
}

impl<'a> Shape<'a> {
    /// The shape of a resource's whole object (for built-in kinds with ObjectMeta inside; for custom ones `metadata` is ObjectMeta too).
    pub(crate) fn of(resource: &'a Resource) -> Self {
        match &resource.schema {
            Schema::Builtin(id) => Shape::Builtin(Place::of(*id)),
            Schema::Custom(version) => Shape::Custom(&version.schema),
        }
    }

    /// The shape of a member of an object (struct field or map value); `None` if the schema does not have it.
    pub(crate) fn member(&self, name: &str) -> Option<Shape<'a>> {
        match *self {
            Shape::Builtin(place) if is_free(place.kind()) => Some(Shape::Free),
            Shape::Builtin(place) => place.member(name).map(Shape::of_place),
            Shape::Custom(schema) => schema.member(name),
            Shape::Free => Some(Shape::Free),
        }
    }

    /// The shape of the items of a list; of something else it is free.
    pub(crate) fn items(&self) -> Shape<'a> {
        match *self {
            Shape::Builtin(place) => match place.kind() {
                Kind::List(items) => Shape::of_place(items),
                _ => Shape::Free,
            },
            Shape::Custom(schema) => schema.items(),
            Shape::Free => Shape::Free,
        }
    }

    /// True for an object whose members are owned as one (`x-kubernetes-map-type: atomic`, LabelSelector, …).
    pub(crate) fn is_atomic_map(&self) -> bool {
        match self {
            Shape::Builtin(place) => place.is_atomic(),
            Shape::Custom(schema) => schema.is_atomic_map(),
            Shape::Free => false,
        }
    }

    /// True for a list (as the schema says, not the value).
    pub(crate) fn is_list(&self) -> bool {
        match self {
            Shape::Builtin(place) => matches!(place.kind(), Kind::List(_) | Kind::ExtraValue),
            Shape::Custom(schema) => schema.is_list(),
            Shape::Free => false,
        }
    }

    /// How server-side apply sees the list.
    pub(crate) fn list_kind(&self) -> ListKind {
        match self {
            Shape::Builtin(place) => place.list_kind().clone(),
            Shape::Custom(schema) => schema.list_kind(),
            Shape::Free => ListKind::Atomic,
        }
    }

    /// How a strategic merge patch sees the list; `Replace` for custom resources, which have none.
    pub(crate) fn merge_kind(&self) -> MergeKind {
        match self {
            Shape::Builtin(place) => place.merge_kind().clone(),
            Shape::Custom(_) | Shape::Free => MergeKind::Replace,
        }
    }

    /// Whether a strategic merge patch replaces the object here instead of merging it (PodDisruptionBudget's selector).
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Shape::Builtin(place) if place.replaces())
    }

    /// The default of a key of a keyed list (`protocol: TCP`), for items that leave it out.
    pub(crate) fn key_default(&self, key: &str) -> Option<Cow<'a, Value>> {
        match self.items() {
            Shape::Builtin(item) => item.member(key)?.default().map(Cow::Borrowed),
            Shape::Custom(item) => item.default_of(key).map(Cow::Borrowed),
            Shape::Free => None,
        }
    }

    fn of_place(place: Place) -> Self {
        if is_free(place.kind()) { Shape::Free } else { Shape::Builtin(place) }
    }
}

/// Kinds of which server-side apply knows no type: what is inside is told by the value.
fn is_free(kind: Kind) -> bool {
    matches!(kind, Kind::Any | Kind::SchemaOrBool | Kind::SchemaOrArray | Kind::SchemaOrStringArray)
}

#[cfg(test)]
mod tests;
