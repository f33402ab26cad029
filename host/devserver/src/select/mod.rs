//! Label and field selectors of list and watch, with the real server's errors.
//!
//! Parsed once per request, matched against stored objects. Never knows which request they belong to.

mod field;
mod fields;
mod label;
mod lexer;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;
