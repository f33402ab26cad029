//! What a request does: create, update, patch, apply, delete, get, list, watch, and subresources. Nothing else commits.
//!
//! `http` makes a [`Request`], calls [`Api::serve`], and shapes the [`Answer`]. Nothing here knows HTTP but status codes.

mod addresses;
mod answer;
mod api;
mod body;
mod cluster;
mod create;
mod definitions;
pub(crate) mod delete;
pub(crate) mod events;
mod list;
pub(crate) mod object;
pub(crate) mod options;
mod own;
mod pods;
pub(crate) mod policy;
mod query;
mod request;
mod scale;
pub(crate) mod update;
mod watch;

pub(crate) use answer::{Answer, Body};
pub use api::{Api, ApiOptions};
pub(crate) use list::Token as ContinueToken;
pub use own::{Applied, ObjectName};
pub(crate) use query::Query;
pub(crate) use request::{Content, Payload, Request, Verb};
pub(crate) use watch::{Watch, WatchEvent};

pub(crate) use body::reread;
pub(crate) use cluster::one as make;
pub(crate) use definitions::establish as establish_definitions;
