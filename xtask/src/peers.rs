//! Builds the programs beside which wharf is tested and measured, from the Go module in
//! `tests/bench/peers` into `target/peers`. Owns the build flags.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use wharf_testkit::paths;

use crate::step::{run, step};

/// Builds one of them, by the name of its folder in `cmd`; Go knows whether there is anything
/// to do.
///
/// # Errors
/// If Go is missing, or the build fails.
pub(crate) fn build(root: &Path, name: &str) -> Result<()> {
    let folder = paths::target().join("peers");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let mut command = Command::new("go");
    // As the cluster's tools are built: then what they share is compiled once.
    command.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -buildvcs=false");
    command.current_dir(root.join("tests/bench/peers")).args(["build", "-trimpath", "-o"]).arg(folder.join(name));
    step(&format!("build {name}"), || run(command.arg(format!("./cmd/{name}"))))
}
