//! Values of an evaluation: JSON text that is read when it is needed, and what was made of it.
//! Owns how values are read, compared and ordered, as CEL has it; never evaluates anything.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::eval::{Budget, EvalError};
use crate::pointer::Key;

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text<'a>),
    List(Rc<Vec<Value<'a>>>),
    /// A JSON array, as its text.
    Array(&'a str),
    /// A JSON object, as its text.
    Map(&'a str),
}

/// A text that is cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Read(&'a str),
    Made(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Read(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Made(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Read(text),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl<'a> Value<'a> {
    /// Reads a JSON value; what is inside of it stays text.
    pub(super) fn read(json: &'a str, budget: &Budget) -> Result<Self, EvalError> {
        let json = json.trim_ascii();
        let bad = |_| EvalError::new("the object is no JSON");
        Ok(match json.bytes().next() {
            Some(b'{') => Self::Map(json),
            Some(b'[') => Self::Array(json),
            Some(b'"') => {
                budget.bytes(json.len())?;
                let Key(text) = serde_json::from_str(json).map_err(bad)?;
                Self::Text(text.into())
            }
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            _ => {
                let number: serde_json::Number = serde_json::from_str(json).map_err(bad)?;
                match (number.as_i64(), number.as_u64(), number.as_f64()) {
                    (Some(int), ..) => Self::Int(int),
                    (None, Some(uint), _) => Self::UInt(uint),
                    (None, None, double) => Self::Double(double.unwrap_or(f64::NAN)),
                }
            }
        })
    }

    /// What it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::List(_) | Self::Array(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// The elements of a list, or the keys of a map; `None` for what has neither.
    pub(super) fn elements(&self, budget: &Budget) -> Result<Option<Rc<Vec<Self>>>, EvalError> {
        let bad = |_| EvalError::new("the object is no JSON");
        Ok(match self {
            Self::List(list) => Some(Rc::clone(list)),
            Self::Array(json) => {
                budget.bytes(json.len())?;
                let raw: Vec<&'a RawValue> = serde_json::from_str(json).map_err(bad)?;
                Some(Rc::new(raw.into_iter().map(|raw| Self::read(raw.get(), budget)).collect::<Result<_, _>>()?))
            }
            Self::Map(json) => {
                budget.bytes(json.len())?;
                let Keys(keys) = serde_json::from_str(json).map_err(bad)?;
                Some(Rc::new(keys.into_iter().map(|key| Self::Text(key.into())).collect()))
            }
            _ => None,
        })
    }

    /// CEL's `==`: values of different kinds are not equal, but numbers are compared as such.
    pub(super) fn equals(&self, other: &Self, budget: &Budget) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => {
                budget.bytes(a.len().min(b.len()))?;
                **a == **b
            }
            (Self::Map(a), Self::Map(b)) | (Self::Array(a), Self::Array(b)) => {
                budget.bytes(a.len().min(b.len()))?;
                a == b || same_json(a, b, budget)?
            }
            (Self::List(_) | Self::Array(_), Self::List(_) | Self::Array(_)) => {
                let (Some(a), Some(b)) = (self.elements(budget)?, other.elements(budget)?) else { return Ok(false) };
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (a, b) in a.iter().zip(&*b) {
                    budget.step()?;
                    if !a.equals(b, budget)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => self.number().zip(other.number()).is_some_and(|(a, b)| a.order(b) == Some(Ordering::Equal)),
        })
    }

    /// How two values are ordered; the outer `None` if they cannot be, the inner for NaN.
    pub(super) fn order(&self, other: &Self, budget: &Budget) -> Result<Option<Option<Ordering>>, EvalError> {
        Ok(match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(Some(a.cmp(b))),
            (Self::Text(a), Self::Text(b)) => {
                budget.bytes(a.len().min(b.len()))?;
                Some(Some((**a).cmp(&**b)))
            }
            _ => self.number().zip(other.number()).map(|(a, b)| a.order(b)),
        })
    }

    fn number(&self) -> Option<Number> {
        match self {
            Self::Int(int) => Some(Number::Whole(i128::from(*int))),
            Self::UInt(uint) => Some(Number::Whole(i128::from(*uint))),
            Self::Double(double) => Some(Number::Double(*double)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Double(f64),
}

impl Number {
    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Whole(a), Self::Double(b)) => (a as f64).partial_cmp(&b),
            (Self::Double(a), Self::Whole(b)) => a.partial_cmp(&(b as f64)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b),
        }
    }
}

/// Two texts that differ may still be the same value: in the order of fields, or in escapes.
fn same_json(a: &str, b: &str, budget: &Budget) -> Result<bool, EvalError> {
    // Trees cost far more than a look at the text.
    budget.bytes(a.len().saturating_add(b.len()).saturating_mul(8))?;
    let tree = |text: &str| serde_json::from_str::<serde_json::Value>(text).map_err(|_| EvalError::new("the object is nested too deeply"));
    Ok(same(&tree(a)?, &tree(b)?))
}

fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let number = |n: &serde_json::Number| match (n.as_i64(), n.as_u64()) {
                (Some(int), _) => Number::Whole(i128::from(int)),
                (None, Some(uint)) => Number::Whole(i128::from(uint)),
                (None, None) => Number::Double(n.as_f64().unwrap_or(f64::NAN)),
            };
            number(a).order(number(b)) == Some(Ordering::Equal)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b))),
        _ => a == b,
    }
}

/// The names of an object's members.
struct Keys<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Keys<'a> {
    fn deserialize<D: Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Keys<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys<'de>, A::Error> {
                let mut keys = Vec::new();
                while let Some((Key(key), IgnoredAny)) = map.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        de.deserialize_map(Members)
    }
}
