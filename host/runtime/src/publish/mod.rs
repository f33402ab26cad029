//! What the cluster is told of plugins: the status of each custom resource, and Events about it.
//!
//! [`outlook`] says what there is to tell of a plugin, [`document`] makes the resource's status of it
//! and compares that with what the server has; both are pure. [`told`] finds what is worth an Event.
//! [`writer`] decides when something is written, and [`resources`] is the way to the server.
//!
//! All fields are written by one manager, `wharf`, by server-side apply with force, and only by the
//! host that leads (without an election every host does). So a new leader takes over what the old one
//! wrote, its entry of `replicas` included: no entry is left behind by a host that is gone, and no
//! two hosts write the same field. A standby host has no entry: it calls nothing.
//!
//! A resource that is being deleted is no plugin's any more, and is told so as long as it is there.
//!
//! Never changes what a plugin does, and never waits for the server where a plugin could notice.

mod document;
mod outlook;
mod resources;
mod told;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use resources::ApiResources;
pub(crate) use writer::Writer;
