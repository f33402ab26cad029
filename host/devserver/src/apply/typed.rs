//! Values seen by their schema: which fields an applied configuration has, whether the schema knows them, how items are told apart.
//!
//! Owns neither types nor values of scalars: decoding and validation look at those.

use serde_json::{Map, Value};

use super::fields::{Element, FieldSet, path_text};
use crate::bounded::Bounded;
use crate::patch::Structure;
use crate::schema::ListKind;

/// What a value is for ownership.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// Scalars and everything atomic.
    Leaf,
    /// An object whose members are owned one by one.
    Map,
    /// A list whose items are owned one by one.
    List(ListKind),
    /// Null, or nothing: takes the form of what it is compared to.
    Open,
}

/// The form of a value at a place that the schema may not know.
pub(super) fn form<S: Structure>(value: Option<&Value>, place: Option<S>) -> Form {
    let (Some(value), Some(place)) = (value, place) else {
        return if matches!(value, None | Some(Value::Null)) { Form::Open } else { Form::Leaf };
    };
    match value {
        Value::Null => Form::Open,
        Value::Object(_) if !place.is_atomic_map() => Form::Map,
        Value::Array(_) => match place.list_kind() {
            ListKind::Atomic => Form::Leaf,
            kind => Form::List(kind),
        },
        _ => Form::Leaf,
    }
}

/// The path element of an item of a set or keyed list.
///
/// # Errors
/// A text for an item that has none.
pub(super) fn element<S: Structure>(kind: &ListKind, list: S, item: &Value) -> Result<Element, String> {
    let ListKind::Map(keys) = kind else {
        return match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            scalar => Ok(Element::value(scalar)),
        };
    };
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let value_of = |key: &String| members.get(key).cloned().or_else(|| list.key_default(key));
    let found: Map<String, Value> = keys.iter().filter_map(|key| Some((key.clone(), value_of(key)?))).collect();
    if found.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        let keys = keys.join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{keys}] (and doesn't have default values for any key fields)"
        ));
    }
    Ok(Element::key(&found))
}

/// The fields that an applied configuration owns: leaves, items, empty objects, entries of maps with free keys.
pub(super) fn field_set<S: Structure>(value: &Value, place: Option<S>) -> FieldSet {
    match (form(Some(value), place), value, place) {
        (Form::Map, Value::Object(members), Some(place)) => {
            let mut set = FieldSet::default();
            for (name, value) in members {
                let inner = place.member(name);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                let whole = empty || form(Some(value), inner) == Form::Leaf || !place.declares(name);
                set.put(Element::field(name), whole, field_set(value, inner));
            }
            set
        }
        (Form::List(kind), Value::Array(items), Some(place)) => {
            let mut set = FieldSet::default();
            for item in items {
                if let Ok(element) = element(&kind, place, item) {
                    set.put(element, true, field_set(item, Some(place.items())));
                }
            }
            set
        }
        _ => FieldSet::default(),
    }
}

/// With every field of a struct that has owned fields below: to own `.spec.replicas` is to own a part of `.spec`.
pub(super) fn with_structs<S: Structure>(set: &FieldSet, place: Option<S>) -> FieldSet {
    let mut all = FieldSet::default();
    for (element, member, below) in set.nodes() {
        let (declared, inner) = match (element, place) {
            (Element::Field(name), Some(place)) => (place.declares(name), place.member(name)),
            (_, Some(place)) => (false, Some(place.items())),
            (_, None) => (false, None),
        };
        all.put(element.clone(), member || (declared && !below.is_empty()), with_structs(below, inner));
    }
    all
}

/// Everything in a configuration that the schema does not allow, in the real server's words.
pub(super) fn errors<S: Structure>(value: &Value, place: S) -> Bounded<String> {
    let mut errors = Bounded::default();
    check(value, place, &mut Vec::new(), &mut errors);
    errors
}

