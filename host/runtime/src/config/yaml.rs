//! YAML text as JSON values, with the place of every field. Owns the limits on what is
//! accepted and everything that YAML can do and JSON cannot; never knows which fields there
//! are. Reads on after a mistake where that is possible, and after a broken document with
//! the next one.

use std::collections::HashMap;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use wharf_core::Reason;
use wharf_core::plugin::fields::excerpt;

use super::problem::LocatedProblem;
use super::scalar;

/// The largest YAML text that is read, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Values in all documents of a text, copies by aliases included.
const MAX_NODES: usize = 50_000;
/// Bytes of text in all values, copies by aliases included.
const MAX_TEXT: usize = 2 * MAX_BYTES;
const MAX_DEPTH: usize = 32;
const MAX_DOCUMENTS: usize = 1000;
const MAX_PROBLEMS: usize = 64;

/// Where a value stands, and everything inside it. The place of a field is its name's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    column: usize,
    inner: Vec<(String, Place)>,
}

impl Place {
    /// Line and column of a pointer, or of the deepest parent that is there.
    pub(super) fn locate(&self, pointer: &str) -> (usize, usize) {
        let mut at = self;
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            match at.inner.iter().find(|(key, _)| *key == name) {
                Some((_, place)) => at = place,
                None => break,
            }
        }
        (at.line, at.column)
    }
}

/// One document of a text.
#[derive(Debug)]
pub(super) struct Loaded {
    /// `None` if it could not be read to its end.
    pub(super) value: Option<Value>,
    /// Where everything is.
    pub(super) places: Place,
    /// What is wrong with it as YAML.
    pub(super) problems: Vec<LocatedProblem>,
}

