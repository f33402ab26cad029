//! The embedded Kubernetes API server: enough for kubectl, client-go, controller-runtime and kube-rs, in process and in
//! milliseconds, to try, develop and test plugins and controllers without a cluster.
//!
//! Owns its own storage, list and watch, patches, server-side apply, custom resources, namespaces' end and garbage collection.
//! Runs no workloads: no scheduler, no kubelet, no Deployment becomes Pods. Never sees the host's cache, queue or engine.
//!
//! The way of a request: `http` reads it and finds the resource in `kind` → `verbs` decides → `schema` decodes, `defaults` fill,
//! `validate` refuses, `patch` and `apply` merge → `store` commits one revision → watches see it → `http` shapes the answer
//! (`table`, metadata only, one object or a list).

mod apply;
mod bounded;
mod collect;
mod crd;
mod defaults;
pub mod fault;
#[doc(hidden)]
pub mod fuzz;
mod http;
mod json;
mod kind;
mod patch;
mod schema;
mod select;
mod server;
mod status;
mod store;
mod table;
mod validate;
mod verbs;
pub mod yaml;

pub use server::{Anonymous, Authorization, Running, Server, ServerOptions, Tls, Token};
pub use status::Status;
pub use store::StoreOptions;
pub use verbs::{Api, ApiOptions, Applied, ObjectName};
