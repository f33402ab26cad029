//! From YAML text to JSON values. Owns structure, aliases and their limits; what a scalar is, `scalar` knows.

use std::collections::HashMap;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag};

use super::scalar;

/// As deep as JSON may be.
const MAX_DEPTH: usize = 127;
/// What aliases may add: about as many values as go-yaml allows. Without them, a text has fewer values than bytes.
const MAX_COPIED_VALUES: usize = 400_000;
const MAX_COPIED_BYTES: usize = 16 << 20;
const OWN_TAGS: &str = "tag:yaml.org,2002:";

/// As many problems as are told of one text.
const MAX_DUPLICATES: usize = 100;

/// A document as JSON.
#[derive(Debug, PartialEq)]
struct Document {
    /// Of members with one name, the last one.
    value: Value,
    /// Members that are there more than once, in Kubernetes' words.
    duplicates: Vec<String>,
}

/// All documents of a text; empty ones are null.
///
/// # Errors
/// What is wrong with it, and where. Members that are there twice are wrong.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut reader = Reader::new(text);
    let mut all = Vec::new();
    while let Some(Document { value, duplicates }) = reader.document()? {
        if let Some(first) = duplicates.into_iter().next() {
            return Err(format!("yaml: {first}"));
        }
        all.push(value);
    }
    Ok(all)
}

/// The body of a request: its first document, or null; whatever comes later is not looked at. JSON is YAML too, and read as JSON because
/// that is quicker and exact.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn value(text: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(value);
    }
    first(text).map(|document| document.value)
}

/// Members that a body has more than once, in Kubernetes' words; none of what cannot be read.
pub(crate) fn repeated(text: &[u8]) -> Vec<String> {
    first(text).map_or_else(|_| Vec::new(), |document| document.duplicates)
}

fn first(text: &[u8]) -> Result<Document, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("yaml: {error}"))?;
    Ok(Reader::new(text).document()?.unwrap_or(Document { value: Value::Null, duplicates: Vec::new() }))
}

