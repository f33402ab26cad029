//! The shape of objects: fields, lists with keys, atomic parts; the same questions for built-in types and for the schemas of
//! CustomResourceDefinitions, so that strategic merge patch and server-side apply ask once.
//!
//! Owns the generated table of Kubernetes' own types, and decoding by it (JSON and protobuf). Decides nothing about a request.

mod decode;
mod duplicates;
mod proto;
mod quantity;
mod scalar;
mod shape;
mod table;
mod time;
mod types;
mod wire;

pub(crate) use decode::decode;
pub(crate) use duplicates::duplicates;
pub(crate) use proto::decode_protobuf;
pub(crate) use quantity::Quantity;
pub(crate) use shape::{ListKind, MergeKind, Shape, builtin_meta};
pub(crate) use table::TEXT;
pub(crate) use time::time_text;
pub(crate) use types::{Kind, Place, TypeId};