fn check<S: Structure>(value: &Value, place: S, path: &mut Vec<Element>, errors: &mut Bounded<String>) {
    if errors.is_full() {
        return;
    }
    match value {
        Value::Object(_) if place.is_list() => refuse(errors, path, &format!("expected list, got {value}")),
        Value::Object(members) => {
            for (name, value) in members {
                path.push(Element::field(name));
                match place.member(name) {
                    Some(inner) => check(value, inner, path, errors),
                    None => refuse(errors, path, "field not declared in schema"),
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            let kind = place.list_kind();
            let mut seen = std::collections::BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                if errors.is_full() {
                    return;
                }
                let step = match kind {
                    ListKind::Atomic => Element::Index(index as u64),
                    _ => match element(&kind, place, item) {
                        Ok(element) => element,
                        // Nothing below can be named, so that the rest of the list is left alone.
                        Err(why) => return refuse(errors, path, &format!("element {index}: {why}")),
                    },
                };
                if kind != ListKind::Atomic && !seen.insert(step.clone()) {
                    let text = path_text([&step]);
                    errors.push(format!("{}: duplicate entries for key {text}", path_text(&*path)));
                }
                path.push(step);
                check(item, place.items(), path, errors);
                path.pop();
            }
        }
        Value::Null => {}
        scalar if place.is_list() => refuse(errors, path, &format!("expected list, got {scalar}")),
        _ => {}
    }
}

fn refuse(errors: &mut Bounded<String>, path: &[Element], why: &str) {
    if errors.is_full() {
        return;
    }
    let path = path_text(path);
    errors.push(if path.is_empty() { why.to_owned() } else { format!("{path}: {why}") });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fields_v1::encode;
    use super::*;
    use crate::patch::tests::Described;

    fn schema() -> Value {
        let port = json!({"fields": {"port": {}, "protocol": {}, "name": {}}, "default": {"protocol": "TCP"}});
        json!({"fields": {
            "spec": {"fields": {
                "replicas": {}, "selector": {"fields": {"a": {}}, "atomic": true}, "args": {"list": {}},
                "ports": {"list": port, "keys": ["port", "protocol"]}, "set": {"list": {}, "set": true},
                "labels": {"values": {}}, "by": {"values": {"fields": {"x": {}}}},
            }},
            "free": {"any": true},
        }})
    }

    #[test]
    fn fields_of_a_configuration() {
        let config = json!({
            "spec": {
                "replicas": 1, "selector": {"a": 1}, "args": ["x"], "ports": [{"port": 80, "name": "http"}, {"port": 80, "protocol": "UDP"}],
                "set": ["a"], "labels": {}, "by": {"k": {"x": 1}},
            },
            "free": {"a": {"b": [1]}},
        });
        let want = json!({
            "f:spec": {
                "f:replicas": {}, "f:selector": {}, "f:args": {},
                "f:ports": {
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}},
                    "k:{\"port\":80,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
                },
                "f:set": {"v:\"a\"": {}}, "f:labels": {}, "f:by": {"f:k": {".": {}, "f:x": {}}},
            },
            "f:free": {"f:a": {".": {}, "f:b": {}}},
        });
        let schema = schema();
        assert_eq!(encode(&field_set(&config, Some(Described(&schema)))), want);
    }

    #[test]
    fn structs_of_owned_fields() {
        let schema = schema();
        let set = field_set(&json!({"spec": {"by": {"k": {"x": 1}}, "ports": [{"port": 1}]}}), Some(Described(&schema)));
        let want = json!({"f:spec": {".": {}, "f:by": {".": {}, "f:k": {".": {}, "f:x": {}}}, "f:ports": {".": {}, "k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}});
        assert_eq!(encode(&with_structs(&set, Some(Described(&schema)))), want);
    }

    #[test]
    fn very_many_mistakes_are_told_in_part() {
        use crate::bounded::{MOST, MOST_BYTES};
        let long = "x".repeat(MOST_BYTES / 10);
        let schema = json!({"fields": {long.as_str(): {"fields": {}}}});
        let unknown: Map<String, Value> = (0..3000).map(|n| (format!("p{n}"), json!(1))).collect();
        let found = errors(&json!({long.as_str(): unknown}), Described(&schema));
        assert!((2..=MOST).contains(&found.len()) && found.iter().map(String::len).sum::<usize>() <= MOST_BYTES, "{}", found.len());
    }

    #[test]
    fn what_the_schema_does_not_allow() {
        let schema = schema();
        let cases = [
            (json!({"foo": 1}), vec![".foo: field not declared in schema"]),
            (
                json!({"spec": {"ports": [{"port": 1, "x": 1}, {"port": 1}]}}),
                vec![
                    ".spec.ports[port=1,protocol=\"TCP\"].x: field not declared in schema",
                    ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
                ],
            ),
            (json!({"spec": {"ports": [1]}}), vec![".spec.ports: element 0: associative list with keys may not have non-map elements"]),
            (
                json!({"spec": {"set": [null]}}),
                vec![".spec.set: element 0: associative list without keys has an element that's an explicit null"],
            ),
            (json!({"spec": {"args": "x"}}), vec![".spec.args: expected list, got \"x\""]),
            (json!({"spec": {"args": null}, "free": {"x": [{}]}}), vec![]),
        ];
        for (config, want) in cases {
            assert_eq!(errors(&config, Described(&schema)).into_vec(), want, "{config}");
        }
    }
}
