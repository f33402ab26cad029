//! Sets of field paths: which places of an object somebody owns.
//!
//! Owns the elements of paths, the operations on sets, and their text. The form in which they are stored is [`super::fields_v1`]'s.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// One step of a path. Ordered as the real server orders them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A member of an object.
    Field(String),
    /// An item of a keyed list; canonical JSON of the keys and their values.
    Key(String),
    /// An item of a set; canonical JSON of the value.
    Value(String),
    /// An item of a list by position.
    Index(u64),
}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    pub(super) fn key(keys: &Map<String, Value>) -> Self {
        Self::Key(Value::Object(keys.iter().map(|(name, value)| (name.clone(), canonical(value))).collect()).to_string())
    }

    pub(super) fn value(value: &Value) -> Self {
        Self::Value(canonical(value).to_string())
    }

    fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Field(name) => write!(text, ".{name}"),
            Self::Key(keys) => {
                let keys = serde_json::from_str::<Map<String, Value>>(keys).unwrap_or_default();
                write!(text, "[{}]", keys.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => write!(text, "[={value}]"),
            Self::Index(index) => write!(text, "[{index}]"),
        };
    }
}

/// One number is written in one way only, so that `80` and `80.0` name the same item.
fn canonical(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => Value::from(float as i64),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// A path as error messages show it: `.spec.containers[name="c"].image`.
pub(super) fn path_text<'a>(path: impl IntoIterator<Item = &'a Element>) -> String {
    let mut text = String::new();
    for element in path {
        element.write(&mut text);
    }
    text
}

/// A set of paths, as a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

/// Below one element: whether the path up to here is in the set, and what follows. Never empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    member: bool,
    below: FieldSet,
}

impl FieldSet {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Puts in the path of one element (if `member`) and the paths below it.
    pub(super) fn put(&mut self, element: Element, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        let node = self.nodes.entry(element).or_default();
        node.member |= member;
        node.below.extend(below);
    }

    /// Whether the path of this one element is in the set.
    pub(super) fn has(&self, element: &Element) -> bool {
        self.nodes.get(element).is_some_and(|node| node.member)
    }

    /// The paths that go on below the element.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.nodes.get(element).map(|node| &node.below)
    }

    /// Elements of the first level, whether they are paths of the set themselves, and what is below.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Element, bool, &Self)> {
        self.nodes.iter().map(|(element, node)| (element, node.member, &node.below))
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (element, node) in other.nodes {
            self.put(element, node.member, node.below);
        }
    }

    /// The paths that are in one of the sets.
    #[must_use]
    pub(super) fn union(mut self, other: Self) -> Self {
        self.extend(other);
        self
    }

    /// The paths that are in both sets.
    #[must_use]
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (element, node) in &self.nodes {
            if let Some(with) = other.nodes.get(element) {
                both.put(element.clone(), node.member && with.member, node.below.intersection(&with.below));
            }
        }
        both
    }

    /// The paths that are not in `other`. A path does not stand for those below it.
    #[must_use]
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for (element, node) in &self.nodes {
            match other.nodes.get(element) {
                None => rest.put(element.clone(), node.member, node.below.clone()),
                Some(without) => rest.put(element.clone(), node.member && !without.member, node.below.difference(&without.below)),
            }
        }
        rest
    }

    /// Takes out a field with everything below.
    pub(super) fn remove_tree(&mut self, path: &[&str]) {
        let Some((name, rest)) = path.split_first() else { return };
        let element = Element::field(name);
        if rest.is_empty() {
            self.nodes.remove(&element);
        } else if let Some(node) = self.nodes.get_mut(&element) {
            node.below.remove_tree(rest);
            if !node.member && node.below.is_empty() {
                self.nodes.remove(&element);
            }
        }
    }

    /// Shows all paths: those that end at a level before those that go on.
    pub(super) fn visit<'a>(&'a self, see: &mut dyn FnMut(&[&'a Element])) {
        self.visit_below(&mut Vec::new(), see);
    }

    fn visit_below<'a>(&'a self, path: &mut Vec<&'a Element>, see: &mut dyn FnMut(&[&'a Element])) {
        for element in self.nodes.iter().filter(|(_, node)| node.member).map(|(element, _)| element) {
            path.push(element);
            see(path);
            path.pop();
        }
        for (element, node) in &self.nodes {
            path.push(element);
            node.below.visit_below(path, see);
            path.pop();
        }
    }

    /// All paths, in that order.
    #[cfg(test)]
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.visit(&mut |path| paths.push(path.iter().map(|element| (*element).clone()).collect()));
        paths
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
pub(super) mod tests;
