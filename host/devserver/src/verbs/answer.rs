//! What a request is answered with, before `http` shapes it (JSON or YAML, Table, metadata only).

use std::sync::Arc;

use serde_json::Value;

use super::{Watch, events};
use crate::kind::Resource;
use crate::store::Stored;

/// An answer.
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// Texts of `Warning: 299 - "…"` headers.
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) enum Body {
    /// An object of the resource: may be shown as a Table row or as metadata only. `value` has apiVersion and kind.
    Object { resource: Arc<Resource>, value: Value },
    /// The same, from the store, unparsed: shown whole it costs no parsing.
    Stored { resource: Arc<Resource>, object: Arc<Stored> },
    /// A list; `continue_token` and `remaining` as in ListMeta.
    List { resource: Arc<Resource>, version: u64, items: Vec<Arc<Stored>>, continue_token: Option<String>, remaining: Option<u64> },
    /// Events until it ends.
    Watch { resource: Arc<Resource>, watch: Box<Watch> },
    /// Something that is no object of the resource: Status, Scale, a review.
    Other(Value),
    /// `text/plain`, such as a log.
    Text(String),
}

impl Answer {
    /// An answer without warnings.
    pub(crate) fn new(code: u16, body: Body) -> Self {
        Self { code, warnings: Vec::new(), body }
    }

    /// A stored object.
    pub(crate) fn stored(code: u16, resource: &Arc<Resource>, object: Arc<Stored>) -> Self {
        let object = events::view(resource, object);
        Self::new(code, Body::Stored { resource: Arc::clone(resource), object })
    }

    /// The same with these warnings.
    #[must_use]
    pub(crate) fn warned(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}