/// A value that aliases may copy, and what a copy costs.
struct Anchored {
    value: Value,
    values: usize,
    bytes: usize,
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchored>,
    duplicates: Vec<String>,
    /// Read so far, copies included.
    values: usize,
    bytes: usize,
    /// Copied so far.
    copied_values: usize,
    copied_bytes: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let mut options = Options::default();
        options.set_emit_comments(false);
        let parser = Parser::new_from_str_with_options(text, options);
        Self { parser, anchors: HashMap::new(), duplicates: Vec::new(), values: 0, bytes: 0, copied_values: 0, copied_bytes: 0 }
    }

    fn document(&mut self) -> Result<Option<Document>, String> {
        self.anchors.clear();
        loop {
            let Some(next) = self.parser.next_event() else { return Ok(None) };
            let (event, span) = next.map_err(|error| wrong(error.marker().line(), &error.info()))?;
            match event {
                Event::StreamEnd => return Ok(None),
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => {
                    let value = self.node(event, &span, 0)?;
                    return Ok(Some(Document { value, duplicates: std::mem::take(&mut self.duplicates) }));
                }
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Value, String> {
        let line = span.start.line();
        if depth > MAX_DEPTH {
            return Err(wrong(line, "exceeded max depth"));
        }
        let before = (self.values, self.bytes);
        self.values += 1;
        let (anchor, value) = match event {
            Event::Alias(id) => return self.alias(id).map_err(|why| wrong(line, &why)),
            Event::Scalar(text, style, anchor, tag) => {
                self.bytes += text.len();
                (anchor, scalar(&text, style, tag.as_deref()).map_err(|why| wrong(line, &why))?)
            }
            Event::SequenceStart(_, anchor, _) => (anchor, Value::Array(self.sequence(depth)?)),
            Event::MappingStart(_, anchor, _) => (anchor, Value::Object(self.mapping(depth)?)),
            _ => return Err(wrong(line, "unexpected end")),
        };
        if anchor > 0 {
            let (values, bytes) = (self.values - before.0, self.bytes - before.1);
            // The copy that is kept costs what any other costs.
            self.copy(values, bytes).map_err(|why| wrong(line, &why))?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), values, bytes });
        }
        Ok(value)
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Value>, String> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(items);
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Map<String, Value>, String> {
        let mut members = Map::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(members);
            }
            let is_merge = is_merge(&event);
            let key = self.node(event, &span, depth + 1)?;
            let (event, span) = self.next()?;
            let line = span.start.line();
            let value = self.node(event, &span, depth + 1)?;
            if is_merge {
                // The earlier ones of a sequence take precedence.
                for (name, value) in merged(value).map_err(|why| wrong(line, &why))?.into_iter().rev().flatten() {
                    self.set(&mut members, name, value, line);
                }
            } else {
                let name = scalar::name(key).map_err(|why| wrong(line, &why))?;
                self.set(&mut members, name, value, line);
            }
        }
    }

    fn set(&mut self, members: &mut Map<String, Value>, name: String, value: Value, line: usize) {
        if members.contains_key(&name) && self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(format!("line {line}: key {name:?} already set in map"));
        }
        members.insert(name, value);
    }

    fn alias(&mut self, id: usize) -> Result<Value, String> {
        const ITSELF: &str = "an anchor's value contains itself";
        let anchored = self.anchors.get(&id).ok_or(ITSELF)?;
        // Paid before it is copied: a few aliases of aliases would fill any memory.
        let (values, bytes) = (anchored.values, anchored.bytes);
        self.copy(values, bytes)?;
        (self.values, self.bytes) = (self.values + values, self.bytes + bytes);
        Ok(self.anchors.get(&id).ok_or(ITSELF)?.value.clone())
    }

    fn copy(&mut self, values: usize, bytes: usize) -> Result<(), String> {
        self.copied_values = self.copied_values.saturating_add(values);
        self.copied_bytes = self.copied_bytes.saturating_add(bytes);
        if self.copied_values > MAX_COPIED_VALUES || self.copied_bytes > MAX_COPIED_BYTES {
            return Err("document contains excessive aliasing".to_owned());
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), String> {
        match self.parser.next_event() {
            Some(next) => next.map_err(|error| wrong(error.marker().line(), &error.info())),
            None => Err("yaml: unexpected end".to_owned()),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    match tag {
        Some(tag) => scalar::tagged(&tag.suffix_in_namespace(OWN_TAGS).unwrap_or_default(), text),
        None if style == ScalarStyle::Plain => scalar::plain(text),
        None => Ok(text.into()),
    }
}

/// `<<` without quotes.
fn is_merge(event: &Event<'_>) -> bool {
    let Event::Scalar(text, style, _, tag) = event else { return false };
    let tagged = |tag: &Tag| tag.suffix_in_namespace(OWN_TAGS).is_some_and(|name| name == "merge");
    text == "<<" && tag.as_deref().map_or(*style == ScalarStyle::Plain, tagged)
}

/// The maps that are merged.
fn merged(value: Value) -> Result<Vec<Map<String, Value>>, String> {
    let maps = if let Value::Array(maps) = value { maps } else { vec![value] };
    let map = |value| if let Value::Object(map) = value { Some(map) } else { None };
    maps.into_iter().map(map).collect::<Option<_>>().ok_or_else(|| "map merge requires map or sequence of maps as the value".to_owned())
}

fn wrong(line: usize, why: &str) -> String {
    format!("yaml: line {line}: {why}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What `sigs.k8s.io/yaml` v1.6.0 makes of them.
    #[test]
    fn structure() {
        for (text, want) in [
            (
                "{1: a, true: b, 1.5: c, 0x10: d, 0644: e, \"x\": f}",
                json!({"1": "a", "true": "b", "1.5": "c", "16": "d", "420": "e", "x": "f"}),
            ),
            ("{y: 1, n: 2}", json!({"true": 1, "false": 2})),
            ("{a: 1, a: 2}", json!({"a": 2})),
            ("x: &m {a: 1, b: 2}\nz: {<<: *m, b: 3}", json!({"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 3}})),
            ("x: &m {a: 1, b: 2}\nz: {b: 3, <<: *m}", json!({"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 2}})),
            ("x: &m {a: 1}\nw: &n {a: 5, c: 6}\nz: {<<: [*m, *n]}", json!({"x": {"a": 1}, "w": {"a": 5, "c": 6}, "z": {"a": 1, "c": 6}})),
            ("z: {\"<<\": {a: 1}}", json!({"z": {"<<": {"a": 1}}})),
            ("z: {? &k a : 1, w: *k}", json!({"z": {"a": 1, "w": "a"}})),
            ("x: &a !!str 12\nz: *a", json!({"x": "12", "z": "12"})),
            ("a: !foo 12\nb: ! 12\nc: '12'", json!({"a": "12", "b": "12", "c": "12"})),
            ("a: !!map {b: 1}\nc: !!seq [1]\nd: !!set {x, w}", json!({"a": {"b": 1}, "c": [1], "d": {"x": null, "w": null}})),
            ("a: b\n---\n[", json!({"a": "b"})),
            ("# nothing", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(value(text.as_bytes()), Ok(want), "{text}");
        }
        for text in ["{null: a}", "{[a]: 1}", "z: {<<: 1}", "a: &a [*a]", "a: *b", "a: [1, 2", "{18446744073709551615: a}", "a: .inf"] {
            assert!(value(text.as_bytes()).unwrap_err().starts_with("yaml: line 1: "), "{text}");
        }
    }

    #[test]
    fn members_that_are_there_twice() {
        assert_eq!(
            repeated(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n"),
            ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"]
        );
        assert_eq!(documents("a: 1\n---\na: 1\na: 2\n"), Err("yaml: line 4: key \"a\" already set in map".to_owned()));
        assert_eq!(documents("a: 1\n---\n---\nb: yes\n"), Ok(vec![json!({"a": 1}), json!(null), json!({"b": true})]));
    }

    /// Large texts are read; small ones that would become large are not.
    #[test]
    fn limits() {
        let many = "kind: ConfigMap\nmetadata: {name: a}\n---\n".repeat(1500);
        assert_eq!(documents(&many).map(|all| all.iter().filter(|one| !one.is_null()).count()), Ok(1500));
        let large = format!("kind: CustomResourceDefinition\nspec:\n{}", "  - description: some words\n    type: string\n".repeat(130_000));
        assert!(large.len() > 5_000_000);
        assert_eq!(documents(&large).unwrap()[0]["spec"].as_array().map(Vec::len), Some(130_000));

        let bomb: String = (1..10).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(","))).collect();
        let text = "x".repeat(1 << 20);
        for bomb in [format!("a0: &a0 x\n{bomb}"), format!("a: &a {text}\nb: [{}]\n", vec!["*a"; 100].join(","))] {
            assert!(documents(&bomb).unwrap_err().ends_with("document contains excessive aliasing"));
        }
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(documents(&deep(100)).is_ok());
        assert!(documents(&deep(10_000)).is_err());
        assert!(documents(&"- ".repeat(10_000)).is_err());
    }
}
