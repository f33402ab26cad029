//! JSON as Kubernetes' own types would read and write it: unknown fields found, wrong types refused, empty members left out,
//! members that are always written put in. Owns what Go's encoding does with a struct, a list and a map; scalars have a file.

use serde_json::{Map, Value};

use super::TypeId;
use super::duplicates::{MOST, MOST_BYTES};
use super::scalar::{self, Refusal};
use super::types::{Field, Kind, Place, json_schema};

/// Deeper objects are refused; JSON that was parsed has no more than 128 levels.
const DEEPEST: usize = 250;

/// A decoded object.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Paths of unknown fields (`spec.foo`, `spec.containers[0].bar`), in order; they are gone from the value. At most a hundred.
    pub(crate) unknown: Vec<String>,
}

/// Reads `value` as the type `id` and brings it into the form in which the real server would answer (Go's omitempty, `{}` for structs
/// that are always written, canonical quantities, times with seconds). Never loses a known field. As on the real server some members
/// come out as null: lists that are always written (`rules`), times that are not omitted (`eventTime`).
///
/// # Errors
/// The text that the real server gives for a wrong type, e.g. `json: cannot unmarshal number into Go struct field ConfigMap.data of type string`.
pub(crate) fn decode(id: TypeId, value: Value) -> Result<Decoded, String> {
    let mut reader = Reader::default();
    let value = reader.read(Place::of(id), value)?;
    Ok(Decoded { value, unknown: reader.unknown })
}

/// One step of the way from the root.
enum Step {
    /// A field of a struct, by its JSON name.
    Field(&'static str),
    Key(String),
    Index(usize),
}

#[derive(Default)]
struct Reader {
    path: Vec<Step>,
    /// The struct whose field is being read.
    owner: Option<TypeId>,
    unknown: Vec<String>,
    unknown_bytes: usize,
    /// Inside of a type that reads itself, which drops unknown fields without a word.
    lenient: usize,
}

impl Reader {
    /// Reads a value; null is the zero value.
    fn read(&mut self, place: Place, value: Value) -> Result<Value, String> {
        if self.path.len() > DEEPEST {
            return Err("exceeded max depth".to_owned());
        }
        let kind = place.kind();
        match (kind, value) {
            (Kind::Any, value) => Ok(value),
            (_, Value::Null) => Ok(if place.is_pointer() { Value::Null } else { zero(kind) }),
            (Kind::Struct(id), Value::Object(members)) => self.read_struct(id, members),
            (Kind::Map(values), Value::Object(members)) => self.read_map(values, members),
            (Kind::List(items), Value::Array(list)) => self.read_list(items, list),
            (Kind::ExtraValue, Value::Array(list)) => self.read_strings(list),
            (Kind::SchemaOrBool, value @ Value::Bool(_)) => Ok(value),
            (Kind::SchemaOrBool | Kind::SchemaOrArray | Kind::SchemaOrStringArray, Value::Object(members)) => self.read_schema(members),
            (Kind::SchemaOrBool, _) => Err("boolean or JSON schema expected".to_owned()),
            (Kind::SchemaOrArray, Value::Array(list)) => self.read_self(|reader| reader.read_list(Place::of(json_schema()), list)),
            (Kind::SchemaOrStringArray, Value::Array(list)) => self.read_self(|reader| reader.read_strings(list)),
            (Kind::SchemaOrArray | Kind::SchemaOrStringArray, _) => Ok(Value::Null),
            (_, value) => scalar::read(kind, value).map_err(|refusal| self.refuse(refusal, kind)),
        }
    }

    fn read_struct(&mut self, id: TypeId, members: Map<String, Value>) -> Result<Value, String> {
        let outer = self.owner;
        let mut written = Map::new();
        for (name, value) in members {
            let Some(field) = id.field(&name) else {
                self.tell_unknown(&name);
                continue;
            };
            self.owner = Some(id);
            self.path.push(Step::Field(field.name));
            let value = self.read(field.place, value)?;
            self.path.pop();
            put(&mut written, field, value);
        }
        self.owner = outer;
        complete(id, &mut written);
        Ok(Value::Object(written))
    }

    fn read_map(&mut self, values: Place, members: Map<String, Value>) -> Result<Value, String> {
        let mut written = Map::new();
        for (name, value) in members {
            self.path.push(Step::Key(name));
            let value = self.read(values, value)?;
            if let Some(Step::Key(name)) = self.path.pop() {
                written.insert(name, value);
            }
        }
        Ok(Value::Object(written))
    }

