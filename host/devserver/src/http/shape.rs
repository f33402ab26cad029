//! Shapes an answer of the verbs as the client wants it: whole, as a Table, metadata only; JSON or YAML.
//!
//! What the store holds is written as it lies there wherever a client wants whole objects in JSON.

use std::sync::Arc;

use http::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::accept::{Form, Format, Wanted, wrong_shape};
use super::response::{self, Outgoing};
use super::rows::{self, Include};
use crate::kind::Resource;
use crate::status::Status;
use crate::store::Stored;
use crate::verbs::Body;

/// How a request wants its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) wanted: Wanted,
    pub(crate) pretty: bool,
    /// What a Table's rows carry.
    pub(crate) include: Include,
    /// Seconds since the epoch, for ages.
    pub(crate) now: i64,
}

/// A page of objects.
pub(crate) struct Page {
    pub(crate) resource: Arc<Resource>,
    pub(crate) version: u64,
    pub(crate) items: Vec<Arc<Stored>>,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<u64>,
}

/// Everything but a watch.
///
/// # Errors
/// 406 for a list that was asked for as one object, and the reverse.
pub(crate) fn shape(code: u16, body: Body, style: Style) -> Result<Response<Outgoing>, Status> {
    match body {
        Body::Object { resource, value } => object(code, &resource, &value, style),
        Body::Stored { resource, object } if is_plain(style) => {
            let mut out = Vec::with_capacity(object.json.len().saturating_add(64));
            object.write(Some((&resource.api_version(), &resource.kind)), &mut out);
            out.push(b'\n');
            Ok(response::full(code, Format::Json.content_type(), out))
        }
        Body::Stored { resource, object: stored } => object(code, &resource, &stored.value(&resource.api_version(), &resource.kind), style),
        Body::List { resource, version, items, continue_token, remaining } => {
            list(code, &Page { resource, version, items, continue_token, remaining }, style)
        }
        Body::Other(value) => Ok(response::value(code, style.wanted.format, style.pretty, &value)),
        Body::Text(text) => Ok(response::full(code, "text/plain", text)),
        Body::Watch { .. } => {
            Err(Status::new(500, "InternalError", "Internal error occurred: events came for a request that was no watch"))
        }
    }
}

/// An object's `metadata`, without parsing the rest.
pub(crate) fn metadata_of(stored: &Stored) -> &str {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow)]
        metadata: &'a RawValue,
    }
    serde_json::from_slice::<Parts<'_>>(&stored.json).map_or("{}", |parts| parts.metadata.get())
}

/// A PartialObjectMetadata with this `metadata`, already written as JSON.
pub(crate) fn write_partial(api_version: &str, metadata: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(api_version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(metadata.as_bytes());
    out.push(b'}');
}

/// The `metadata` of a list. Lists of custom resources always say where they go on.
pub(crate) fn list_metadata(page: &Page, custom: bool) -> Value {
    let mut metadata = Map::new();
    match &page.continue_token {
        Some(token) => {
            metadata.insert("continue".to_owned(), json!(token));
        }
        None if custom => {
            metadata.insert("continue".to_owned(), json!(""));
        }
        None => {}
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), json!(remaining));
    }
    metadata.insert("resourceVersion".to_owned(), json!(page.version.to_string()));
    Value::Object(metadata)
}

fn is_plain(style: Style) -> bool {
    style.wanted.form == Form::Whole && style.wanted.format == Format::Json && !style.pretty
}

fn object(code: u16, resource: &Resource, value: &Value, style: Style) -> Result<Response<Outgoing>, Status> {
    let answer = |value: &Value| response::value(code, style.wanted.format, style.pretty, value);
    // Some verbs answer with a Status where an object could be: it has no other form.
    if value.get("kind").and_then(Value::as_str) == Some("Status") {
        return Ok(answer(value));
    }
    let meta = style.wanted.meta.api_version();
    match style.wanted.form {
        Form::Whole => Ok(answer(value)),
        Form::Metadata => Ok(answer(
            &json!({"kind": "PartialObjectMetadata", "apiVersion": meta, "metadata": value.get("metadata").unwrap_or(&Value::Null)}),
        )),
        Form::MetadataList => Err(not_a_list(resource)),
        Form::Table => Ok(answer(&rows::of_object(resource, value, style))),
    }
}

fn list(code: u16, page: &Page, style: Style) -> Result<Response<Outgoing>, Status> {
    let written = match style.wanted.form {
        Form::Whole => whole_list(page),
        Form::MetadataList => metadata_list(page, style.wanted.meta.api_version()),
        Form::Table => rows::of_page(page, style),
        Form::Metadata => {
            return Err(wrong_shape(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                page.resource.list_kind
            )));
        }
    };
    if style.wanted.format == Format::Json && !style.pretty {
        return Ok(response::full(code, Format::Json.content_type(), written));
    }
    let value: Value =
        serde_json::from_slice(&written).map_err(|error| Status::new(500, "InternalError", format!("Internal error occurred: {error}")))?;
    Ok(response::value(code, style.wanted.format, style.pretty, &value))
}

fn not_a_list(resource: &Resource) -> Status {
    wrong_shape(format!("you requested PartialObjectMetadataList, but the requested object is not a list ({})", resource.kind))
}

/// The items as they lie in the store: those of built-in kinds without apiVersion and kind, as the real server writes them.
fn whole_list(page: &Page) -> Vec<u8> {
    let api_version = page.resource.api_version();
    let custom = page.resource.is_custom();
    let head = custom.then_some((api_version.as_str(), &*page.resource.kind));
    let mut out = start(page, &page.resource.list_kind, &api_version, custom);
    items(page, &mut out, |item, out| item.write(head, out));
    out
}

fn metadata_list(page: &Page, meta: &str) -> Vec<u8> {
    let mut out = start(page, Form::MetadataList.kind(), meta, false);
    items(page, &mut out, |item, out| write_partial(meta, metadata_of(item), out));
    out
}

/// Everything up to the items.
fn start(page: &Page, kind: &str, api_version: &str, custom: bool) -> Vec<u8> {
    let size: usize = page.items.iter().map(|item| item.json.len().saturating_add(64)).sum();
    let mut out = Vec::with_capacity(size.saturating_add(256));
    let metadata = list_metadata(page, custom);
    out.extend_from_slice(
        format!("{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[", json!(kind), json!(api_version)).as_bytes(),
    );
    out
}

fn items(page: &Page, out: &mut Vec<u8>, mut write: impl FnMut(&Stored, &mut Vec<u8>)) {
    for (index, item) in page.items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.extend_from_slice(b"]}\n");
}

#[cfg(test)]
pub(crate) mod tests;
