//! Values without members, as Go's types read and write them: numbers in their range, base64, quantities, times. Owns their canonical
//! forms, zero values and Go's names of types; never looks into objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use super::quantity::Quantity;
use super::time;
use super::types::Kind;

/// Why a scalar cannot be read.
pub(super) enum Refusal {
    /// The JSON is of another type; what it is, in Go's words (`string`, `number 1.5`).
    Type(String),
    /// The same, found by a type that reads itself: Go does not name the field then. The value, and the type it should be.
    Inside(String, &'static str),
    /// The text of an error that is told as it is.
    Text(String),
}

/// Reads a scalar that is not null.
pub(super) fn read(kind: Kind, value: Value) -> Result<Value, Refusal> {
    match (kind, value) {
        (Kind::String, value @ Value::String(_)) | (Kind::Bool, value @ Value::Bool(_)) => Ok(value),
        (Kind::Int32, Value::Number(number)) => integer(number, i64::from(i32::MIN), i64::from(i32::MAX)).map_err(Refusal::Type),
        (Kind::Int64, Value::Number(number)) => integer(number, i64::MIN, i64::MAX).map_err(Refusal::Type),
        (Kind::Float64, Value::Number(number)) => Ok(float(number)),
        (Kind::Bytes, Value::String(text)) => bytes(&text),
        (Kind::Quantity, Value::String(text)) => quantity(&text),
        (Kind::Quantity, other) => quantity(&other.to_string()),
        (Kind::IntOrString, value @ Value::String(_)) => Ok(value),
        (Kind::IntOrString, Value::Number(number)) => {
            integer(number, i64::from(i32::MIN), i64::from(i32::MAX)).map_err(|what| Refusal::Inside(what, "int32"))
        }
        (Kind::IntOrString, other) => Err(Refusal::Inside(name_of(&other).to_owned(), "int32")),
        (Kind::Time, Value::String(text)) => moment(time::seconds(&text)),
        (Kind::MicroTime, Value::String(text)) => moment(time::micros(&text)),
        (Kind::Time | Kind::MicroTime, other) => Err(Refusal::Inside(name_of(&other).to_owned(), "string")),
        (_, other) => Err(Refusal::Type(name_of(&other).to_owned())),
    }
}

/// What Go writes for the zero value of a kind that is no struct.
pub(super) fn zero(kind: Kind) -> Value {
    match kind {
        Kind::String => Value::String(String::new()),
        Kind::Bool | Kind::SchemaOrBool => Value::Bool(false),
        Kind::Int32 | Kind::Int64 | Kind::Float64 | Kind::IntOrString => Value::from(0),
        Kind::Quantity => Value::String(Quantity::ZERO.to_string()),
        _ => Value::Null,
    }
}

/// What a JSON value is called in Go's errors.
pub(super) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a type is called in Go's errors.
pub(super) fn go_name(kind: Kind) -> String {
    match kind {
        Kind::Struct(id) => {
            let name = id.name();
            name.rsplit_once('/').map_or(name, |(_, name)| name).to_owned()
        }
        Kind::List(items) => format!("[]{}", go_name(items.kind())),
        Kind::Map(values) => format!("map[string]{}", go_name(values.kind())),
        Kind::ExtraValue => "[]string".to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Int32 => "int32".to_owned(),
        Kind::Int64 => "int64".to_owned(),
        Kind::Float64 => "float64".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Time => "v1.Time".to_owned(),
        Kind::MicroTime => "v1.MicroTime".to_owned(),
        Kind::Quantity => "resource.Quantity".to_owned(),
        Kind::IntOrString => "intstr.IntOrString".to_owned(),
        Kind::Any => "runtime.RawExtension".to_owned(),
        Kind::SchemaOrBool => "v1.JSONSchemaPropsOrBool".to_owned(),
        Kind::SchemaOrArray => "v1.JSONSchemaPropsOrArray".to_owned(),
        Kind::SchemaOrStringArray => "v1.JSONSchemaPropsOrStringArray".to_owned(),
    }
}

fn integer(number: Number, least: i64, most: i64) -> Result<Value, String> {
    match number.as_i64() {
        Some(whole) if (least..=most).contains(&whole) => Ok(Value::Number(number)),
        _ => Err(format!("number {number}")),
    }
}

/// Go writes a whole number without a point.
#[expect(clippy::cast_possible_truncation, reason = "whole and in range, as just looked at")]
fn float(number: Number) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() <= EXACT => Value::from(value as i64),
        _ => Value::Number(number),
    }
}

fn bytes(text: &str) -> Result<Value, Refusal> {
    // Go skips line ends.
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match STANDARD.decode(&plain) {
        Ok(_) => Ok(Value::String(plain)),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => plain.len(),
            };
            Err(Refusal::Text(format!("illegal base64 data at input byte {at}")))
        }
    }
}

fn quantity(text: &str) -> Result<Value, Refusal> {
    let quantity = Quantity::parse(text.trim()).map_err(|error| Refusal::Text(error.to_owned()))?;
    Ok(Value::String(quantity.to_string()))
}

fn moment(time: Result<Option<String>, String>) -> Result<Value, Refusal> {
    time.map(|time| time.map_or(Value::Null, Value::String)).map_err(Refusal::Text)
}