/// Reads all documents of a text; empty ones are left out. Mistakes get the given reason.
pub(super) fn load(text: &str, reason: Reason) -> Vec<Loaded> {
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes are more than the {MAX_BYTES} that a file may have", text.len());
        let problem = LocatedProblem { line: 1, column: 1, pointer: String::new(), reason, message, hint: String::new() };
        return vec![Loaded { value: None, places: Place::default(), problems: vec![problem] }];
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut loader = Loader {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        problems: Vec::new(),
        path: Vec::new(),
        nodes: MAX_NODES,
        text: MAX_TEXT,
        reason,
    };
    let mut documents = Vec::new();
    while documents.len() < MAX_DOCUMENTS {
        let read = loader.document();
        let problems = std::mem::take(&mut loader.problems);
        match read {
            Ok(Some((Value::Null, _))) if problems.is_empty() => {}
            Ok(Some((value, places))) => documents.push(Loaded { value: Some(value), places, problems }),
            Ok(None) => break,
            Err(Stop) => {
                documents.push(Loaded { value: None, places: Place::default(), problems });
                if loader.nodes == 0 || loader.text == 0 || !loader.parser.proceed_next_document().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    documents
}

/// The document cannot be read further; the reason is among the problems.
struct Stop;

/// A value that aliases may copy, and what a copy costs.
struct Anchored {
    value: Value,
    place: Place,
    nodes: usize,
    text: usize,
}

struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchored>,
    problems: Vec<LocatedProblem>,
    path: Vec<String>,
    nodes: usize,
    text: usize,
    reason: Reason,
}

impl<'t> Loader<'t> {
    /// The next document; `None` at the end of the text.
    fn document(&mut self) -> Result<Option<(Value, Place)>, Stop> {
        self.anchors.clear();
        self.path.clear();
        loop {
            let Some((event, span)) = self.next()? else { return Ok(None) };
            match event {
                Event::StreamEnd => return Ok(None),
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => return self.node(event, &span, 0).map(Some),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<(Value, Place), Stop> {
        if depth > MAX_DEPTH {
            return self.stop(span, format!("more than {MAX_DEPTH} levels inside each other"));
        }
        let before = (self.nodes, self.text);
        self.spend(1, 0, span)?;
        let (anchor, (value, place)) = match event {
            Event::Alias(id) => return self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => (anchor, self.scalar(&text, style, tag.as_deref(), span)?),
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                (anchor, self.sequence(span, depth)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                (anchor, self.mapping(span, depth)?)
            }
            _ => return self.stop(span, "unexpected end".to_owned()),
        };
        if anchor > 0 {
            let (nodes, text) = (before.0 - self.nodes, before.1 - self.text);
            // The copy that is kept costs what any other copy costs.
            self.spend(nodes, text, span)?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), place: place.clone(), nodes, text });
        }
        Ok((value, place))
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Result<(Value, Place), Stop> {
        self.spend(0, text.len(), span)?;
        let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        if !tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str")) {
            self.refuse_tag(tag, span);
        }
        let value = if is_text { Ok(Value::from(text)) } else { scalar::value(text) };
        let value = value.unwrap_or_else(|why| {
            self.wrong(span, format!("{} is neither text nor a number: {why}", excerpt(text)), "put it in quotes");
            Value::from(text)
        });
        Ok((value, place(span)))
    }

    fn sequence(&mut self, span: &Span, depth: usize) -> Result<(Value, Place), Stop> {
        let mut items = Vec::new();
        let mut at = place(span);
        loop {
            let (event, span) = self.expect(span)?;
            if event == Event::SequenceEnd {
                return Ok((Value::Array(items), at));
            }
            let index = items.len().to_string();
            self.path.push(index.clone());
            let (value, inner) = self.node(event, &span, depth + 1)?;
            self.path.pop();
            items.push(value);
            at.inner.push((index, inner));
        }
    }

    fn mapping(&mut self, span: &Span, depth: usize) -> Result<(Value, Place), Stop> {
        let mut fields = Map::new();
        let mut at = place(span);
        loop {
            let (event, key_span) = self.expect(span)?;
            if event == Event::MappingEnd {
                return Ok((Value::Object(fields), at));
            }
            let key = self.key(event, &key_span, depth)?;
            let (event, value_span) = self.expect(span)?;
            let known = key.as_ref().is_some_and(|key| fields.contains_key(key));
            self.path.push(key.clone().unwrap_or_default());
            let read = self.node(event, &value_span, depth + 1)?;
            if known {
                self.wrong(&key_span, "the field is there twice".to_owned(), "remove one");
            }
            self.path.pop();
            if let Some(key) = key.filter(|_| !known) {
                at.inner.push((key.clone(), Place { inner: read.1.inner, ..place(&key_span) }));
                fields.insert(key, read.0);
            }
        }
    }

    /// The name of a field; `None`, with a problem, if it is none.
    fn key(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Option<String>, Stop> {
        self.spend(1, 0, span)?;
        if let Event::Scalar(text, style, 0, None) = &event {
            self.spend(0, text.len(), span)?;
            if *style != ScalarStyle::Plain || text != "<<" {
                return Ok(Some(text.to_string()));
            }
            self.wrong(span, "merge keys are not supported".to_owned(), "write the fields out");
            return Ok(None);
        }
        let _discarded = self.node(event, span, depth + 1)?;
        self.wrong(span, "the name of a field is plain text without anchors and tags".to_owned(), "");
        Ok(None)
    }

    fn alias(&mut self, id: usize, span: &Span) -> Result<(Value, Place), Stop> {
        let Some(anchored) = self.anchors.get(&id) else {
            return self.stop(span, "an alias stands inside what it refers to".to_owned());
        };
        // Paid before it is copied: a few aliases of aliases would fill any memory.
        let (nodes, text) = (anchored.nodes, anchored.text);
        self.spend(nodes, text, span)?;
        let Some(anchored) = self.anchors.get(&id) else { return Err(Stop) };
        Ok((anchored.value.clone(), Place { inner: anchored.place.inner.clone(), ..place(span) }))
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, span: &Span) {
        if let Some(tag) = tag {
            self.wrong(span, format!("the tag {} is not supported", excerpt(&tag.original())), "remove it");
        }
    }

    fn spend(&mut self, nodes: usize, text: usize, span: &Span) -> Result<(), Stop> {
        match (self.nodes.checked_sub(nodes), self.text.checked_sub(text)) {
            (Some(nodes), Some(text)) => {
                (self.nodes, self.text) = (nodes, text);
                Ok(())
            }
            _ => {
                (self.nodes, self.text) = (0, 0);
                let message = format!("more than {MAX_NODES} values or {MAX_TEXT} bytes of text, aliases included");
                self.stop(span, message)
            }
        }
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Stop> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok(next)) => Ok(Some(next)),
            Some(Err(error)) => self.syntax(&error),
        }
    }

    fn expect(&mut self, parent: &Span) -> Result<(Event<'t>, Span), Stop> {
        match self.next()? {
            Some(next) => Ok(next),
            None => self.stop(parent, "unexpected end".to_owned()),
        }
    }

    fn syntax<T>(&mut self, error: &ScanError) -> Result<T, Stop> {
        let line: String = error.info().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        let mark = *error.marker();
        self.path.clear();
        self.stop(&Span::empty(mark), format!("no YAML: {line}"))
    }

    fn stop<T>(&mut self, span: &Span, message: String) -> Result<T, Stop> {
        // The one that ends the document is never left out.
        self.problems.truncate(MAX_PROBLEMS - 1);
        self.wrong(span, message, "");
        Err(Stop)
    }

    fn wrong(&mut self, span: &Span, message: String, hint: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            let Place { line, column, .. } = place(span);
            let pointer = self.path.iter().map(|token| format!("/{}", short(token).replace('~', "~0").replace('/', "~1"))).collect();
            self.problems.push(LocatedProblem { line, column, pointer, reason: self.reason, message, hint: hint.to_owned() });
        }
    }
}

/// A field's name for one line of a message.
fn short(token: &str) -> String {
    if token.is_empty() { String::new() } else { excerpt(token) }
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line().max(1), column: span.start.col() + 1, inner: Vec::new() }
}
