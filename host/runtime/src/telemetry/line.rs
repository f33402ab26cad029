//! One log line: its fields, and how they are written as JSON or as text. Owns all
//! escaping, so that nothing that a guest or a server says can break a line, forge one or
//! steer a terminal. Never decides what is logged.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write};

use jiff::Timestamp;
use serde_json::{Map, Value as Json};
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};

use super::gate::PLUGIN;

/// Longest text value in bytes; what is longer is cut.
pub(super) const MAX_VALUE: usize = 16 << 10;

/// Names that the line itself uses; a field of that name gets the prefix `field_`.
const OWN_NAMES: [(&str, &str); 3] = [("timestamp", "field_timestamp"), ("level", "field_level"), ("target", "field_target")];

/// The field with all that a guest gave to its own line.
const GUEST_FIELDS: &str = "fields";

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

/// Fields of an event or a span, in the order in which they were recorded. A name occurs
/// once; the last value counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, field: &Field, value: Value) {
        let name = OWN_NAMES.iter().find(|(own, _)| *own == field.name()).map_or(field.name(), |(_, other)| *other);
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => self.0.push((name, value)),
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        self.set(field, Value::Text(cut(text, MAX_VALUE).into_owned()));
    }

    /// Adds those fields of an outer span that are not here yet.
    pub(super) fn inherit(&mut self, outer: &Self) {
        for (name, value) in &outer.0 {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name, value.clone()));
            }
        }
    }

    fn take_message(&mut self) -> String {
        let Some(at) = self.0.iter().position(|(name, _)| *name == "message") else { return String::new() };
        match self.0.remove(at).1 {
            Value::Text(text) => text,
            other => plain(&other),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::Unsigned(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}

/// A line before it is written.
pub(super) struct Line {
    timestamp: Timestamp,
    level: Level,
    target: &'static str,
    message: String,
    fields: Fields,
}

impl Line {
    /// Composes a line; `fields` are those of the event, then those of its spans.
    pub(super) fn new(timestamp: Timestamp, metadata: &Metadata<'static>, mut fields: Fields) -> Self {
        let message = fields.take_message();
        Self { timestamp, level: *metadata.level(), target: metadata.target(), message, fields }
    }

    /// When it was logged.
    pub(super) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Where it was logged.
    pub(super) fn target(&self) -> &'static str {
        self.target
    }

    /// What it says.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// How its level looks on a terminal.
    pub(super) fn colour(&self) -> &'static str {
        level_colour(self.level)
    }

    /// A field as text, not escaped.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        self.fields.0.iter().find(|(known, _)| *known == name).map(|(_, value)| plain(value))
    }

    /// The fields but these, as they are written in a line for people.
    pub(super) fn others<'a>(&'a self, but: &'a [&str]) -> impl Iterator<Item = (&'static str, Cow<'a, str>)> {
        self.fields.0.iter().filter(|(name, _)| !but.contains(name)).map(|(name, value)| (*name, shown(value)))
    }

    /// The fields that a guest gave to its own line, which come as one JSON object, as they are written in a line for people. One
    /// that is named like a field of the host's gets the prefix `field_`: it is not to be taken for that.
    pub(super) fn of_guest(&self) -> impl Iterator<Item = (String, String)> {
        let fields: Map<String, Json> = self.text_of(GUEST_FIELDS).and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        fields.into_iter().map(move |(name, value)| {
            let prefix = if self.fields.0.iter().any(|(known, _)| *known == name) { "field_" } else { "" };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (format!("{prefix}{}", quoted_if_needed(&name)), quoted_if_needed(&value).into_owned())
        })
    }

    /// Is it about this plugin?
    pub(super) fn is_about(&self, plugin: &str) -> bool {
        self.fields.0.iter().any(|(name, value)| *name == PLUGIN && matches!(value, Value::Text(text) if text == plugin))
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let text = |value: &Value| if let Value::Text(text) = value { text.capacity() } else { 0 };
        let fields = self.fields.0.capacity().saturating_mul(size_of::<(&str, Value)>());
        let texts = self.fields.0.iter().map(|(_, value)| text(value)).fold(self.message.capacity(), usize::saturating_add);
        size_of::<Self>().saturating_add(fields).saturating_add(texts)
    }

    /// One JSON object and a newline.
    pub(super) fn json(&self) -> String {
        let mut out = format!(r#"{{"timestamp":"{:.6}","level":"{}","target":"#, self.timestamp, level_word(self.level));
        json_text(&mut out, self.target);
        out.push_str(r#","message":"#);
        json_text(&mut out, &self.message);
        for (name, value) in &self.fields.0 {
            out.push(',');
            json_text(&mut out, name);
            out.push(':');
            match value {
                Value::Text(text) => json_text(&mut out, text),
                // JSON has no word for these.
                Value::Float(number) if !number.is_finite() => out.push_str("null"),
                other => out.push_str(&plain(other)),
            }
        }
        out.push_str("}\n");
        out
    }

    /// A line for people.
    pub(super) fn text(&self, colour: bool) -> String {
        let (dim, strong, reset) = if colour { ("\x1b[2m", level_colour(self.level), "\x1b[0m") } else { ("", "", "") };
        let level = self.level.as_str();
        let mut out =
            format!("{dim}{:.3}{reset} {strong}{level:>5}{reset} {dim}{}:{reset} {}", self.timestamp, self.target, escape(&self.message));
        // Writing into a String cannot fail.
        for (name, value) in self.others(&[GUEST_FIELDS]) {
            let _infallible = write!(out, " {dim}{name}={reset}{value}");
        }
        for (name, value) in self.of_guest() {
            let _infallible = write!(out, " {dim}{name}={reset}{value}");
        }
        out.push('\n');
        out
    }
}

/// Cuts a text at a character boundary and says so.
pub(super) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return text.into();
    }
    let kept = text.get(..text.floor_char_boundary(max)).unwrap_or_default();
    format!("{kept}… ({} bytes cut)", text.len() - kept.len()).into()
}

