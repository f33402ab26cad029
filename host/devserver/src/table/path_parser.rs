//! Reads the text of a path.
//!
//! Owns the grammar, nothing of what a path finds. Texts and nesting are bounded.

use serde_json::Value;

use super::path::{Comparison, Filter, Operand, Path, Step};

/// The longest text that is read as a path, in bytes.
const MAX_TEXT: usize = 4096;
/// How deep filters may stand in filters.
const MAX_NESTING: usize = 8;
/// Reads a path; see [`Path::parse`].
pub(super) fn parse(text: &str) -> Result<Path, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("a path of more than {MAX_TEXT} bytes"));
    }
    let text = text.trim();
    let text = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or("unclosed action: } is missing")?,
        None => text,
    };
    let mut parser = Parser { rest: text.trim(), nesting: 0 };
    let path = parser.path()?;
    match parser.rest {
        "" => Ok(path),
        rest => Err(format!("unexpected {rest:?} in the path {text:?}")),
    }
}

struct Parser<'t> {
    rest: &'t str,
    nesting: usize,
}

impl<'t> Parser<'t> {
    /// Steps up to the end or to a character that belongs to what is around the path.
    fn path(&mut self) -> Result<Path, String> {
        let _ = self.eat("$") || self.eat("@");
        let mut steps = Vec::new();
        // A path may start with a bare name: `spec.replicas`.
        if self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            steps.push(Step::Members(vec![self.name()?]));
        }
        loop {
            if self.eat("..") {
                steps.push(Step::Descend);
                if !self.rest.starts_with('[') {
                    steps.push(self.member()?);
                }
            } else if self.eat(".") {
                if !self.rest.is_empty() && !self.rest.starts_with('[') {
                    steps.push(self.member()?);
                }
            } else if self.eat("[") {
                steps.push(self.bracket()?);
            } else {
                return Ok(Path { steps });
            }
        }
    }

    fn member(&mut self) -> Result<Step, String> {
        if self.eat("*") { Ok(Step::All) } else { Ok(Step::Members(vec![self.name()?])) }
    }

    /// A name up to the next separator; a backslash takes the next character as it is.
    fn name(&mut self) -> Result<String, String> {
        let mut name = String::new();
        let mut characters = self.rest.chars();
        loop {
            let here = characters.as_str();
            match characters.next() {
                Some('\\') => name.push(characters.next().ok_or("a path that ends with a backslash")?),
                Some(c) if !is_separator(c) => name.push(c),
                _ => {
                    self.rest = here;
                    break;
                }
            }
        }
        if name.is_empty() { Err(format!("a name is missing before {:?}", self.rest)) } else { Ok(name) }
    }

    /// What stands between brackets, and the closing one.
    fn bracket(&mut self) -> Result<Step, String> {
        self.space();
        let step = if self.eat("*") {
            Step::All
        } else if self.eat("?(") {
            let filter = self.filter()?;
            self.space();
            self.expect(")")?;
            Step::Filter(filter)
        } else if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.comma() {
                names.push(self.quoted()?);
            }
            Step::Members(names)
        } else {
            self.places()?
        };
        self.space();
        self.expect("]")?;
        Ok(step)
    }

    /// `0`, `-1`, `0,2`, `1:3`, `::2`.
    fn places(&mut self) -> Result<Step, String> {
        let first = self.integer()?;
        if self.eat(":") {
            let to = self.integer()?;
            let step = if self.eat(":") { self.integer()?.unwrap_or(1) } else { 1 };
            let step = usize::try_from(step).ok().filter(|step| *step > 0).ok_or("the step of a slice must be greater than 0")?;
            return Ok(Step::Slice(first, to, step));
        }
        let mut places = vec![first.ok_or_else(|| format!("a number, a name or a filter is missing before {:?}", self.rest))?];
        while self.comma() {
            places.push(self.integer()?.ok_or("a number is missing after a comma")?);
        }
        Ok(Step::Items(places))
    }

    fn filter(&mut self) -> Result<Filter, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(format!("filters inside of filters, more than {MAX_NESTING}"));
        }
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let left = self.operand()?;
        self.space();
        let comparison = COMPARISONS.iter().find(|(text, _)| self.rest.starts_with(text));
        let right = match comparison {
            Some((text, comparison)) => {
                self.expect(text)?;
                Some((*comparison, self.operand()?))
            }
            None => None,
        };
        self.nesting -= 1;
        Ok(Filter { left, right })
    }

    fn operand(&mut self) -> Result<Operand, String> {
        self.space();
        if self.rest.starts_with(['\'', '"']) {
            return Ok(Operand::Literal(Value::String(self.quoted()?)));
        }
        if self.rest.starts_with(['@', '$', '.', '[']) {
            return Ok(Operand::Path(self.path()?));
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or(("", self.rest));
        match serde_json::from_str::<Value>(word) {
            Ok(value) => {
                self.rest = rest;
                Ok(Operand::Literal(value))
            }
            Err(_) => Err(format!("a path, a number or a quoted text is missing before {:?}", self.rest)),
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.space();
        let mut characters = self.rest.chars();
        let quote =
            characters.next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| format!("a quote is missing before {:?}", self.rest))?;
        let mut text = String::new();
        loop {
            match characters.next() {
                Some('\\') => text.extend(characters.next()),
                Some(c) if c == quote => break,
                Some(c) => text.push(c),
                None => return Err("unterminated quoted string".to_owned()),
            }
        }
        self.rest = characters.as_str();
        Ok(text)
    }

    fn integer(&mut self) -> Result<Option<i64>, String> {
        self.space();
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at_checked(end).unwrap_or(("", self.rest));
        self.rest = rest;
        self.space();
        if digits.is_empty() { Ok(None) } else { digits.parse().map(Some).map_err(|_| format!("{digits:?} is no array index")) }
    }

    fn comma(&mut self) -> bool {
        self.space();
        self.eat(",")
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest: Option<&'t str> = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("{token} is missing before {:?}", self.rest)) }
    }
}

/// What ends a name that is not quoted.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '.' | '[' | ']' | '(' | ')' | ',' | '=' | '!' | '<' | '>' | '}' | '{')
}
