//! The definition of the resource: it has the fields that the reader has, and says of each what
//! it is and how large it can get. Whether a server takes it is asked in `tests/it`.

use serde_json::Value;

use crate::plugin::{changes, component, crd, entries, limits, read};

fn spec() -> Value {
    let mut definition = crd::custom_resource_definition();
    definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap().take()
}

fn fields(schema: &Value, at: &str) -> Vec<String> {
    let schema = schema.pointer(at).unwrap_or_else(|| panic!("no {at}"));
    let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    fields.sort();
    fields
}

fn sorted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<_> = names.into_iter().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn the_fields_are_those_of_the_reader() {
    let spec = spec();
    let entry = "/properties/subscribe/items";
    for (at, want) in [
        ("", sorted(read::SPEC)),
        ("/properties/component", sorted(component::WAYS.into_iter().chain(component::NOT_BUILT.map(|refused| refused.field)))),
        ("/properties/component/properties/configMap", sorted(component::CONFIG_MAP)),
        (entry, sorted(entries::FIELDS.into_iter().chain(entries::DOCUMENT_FIELDS).chain(changes::FIELDS))),
        (&format!("{entry}/properties/map"), sorted(changes::MAP)),
        ("/properties/grants/items/properties/cluster", sorted(read::CLUSTER)),
        ("/properties/limits", sorted(limits::FIELDS)),
        ("/properties/rollout", sorted(read::ROLLOUT)),
    ] {
        assert_eq!(fields(&spec, at), want, "{at}");
    }
}

/// Calls `see` with every schema inside of one, and its place.
fn walk(schema: &Value, at: &str, see: &mut impl FnMut(&str, &Value)) {
    see(at, schema);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        walk(inner, &format!("{at}/{name}"), see);
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{at}/-"), see);
    }
}

#[test]
fn every_field_is_explained_and_bounded() {
    let definition = crd::custom_resource_definition();
    let mut open = Vec::new();
    let mut count = 0;
    walk(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut |at, schema| {
        count += 1;
        let described = schema["description"].as_str().is_some_and(|text| !text.is_empty());
        assert!(described || at.ends_with('-') || at == "/metadata", "{at} says nothing of itself");
        let bounded = match schema["type"].as_str() {
            Some("string") => ["maxLength", "enum", "format"].iter().any(|limit| schema.get(limit).is_some()),
            Some("array") => schema.get("maxItems").is_some() && schema.get("x-kubernetes-list-type").is_some(),
            _ => true,
        };
        assert!(bounded || ["/apiVersion", "/kind"].contains(&at), "{at} has no limit");
        if schema.get("x-kubernetes-preserve-unknown-fields").is_some() {
            open.push(at.to_owned());
        }
    });
    assert!(count > 50, "only {count} schemas");
    assert_eq!(open, ["/spec/config"]);
}
