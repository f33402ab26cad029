//! The description of a component.

use std::time::Duration;

use serde_json::{Value, json};

use super::{check_all, described, lines};
use crate::plugin::*;

fn read(value: &Value) -> Result<Description, Vec<Problem>> {
    read_description(&value.to_string())
}

#[test]
fn every_field() {
    let read = read(&described()).unwrap();
    assert_eq!((read.name.as_str(), read.version.as_str()), ("Label guard", "1.0"));
    assert_eq!(read.reasons, ["LabelMissing".into()]);
    assert_eq!(read.subscribe.len(), 2);
    assert_eq!(read.subscribe[1].kind.as_ref().unwrap().to_string(), "apps/v1 Deployment");
    let limits = AskedLimits { memory: Some(128 << 20), cpu: Some(Duration::from_millis(150)), ..AskedLimits::default() };
    assert_eq!(read.limits, limits);
    let small = read_description(r#"{"name": "a", "version": "0"}"#).unwrap();
    assert_eq!(small, Description { name: "a".into(), version: "0".into(), ..Description::default() });
}

#[test]
fn wrong_values() {
    check_all(described, read, include_str!("describe.txt"));
}

#[test]
fn wrong_texts() {
    let say = |text: &str| lines(&read_description(text).unwrap_err());
    let json = "[DescribeFailed] (return one JSON object as text)";
    assert_eq!(say(""), [format!("describe returned no JSON: EOF while parsing a value at line 1 column 0 {json}")]);
    assert_eq!(say(&"[".repeat(10_000)), [format!("describe returned no JSON: recursion limit exceeded at line 1 column 128 {json}")]);
    assert_eq!(
        say("[]"),
        ["expected fields with values, found a list [DescribeFailed] (write {name: value}, or one indented name: value a line)"]
    );
    assert_eq!(
        say(&" ".repeat(MAX_DESCRIPTION_BYTES + 1)),
        ["262145 bytes are too many for a description [DescribeFailed] (at most 262144)"]
    );
}

#[test]
fn problems_are_capped_and_short() {
    let many: serde_json::Map<String, Value> = (0..1000).map(|i| (format!("{i}{}", "\n".repeat(90)), json!(i))).collect();
    let problems = read(&Value::Object(many)).unwrap_err();
    assert_eq!(problems.len(), fields::Problems::MAX + 1);
    assert_eq!(problems.last().unwrap().to_string(), "938 more problems [DescribeFailed]");
    assert!(lines(&problems).iter().all(|line| line.len() < 300 && !line.contains('\n')));
}
