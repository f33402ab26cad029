//! Toolchains that are not there, or are too old: each is named with the way to get it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::support::{Scratch, bare_build, fails};

/// A program that prints one line and nothing else.
fn fake(folder: &Path, name: &str, line: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\necho '{line}'\n"))?;
    Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
}

fn plugins(scratch: &Scratch) -> Result<[(PathBuf, &'static str); 4]> {
    let pyproject = "[project]\nname = \"x\"\nversion = \"0.1.0\"\n";
    let package = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    Ok([
        (scratch.folder("rust", &[("Cargo.toml", package), ("src/lib.rs", "")])?, "rustc"),
        (scratch.folder("go", &[("go.mod", "module x\n"), ("main.go", "package main\n")])?, "go"),
        (scratch.folder("python", &[("pyproject.toml", pyproject), ("plugin.py", "")])?, "python3"),
        (scratch.folder("js", &[("package.json", "{\"main\": \"plugin.js\"}"), ("plugin.js", "")])?, "node"),
    ])
}

#[test]
fn a_toolchain_that_is_too_old_is_named_with_both_versions() -> Result<()> {
    let scratch = Scratch::new()?;
    let bin = scratch.folder("bin", &[])?;
    for (name, line) in
        [("rustc", "rustc 1.70.0 (90c541806 2023-05-31)"), ("go", "go1.21.3"), ("python3", "Python 3.8.10"), ("node", "v16.20.2")]
    {
        fake(&bin, name, line)?;
    }
    let versions = [
        ("rustc 1.70.0", "1.95.0", "rustup update"),
        ("go 1.21.3", "1.26.0", "install Go"),
        ("python3 3.8.10", "3.10.0", "install Python"),
        ("node 16.20.2", "20.0.0", "install Node.js"),
    ];
    for ((folder, _), (found, needed, hint)) in plugins(&scratch)?.iter().zip(versions) {
        let mut command = bare_build(folder)?;
        command.env("PATH", &bin).env_remove("RUSTC").env_remove("CARGO");
        fails(&mut command, &[&format!("{found} is too old: {needed} or newer is needed")], hint)?;
    }
    Ok(())
}

#[test]
fn a_toolchain_that_is_missing_is_named_with_the_way_to_get_it() -> Result<()> {
    let scratch = Scratch::new()?;
    let bin = scratch.folder("bin", &[])?;
    for (folder, program) in plugins(&scratch)? {
        let mut command = bare_build(&folder)?;
        command.env("PATH", &bin).env_remove("RUSTC").env_remove("CARGO");
        fails(&mut command, &[&format!("{program} is needed and cannot be started")], "install ")?;
    }
    // C needs Python to install its compiler.
    let c = scratch.folder("c", &[("plugin.c", "")])?;
    fails(bare_build(&c)?.env("PATH", &bin), &["python3 is needed"], "install Python")?;
    Ok(())
}
