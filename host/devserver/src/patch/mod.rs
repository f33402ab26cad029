//! The patch types but apply: JSON Patch, merge patch, strategic merge patch. Pure functions on JSON.

mod bounds;
mod json;
mod merge;
mod order;
mod strategic;
mod strategic_errors;
mod structure;

pub(crate) use json::json_patch;
pub(crate) use merge::merge_patch;
pub(crate) use strategic::strategic_merge_patch;

pub(crate) use bounds::{MAX_DEPTH, deeper_than};
pub(crate) use structure::Structure;
/// What the tests of patches and of server-side apply share.
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::strategic::tests::{anything, everything};
    pub(crate) use super::structure::tests::Described;
}
