//! Where things lie in a checkout: binaries, guests, tools. Owns the layout of `target`;
//! never builds what is missing, but says which command does.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// The root of the checkout.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Folder of the tools of the test cluster: kube-apiserver, etcd (`server`) and kubectl.
pub fn cluster_tools() -> PathBuf {
    target().join("cluster").join("bin")
}

/// One tool of the test cluster.
///
/// # Errors
/// If it was not built yet.
pub fn cluster_tool(name: &str) -> Result<PathBuf> {
    present(cluster_tools().join(name), "cargo xtask cluster")
}

/// The host binary: `WHARF_BINARY` if that is set, else the one of the profile that the
/// running program was built in.
///
/// # Errors
/// If it was not built yet.
pub fn wharf() -> Result<PathBuf> {
    if let Some(path) = env::var_os("WHARF_BINARY") {
        return present(path.into(), "a correct WHARF_BINARY");
    }
    let program = env::current_exe().context("find the running program")?;
    let mut folder = program.parent().context("the running program has no folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("the running program has no profile folder")?;
    }
    present(folder.join("wharf"), "cargo build -p wharf")
}

/// A component that was built by `cargo xtask guests`, by the name of its file without
/// `.wasm`.
///
/// # Errors
/// If it was not built yet.
pub fn guest(name: &str) -> Result<PathBuf> {
    present(target().join("guests").join(format!("{name}.wasm")), "cargo xtask guests")
}

/// A program beside which wharf is tested or measured, from `tests/bench/peers`.
///
/// # Errors
/// If it was not built yet.
pub fn peer(name: &str) -> Result<PathBuf> {
    present(target().join("peers").join(name), "cargo xtask setup")
}

fn present(path: PathBuf, command: &str) -> Result<PathBuf> {
    ensure!(path.is_file(), "{} is not there; make it with: {command}", path.display());
    Ok(path)
}
