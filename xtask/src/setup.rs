//! `cargo xtask setup`: everything that tests and demo need. Owns the order; what is
//! there already costs a second or two.

use std::path::Path;

use anyhow::Result;

use crate::step::{cargo, run, step};
use crate::{cluster, guests, peers};

/// Builds the cluster tools, the client-go programs beside which tests run, the host, and with it
/// the guests.
///
/// # Errors
/// If one of them fails; the text says what to do.
pub(crate) fn all(root: &Path) -> Result<()> {
    cluster::build(root)?;
    cluster::build_informers(root)?;
    peers::build(root, "informer-dump")?;
    host(root)?;
    step("build the example plugins and the test guests", || guests::build(root))
}

/// Builds the host.
///
/// # Errors
/// If that fails.
pub(crate) fn host(root: &Path) -> Result<()> {
    // All binaries at once: then the dependencies are built with the same features as for the
    // tests, and once.
    step("build the host", || run(cargo().current_dir(root).args(["build", "--workspace", "--bins"])))
}
