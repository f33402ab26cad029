//! Protobuf bodies, as typed clients send them, read by the generated table into JSON as it would have been sent. Owns the envelope and
//! what each type looks like on the wire; what is left out and what is canonical is [`super::decode`]'s.

use std::str;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::TypeId;
use super::time;
use super::types::{Field, Kind, Numbered, json_schema};
use super::wire::{BROKEN, Message, Wire};

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Deeper messages are refused.
const DEEPEST: u8 = 100;

/// Reads `k8s\0` and a `runtime.Unknown`; the type is found by apiVersion and kind (DeleteOptions of any group version included). The
/// object comes as JSON with apiVersion and kind, to be decoded as any JSON.
///
/// # Errors
/// A text for a 400.
pub(crate) fn decode_protobuf(bytes: &[u8]) -> Result<Value, String> {
    let bytes =
        bytes.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")?;
    let (mut type_meta, mut raw): (&[u8], &[u8]) = (&[], &[]);
    let mut unknown = Message::new(bytes);
    while let Some(field) = unknown.next()? {
        match field {
            (1, Wire::Bytes(bytes)) => type_meta = bytes,
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    let mut type_meta = Message::new(type_meta);
    while let Some(field) = type_meta.next()? {
        match field {
            (1, Wire::Bytes(bytes)) => api_version = text(bytes)?.to_owned(),
            (2, Wire::Bytes(bytes)) => kind = text(bytes)?.to_owned(),
            _ => {}
        }
    }
    let id = TypeId::of_kind(&api_version, &kind).ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?}"))?;
    let mut members = Map::new();
    read_message(id, raw, &mut members, DEEPEST)?;
    members.insert("apiVersion".to_owned(), Value::String(api_version));
    members.insert("kind".to_owned(), Value::String(kind));
    Ok(Value::Object(members))
}

fn read_message(id: TypeId, bytes: &[u8], members: &mut Map<String, Value>, depth: u8) -> Result<(), &'static str> {
    let depth = depth.checked_sub(1).ok_or("proto: exceeded max recursion depth")?;
    let mut message = Message::new(bytes);
    while let Some((number, wire)) = message.next()? {
        match (id.numbered(number), wire) {
            (Some(Numbered::Field(field)), wire) => read_field(field, wire, members, depth)?,
            (Some(Numbered::Inlined(inner)), Wire::Bytes(bytes)) => read_message(inner, bytes, members, depth)?,
            (Some(Numbered::Inlined(_)), _) => return Err(BROKEN),
            // A newer client's.
            (None, _) => {}
        }
    }
    Ok(())
}

fn read_field(field: Field, wire: Wire<'_>, members: &mut Map<String, Value>, depth: u8) -> Result<(), &'static str> {
    match field.place.kind() {
        Kind::List(items) => {
            let list = members.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(list) = list else { return Err(BROKEN) };
            match (items.kind(), wire) {
                (Kind::Int32 | Kind::Int64 | Kind::Bool, Wire::Bytes(bytes)) => {
                    let mut packed = Message::new(bytes);
                    while let Some(number) = packed.next_packed()? {
                        list.push(read_value(items.kind(), Wire::Varint(number), depth)?);
                    }
                }
                (Kind::Float64, Wire::Bytes(bytes)) => {
                    let mut packed = Message::new(bytes);
                    while let Some(number) = packed.next_eight()? {
                        list.push(read_value(Kind::Float64, Wire::Fixed64(number), depth)?);
                    }
                }
                (kind, wire) => list.push(read_value(kind, wire, depth)?),
            }
        }
        Kind::Map(values) => {
            let map = members.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
            let (Value::Object(map), Wire::Bytes(bytes)) = (map, wire) else { return Err(BROKEN) };
            let (mut key, mut value) = ("", None);
            let mut entry = Message::new(bytes);
            while let Some(field) = entry.next()? {
                match field {
                    (1, Wire::Bytes(bytes)) => key = text(bytes)?,
                    (2, wire) => value = Some(read_value(values.kind(), wire, depth)?),
                    _ => {}
                }
            }
            // A value that is not there is its type's zero, which null is to the reader of JSON.
            map.insert(key.to_owned(), value.unwrap_or(Value::Null));
        }
        kind => {
            let value = read_value(kind, wire, depth)?;
            // Go writes the zero values of fields that are no pointers.
            if field.place.is_pointer() || !is_zero(&value) {
                members.insert(field.name.to_owned(), value);
            } else {
                members.remove(field.name);
            }
        }
    }
    Ok(())
}

fn read_value(kind: Kind, wire: Wire<'_>, depth: u8) -> Result<Value, &'static str> {
    match (kind, wire) {
        (Kind::String, Wire::Bytes(bytes)) => Ok(Value::String(text(bytes)?.to_owned())),
        (Kind::Bytes, Wire::Bytes(bytes)) => Ok(Value::String(STANDARD.encode(bytes))),
        (Kind::Bool, Wire::Varint(number)) => Ok(Value::Bool(number != 0)),
        (Kind::Int32, Wire::Varint(number)) => Ok(Value::from(int32(number))),
        (Kind::Int64, Wire::Varint(number)) => Ok(Value::from(number.cast_signed())),
        (Kind::Float64, Wire::Fixed64(bytes)) => {
            Number::from_f64(f64::from_le_bytes(bytes)).map(Value::Number).ok_or("proto: no such number in JSON")
        }
        (Kind::Struct(id), Wire::Bytes(bytes)) => object(id, bytes, depth),
        (Kind::Time, Wire::Bytes(bytes)) => moment(bytes, false),
        (Kind::MicroTime, Wire::Bytes(bytes)) => moment(bytes, true),
        (Kind::Quantity, Wire::Bytes(bytes)) => quantity(bytes),
        (Kind::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes),
        (Kind::ExtraValue, Wire::Bytes(bytes)) => strings(1, bytes).map(Value::Array),
        (Kind::Any, Wire::Bytes(bytes)) => raw_json(bytes),
        (Kind::SchemaOrBool, Wire::Bytes(bytes)) => schema_or(bytes, kind, depth),
        (Kind::SchemaOrArray | Kind::SchemaOrStringArray, Wire::Bytes(bytes)) => schema_or(bytes, kind, depth),
        // Lists of lists do not exist, and another wire type is another field's.
        _ => Err(BROKEN),
    }
}

fn object(id: TypeId, bytes: &[u8], depth: u8) -> Result<Value, &'static str> {
    let mut members = Map::new();
    read_message(id, bytes, &mut members, depth)?;
    Ok(Value::Object(members))
}

fn text(bytes: &[u8]) -> Result<&str, &'static str> {
    str::from_utf8(bytes).map_err(|_| "proto: string field contains invalid UTF-8")
}

