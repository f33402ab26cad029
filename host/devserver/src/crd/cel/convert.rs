//! Functions that make a value of one type from one of another.

use super::EvalError;
use super::functions::{Gives, Overload, global, no_overload};
use super::kinds::Kind::{self, Any};
use super::time;
use super::value::{Budget, Text, Val};

pub(super) const ALL: &[Overload] = &[
    global("string", &[Any], Gives::Kind(Kind::Text), to_text),
    global("int", &[Any], Gives::Kind(Kind::Int), to_int),
    global("uint", &[Any], Gives::Kind(Kind::UInt), to_uint),
    global("double", &[Any], Gives::Kind(Kind::Double), to_double),
    global("bool", &[Any], Gives::Kind(Kind::Bool), to_bool),
    global("bytes", &[Any], Gives::Kind(Kind::Bytes), to_bytes),
    global("dyn", &[Any], Gives::Kind(Any), |_, of| Ok(first(of)?.clone())),
    global("type", &[Any], Gives::Kind(Kind::Type), |_, of| Ok(Val::Kind(first(of)?.kind()))),
    global("timestamp", &[Any], Gives::Kind(Kind::Timestamp), to_timestamp),
    global("duration", &[Any], Gives::Kind(Kind::Duration), to_duration),
];

fn first<'v, 'a>(of: &'v [Val<'a>]) -> Result<&'v Val<'a>, EvalError> {
    of.first().ok_or_else(no_overload)
}

fn overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn unreadable(text: &str, kind: Kind) -> EvalError {
    EvalError::new(format!("type conversion error from 'string' to '{}': {text:?}", kind.name()))
}

/// The text of a scalar.
pub(super) fn to_text<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match first(of)? {
        Val::Text(text) => Val::Text(text.clone()),
        Val::Bool(value) => Val::text(value.to_string()),
        Val::Int(value) => Val::text(value.to_string()),
        Val::UInt(value) => Val::text(value.to_string()),
        Val::Double(value) => Val::text(value.to_string()),
        Val::Duration(value) => Val::text(time::print_duration(*value)),
        Val::Timestamp(value) => Val::text(time::print_timestamp(*value)),
        Val::Url(value) => Val::text(value.to_string()),
        Val::Ip(value) => Val::text(value.to_string()),
        Val::Cidr(value, bits) => Val::text(format!("{value}/{bits}")),
        Val::Bytes(bytes) => {
            budget.bytes(bytes.len())?;
            Val::text(std::str::from_utf8(bytes).map_err(|_| EvalError::new("invalid UTF-8 in bytes, cannot convert to string"))?)
        }
        _ => return Err(no_overload()),
    })
}

fn to_int<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Int(match first(of)? {
        Val::Int(value) => *value,
        Val::UInt(value) => i64::try_from(*value).map_err(|_| overflow())?,
        Val::Double(value) if value.abs() < 9.2e18 => *value as i64,
        Val::Double(_) => return Err(overflow()),
        Val::Timestamp(value) => value.as_second(),
        Val::Duration(value) => *value,
        Val::Text(text) => text.parse().map_err(|_| unreadable(text, Kind::Int))?,
        _ => return Err(no_overload()),
    }))
}

fn to_uint<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::UInt(match first(of)? {
        Val::UInt(value) => *value,
        Val::Int(value) => u64::try_from(*value).map_err(|_| overflow())?,
        Val::Double(value) if (0.0..1.8e19).contains(value) => *value as u64,
        Val::Double(_) => return Err(overflow()),
        Val::Text(text) => text.parse().map_err(|_| unreadable(text, Kind::UInt))?,
        _ => return Err(no_overload()),
    }))
}

fn to_double<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Double(match first(of)? {
        Val::Double(value) => *value,
        Val::Int(value) => *value as f64,
        Val::UInt(value) => *value as f64,
        Val::Text(text) => text.parse().map_err(|_| unreadable(text, Kind::Double))?,
        _ => return Err(no_overload()),
    }))
}

fn to_bool<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Bool(match first(of)? {
        Val::Bool(value) => *value,
        Val::Text(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            other => return Err(unreadable(other, Kind::Bool)),
        },
        _ => return Err(no_overload()),
    }))
}

fn to_bytes<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match first(of)? {
        Val::Bytes(bytes) => Ok(Val::Bytes(bytes.clone())),
        Val::Text(text) => {
            budget.bytes(text.len())?;
            Ok(Val::Bytes(text.as_bytes().into()))
        }
        _ => Err(no_overload()),
    }
}

fn to_timestamp<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match first(of)? {
        Val::Timestamp(time) => Ok(Val::Timestamp(*time)),
        Val::Int(seconds) => jiff::Timestamp::from_second(*seconds).map(Val::Timestamp).map_err(|_| EvalError::new("timestamp overflow")),
        Val::Text(text) => time::timestamp(text).map(Val::Timestamp).ok_or_else(|| unreadable(text, Kind::Timestamp)),
        _ => Err(no_overload()),
    }
}

fn to_duration<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match first(of)? {
        Val::Duration(nanos) => Ok(Val::Duration(*nanos)),
        Val::Text(Text::Read(text)) => time::duration(text).map(Val::Duration).ok_or_else(|| unreadable(text, Kind::Duration)),
        Val::Text(Text::Made(text)) => time::duration(text).map(Val::Duration).ok_or_else(|| unreadable(text, Kind::Duration)),
        _ => Err(no_overload()),
    }
}
