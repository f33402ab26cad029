//! What may be expected of a value. A plain value must be equal; a map with one key that begins
//! with `$` says more:
//!
//! | key | holds when |
//! |---|---|
//! | `$absent: true` | there is nothing |
//! | `$present: true` | there is something, `null` excepted |
//! | `$contains: x` | a text contains the text; a list has an element that covers `x` |
//! | `$covers: x` | every member of `x` is there and covers; lists of the same length |
//! | `$matches: p` | the regular expression fits the whole text |
//! | `$keys: [..]` | a map has exactly these keys |
//! | `$length: n` | a list, map or text has that length |
//! | `$not: x` | `x` does not hold |
//! | `$oneOf: [..]` | one of them holds |
//! | `$all: [..]` | all of them hold |
//! | `$over: n` | a number, or a text that is one, is greater |

use regex::Regex;
use serde_json::Value;

/// Says what is wrong with a value, if something is.
pub(crate) fn check(expected: &Value, found: Option<&Value>) -> Result<(), String> {
    let Some((operator, operand)) = operator(expected) else {
        return if found == Some(expected) { Ok(()) } else { Err(wrong("equal", expected, found)) };
    };
    let holds = match operator {
        "$absent" => found.is_none(),
        "$present" => found.is_some_and(|found| !found.is_null()),
        "$contains" => found.is_some_and(|found| contains(operand, found)),
        "$covers" => found.is_some_and(|found| covers(operand, found)),
        "$matches" => matches(operand, found)?,
        "$keys" => found.and_then(Value::as_object).is_some_and(|found| {
            operand
                .as_array()
                .is_some_and(|keys| keys.len() == found.len() && keys.iter().filter_map(Value::as_str).all(|key| found.contains_key(key)))
        }),
        "$length" => found.and_then(length) == operand.as_u64(),
        "$not" => check(operand, found).is_err(),
        "$oneOf" => operand.as_array().is_some_and(|choices| choices.iter().any(|choice| check(choice, found).is_ok())),
        "$all" => {
            for part in operand.as_array().into_iter().flatten() {
                check(part, found)?;
            }
            true
        }
        "$over" => number(operand).zip(found.and_then(number)).is_some_and(|(limit, found)| found > limit),
        other => return Err(format!("{other} is nothing that can be expected")),
    };
    if holds { Ok(()) } else { Err(wrong(operator, operand, found)) }
}

fn operator(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().filter(|(key, _)| key.starts_with('$')).map(|(key, value)| (key.as_str(), value))
}

fn contains(part: &Value, found: &Value) -> bool {
    match (part, found) {
        (Value::String(part), Value::String(found)) => found.contains(part.as_str()),
        (part, Value::Array(found)) => found.iter().any(|element| covers(part, element)),
        _ => false,
    }
}

fn covers(part: &Value, found: &Value) -> bool {
    match (part, found) {
        (part, found) if operator(part).is_some() => check(part, Some(found)).is_ok(),
        (Value::Object(part), Value::Object(found)) => part.iter().all(|(key, part)| match found.get(key) {
            Some(found) => covers(part, found),
            None => check(part, None).is_ok(),
        }),
        (Value::Array(part), Value::Array(found)) => {
            part.len() == found.len() && part.iter().zip(found).all(|(part, found)| covers(part, found))
        }
        (part, found) => part == found,
    }
}

fn matches(pattern: &Value, found: Option<&Value>) -> Result<bool, String> {
    let pattern = pattern.as_str().ok_or("$matches needs a text")?;
    let pattern = Regex::new(&format!("^(?s:{pattern})$")).map_err(|error| error.to_string())?;
    Ok(found.and_then(Value::as_str).is_some_and(|found| pattern.is_match(found)))
}

fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn wrong(how: &str, expected: &Value, found: Option<&Value>) -> String {
    let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
    format!("expected {how} {expected}, found {}", shortened(&found))
}

/// Enough of a text to see what it is.
pub(crate) fn shortened(text: &str) -> String {
    const ENOUGH: usize = 3000;
    let short: String = text.chars().take(ENOUGH).collect();
    if short.len() < text.len() { format!("{short}... ({} bytes)", text.len()) } else { short }
}
