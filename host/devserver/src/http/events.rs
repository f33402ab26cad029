//! Events of a watch as JSON lines: whole objects, Tables, or metadata only.

use std::sync::Arc;

use serde_json::{Value, json};

use super::accept::Form;
use super::rows;
use super::shape::{Style, metadata_of, write_partial};
use crate::kind::Resource;
use crate::store::Stored;
use crate::verbs::WatchEvent;

/// The annotation that ends the initial events.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// Writes the events of one watch.
pub(crate) struct Lines {
    resource: Arc<Resource>,
    api_version: String,
    style: Style,
    /// Whether a Table's definitions were sent.
    begun: bool,
}

impl Lines {
    pub(crate) fn new(resource: Arc<Resource>, style: Style) -> Self {
        let api_version = resource.api_version();
        Self { resource, api_version, style, begun: false }
    }

    /// For ages: seconds since the epoch.
    pub(crate) fn set_now(&mut self, now: i64) {
        self.style.now = now;
    }

    /// Appends one event as a line.
    pub(crate) fn write(&mut self, event: &WatchEvent, out: &mut Vec<u8>) {
        match event {
            WatchEvent::Change { kind, object, version } => self.change(kind, object, *version, out),
            WatchEvent::Bookmark { version, initial_end } => self.bookmark(*version, *initial_end, out),
            WatchEvent::Error(status) => line("ERROR", &status.to_json(), out),
        }
    }

    fn change(&mut self, kind: &str, object: &Stored, version: u64, out: &mut Vec<u8>) {
        // What left a selector is shown as it was, at the version at which it left.
        let moved = version != object.version;
        match self.style.wanted.form {
            Form::Whole if !moved => {
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
                object.write(Some((&self.api_version, &self.resource.kind)), out);
                out.extend_from_slice(b"}\n");
            }
            Form::Metadata | Form::MetadataList if !moved => {
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
                write_partial(self.style.wanted.meta.api_version(), metadata_of(object), out);
                out.extend_from_slice(b"}\n");
            }
            _ => {
                let mut value = object.value(&self.api_version, &self.resource.kind);
                if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
                    metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
                }
                let shown = self.shown(value);
                line(kind, &shown, out);
            }
        }
    }

    fn bookmark(&mut self, version: u64, initial_end: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let (true, Value::Object(metadata)) = (initial_end, &mut metadata) {
            metadata.insert("annotations".to_owned(), json!({INITIAL_END: "true"}));
        }
        let shown = self.shown(json!({"kind": &*self.resource.kind, "apiVersion": self.api_version, "metadata": metadata}));
        line("BOOKMARK", &shown, out);
    }

    fn shown(&mut self, object: Value) -> Value {
        match self.style.wanted.form {
            Form::Whole => object,
            Form::Metadata | Form::MetadataList => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": self.style.wanted.meta.api_version(), "metadata": object.get("metadata")})
            }
            Form::Table => {
                let first = !std::mem::replace(&mut self.begun, true);
                rows::of_event(&self.resource, &object, first, self.style)
            }
        }
    }
}

fn line(kind: &str, object: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").as_bytes());
}

#[cfg(test)]
mod tests;
