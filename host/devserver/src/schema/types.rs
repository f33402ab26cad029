//! The types of Kubernetes' own kinds and the places in them: what the generated table says, behind ids that are cheap to copy.
//! Owns looking things up; reading the file is [`super::table`]'s.

use serde_json::Value;

use super::table::{PlaceData, Struct, table};
use super::{ListKind, MergeKind};

/// A struct type of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeId(pub(crate) u32);

impl TypeId {
    /// The type of a built-in kind: `apps/v1`, `Deployment`. Bodies of subresources (Scale, Eviction, TokenRequest) and
    /// DeleteOptions, which belongs to every group version, are found too.
    pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let api_version = if kind == "DeleteOptions" { "v1" } else { api_version };
        table().kinds.get(&(api_version, kind)).copied()
    }

    /// ObjectMeta, which custom objects have too.
    pub(crate) fn object_meta() -> Self {
        table().object_meta
    }

    /// Its name in the table: `core/v1.PodSpec`.
    pub(crate) fn name(self) -> &'static str {
        self.data().map_or("", |data| data.name)
    }

    /// Its fields, those of inlined types included, in the order of their names.
    pub(crate) fn fields(self) -> &'static [Field] {
        self.data().map_or(&[], |data| &data.fields)
    }

    /// The field of a name.
    pub(crate) fn field(self, name: &str) -> Option<&'static Field> {
        let fields = self.fields();
        fields.binary_search_by(|field| field.name.cmp(name)).ok().and_then(|at| fields.get(at))
    }

    /// What protobuf calls by a number.
    pub(crate) fn numbered(self, number: u32) -> Option<Numbered> {
        let numbers = &self.data()?.numbers;
        numbers.binary_search_by_key(&number, |(number, _)| *number).ok().and_then(|at| numbers.get(at)).map(|(_, what)| *what)
    }

    fn data(self) -> Option<&'static Struct> {
        table().structs.get(self.0 as usize)
    }
}

/// A type at a place: a struct, a scalar, or a list or map of another. Places are known by number, so it is cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(pub(super) u32);

impl Place {
    /// A whole object of a type.
    pub(crate) fn of(id: TypeId) -> Self {
        // The table begins with one place per type.
        Self(id.0)
    }

    /// `metadata` of any object.
    pub(crate) fn object_meta() -> Self {
        Self::of(TypeId::object_meta())
    }

    pub(crate) fn kind(self) -> Kind {
        self.data().kind
    }

    /// Go has a pointer here: absent and zero are different things.
    pub(crate) fn is_pointer(self) -> bool {
        self.data().pointer
    }

    /// Left out of JSON when it is empty as Go's omitempty means it.
    pub(crate) fn omits_empty(self) -> bool {
        self.data().omits_empty
    }

    /// Left out of JSON when it is Go's zero value.
    pub(crate) fn omits_zero(self) -> bool {
        self.data().omits_zero
    }

    pub(super) fn member(self, name: &str) -> Option<Self> {
        match self.kind() {
            Kind::Struct(id) => id.field(name).map(|field| field.place),
            Kind::Map(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn list_kind(self) -> &'static ListKind {
        &self.data().list
    }

    pub(super) fn merge_kind(self) -> &'static MergeKind {
        &self.data().merge
    }

    pub(super) fn replaces(self) -> bool {
        self.data().replaces
    }

    pub(super) fn is_atomic(self) -> bool {
        let inside = if let Kind::Struct(id) = self.kind() { id.data().is_some_and(|data| data.atomic) } else { false };
        inside || self.data().atomic
    }

    /// What this field is, as the key of a list's item, when it is left out.
    pub(super) fn default(self) -> Option<&'static Value> {
        self.data().default.as_ref()
    }

    fn data(self) -> &'static PlaceData {
        let table = table();
        table.places.get(self.0 as usize).unwrap_or(&table.anything)
    }
}

/// What kind of value a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Struct(TypeId),
    List(Place),
    /// Strings to values.
    Map(Place),
    /// A list of strings that is a message of its own in protobuf.
    ExtraValue,
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// Base64 in JSON.
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// RawExtension, FieldsV1 and JSON: kept as it is.
    Any,
    /// A schema in a CustomResourceDefinition, or something simpler in its place.
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrStringArray,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
}

/// What a protobuf number stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbered {
    Field(Field),
    /// A message whose fields are in JSON those of the outer one.
    Inlined(TypeId),
}

/// The type of schemas in CustomResourceDefinitions.
pub(crate) fn json_schema() -> TypeId {
    table().json_schema
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn fields_of_inlined_types_are_the_outer_types() {
        let pod = TypeId::of_kind("v1", "Pod").unwrap();
        assert_eq!(pod.name(), "core/v1.Pod");
        let reference = table().structs.iter().position(|data| data.name == "core/v1.SecretKeySelector").unwrap();
        let names: Vec<_> = TypeId(u32::try_from(reference).unwrap()).fields().iter().map(|field| field.name).collect();
        assert_eq!(names, ["key", "name", "optional"]);
    }

    #[test]
    fn kinds_are_found_by_version() {
        for (version, kind, known) in [
            ("apps/v1", "Deployment", true),
            ("v1", "Deployment", false),
            ("autoscaling/v1", "Scale", true),
            ("autoscaling/v2", "HorizontalPodAutoscaler", true),
            ("policy/v1", "Eviction", true),
            ("events.k8s.io/v1", "DeleteOptions", true),
            ("example.com/v7", "DeleteOptions", true),
            ("apiregistration.k8s.io/v1", "APIService", true),
            ("v1", "PodList", false),
            ("v1", "Nothing", false),
        ] {
            assert_eq!(TypeId::of_kind(version, kind).is_some(), known, "{version} {kind}");
        }
    }
}
