//! A walk over a JSON tree that notes every mistake instead of stopping at the first. Owns
//! the pointers, the words and the hints of these mistakes; never knows where the tree came
//! from, nor which fields there are.
//!
//! Reading functions return `None` exactly where they have noted a problem, so whoever
//! has no value and no problem has found a field that is absent.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

use super::similar::closest;
use crate::Reason;
use crate::quantity::{format_bytes, format_duration, parse_bytes, parse_duration};

/// One mistake in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// RFC 6901 pointer of the field; empty for the whole document.
    pub pointer: String,
    /// `DocumentInvalid` (`DescribeFailed` in a description), `GrantMissing`, or
    /// `NotSupported` for what is not built yet.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl fmt::Display for Problem {
    /// Prints `/spec/limits/memory: 64Xi is no quantity [DocumentInvalid]`, without the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        write!(f, "{} [{}]", self.message, self.reason)
    }
}

/// The mistakes found so far; at most [`Self::MAX`] are kept, and how many more there were.
#[derive(Debug)]
pub struct Problems {
    invalid: Reason,
    list: Vec<Problem>,
    dropped: usize,
}

impl Problems {
    /// More mistakes than these are only counted.
    pub const MAX: usize = 64;

    /// Nothing wrong yet; `invalid` is the reason of what is simply wrong.
    pub const fn new(invalid: Reason) -> Self {
        Self { invalid, list: Vec::new(), dropped: 0 }
    }

    /// Notes something that is wrong.
    pub fn invalid(&mut self, at: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(self.invalid, at, message, hint);
    }

    /// Notes something under a reason of its own.
    pub fn add(&mut self, reason: Reason, at: &str, message: impl Into<String>, hint: impl Into<String>) {
        if self.list.len() < Self::MAX {
            self.list.push(Problem { pointer: at.to_owned(), reason, message: message.into(), hint: hint.into() });
        } else {
            self.dropped += 1;
        }
    }

    /// True as long as nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All that was noted, in the order of the walk.
    pub fn into_list(mut self) -> Vec<Problem> {
        if self.dropped > 0 {
            let message = format!("{} more problems", self.dropped);
            self.list.push(Problem { pointer: String::new(), reason: self.invalid, message, hint: String::new() });
        }
        self.list
    }
}

/// A field that is refused although it has a meaning: not built yet, or at a wrong place.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// Its name.
    pub field: &'static str,
    /// What to do instead.
    pub hint: &'static str,
}

/// A value and the pointer to it.
#[derive(Clone, Debug)]
pub struct Node<'v> {
    at: String,
    value: &'v Value,
}

impl<'v> Node<'v> {
    /// A value at a place; the root of a document has the empty place.
    pub fn new(at: impl Into<String>, value: &'v Value) -> Self {
        Self { at: at.into(), value }
    }

