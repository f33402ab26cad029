//! The columns of custom resources: as their definition declares them (`additionalPrinterColumns`), behind the name.
//!
//! Owns how a found value becomes a cell of the declared type. What is not there or of another type is a null cell.

use serde_json::{Value, json};

use super::column::{AGE, NAME};
use super::{Path, age};
use crate::json::Read;

/// The column definitions: the name and the declared ones; the name and the age if none are declared.
pub(super) fn columns(declared: &[Value]) -> Vec<Value> {
    let declared_or_age = if declared.is_empty() { vec![AGE.definition()] } else { declared.iter().map(definition).collect() };
    std::iter::once(NAME.definition()).chain(declared_or_age).collect()
}

/// The cells, in the order of the columns.
pub(super) fn cells(declared: &[Value], object: &Value, now: i64) -> Vec<Value> {
    let name = (NAME.cell)(object, now);
    let others =
        if declared.is_empty() { vec![(AGE.cell)(object, now)] } else { declared.iter().map(|column| cell(column, object, now)).collect() };
    std::iter::once(name).chain(others).collect()
}

fn definition(column: &Value) -> Value {
    let description = match column.text("description") {
        "" => format!("Custom resource definition column (in JSONPath format): {}", column.text("jsonPath")),
        description => description.to_owned(),
    };
    json!({
        "name": column.text("name"),
        "type": column.text("type"),
        "format": column.text("format"),
        "description": description,
        "priority": column.int("priority").unwrap_or_default(),
    })
}

fn cell(column: &Value, object: &Value, now: i64) -> Value {
    let Ok(path) = Path::parse(column.text("jsonPath")) else { return Value::Null };
    let Some(value) = path.find(object).first().copied() else { return Value::Null };
    match (column.text("type"), value) {
        ("string", Value::String(text)) => json!(text),
        // Go's printer of a value that is there and null.
        ("string", Value::Null) => json!("<no value>"),
        ("string", value) => json!(value.to_string()),
        ("integer", Value::Number(number)) => number.as_i64().or_else(|| whole(number.as_f64()?)).map_or(Value::Null, Value::from),
        ("number", Value::Number(number)) => json!(number),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => json!(age::since_date(text, now)),
        _ => Value::Null,
    }
}

/// The integer part; a conversion that saturates is as good as Go's here, whose result is not defined.
#[expect(clippy::cast_possible_truncation, reason = "checked against the bounds of i64")]
fn whole(number: f64) -> Option<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    (-BOUND..BOUND).contains(&number).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_columns_become_typed_cells() {
        let object = json!({
            "metadata": {"name": "w", "creationTimestamp": "2001-09-09T01:46:30Z"},
            "spec": {"color": "blue", "size": 3, "ratio": 1.5, "on": true, "list": ["a", 1], "no": null},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let cases = [
            ("string", ".spec.color", json!("blue")),
            ("string", ".spec.size", json!("3")),
            ("string", ".spec.on", json!("true")),
            ("string", ".spec.list", json!(r#"["a",1]"#)),
            ("string", ".spec.list[*]", json!("a")),
            ("string", ".spec.no", json!("<no value>")),
            ("string", ".spec.absent", json!(null)),
            ("string", r#".status.conditions[?(@.type=="Ready")].status"#, json!("True")),
            ("integer", ".spec.size", json!(3)),
            ("integer", ".spec.ratio", json!(1)),
            ("integer", ".spec.color", json!(null)),
            ("number", ".spec.ratio", json!(1.5)),
            ("boolean", ".spec.on", json!(true)),
            ("boolean", ".spec.color", json!(null)),
            ("date", ".metadata.creationTimestamp", json!("10s")),
            ("date", ".spec.color", json!("<invalid>")),
            ("date", ".spec.absent", json!(null)),
            ("string", ".spec[", json!(null)),
        ];
        for (kind, path, expected) in cases {
            let declared = [json!({"name": "X", "type": kind, "jsonPath": path})];
            assert_eq!(cells(&declared, &object, 1_000_000_000), [json!("w"), expected], "{kind} {path}");
        }
        assert_eq!(cells(&[], &object, 1_000_000_000), [json!("w"), json!("10s")]);
    }

    #[test]
    fn definitions_are_as_declared() {
        let declared = [
            json!({"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1}),
            json!({"name": "Up", "type": "date", "jsonPath": ".a", "description": "d", "format": "date"}),
        ];
        let columns = columns(&declared);
        assert_eq!(columns.iter().map(|column| column.text("name")).collect::<Vec<_>>(), ["Name", "Color", "Up"]);
        assert_eq!(columns[0].text("format"), "name");
        let expected = json!({"name": "Color", "type": "string", "format": "", "priority": 1, "description": "Custom resource definition column (in JSONPath format): .spec.color"});
        assert_eq!(columns[1], expected);
        assert_eq!(columns[2], json!({"name": "Up", "type": "date", "format": "date", "priority": 0, "description": "d"}));
    }
}
