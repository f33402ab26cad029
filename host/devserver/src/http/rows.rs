//! Tables: column definitions and rows around the cells that `table` makes.

use serde_json::{Value, json};

use super::shape::{Page, Style, list_metadata};
use crate::kind::Resource;
use crate::status::Status;
use crate::table::{cells, columns};

/// What a row carries of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    /// Reads the parameter `includeObject`.
    ///
    /// # Errors
    /// 400 for a word that is none of the three.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Status> {
        match text.unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!("unrecognized includeObject value: {other:?}"))),
        }
    }
}

/// The Table of one object, `{"columnDefinitions":…,"rows":[…]}`.
pub(crate) fn of_object(resource: &Resource, object: &Value, style: Style) -> Value {
    let version = object.pointer("/metadata/resourceVersion").cloned();
    let metadata = version.map_or_else(|| json!({}), |version| json!({"resourceVersion": version}));
    table(style, &metadata, Value::Array(columns(resource)), vec![row(resource, object, style)])
}

/// The Table of an event; only the first one of a watch has definitions.
pub(crate) fn of_event(resource: &Resource, object: &Value, first: bool, style: Style) -> Value {
    let metadata = json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
    let definitions = if first { Value::Array(columns(resource)) } else { Value::Null };
    table(style, &metadata, definitions, vec![row(resource, object, style)])
}

/// The Table of a page, written.
pub(crate) fn of_page(page: &Page, style: Style) -> Vec<u8> {
    let api_version = page.resource.api_version();
    let rows = page.items.iter().map(|item| row(&page.resource, &item.value(&api_version, &page.resource.kind), style)).collect();
    let table = table(style, &list_metadata(page, false), Value::Array(columns(&page.resource)), rows);
    let mut out = serde_json::to_vec(&table).unwrap_or_default();
    out.push(b'\n');
    out
}

fn table(style: Style, metadata: &Value, definitions: Value, rows: Vec<Value>) -> Value {
    json!({"kind": "Table", "apiVersion": style.wanted.meta.api_version(), "metadata": metadata, "columnDefinitions": definitions, "rows": rows})
}

fn row(resource: &Resource, object: &Value, style: Style) -> Value {
    let shown = match style.include {
        Include::None => Value::Null,
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": style.wanted.meta.api_version(),
            "metadata": object.get("metadata").unwrap_or(&Value::Null),
        }),
        Include::Object => object.clone(),
    };
    json!({"cells": cells(resource, object, style.now), "object": shown})
}

#[cfg(test)]
mod tests {
    use super::Include;

    #[test]
    fn knows_three_words() {
        for (text, want) in [
            (None, Some(Include::Metadata)),
            (Some(""), Some(Include::Metadata)),
            (Some("Metadata"), Some(Include::Metadata)),
            (Some("None"), Some(Include::None)),
            (Some("Object"), Some(Include::Object)),
            (Some("object"), None),
        ] {
            assert_eq!(Include::parse(text).ok(), want, "{text:?}");
        }
    }
}