    /// The pointer.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// The value itself.
    pub const fn value(&self) -> &'v Value {
        self.value
    }

    /// An object that has only `known` fields. Others are noted: as `NotSupported` if they
    /// are `refused`, else as unknown with the closest known one.
    pub fn object(&self, known: &[&str], refused: &[Refused], problems: &mut Problems) -> Option<Object<'v>> {
        let map = self.map(problems)?;
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let at = self.child(key);
            if let Some(refused) = refused.iter().find(|r| r.field == key) {
                problems.add(Reason::NotSupported, &at, format!("{key} is not supported"), refused.hint);
            } else {
                let hint = match closest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known fields: {}", known.join(", ")),
                };
                problems.invalid(&at, format!("unknown field {}", excerpt(key)), hint);
            }
        }
        Some(Object { at: self.at.clone(), map })
    }

    /// An object of which other fields than those that are asked for do not matter.
    pub fn any_object(&self, problems: &mut Problems) -> Option<Object<'v>> {
        Some(Object { at: self.at.clone(), map: self.map(problems)? })
    }

    /// An object with fields of any name.
    pub fn entries(&self, problems: &mut Problems) -> Option<Vec<(&'v str, Self)>> {
        let map = self.map(problems)?;
        Some(map.iter().map(|(key, value)| (key.as_str(), Self::new(self.child(key), value))).collect())
    }

    /// A list of at most `max` items.
    pub fn list(&self, max: usize, problems: &mut Problems) -> Option<Vec<Self>> {
        let Value::Array(items) = self.value else {
            return self.mistyped("a list", "write [a, b], or one item a line after a dash", problems);
        };
        if items.len() > max {
            problems.invalid(&self.at, format!("{} items are too many", items.len()), format!("at most {max}"));
            return None;
        }
        Some(items.iter().enumerate().map(|(i, value)| Self::new(format!("{}/{i}", self.at), value)).collect())
    }

    /// A text.
    pub fn text(&self, problems: &mut Problems) -> Option<&'v str> {
        match self.value {
            Value::String(text) => Some(text),
            Value::Bool(_) | Value::Number(_) => self.mistyped("text", "put it in quotes", problems),
            _ => self.mistyped("text", "", problems),
        }
    }

    /// A text that follows a rule; `what` it is no good as, and a hint.
    pub fn checked(&self, rule: impl Fn(&str) -> bool, what: &str, hint: &str, problems: &mut Problems) -> Option<&'v str> {
        let text = self.text(problems)?;
        if !rule(text) {
            problems.invalid(&self.at, format!("{} is no {what}", excerpt(text)), hint);
            return None;
        }
        Some(text)
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, words: &[(&str, T)], problems: &mut Problems) -> Option<T> {
        let text = self.text(problems)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let all = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            let hint = closest(text, words.iter().map(|(word, _)| *word)).map(|near| format!("did you mean {near}?")).unwrap_or_default();
            problems.invalid(&self.at, format!("{} is not one of {all}", excerpt(text)), hint);
        }
        found.map(|(_, value)| *value)
    }

    /// True or false.
    pub fn flag(&self, problems: &mut Problems) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(*flag),
            _ => self.mistyped("true or false", "", problems),
        }
    }

    /// A whole number within a range.
    pub fn integer(&self, range: &RangeInclusive<u64>, problems: &mut Problems) -> Option<u64> {
        match self.value {
            Value::Number(number) => match number.as_u64() {
                Some(n) => self.within(n, range, &number.to_string(), u64::to_string, problems),
                None => {
                    problems.invalid(
                        &self.at,
                        format!("{number} is no whole number"),
                        format!("between {} and {}", range.start(), range.end()),
                    );
                    None
                }
            },
            Value::String(_) => self.mistyped("a whole number", "write it without quotes", problems),
            _ => self.mistyped("a whole number", "", problems),
        }
    }

    /// Bytes within a range, in Kubernetes notation.
    pub fn bytes(&self, range: &RangeInclusive<u64>, problems: &mut Problems) -> Option<u64> {
        let hint = BYTES_HINT;
        let text = match self.value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return self.mistyped("a quantity", hint, problems),
        };
        let Some(bytes) = parse_bytes(&text).filter(|_| text.len() <= MAX_QUANTITY) else {
            problems.invalid(&self.at, format!("{} is no quantity", excerpt(&text)), hint);
            return None;
        };
        self.within(bytes, range, &text, |b| format_bytes(*b), problems)
    }

    /// A duration within a range, in Go's notation.
    pub fn duration(&self, range: &RangeInclusive<Duration>, problems: &mut Problems) -> Option<Duration> {
        let hint = DURATION_HINT;
        let text = match self.value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return self.mistyped("a duration", hint, problems),
        };
        let Some(duration) = parse_duration(&text).filter(|_| text.len() <= MAX_QUANTITY) else {
            problems.invalid(&self.at, format!("{} is no duration", excerpt(&text)), hint);
            return None;
        };
        self.within(duration, range, &text, |d| format_duration(*d), problems)
    }

    fn within<T: PartialOrd>(
        &self,
        value: T,
        range: &RangeInclusive<T>,
        typed: &str,
        print: impl Fn(&T) -> String,
        problems: &mut Problems,
    ) -> Option<T> {
        if range.contains(&value) {
            return Some(value);
        }
        let (word, end) = if value < *range.start() { ("less", range.start()) } else { ("more", range.end()) };
        let hint = format!("between {} and {}", print(range.start()), print(range.end()));
        problems.invalid(&self.at, format!("{} is {word} than {}", excerpt(typed), print(end)), hint);
        None
    }

    fn map(&self, problems: &mut Problems) -> Option<&'v Map<String, Value>> {
        match self.value {
            Value::Object(map) => Some(map),
            _ => self.mistyped("fields with values", "write {name: value}, or one indented name: value a line", problems),
        }
    }

    fn mistyped<T>(&self, wanted: &str, hint: &str, problems: &mut Problems) -> Option<T> {
        let found = match self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => format!("the number {number}"),
            Value::String(text) => format!("the text {}", excerpt(text)),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "fields with values".to_owned(),
        };
        let hint = if self.value.is_null() { "give it a value, or remove the field" } else { hint };
        problems.invalid(&self.at, format!("expected {wanted}, found {found}"), hint);
        None
    }

    /// The pointer of a field. Names that would spoil a line are reported at their parent.
    fn child(&self, key: &str) -> String {
        if key.chars().count() > MAX_EXCERPT || key.chars().any(char::is_control) {
            return self.at.clone();
        }
        format!("{}/{}", self.at, key.replace('~', "~0").replace('/', "~1"))
    }
}

/// An object whose field names were checked.
#[derive(Clone, Debug)]
pub struct Object<'v> {
    at: String,
    map: &'v Map<String, Value>,
}

impl<'v> Object<'v> {
    /// The pointer.
    pub fn at(&self) -> &str {
        &self.at
    }

    /// A field, if it is there.
    pub fn get(&self, field: &str) -> Option<Node<'v>> {
        self.map.get(field).map(|value| Node::new(format!("{}/{field}", self.at), value))
    }

    /// A field that must be there.
    pub fn required(&self, field: &str, problems: &mut Problems) -> Option<Node<'v>> {
        let node = self.get(field);
        if node.is_none() {
            problems.invalid(&format!("{}/{field}", self.at), format!("{field} is missing"), "");
        }
        node
    }
}

/// The longest quantity or duration, in bytes.
pub(super) const MAX_QUANTITY: usize = 63;
/// How a quantity is written.
pub(super) const BYTES_HINT: &str = "write a whole number with Ki, Mi or Gi, for example 64Mi";
/// How a duration is written.
pub(super) const DURATION_HINT: &str = "write numbers with ms, s, m or h, for example 500ms or 1m30s";

const MAX_EXCERPT: usize = 63;

/// A text for one line of a message: control characters escaped, long ones cut.
pub fn excerpt(text: &str) -> String {
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    let mut out: String =
        text.chars().take(MAX_EXCERPT).flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
    if text.chars().nth(MAX_EXCERPT).is_some() {
        out.push('…');
    }
    out
}
