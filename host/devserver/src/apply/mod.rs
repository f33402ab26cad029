//! Server-side apply and the ownership of fields (`metadata.managedFields`).
//!
//! Owns sets of field paths, FieldsV1, merging by ownership and conflicts. Works on JSON values and a [`Shape`]; no IO.

mod compare;
mod configuration;
mod conflicts;
mod fields;
mod fields_v1;
mod last_applied;
mod managed;
mod merge;
mod owners;
mod typed;

use serde_json::Value;

use crate::schema::Shape;
use crate::status::Status;

/// Who writes, how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    /// `fieldManager`, else the User-Agent up to `/`, else `unknown`.
    pub(crate) manager: &'a str,
    /// Of the request, e.g. `apps/v1`.
    pub(crate) api_version: &'a str,
    /// `status`, `scale`; none for the object itself.
    pub(crate) subresource: Option<&'a str>,
    /// RFC 3339 with seconds.
    pub(crate) now: &'a str,
}

/// Applies `config` to `live` (none: the object is made). The result is not defaulted or validated yet; its `managedFields` are those
/// of the others and of this writer's applied set. After defaulting, [`settle`] has the last word; [`track`] is for other writes only.
///
/// # Errors
/// 409 with all conflicts unless `force`; 500 for a field that the schema does not declare; 400 for managedFields in the config.
pub(crate) fn apply(live: Option<&Value>, config: &Value, shape: Shape<'_>, writer: Writer<'_>, force: bool) -> Result<Value, Status> {
    configuration::apply(live, config, shape, writer, force)
}

/// Brings `managedFields` of `new` up to date after a create, update or patch (not apply) by `writer`: fields that changed against `old`
/// become this writer's Update entry and leave the entries of others; removed fields leave all. `[{}]` in `new` clears; wrong or absent
/// ones are replaced by `old`'s, and so are all that come through a subresource. An object whose owners were cleared stays without
/// owners until the next apply, as on the real server.
pub(crate) fn track(old: Option<&Value>, new: &mut Value, shape: Shape<'_>, writer: Writer<'_>) {
    owners::track(old, new, shape, writer);
}

/// After an apply and defaulting: if nothing but the times of entries would change, the old entries are kept so that the write is none.
pub(crate) fn settle(live: Option<&Value>, new: &mut Value) {
    owners::settle(live, new);
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod builtin_tests;
