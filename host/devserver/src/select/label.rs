//! Label selectors: `=`, `==`, `!=`, `in`, `notin`, `key`, `!key`, `>`, `<`, joined by commas.
//!
//! Owns the grammar of `labelSelector` and its errors, as apimachinery words them. Never allocates while it matches.

use std::collections::BTreeSet;

use super::lexer::{Token, Word, words};
use crate::status::Status;

/// A parsed label selector; the empty one matches everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// 400 with the text that the real server gives.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut parser = Parser { words: words(text), position: 0 };
        let requirements = parser.selector().map_err(Status::bad_request)?;
        Ok(Self { requirements })
    }

    /// True if everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.iter().find(|(key, _)| **key == *requirement.key).map(|(_, value)| &**value);
            match (&requirement.test, value) {
                (Test::In(values), Some(value)) => values.contains(value),
                (Test::NotIn(values), Some(value)) => !values.contains(value),
                (Test::Above(bound), Some(value)) => value.parse::<i64>().is_ok_and(|number| number > *bound),
                (Test::Below(bound), Some(value)) => value.parse::<i64>().is_ok_and(|number| number < *bound),
                (Test::Exists, Some(_)) | (Test::NotIn(_) | Test::Absent, None) => true,
                (Test::In(_) | Test::Above(_) | Test::Below(_) | Test::Exists, None) | (Test::Absent, Some(_)) => false,
            }
        })
    }
}

struct Parser {
    words: Vec<Word>,
    position: usize,
}

impl Parser {
    fn peek(&self) -> (Token, &str) {
        self.words.get(self.position).map_or((Token::End, ""), |word| (word.token, &*word.text))
    }

    /// The next word, where `in` and `notin` are operators.
    fn operator(&mut self) -> (Token, String) {
        let (token, text) = self.peek();
        let word = (token, text.to_owned());
        self.position += 1;
        word
    }

    /// The next word, where `in` and `notin` are names or values.
    fn value(&mut self) -> (Token, String) {
        let (token, text) = self.operator();
        (plain(token), text)
    }

    fn peek_value(&self) -> Token {
        plain(self.peek().0)
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek_value() {
                Token::Identifier | Token::Not => {}
                Token::End => return Ok(requirements),
                _ => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", self.peek().1)),
            }
            requirements.push(self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?);
            match self.value() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) if matches!(self.peek_value(), Token::Identifier | Token::Not) => {}
                (Token::Comma, _) => return Err(format!("found '{}', expected: identifier after ','", self.peek().1)),
                (_, text) => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.value();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.value();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        check_key(&key)?;
        if negated {
            // Whatever follows is not read: the caller finds it where a comma should be.
            return Ok(Requirement { key, test: Test::Absent });
        }
        if matches!(self.peek_value(), Token::End | Token::Comma) {
            return Ok(Requirement { key, test: Test::Exists });
        }
        let (token, text) = self.operator();
        let values = match token {
            Token::In | Token::NotIn => self.values()?,
            Token::Equals | Token::DoubleEquals | Token::NotEquals | Token::Greater | Token::Less => BTreeSet::from([self.exact()?]),
            _ => return Err(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        check_values(&key, token, &values)?;
        let number = || values.first().and_then(|value| value.parse().ok()).unwrap_or_default();
        let test = match token {
            Token::In | Token::Equals | Token::DoubleEquals => Test::In(values),
            Token::Greater => Test::Above(number()),
            Token::Less => Test::Below(number()),
            _ => Test::NotIn(values),
        };
        Ok(Requirement { key, test })
    }

    /// `(a,b)`; nothing between commas is the empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, text) = self.value();
        if token != Token::Open {
            return Err(format!("found '{text}' expected: '('"));
        }
        match self.peek_value() {
            Token::Identifier | Token::Comma => {}
            Token::Close => {
                self.position += 1;
                return Ok(BTreeSet::from([String::new()]));
            }
            _ => return Err(format!("found '{}', expected: ',', ')' or identifier", self.peek().1)),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.value() {
                (Token::Identifier, value) => {
                    values.insert(value);
                    match self.peek_value() {
                        Token::Comma => {}
                        Token::Close => break,
                        _ => return Err(format!("found '{}', expected: ',' or ')'", self.peek().1)),
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek_value();
                    if values.is_empty() || matches!(next, Token::Close | Token::Comma) {
                        values.insert(String::new());
                    }
                    if next == Token::Close {
                        break;
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
        self.position += 1;
        Ok(values)
    }

    fn exact(&mut self) -> Result<String, String> {
        if matches!(self.peek_value(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.value() {
            (Token::Identifier, value) => Ok(value),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }
}

fn plain(token: Token) -> Token {
    match token {
        Token::In | Token::NotIn => Token::Identifier,
        other => other,
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            let why = format!("a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
            return Err(format!("<nil>: Invalid value: {key:?}: {why}"));
        }
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if prefix.len() > 253 {
                wrong.push("prefix part must be no more than 253 bytes".to_owned());
            }
            if !is_subdomain(prefix) {
                wrong.push(format!("prefix part {SUBDOMAIN}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        wrong.push(format!("name part {NAME}"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("<nil>: Invalid value: {key:?}: {}", wrong.join("; "))) }
}

fn check_values(key: &str, token: Token, values: &BTreeSet<String>) -> Result<(), String> {
    let mut wrong = Vec::new();
    if matches!(token, Token::Greater | Token::Less) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
            wrong.push(format!("values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let mut why = Vec::new();
        if value.len() > 63 {
            why.push("must be no more than 63 bytes");
        }
        if !value.is_empty() && !is_name(value) {
            why.push(VALUE);
        }
        if !why.is_empty() {
            wrong.push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", why.join("; ")));
        }
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn is_name(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.'))
}

fn is_subdomain(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.split('.')
        .all(|part| part.starts_with(alphanumeric) && part.ends_with(alphanumeric) && part.chars().all(|c| alphanumeric(c) || c == '-'))
}

#[cfg(test)]
mod tests;
