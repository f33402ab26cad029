//! `wharf dev` and `wharf apiserver`: what somebody at a desk has instead of a cluster. Owns the two commands' entries.

mod apiserver;
mod changes;
mod document;
mod folder;
mod manifests;
mod run;
mod source;

pub(crate) use run::run;

/// `wharf apiserver`.
pub(crate) fn apiserver(args: &crate::args::ApiserverArgs) -> Result<u8, crate::report::CliError> {
    apiserver::run(args)
}
