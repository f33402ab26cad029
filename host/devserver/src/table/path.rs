//! The JSONPath dialect of printer columns: `.spec.a`, `['b']`, `[0]`, `[*]`,
//! `[?(@.type=="Ready")]`, `..name`, with or without braces.
//!
//! Owns finding. Never fails while it finds: what is not there is not found. Results are bounded.

use serde_json::Value;

use super::path_parser;

/// How many values one step may hand on: `..a..a..a` would find the same values again and again.
const MAX_FOUND: usize = 10_000;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Members of these names.
    Members(Vec<String>),
    /// Items at these places; negative ones count from the end.
    Items(Vec<i64>),
    /// Items from, to (exclusive), every so many.
    Slice(Option<i64>, Option<i64>, usize),
    /// All members or items.
    All,
    /// The value and everything below it.
    Descend,
    /// Items for which this holds.
    Filter(Filter),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Operand,
    /// None: the left side must be found.
    pub(super) right: Option<(Comparison, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Path(Path),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Says what stands where something else was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        path_parser::parse(text)
    }

    /// All values found, in the order of the object.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.apply(value, &mut next);
                if next.len() > MAX_FOUND {
                    next.truncate(MAX_FOUND);
                    break;
                }
            }
            found = next;
        }
        found
    }
}

impl Step {
    fn apply<'v>(&self, value: &'v Value, out: &mut Vec<&'v Value>) {
        match (self, value) {
            (Self::Members(names), Value::Object(members)) => out.extend(names.iter().filter_map(|name| members.get(name))),
            (Self::Items(places), Value::Array(items)) => {
                out.extend(places.iter().filter_map(|place| items.get(usize::try_from(absolute(*place, items.len())).ok()?)));
            }
            (Self::Slice(from, to, step), Value::Array(items)) => {
                let bound = |place: Option<i64>, or: i64| usize::try_from(absolute(place.unwrap_or(or), items.len())).unwrap_or(0);
                let (from, to) = (bound(*from, 0), place_after(*to, items.len()));
                out.extend(items.iter().take(to).skip(from).step_by(*step));
            }
            (Self::All, Value::Array(items)) => out.extend(items),
            (Self::All, Value::Object(members)) => out.extend(members.values()),
            (Self::Descend, value) => descend(value, out),
            (Self::Filter(filter), Value::Array(items)) => out.extend(items.iter().filter(|item| filter.holds(item))),
            _ => {}
        }
    }
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let Some(left) = self.left.value(item) else { return false };
        let Some((comparison, right)) = &self.right else { return true };
        let Some(right) = right.value(item) else { return false };
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
            }
            (left, right) => (left == right).then_some(std::cmp::Ordering::Equal),
        };
        match comparison {
            Comparison::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
            Comparison::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
            Comparison::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Comparison::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Comparison::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Comparison::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, item: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Path(path) => path.find(item).first().copied(),
            Self::Literal(value) => Some(value),
        }
    }
}

/// A place counted from the start; negative places count from the end.
fn absolute(place: i64, length: usize) -> i64 {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    if place < 0 { place.saturating_add(length) } else { place }
}

fn place_after(to: Option<i64>, length: usize) -> usize {
    to.map_or(length, |to| usize::try_from(absolute(to, length)).unwrap_or(0))
}

/// The value and everything below it, the outer before the inner. As deep as the object, which its parser bounds.
fn descend<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    if out.len() > MAX_FOUND {
        return;
    }
    out.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| descend(item, out)),
        Value::Object(members) => members.values().for_each(|member| descend(member, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_values() {
        let object = json!({
            "spec": {"a": {"b": 1}, "x.y/z": "dotted", "list": [10, 20, 30], "names": ["p", "q"], "no": null},
            "status": {"conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Synced", "status": "False", "n": 2}]},
        });
        let cases = [
            (".spec.a.b", json!([1])),
            ("spec.a.b", json!([1])),
            ("{.spec.a.b}", json!([1])),
            ("$.spec.a.b", json!([1])),
            ("$['spec']['a'].b", json!([1])),
            (".spec['x.y/z']", json!(["dotted"])),
            (r#".spec["x.y/z"]"#, json!(["dotted"])),
            (r".spec.x\.y/z", json!(["dotted"])),
            (".spec.list[0]", json!([10])),
            (".spec.list[-1]", json!([30])),
            (".spec.list[-9]", json!([])),
            (".spec.list[0,2]", json!([10, 30])),
            (".spec.list[1:]", json!([20, 30])),
            (".spec.list[:-1]", json!([10, 20])),
            (".spec.list[::2]", json!([10, 30])),
            (".spec.list[*]", json!([10, 20, 30])),
            (".spec.a.*", json!([1])),
            (".spec.no", json!([null])),
            (".spec.absent", json!([])),
            (".spec.a.b.c", json!([])),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (".status.conditions[?(@.type=='Synced')].status", json!(["False"])),
            (".status.conditions[?( @.type != 'Synced' )].status", json!(["True"])),
            (".status.conditions[?(@.n>=2)].type", json!(["Synced"])),
            (".status.conditions[?(@.n<2)].type", json!(["Ready"])),
            (".status.conditions[?(@.n==true)].type", json!([])),
            (".status.conditions[?(@.absent)].type", json!([])),
            (".status.conditions[?(@.n)].type", json!(["Ready", "Synced"])),
            ("..type", json!(["Ready", "Synced"])),
            ("..conditions[0].n", json!([1])),
            (".", json!([object])),
        ];
        for (path, expected) in cases {
            let found = Path::parse(path).unwrap();
            assert_eq!(json!(found.find(&object)), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let nested = "[?(@".repeat(2000);
        let cases =
            [".a[", ".a]", "{.a", ".a[x]", ".a['b", ".a[?(@.b==)]", ".a[?(@.b]", ".a[::0]", ".a[1-2]", ".a b", "...a", nested.as_str()];
        for path in cases {
            assert!(Path::parse(path).is_err(), "{path}");
        }
        assert!(Path::parse(&".a".repeat(4096)).is_err());
    }

    #[test]
    fn repeated_descents_are_bounded() {
        let mut object = json!(1);
        for _ in 0..60 {
            object = json!({"a": object});
        }
        let path = Path::parse(&"..a".repeat(20)).unwrap();
        assert!(path.find(&object).len() <= MAX_FOUND);
    }
}
