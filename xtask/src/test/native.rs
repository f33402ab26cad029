//! The native tests of plugins and SDKs: which there are, and the command of each. A folder's
//! language is told by the same files as for `wharf build`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use wharf_testkit::paths;

use super::tally::Format;
use crate::step::{cargo, run};

/// Folders whose subfolders may have tests.
const FOLDERS: [&str; 2] = ["plugins", "sdk"];

/// One run of a language's test tool.
pub(super) struct Suite {
    pub(super) headline: String,
    pub(super) format: Format,
    pub(super) command: Command,
    /// The folder of an npm package that needs its dependencies.
    npm: Option<PathBuf>,
}

/// All suites of the repository but those of the workspace.
///
/// # Errors
/// If a folder cannot be read.
pub(super) fn suites(root: &Path) -> Result<Vec<Suite>> {
    let mut suites = Vec::new();
    let mut c = Vec::new();
    for folder in FOLDERS {
        for folder in subfolders(&root.join(folder))? {
            if folder.join("plugin.c").is_file() {
                c.push(folder);
            } else {
                suites.extend(suite(root, &folder));
            }
        }
    }
    // One script builds the C SDK once and tests it and all plugins.
    let mut command = Command::new("sh");
    command.current_dir(root).arg(root.join("sdk/c/test.sh")).args(c);
    suites.push(Suite { headline: "native tests of the C SDK and plugins".to_owned(), format: Format::C, command, npm: None });
    Ok(suites)
}

/// Installs what a suite needs that is not there.
///
/// # Errors
/// If that fails.
pub(super) fn prepare(suite: &Suite) -> Result<()> {
    let Some(folder) = suite.npm.as_ref().filter(|folder| !folder.join("node_modules").is_dir()) else { return Ok(()) };
    run(Command::new("npm").current_dir(folder).args(["install", "--no-audit", "--no-fund", "--no-package-lock"]))
}

fn suite(root: &Path, folder: &Path) -> Option<Suite> {
    let has = |file: &str| folder.join(file).is_file();
    let (format, mut command) = if has("Cargo.toml") {
        // The SDK is a member of the workspace.
        if folder.starts_with(root.join("sdk")) {
            return None;
        }
        let mut command = cargo();
        // One target folder for all plugins: they share almost every dependency.
        command.args(["test", "--target-dir"]).arg(paths::target().join("plugins"));
        (Format::Cargo, command)
    } else if has("go.mod") {
        let mut command = Command::new("go");
        command.args(["test", "-v", "./..."]);
        (Format::Go, command)
    } else if has("pyproject.toml") {
        let mut command = Command::new("python3");
        command.args(["-B", "-m", "unittest"]).env("PYTHONPATH", root.join("sdk/python"));
        (Format::Python, command)
    } else if has("package.json") {
        let mut command = Command::new("npm");
        command.args(["test", "--silent"]);
        (Format::Node, command)
    } else {
        return None;
    };
    command.current_dir(folder);
    let name = folder.strip_prefix(root).unwrap_or(folder).display();
    let npm = (format == Format::Node && folder.starts_with(root.join("plugins"))).then(|| folder.to_owned());
    Some(Suite { headline: format!("native tests of {name}"), format, command, npm })
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_and_sdk_has_a_suite() {
        let root = paths::root();
        let suites = suites(&root).unwrap();
        let lines: Vec<String> = suites.iter().map(|suite| format!("{} {:?}", suite.headline, suite.command)).collect();
        let all = lines.join("\n");
        for folder in FOLDERS {
            for folder in subfolders(&root.join(folder)).unwrap() {
                let name = folder.strip_prefix(&root).unwrap().display().to_string();
                let elsewhere = ["sdk/rust", "sdk/c"].contains(&name.as_str());
                assert!(elsewhere || all.contains(&name), "{name} has no suite in:\n{all}");
            }
        }
    }
}
