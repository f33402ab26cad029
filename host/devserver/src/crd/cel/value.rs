//! The values of CEL: what an expression works with. Owns reading JSON by its schema (a number is an int, a double or, as
//! text, a timestamp, as the schema says), equality and order. Copies no JSON: objects and lists are read where they are.

use std::cell::Cell;
use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

use super::EvalError;
use super::kinds::{Kind, Type};
use super::quantity::Quantity;
use super::time;
use crate::crd::schema::{CustomSchema, DataType};

/// A value while an expression is evaluated. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(jiff::Timestamp),
    Quantity(Quantity),
    Url(Rc<http::Uri>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Kind(Kind),
    /// A list of JSON, and its own schema.
    Array(&'a [Json], Option<&'a CustomSchema>),
    List(Rc<Vec<Val<'a>>>),
    /// An object of JSON, and its own schema.
    Object(&'a Map<String, Json>, Option<&'a CustomSchema>),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    Optional(Option<Rc<Val<'a>>>),
}

/// A text that is part of the object or of the expression, or was made.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Read(&'a str),
    Made(Rc<str>),
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Read(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// Steps that may still be made. Every part that is evaluated costs one, and so do some bytes or elements that are looked at.
#[derive(Debug)]
pub(in crate::crd) struct Budget(Cell<u64>);

impl Budget {
    pub(in crate::crd) fn new(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    pub(in crate::crd) fn left(&self) -> u64 {
        self.0.get()
    }

    pub(super) fn spend(&self, steps: usize) -> Result<(), EvalError> {
        let left = self.0.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.0.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(EvalError::spent)
    }

    /// Work on text.
    pub(super) fn bytes(&self, count: usize) -> Result<(), EvalError> {
        self.spend(count.div_ceil(8).max(1))
    }
}

impl<'a> Val<'a> {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Val::Text(Text::Made(text.into()))
    }

    pub(super) fn list(values: Vec<Val<'a>>) -> Self {
        Val::List(Rc::new(values))
    }

    pub(super) fn some(value: Val<'a>) -> Self {
        Val::Optional(Some(Rc::new(value)))
    }

    /// Reads JSON as its schema says; without one, numbers are ints if they are whole.
    pub(super) fn read(json: &'a Json, schema: Option<&'a CustomSchema>) -> Self {
        match json {
            Json::Null => Val::Null,
            Json::Bool(value) => Val::Bool(*value),
            Json::String(text) => read_text(text, schema),
            Json::Number(number) => {
                let is_double = schema.is_some_and(|schema| schema.data_type == Some(DataType::Number));
                match number.as_i64() {
                    Some(value) if !is_double => Val::Int(value),
                    _ => match number.as_f64() {
                        // 1.0 is a whole number to JSON schemas.
                        Some(value)
                            if value.fract() == 0.0
                                && value.abs() < 9e15
                                && schema.is_some_and(|schema| schema.data_type == Some(DataType::Integer)) =>
                        {
                            Val::Int(value as i64)
                        }
                        Some(value) => Val::Double(value),
                        None => Val::Null,
                    },
                }
            }
            Json::Array(list) => Val::Array(list, schema),
            Json::Object(map) => Val::Object(map, schema),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Val::Null => Kind::Null,
            Val::Bool(_) => Kind::Bool,
            Val::Int(_) => Kind::Int,
            Val::UInt(_) => Kind::UInt,
            Val::Double(_) => Kind::Double,
            Val::Text(_) => Kind::Text,
            Val::Bytes(_) => Kind::Bytes,
            Val::Duration(_) => Kind::Duration,
            Val::Timestamp(_) => Kind::Timestamp,
            Val::Quantity(_) => Kind::Quantity,
            Val::Url(_) => Kind::Url,
            Val::Ip(_) => Kind::Ip,
            Val::Cidr(..) => Kind::Cidr,
            Val::Kind(_) => Kind::Type,
            Val::Array(..) | Val::List(_) => Kind::List,
            Val::Object(..) | Val::Map(_) => Kind::Map,
            Val::Optional(_) => Kind::Optional,
        }
    }

    /// The elements of a list; of a map, its keys. `None` for anything else.
    pub(super) fn elements(&self, budget: &Budget) -> Result<Option<Rc<Vec<Val<'a>>>>, EvalError> {
        Ok(Some(match self {
            Val::List(list) => Rc::clone(list),
            Val::Array(list, schema) => {
                budget.spend(list.len())?;
                let items = schema.and_then(|schema| schema.items.as_deref());
                Rc::new(list.iter().map(|item| Val::read(item, items)).collect())
            }
            Val::Map(entries) => {
                budget.spend(entries.len())?;
                Rc::new(entries.iter().map(|(key, _)| key.clone()).collect())
            }
            Val::Object(map, _) => {
                budget.spend(map.len())?;
                Rc::new(map.keys().map(|key| Val::Text(Text::Read(key))).collect())
            }
            _ => return Ok(None),
        }))
    }

    /// The number of elements, entries, characters or bytes.
    pub(super) fn size(&self, budget: &Budget) -> Result<Option<usize>, EvalError> {
        Ok(Some(match self {
            Val::List(list) => list.len(),
            Val::Array(list, _) => list.len(),
            Val::Map(entries) => entries.len(),
            Val::Object(map, _) => map.len(),
            Val::Bytes(bytes) => bytes.len(),
            Val::Text(text) => {
                budget.bytes(text.len())?;
                text.chars().count()
            }
            _ => return Ok(None),
        }))
    }

    /// The value of a field or key. A field whose value is null is absent, as Kubernetes has it.
    pub(super) fn field(&self, name: &str, budget: &Budget) -> Result<Option<Val<'a>>, EvalError> {
        match self {
            Val::Object(map, schema) => {
                let has_fields = schema.is_some_and(|schema| matches!(Type::of(schema), Type::Object(_)));
                let found = map.get(name).map(|json| (json, name.to_owned()));
                let found = match found {
                    None if has_fields => super::kinds::unescape(name).and_then(|name| map.get(&name).map(|json| (json, name))),
                    found => found,
                };
                let Some((json, name)) = found else { return Ok(None) };
                if has_fields && json.is_null() {
                    return Ok(None);
                }
                Ok(Some(Val::read(json, schema.and_then(|schema| schema.property(&name)))))
            }
            Val::Map(_) => self.entry(&Val::Text(Text::Made(name.into())), budget),
            _ => Err(EvalError::new("no such overload")),
        }
    }

    /// The value of a key of a map.
    pub(super) fn entry(&self, key: &Val<'a>, budget: &Budget) -> Result<Option<Val<'a>>, EvalError> {
        match (self, key) {
            (Val::Object(..), Val::Text(name)) => self.field(name, budget),
            (Val::Object(..), _) => Ok(None),
            (Val::Map(entries), _) => {
                for (known, value) in entries.iter() {
                    if known.equals(key, budget)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
            _ => Err(EvalError::new("no such overload")),
        }
    }

    /// Equal as CEL has it: numbers by their value, lists marked as sets and maps without regard to order.
    pub(super) fn equals(&self, other: &Val<'a>, budget: &Budget) -> Result<bool, EvalError> {
        budget.spend(1)?;
        Ok(match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Text(a), Val::Text(b)) => {
                budget.bytes(a.len().min(b.len()))?;
                **a == **b
            }
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Quantity(a), Val::Quantity(b)) => a == b,
            (Val::Url(a), Val::Url(b)) => a == b,
            (Val::Ip(a), Val::Ip(b)) => a == b,
            (Val::Cidr(a, m), Val::Cidr(b, n)) => a == b && m == n,
            (Val::Kind(a), Val::Kind(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b, budget)?,
                (a, b) => a.is_none() && b.is_none(),
            },
            (a, b) if a.kind() == Kind::List && b.kind() == Kind::List => lists_equal(a, b, budget)?,
            (a, b) if a.kind() == Kind::Map && b.kind() == Kind::Map => maps_equal(a, b, budget)?,
            (a, b) if a.kind().is_number() && b.kind().is_number() => a.order(b, budget)? == Some(Ordering::Equal),
            _ => false,
        })
    }

    /// The order of two values; `None` where there is none.
    pub(super) fn order(&self, other: &Val<'a>, budget: &Budget) -> Result<Option<Ordering>, EvalError> {
        Ok(match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
            (Val::UInt(a), Val::UInt(b)) => Some(a.cmp(b)),
            (Val::Int(a), Val::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Val::UInt(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
            (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
            (Val::Double(a), Val::UInt(b)) => a.partial_cmp(&(*b as f64)),
            (Val::UInt(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
            (Val::Text(a), Val::Text(b)) => {
                budget.bytes(a.len().min(b.len()))?;
                Some((**a).cmp(&**b))
            }
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            _ => None,
        })
    }
}

fn read_text<'a>(text: &'a str, schema: Option<&'a CustomSchema>) -> Val<'a> {
    let read = Val::Text(Text::Read(text));
    match schema.map(Type::of) {
        Some(Type::Plain(Kind::Timestamp)) => time::timestamp(text).map_or(read, Val::Timestamp),
        Some(Type::Plain(Kind::Duration)) => time::duration(text).map_or(read, Val::Duration),
        Some(Type::Plain(Kind::Bytes)) => STANDARD.decode(text).map_or(read, |bytes| Val::Bytes(bytes.into())),
        _ => read,
    }
}

fn lists_equal<'a>(a: &Val<'a>, b: &Val<'a>, budget: &Budget) -> Result<bool, EvalError> {
    let unordered = [a, b].iter().any(|list| matches!(list, Val::Array(_, Some(schema)) if schema.list.is_some()));
    let (Some(a), Some(b)) = (a.elements(budget)?, b.elements(budget)?) else { return Ok(false) };
    if a.len() != b.len() {
        return Ok(false);
    }
    if unordered {
        for one in a.iter() {
            if !contains(&b, one, budget)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        if !a.equals(b, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal<'a>(a: &Val<'a>, b: &Val<'a>, budget: &Budget) -> Result<bool, EvalError> {
    let (Some(keys), Some(others)) = (a.elements(budget)?, b.elements(budget)?) else { return Ok(false) };
    if keys.len() != others.len() {
        return Ok(false);
    }
    for key in keys.iter() {
        match (a.entry(key, budget)?, b.entry(key, budget)?) {
            (Some(a), Some(b)) if a.equals(&b, budget)? => {}
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether a list has an element.
pub(super) fn contains<'a>(list: &[Val<'a>], wanted: &Val<'a>, budget: &Budget) -> Result<bool, EvalError> {
    for one in list {
        if one.equals(wanted, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}
