//! The types of CEL as far as they are known before anything is evaluated: what a schema says of a value, and how types are
//! called. Owns the names under which fields are reached. Refuses nothing itself.

use crate::crd::schema::{CustomSchema, DataType};

/// What a value is, without its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not known before it is evaluated.
    Any,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    Quantity,
    Url,
    Ip,
    Cidr,
    Type,
    List,
    Map,
    Optional,
}

impl Kind {
    /// How CEL calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any => "dyn",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Quantity => "kubernetes.Quantity",
            Self::Url => "kubernetes.URL",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Type => "type",
            Self::List => "list",
            Self::Map => "map",
            Self::Optional => "optional_type",
        }
    }

    /// The kinds that an expression can name, for `type(x) == int`.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Bool, Self::Int, Self::UInt, Self::Double, Self::Text, Self::Bytes, Self::List, Self::Map, Self::Null, Self::Type]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::UInt | Self::Double)
    }

    /// Whether a value of one may turn out to be one of the other.
    pub(super) fn agrees(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

/// A type with its parts, as far as the schema tells them.
#[derive(Clone, Debug)]
pub(super) enum Type<'s> {
    /// Anything that has no parts, or whose parts are not known.
    Plain(Kind),
    List(Box<Type<'s>>),
    /// With text for keys.
    Map(Box<Type<'s>>),
    /// An object with fields.
    Object(&'s CustomSchema),
    /// The metadata of an object, of which rules see the name only.
    Meta,
    Optional(Box<Type<'s>>),
}

impl<'s> Type<'s> {
    pub(super) const ANY: Self = Type::Plain(Kind::Any);

    /// What a schema says of a value.
    pub(super) fn of(schema: &'s CustomSchema) -> Self {
        if schema.int_or_string {
            return Self::ANY;
        }
        match schema.data_type {
            Some(DataType::Boolean) => Type::Plain(Kind::Bool),
            Some(DataType::Integer) => Type::Plain(Kind::Int),
            Some(DataType::Number) => Type::Plain(Kind::Double),
            Some(DataType::String) => Type::Plain(match schema.format.as_deref() {
                Some("date" | "date-time") => Kind::Timestamp,
                Some("duration") => Kind::Duration,
                Some("byte" | "binary") => Kind::Bytes,
                _ => Kind::Text,
            }),
            Some(DataType::Array) => Type::List(Box::new(schema.items.as_deref().map_or(Self::ANY, Self::of))),
            Some(DataType::Object) => match &schema.additional {
                Some(additional) if schema.properties.is_empty() && !schema.root => {
                    Type::Map(Box::new(additional.as_deref().map_or(Self::ANY, Self::of)))
                }
                _ => Type::Object(schema),
            },
            None => Self::ANY,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Type::Plain(kind) => *kind,
            Type::List(_) => Kind::List,
            Type::Map(_) | Type::Object(_) | Type::Meta => Kind::Map,
            Type::Optional(_) => Kind::Optional,
        }
    }

    /// The type of a field; `None` if there is no such field.
    pub(super) fn field(&self, name: &str) -> Option<Type<'s>> {
        match self {
            Type::Plain(Kind::Any | Kind::Map) => Some(Self::ANY),
            Type::Map(value) => Some((**value).clone()),
            Type::Object(schema) => {
                if schema.root || schema.embedded {
                    match name {
                        "apiVersion" | "kind" => return Some(Type::Plain(Kind::Text)),
                        "metadata" => return Some(Type::Meta),
                        _ => {}
                    }
                }
                let found = schema.properties.get(name).filter(|_| is_reachable(name));
                found.or_else(|| unescape(name).and_then(|name| schema.properties.get(&name))).map(Type::of)
            }
            Type::Meta => matches!(name, "name" | "generateName").then_some(Type::Plain(Kind::Text)),
            Type::Optional(of) => of.field(name).map(|of| Type::Optional(Box::new(of))),
            _ => None,
        }
    }

    /// The type of the elements, or of the keys, that a loop walks over.
    pub(super) fn element(&self) -> Type<'s> {
        match self {
            Type::List(of) => (**of).clone(),
            Type::Map(_) | Type::Object(_) | Type::Meta => Type::Plain(Kind::Text),
            _ => Self::ANY,
        }
    }

    /// What there is at an index or a key.
    pub(super) fn value(&self) -> Type<'s> {
        match self {
            Type::List(of) | Type::Map(of) => (**of).clone(),
            Type::Optional(of) => Type::Optional(Box::new(of.value())),
            _ => Self::ANY,
        }
    }

    /// How CEL writes it.
    pub(super) fn name(&self) -> String {
        match self {
            Type::Plain(kind) => kind.name().to_owned(),
            Type::List(of) => format!("list({})", of.name()),
            Type::Map(of) => format!("map(string, {})", of.name()),
            Type::Object(_) | Type::Meta => "object".to_owned(),
            Type::Optional(of) => format!("optional_type({})", of.name()),
        }
    }
}

/// Words of CEL, which a field of the same name is not reached by.
const RESERVED: [&str; 20] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];

fn is_reachable(name: &str) -> bool {
    !RESERVED.contains(&name)
}

/// The name of a field that an expression has to write differently: `a__dash__b` is `a-b`, `__namespace__` is `namespace`.
pub(super) fn unescape(name: &str) -> Option<String> {
    if !name.contains("__") {
        return None;
    }
    if let Some(word) = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"))
        && RESERVED.contains(&word)
    {
        return Some(word.to_owned());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("__") {
        out.push_str(before);
        let known = [("underscores__", "__"), ("dot__", "."), ("dash__", "-"), ("slash__", "/")];
        let (sign, after) = known.iter().find_map(|(code, sign)| after.strip_prefix(code).map(|after| (*sign, after)))?;
        out.push_str(sign);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
