//! Label and field selectors, parsed once and matched against borrowed labels.
//!
//! Owns kubectl's selector syntax (equality and set based). Never allocates while it
//! matches; kube's own selector type is not used because this crate knows no Kubernetes
//! client and that type wants an owned map of labels.

use std::fmt;

/// A conjunction of requirements; the empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Requirement {
    key: Box<str>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Test {
    In(Vec<Box<str>>),
    NotIn(Vec<Box<str>>),
    Exists,
    Absent,
}

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} is no requirement of a selector: write key=value, key!=value, key in (a,b), key notin (a,b), key or !key")]
pub struct SelectorError {
    /// The requirement that could not be read.
    pub part: String,
}

impl Selector {
    /// Parses kubectl's syntax: requirements separated by commas.
    ///
    /// # Errors
    /// Names the first requirement that cannot be read.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let requirements = split(text).map(requirement).collect::<Result<_, _>>()?;
        Ok(Self { requirements })
    }

    /// The selector that matches where both do.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut requirements = self.requirements.clone();
        requirements.extend(other.requirements.iter().filter(|r| !self.requirements.contains(r)).cloned());
        Self { requirements }
    }

    /// True if the selector has no requirement.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The keys that the requirements look at.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|r| r.key.as_ref())
    }

    /// Does a set of labels match? `label` returns the value of a key, if there is one.
    /// As in Kubernetes, `!=` and `notin` also match where the key is absent.
    pub fn matches<'a>(&self, mut label: impl FnMut(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.test.passes(label(&r.key)))
    }

    /// The first requirement that a set of labels does not meet, with the value that it has
    /// instead, if any: why [`Self::matches`] says no.
    pub fn unmet<'a>(&self, mut label: impl FnMut(&str) -> Option<&'a str>) -> Option<(Self, Option<&'a str>)> {
        self.requirements.iter().find_map(|r| {
            let value = label(&r.key);
            (!r.test.passes(value)).then(|| (Self { requirements: vec![r.clone()] }, value))
        })
    }
}

impl Test {
    fn passes(&self, value: Option<&str>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|v| values.iter().any(|x| **x == *v)),
            Self::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| **x != *v)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, r) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match &r.test {
                Test::In(values) => match values.as_slice() {
                    [one] => write!(f, "{}={one}", r.key)?,
                    many => write!(f, "{} in ({})", r.key, many.join(","))?,
                },
                Test::NotIn(values) => match values.as_slice() {
                    [one] => write!(f, "{}!={one}", r.key)?,
                    many => write!(f, "{} notin ({})", r.key, many.join(","))?,
                },
                Test::Exists => f.write_str(&r.key)?,
                Test::Absent => write!(f, "!{}", r.key)?,
            }
        }
        Ok(())
    }
}

/// Splits at commas outside parentheses; blank text has no parts.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let blank = text.trim().is_empty();
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .filter(move |_| !blank)
    .map(str::trim)
}

fn requirement(part: &str) -> Result<Requirement, SelectorError> {
    let bad = || SelectorError { part: part.to_owned() };
    let make = |key: &str, test: Test| {
        let key = key.trim();
        if is_key(key) { Ok(Requirement { key: key.into(), test }) } else { Err(bad()) }
    };
    let one = |value: &str| -> Result<Vec<Box<str>>, SelectorError> {
        let value = value.trim();
        if is_value(value) { Ok(vec![value.into()]) } else { Err(bad()) }
    };
    if let Some(key) = part.strip_prefix('!') {
        return make(key, Test::Absent);
    }
    if let Some((key, value)) = part.split_once("!=") {
        return make(key, Test::NotIn(one(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return make(key, Test::In(one(value)?));
    }
    let Some((head, list)) = part.split_once('(') else { return make(part, Test::Exists) };
    let list = list.strip_suffix(')').ok_or_else(bad)?;
    let values =
        list.split(',').map(|v| if is_value(v.trim()) { Ok(v.trim().into()) } else { Err(bad()) }).collect::<Result<Vec<Box<str>>, _>>()?;
    let (key, operator) = head.trim().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
    match operator {
        "in" => make(key, Test::In(values)),
        "notin" => make(key, Test::NotIn(values)),
        _ => Err(bad()),
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= 317 && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

fn is_value(value: &str) -> bool {
    value.len() <= 253 && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: Vec<(String, String)> = labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Selector::parse(selector).unwrap().matches(|k| labels.iter().find(|(x, _)| x == k).map(|(_, v)| v.as_str()))
    }

    #[test]
    fn kubectl_syntax() {
        let labels = [("app", "web"), ("tier", "front")];
        for (selector, want) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app!=web", false),
            ("none!=x", true),
            ("app in (db, web)", true),
            ("app notin (db,web),tier", false),
            ("none notin (x)", true),
            ("app=web,tier!=front", false),
        ] {
            assert_eq!(matches(selector, &labels), want, "{selector}");
        }
    }

    #[test]
    fn the_first_unmet_requirement_is_named() {
        let unmet = |selector: &str| {
            let selector = Selector::parse(selector).unwrap();
            let unmet = selector.unmet(|key| (key == "app").then_some("web"));
            unmet.map(|(requirement, value)| (requirement.to_string(), value.map(str::to_owned)))
        };
        assert_eq!(unmet("app=web,!tier"), None);
        assert_eq!(unmet("app,tier=front,app=db"), Some(("tier=front".into(), None)));
        assert_eq!(unmet("app in (db,cache)"), Some(("app in (db,cache)".into(), Some("web".into()))));
        assert_eq!(unmet("!app"), Some(("!app".into(), Some("web".into()))));
    }

    #[test]
    fn bad_parts_are_named() {
        for (text, part) in [("app=web,b c", "b c"), ("a in x", "a in x"), ("a in (x", "a in (x"), (",", ""), ("a=b c", "a=b c")] {
            assert_eq!(Selector::parse(text).unwrap_err().part, part);
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_prints_back(text in "[a-z!=(), ]{0,24}") {
            if let Ok(selector) = Selector::parse(&text) {
                prop_assert_eq!(Selector::parse(&selector.to_string()).unwrap(), selector);
            }
        }
    }
}