/// Negative numbers come in ten bytes.
#[expect(clippy::cast_possible_truncation, reason = "protobuf drops the upper bits of an int32")]
fn int32(number: u64) -> i32 {
    number as u32 as i32
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// `{1: seconds, 2: nanoseconds}`; an empty one is no time.
fn moment(bytes: &[u8], micros: bool) -> Result<Value, &'static str> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        match field {
            (1, Wire::Varint(number)) => seconds = number.cast_signed(),
            (2, Wire::Varint(number)) => nanos = int32(number),
            _ => {}
        }
    }
    if seconds == 0 && nanos == 0 {
        return Ok(Value::Null);
    }
    time::from_unix(seconds, nanos, micros).map(Value::String).ok_or("proto: time out of range")
}

/// `{1: text}`.
fn quantity(bytes: &[u8]) -> Result<Value, &'static str> {
    let mut written = "";
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        if let (1, Wire::Bytes(bytes)) = field {
            written = text(bytes)?;
        }
    }
    Ok(Value::String(if written.is_empty() { "0" } else { written }.to_owned()))
}

/// `{1: which, 2: number, 3: text}`.
fn int_or_string(bytes: &[u8]) -> Result<Value, &'static str> {
    let (mut is_text, mut number, mut words) = (false, 0, "");
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        match field {
            (1, Wire::Varint(which)) => is_text = which != 0,
            (2, Wire::Varint(value)) => number = int32(value),
            (3, Wire::Bytes(bytes)) => words = text(bytes)?,
            _ => {}
        }
    }
    Ok(if is_text { Value::from(words) } else { Value::from(number) })
}

/// `{1: JSON}`.
fn raw_json(bytes: &[u8]) -> Result<Value, &'static str> {
    let mut raw: &[u8] = &[];
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        if let (1, Wire::Bytes(bytes)) = field {
            raw = bytes;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(raw).map_err(|_| "proto: an embedded value is no JSON")
}

fn strings(wanted: u32, bytes: &[u8]) -> Result<Vec<Value>, &'static str> {
    let mut list = Vec::new();
    let mut message = Message::new(bytes);
    while let Some((number, wire)) = message.next()? {
        if let (true, Wire::Bytes(bytes)) = (number == wanted, wire) {
            list.push(Value::String(text(bytes)?.to_owned()));
        }
    }
    Ok(list)
}

/// `{1: schema, 2: list}`, or for the one with a boolean `{1: allowed, 2: schema}`.
fn schema_or(bytes: &[u8], kind: Kind, depth: u8) -> Result<Value, &'static str> {
    let depth = depth.checked_sub(1).ok_or("proto: exceeded max recursion depth")?;
    let (mut schema, mut allowed, mut list) = (None, false, Vec::new());
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        match (kind, field) {
            (Kind::SchemaOrBool, (1, Wire::Varint(number))) => allowed = number != 0,
            (Kind::SchemaOrBool, (2, Wire::Bytes(bytes))) => schema = Some(object(json_schema(), bytes, depth)?),
            (Kind::SchemaOrBool, _) => {}
            (_, (1, Wire::Bytes(bytes))) => schema = Some(object(json_schema(), bytes, depth)?),
            (Kind::SchemaOrArray, (2, Wire::Bytes(bytes))) => list.push(object(json_schema(), bytes, depth)?),
            (_, (2, Wire::Bytes(bytes))) => list.push(Value::String(text(bytes)?.to_owned())),
            _ => {}
        }
    }
    Ok(match (kind, schema) {
        (Kind::SchemaOrBool, Some(schema)) => schema,
        (Kind::SchemaOrBool, None) => Value::Bool(allowed),
        (_, _) if !list.is_empty() => Value::Array(list),
        (_, schema) => schema.unwrap_or(Value::Null),
    })
}

#[cfg(test)]
mod tests;