/// Replaces what could break a line or steer a terminal by an escape.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(unsafe_to_print) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if unsafe_to_print(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.into()
}

/// Writes a JSON string. Also escapes what JSON would allow but a terminal obeys.
pub(super) fn json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if unsafe_to_print(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing into a String cannot fail.
                    let _infallible = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Control characters, line separators, and marks that reorder what people read.
fn unsafe_to_print(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Text(text) => quoted_if_needed(text),
        other => plain(other).into(),
    }
}

/// A value as a line for people has it.
pub(super) fn quoted_if_needed(text: &str) -> Cow<'_, str> {
    let bare = !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || matches!(c, '"' | '=' | '\\') || unsafe_to_print(c));
    if bare {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 2);
    json_text(&mut out, text);
    out.into()
}

fn plain(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Signed(value) => value.to_string(),
        Value::Unsigned(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(value) => value.clone(),
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn level_colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[1;31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        Level::DEBUG => "\x1b[34m",
        Level::TRACE => "\x1b[35m",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_at_a_character() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("äöü", 3), "ä… (4 bytes cut)");
    }

    #[test]
    fn text_values_are_quoted_only_if_needed() {
        for (value, written) in [("team-a/guard", "team-a/guard"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\"")] {
            assert_eq!(quoted_if_needed(value), written);
        }
    }

    proptest! {
        #[test]
        fn json_strings_are_read_back_and_hold_nothing_unsafe(text in any::<String>()) {
            let mut out = String::new();
            json_text(&mut out, &text);
            prop_assert!(!out.chars().any(unsafe_to_print));
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }

        #[test]
        fn escaped_text_holds_nothing_unsafe(text in any::<String>()) {
            prop_assert!(!escape(&text).chars().any(unsafe_to_print));
        }
    }
}
