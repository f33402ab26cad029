//! What fuzzers feed: each function takes bytes as guests and strangers may hand them, in the form of its seeds in
//! `tests/fuzz/seeds`, and must neither panic nor hang, whatever they are. No part of the API. Owns what a good outcome is; makes
//! no input.

use std::sync::{Arc, OnceLock};

use wharf_core::Pointer;

use crate::config::{Compile, compiler_config};
use crate::host::fields::Fields;
use crate::host::log::{LogSink, line};
use crate::inspect::{BinaryKind, inspect};
use crate::limits::{MAX_FIELD_NAME_BYTES, MAX_LOG_FIELDS, MAX_TEXT_BYTES};
use crate::nesting;
use crate::no_ports::NoPorts;
use crate::ports::{CallInfo, Task};

/// Separates the parts of an input.
const MARK: &str = "\n---\n";
/// Behind a text that was cut.
const CUT: usize = '…'.len_utf8();

/// A file. What is refused as a component wasmtime does not compile either.
pub fn inspect_component(data: &[u8]) {
    match inspect(data) {
        Ok(seen) => {
            assert_eq!(seen.size, data.len() as u64, "its size");
            assert!(seen.imports.iter().chain(&seen.exports).all(|name| printable(name, MAX_TEXT_BYTES)), "{seen:?}");
            assert!(seen.kind == BinaryKind::Component || seen.imports.len() + seen.exports.len() == 0, "{seen:?}");
        }
        Err(error) => {
            assert!(printable(&error.message, MAX_TEXT_BYTES), "{error:?}");
            // What is nested too deep wasmtime would read, to its own end.
            if nesting::bearable(data).unwrap_or(true) {
                assert!(compiler().is_some_and(|engine| engine.precompile_component(data).is_err()), "only here: {error:?}");
            }
        }
    }
}

fn compiler() -> Option<&'static wasmtime::Engine> {
    static ENGINE: OnceLock<Option<wasmtime::Engine>> = OnceLock::new();
    ENGINE.get_or_init(|| wasmtime::Engine::new(&compiler_config(Compile::Thorough)).ok()).as_ref()
}

/// A log line: the message, then names and values of fields in turn. What is handed on is a line within its limits.
pub fn log_fields(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split(MARK).map(str::to_owned);
    let message = parts.next().unwrap_or_default();
    let mut fields = Vec::new();
    while let Some(name) = parts.next() {
        fields.push((name, parts.next().unwrap_or_default()));
    }
    let (kept, kept_fields) = line(&message, &fields);
    assert!(printable(&kept, MAX_TEXT_BYTES), "{kept:?}");
    assert!(kept.len() >= message.len().min(MAX_TEXT_BYTES - 8), "nothing is lost but what is too long");
    assert_eq!(kept_fields.len(), fields.len().min(MAX_LOG_FIELDS), "the number of fields");
    for (name, value) in &kept_fields {
        assert!(printable(name, MAX_FIELD_NAME_BYTES) && printable(value, MAX_TEXT_BYTES), "{name:?}: {value:?}");
    }
    let sink = LogSink::new(Arc::new(NoPorts), u32::MAX, CallInfo { task: Task::Describe, kind: None, key: None, cause: None, attempt: 1 });
    for (name, value) in &fields {
        sink.note(name);
        sink.note(value);
    }
    assert!(printable(&sink.last_words(), 2 * MAX_TEXT_BYTES), "{:?}", sink.last_words());
}

/// A document, then pointers, one a line. What is cut to them has the same values at these places.
pub fn fields(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (document, pointers) = text.split_once(MARK).unwrap_or((&text, ""));
    // Documents come from a server, as trees: no name is there twice.
    let Ok(tree) = serde_json::from_str::<serde_json::Value>(document) else { return };
    let document = tree.to_string();
    let pointers: Vec<_> = pointers.split('\n').map(str::to_owned).collect();
    let Ok(fields) = Fields::parse(&pointers) else { return };
    let cut = fields.cut(&document);
    assert!(cut.is_ok(), "{cut:?}");
    let cut = cut.unwrap_or_default();
    assert!(serde_json::from_str::<serde_json::Value>(&cut).is_ok(), "{cut}");
    for pointer in &pointers {
        let at = |json| Pointer::parse(pointer).ok().and_then(|p| p.lookup(json).map(str::to_owned));
        assert_eq!(at(&cut), at(&document), "{pointer:?} of {document}");
    }
}

/// One line, of so many bytes and the sign that it was cut.
fn printable(text: &str, max: usize) -> bool {
    text.len() <= max + CUT && !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}