    fn read_list(&mut self, items: Place, list: Vec<Value>) -> Result<Value, String> {
        let mut written = Vec::with_capacity(list.len());
        for (index, item) in list.into_iter().enumerate() {
            self.path.push(Step::Index(index));
            written.push(self.read(items, item)?);
            self.path.pop();
        }
        Ok(Value::Array(written))
    }

    fn read_strings(&mut self, list: Vec<Value>) -> Result<Value, String> {
        let read = |item| match item {
            Value::Null => Ok(scalar::zero(Kind::String)),
            item => scalar::read(Kind::String, item).map_err(|refusal| self.refuse(refusal, Kind::String)),
        };
        list.into_iter().map(read).collect::<Result<_, _>>().map(Value::Array)
    }

    fn read_schema(&mut self, members: Map<String, Value>) -> Result<Value, String> {
        self.read_self(|reader| reader.read_struct(json_schema(), members))
    }

    fn read_self<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.lenient += 1;
        let result = read(self);
        self.lenient -= 1;
        result
    }

    fn tell_unknown(&mut self, name: &str) {
        if self.lenient > 0 || self.unknown.len() >= MOST {
            return;
        }
        let mut path = self.path_text();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        self.unknown_bytes += path.len();
        if self.unknown_bytes <= MOST_BYTES {
            self.unknown.push(path);
        }
    }

    fn path_text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            let name = match step {
                Step::Index(index) => {
                    text.push_str(&format!("[{index}]"));
                    continue;
                }
                Step::Field(name) => name,
                Step::Key(name) => name.as_str(),
            };
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(name);
        }
        text
    }

    fn refuse(&self, refusal: Refusal, kind: Kind) -> String {
        let (what, wanted) = match refusal {
            Refusal::Text(text) => return text,
            Refusal::Inside(what, wanted) => return format!("json: cannot unmarshal {what} into Go value of type {wanted}"),
            Refusal::Type(what) => (what, scalar::go_name(kind)),
        };
        let Some(owner) = self.owner else { return format!("json: cannot unmarshal {what} into Go value of type {wanted}") };
        let owner = owner.name().rsplit_once('.').map_or("", |(_, name)| name);
        let fields: Vec<&str> = self.path.iter().filter_map(|step| if let Step::Field(name) = step { Some(*name) } else { None }).collect();
        format!("json: cannot unmarshal {what} into Go struct field {owner}.{} of type {wanted}", fields.join("."))
    }
}

/// What Go writes for a zero value.
fn zero(kind: Kind) -> Value {
    match kind {
        Kind::Struct(id) => {
            let mut members = Map::new();
            complete(id, &mut members);
            Value::Object(members)
        }
        other => scalar::zero(other),
    }
}

/// Puts in the members that are always written.
fn complete(id: TypeId, written: &mut Map<String, Value>) {
    for field in id.fields() {
        let place = field.place;
        // Most are left out when they are empty, and a pointer is empty unless it was given.
        let left_out = place.omits_empty() && (place.is_pointer() || !is_always_written(place.kind()));
        if left_out || written.contains_key(field.name) {
            continue;
        }
        let value = if place.is_pointer() { Value::Null } else { zero(place.kind()) };
        put(written, field, value);
    }
}

/// Whether Go's omitempty has no effect: structs are never empty to it.
fn is_always_written(kind: Kind) -> bool {
    matches!(kind, Kind::Struct(_) | Kind::Time | Kind::MicroTime | Kind::Quantity | Kind::IntOrString | Kind::Any)
        || matches!(kind, Kind::SchemaOrBool | Kind::SchemaOrArray | Kind::SchemaOrStringArray)
}

/// Writes a field unless it is omitted. Empty lists and maps are the same as none, as they are to storage.
fn put(written: &mut Map<String, Value>, field: &Field, value: Value) {
    let place = field.place;
    let kind = place.kind();
    let value = match (kind, value) {
        (Kind::List(_) | Kind::ExtraValue, Value::Array(list)) if list.is_empty() => Value::Null,
        (Kind::Map(_), Value::Object(members)) if members.is_empty() => Value::Null,
        (_, value) => value,
    };
    let omitted = if place.is_pointer() {
        place.omits_empty() && value.is_null()
    } else {
        (place.omits_zero() && value.is_null()) || (place.omits_empty() && !is_always_written(kind) && is_empty(&value))
    };
    if !omitted {
        written.insert(field.name.to_owned(), value);
    }
}

/// Empty as Go's omitempty means it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests;
