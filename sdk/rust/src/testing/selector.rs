//! Label and field selectors, as far as tests need them: `a`, `!a`, `a=b`, `a==b`, `a!=b`,
//! `a in (b, c)`, `a notin (b, c)`, joined by commas.

use crate::cluster::ApiError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Term {
    key: String,
    test: Test,
}

#[derive(Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Term {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn matches(&self, value: Option<&str>) -> bool {
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|v| v == value));
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => among(values),
            Test::NotIn(values) => !among(values),
        }
    }
}

/// The terms, all of which must match; none for empty text.
pub(super) fn parse(text: &str) -> Result<Vec<Term>, ApiError> {
    let mut terms = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let comma = rest.find(',').unwrap_or(rest.len());
        let end = match rest.find('(') {
            Some(open) if open < comma => rest.find(')').map_or(rest.len(), |close| close + 1),
            _ => comma,
        };
        let (term, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        terms.push(parse_term(term.trim()).ok_or_else(|| ApiError::Invalid(format!("selector: {term}")))?);
        rest = tail.trim_start_matches([',', ' ']);
    }
    Ok(terms)
}

fn parse_term(text: &str) -> Option<Term> {
    let one = |value: &str| vec![value.trim().to_owned()];
    let many = |values: &str| values.trim_end_matches(')').split(',').map(|v| v.trim().to_owned()).collect();
    let (key, test) = if let Some((key, values)) = text.split_once(" notin (") {
        (key, Test::NotIn(many(values)))
    } else if let Some((key, values)) = text.split_once(" in (") {
        (key, Test::In(many(values)))
    } else if let Some((key, value)) = text.split_once("!=") {
        (key, Test::NotIn(one(value)))
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (key, Test::In(one(value)))
    } else if let Some(key) = text.strip_prefix('!') {
        (key, Test::Absent)
    } else {
        (text, Test::Exists)
    };
    let key = key.trim();
    let good = !key.is_empty() && !key.contains([' ', '(', ')', '=', '!']);
    good.then(|| Term { key: key.to_owned(), test })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms() {
        for (selector, value, want) in [
            ("a", Some("x"), true),
            ("a", None, false),
            ("!a", None, true),
            ("a=x", Some("x"), true),
            ("a==x", Some("y"), false),
            ("a!=x", None, true),
            ("a in (x, y)", Some("y"), true),
            ("a notin (x, y)", Some("y"), false),
            ("a in (x, y), a!=y", Some("y"), false),
            ("", None, true),
        ] {
            let terms = parse(selector).unwrap();
            assert_eq!(terms.iter().all(|term| term.matches(value)), want, "{selector} {value:?}");
        }
        assert!(parse("=x").is_err());
        assert!(parse("a b").is_err());
    }
}
