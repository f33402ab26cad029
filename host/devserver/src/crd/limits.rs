//! The limits of numbers and counts, and when two values are the same to an enum. Owns the texts of those; walks nowhere.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::schema::Limits;
use crate::status::Cause;

/// What is wrong with a number.
pub(super) fn number(limits: &Limits, format: Option<&str>, number: &Number) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(min) = &limits.minimum {
        match (compare(number, min), limits.exclusive_minimum) {
            (Ordering::Less, false) => wrong.push(format!("should be greater than or equal to {}", print(min))),
            (Ordering::Less | Ordering::Equal, true) => wrong.push(format!("should be greater than {}", print(min))),
            _ => {}
        }
    }
    if let Some(max) = &limits.maximum {
        match (compare(number, max), limits.exclusive_maximum) {
            (Ordering::Greater, false) => wrong.push(format!("should be less than or equal to {}", print(max))),
            (Ordering::Greater | Ordering::Equal, true) => wrong.push(format!("should be less than {}", print(max))),
            _ => {}
        }
    }
    if let Some(of) = &limits.multiple_of
        && !is_multiple(number, of)
    {
        wrong.push(format!("should be a multiple of {}", print(of)));
    }
    if format == Some("int32") && number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) && !is_small(number) {
        wrong.push("must be of type int32".to_owned());
    }
    if format == Some("int64") && number.as_i64().is_none() && number.as_u64().is_some() {
        wrong.push("must be of type int64".to_owned());
    }
    wrong
}

/// A float that is a whole number of 32 bits.
fn is_small(number: &Number) -> bool {
    !number.is_i64() && !number.is_u64() && number.as_f64().is_some_and(|number| number.abs() <= f64::from(i32::MAX))
}

/// More items or members than there may be.
pub(super) fn too_many(field: String, count: u64, max: u64) -> Cause {
    Cause { reason: "FieldValueTooMany", message: format!("Too many: {count}: must have at most {max} items"), field }
}

/// Whether a value is a whole number; 1.0 is.
pub(super) fn is_whole(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

/// Equal, and 1 and 1.0 are.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (a, b) => a == b,
    }
}

fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    match (whole(number), whole(of)) {
        (_, Some(0)) => true,
        (Some(number), Some(of)) => number.checked_rem(of) == Some(0),
        _ => {
            let quotient = number.as_f64().unwrap_or(0.0) / of.as_f64().unwrap_or(1.0);
            (quotient - quotient.round()).abs() < 1e-9
        }
    }
}

/// 1.0 is written 1.
fn print(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if whole(number).is_none() && value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        _ => number.to_string(),
    }
}
