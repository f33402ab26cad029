//! What to look at. Pure data: names and selectors were checked by who asks.

use wharf_core::ResourceKind;

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The kind, from a [`Catalog`](wharf_cache::Catalog).
    pub kind: ResourceKind,
    /// One namespace; `None`: all. Without effect for kinds that are in none.
    pub namespace: Option<String>,
    /// Label selector in the API's syntax; may be empty.
    pub label_selector: String,
    /// Field selector in the API's syntax; may be empty.
    pub field_selector: String,
}
