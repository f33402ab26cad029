//! The one pass over an object's text: the fields that the host needs, and the edits that a
//! [`Trim`](crate::trim::Trim) asks for. Never copies and never builds a tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use crate::pointer::Key;
use crate::trim::{Action, Edit, Node, range};

/// What decisions need of an object, borrowed from its text.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    pub(crate) api_version: Option<Cow<'a, str>>,
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) resource_version: Cow<'a, str>,
    pub(crate) deleting: bool,
}

/// Reads `text` to its end.
///
/// # Errors
/// When it is no JSON object with `metadata.name`.
pub(crate) fn read<'a>(text: &'a str, trim: &Node) -> Result<(Fields<'a>, Vec<Edit>), serde_json::Error> {
    let mut found = Found { text, fields: Fields::default(), edits: Vec::new(), metadata: false };
    let mut de = serde_json::Deserializer::from_str(text);
    Walk { node: Some(trim), level: Level::Root, found: &mut found }.deserialize(&mut de)?;
    de.end()?;
    if !found.metadata {
        return Err(serde_json::Error::missing_field("metadata"));
    }
    if found.fields.name.is_empty() {
        return Err(serde_json::Error::custom("metadata has no name"));
    }
    Ok((found.fields, found.edits))
}

struct Found<'a> {
    text: &'a str,
    fields: Fields<'a>,
    edits: Vec<Edit>,
    metadata: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Metadata,
    Below,
}

/// Walks one value. Where nothing below is cut and nothing is needed, it is skipped whole.
struct Walk<'w, 'a> {
    node: Option<&'w Node>,
    level: Level,
    found: &'w mut Found<'a>,
}

impl<'a> DeserializeSeed<'a> for Walk<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, de: D) -> Result<(), D::Error> {
        de.deserialize_any(self)
    }
}

impl<'a> Walk<'_, 'a> {
    /// Reads the value of a member that stays.
    fn member<A: MapAccess<'a>>(&mut self, name: &str, node: Option<&Node>, map: &mut A) -> Result<(), A::Error> {
        let fields = &mut self.found.fields;
        match (self.level, name) {
            (Level::Root, "apiVersion") => fields.api_version = text(map)?,
            (Level::Root, "kind") => fields.kind = text(map)?,
            (Level::Root, "metadata") => {
                if std::mem::replace(&mut self.found.metadata, true) {
                    return Err(A::Error::duplicate_field("metadata"));
                }
                map.next_value_seed(Walk { node, level: Level::Metadata, found: &mut *self.found })?;
            }
            (Level::Metadata, "name") => fields.name = text(map)?.unwrap_or_default(),
            (Level::Metadata, "namespace") => fields.namespace = text(map)?.unwrap_or_default(),
            (Level::Metadata, "uid") => fields.uid = text(map)?.unwrap_or_default(),
            (Level::Metadata, "resourceVersion") => fields.resource_version = text(map)?.unwrap_or_default(),
            (Level::Metadata, "deletionTimestamp") => fields.deleting = map.next_value::<Option<IgnoredAny>>()?.is_some(),
            _ if node.is_some() => map.next_value_seed(Walk { node, level: Level::Below, found: &mut *self.found })?,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    /// A value that is no object: only below of what is needed can there be one.
    fn scalar<E: serde::de::Error>(&self, found: Unexpected<'_>) -> Result<(), E> {
        if self.level == Level::Below { Ok(()) } else { Err(E::invalid_type(found, self)) }
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.level == Level::Metadata { "an object as metadata" } else { "an object" })
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut kept = false;
        while let Some(Key(name)) = map.next_key()? {
            let node = self.node.and_then(|node| node.child(&name));
            match node.map(|node| node.action) {
                Some(Action::Cut) => {
                    let value: &'a RawValue = map.next_value()?;
                    self.found.edits.push(Edit::cut(self.found.text, range(self.found.text, value.get()), true, kept));
                    continue;
                }
                Some(Action::Blank) => {
                    let value: &'a RawValue = map.next_value()?;
                    self.found.blank(value.get()).map_err(A::Error::custom)?;
                }
                Some(Action::Keep) | None => self.member(&name, node, &mut map)?,
            }
            kept = true;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<(), A::Error> {
        if self.level != Level::Below {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let (mut kept, mut index) = (false, 0_usize);
        loop {
            let node = self.node.and_then(|node| node.child(&index.to_string()));
            index += 1;
            let more = match node.map(|node| node.action) {
                Some(Action::Cut) => {
                    let Some(value) = seq.next_element::<&'a RawValue>()? else { return Ok(()) };
                    self.found.edits.push(Edit::cut(self.found.text, range(self.found.text, value.get()), false, kept));
                    continue;
                }
                Some(_) => seq.next_element_seed(Walk { node, level: Level::Below, found: &mut *self.found })?.is_some(),
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                return Ok(());
            }
            kept = true;
        }
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Unexpected::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.scalar(Unexpected::Signed(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.scalar(Unexpected::Unsigned(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.scalar(Unexpected::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        self.scalar(Unexpected::Other("a string"))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.scalar(Unexpected::Unit)
    }
}

impl Found<'_> {
    /// Empties the values of an object's members; anything else that is not null goes whole.
    fn blank(&mut self, value: &str) -> Result<(), serde_json::Error> {
        if !value.starts_with('{') {
            if value != "null" {
                self.replace(value, "null");
            }
            return Ok(());
        }
        let Values(values) = serde_json::from_str(value)?;
        for value in values {
            self.replace(value.get(), "\"\"");
        }
        Ok(())
    }

    fn replace(&mut self, value: &str, with: &'static str) {
        let (from, to) = range(self.text, value);
        self.edits.push(Edit { from, to, with });
    }
}

/// The values of an object, without their names.
struct Values<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Values<'a> {
    fn deserialize<D: Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Values<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values<'de>, A::Error> {
                let mut values = Vec::new();
                while let Some((_, value)) = map.next_entry::<IgnoredAny, &'de RawValue>()? {
                    values.push(value);
                }
                Ok(Values(values))
            }
        }
        de.deserialize_map(Members)
    }
}

/// A string that may be null.
fn text<'a, A: MapAccess<'a>>(map: &mut A) -> Result<Option<Cow<'a, str>>, A::Error> {
    Ok(map.next_value::<Option<Key<'a>>>()?.map(|Key(text)| text))
}
