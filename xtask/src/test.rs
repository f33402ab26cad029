//! `cargo xtask test`: sets up and runs every test: those of the workspace, the scenarios
//! among them, and the native ones of the example plugins, which have workspaces of their
//! own. Owns the summary at the end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use wharf_testkit::paths;

use crate::setup;
use crate::step::{cargo, name};

/// What the test programs counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    programs: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    /// Runs of cargo that ended with an error.
    broken: Vec<String>,
}

/// Runs all tests, also after one failed. With arguments only those that they choose:
/// `cargo xtask test NAME`, or `cargo xtask test -p wharf-it --test scenarios -- NAME`.
///
/// # Errors
/// If the set-up fails. Tests that fail are no error but the exit code.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<ExitCode> {
    let start = Instant::now();
    setup::all(root)?;
    let mut tally = Tally::default();
    let one_package = args.iter().any(|arg| arg == "-p" || arg.starts_with("--package"));
    let mut command = cargo();
    command.current_dir(root).args(["test", "--no-fail-fast"]);
    if !one_package {
        command.arg("--workspace");
    }
    tally.run("tests of the workspace", command.args(args))?;
    if !one_package {
        // One target folder for all plugins: they share almost every dependency.
        let target = paths::target().join("plugins");
        for plugin in plugins(root)? {
            let mut command = cargo();
            let manifest = plugin.join("Cargo.toml");
            command.current_dir(root).arg("test").arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target);
            let folder = plugin.file_name().unwrap_or_default().to_string_lossy().into_owned();
            tally.run(&format!("native tests of plugin {folder}"), command.args(args))?;
        }
    }
    println!("{}", tally.summary(start.elapsed().as_secs()));
    Ok(if tally.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Tally {
    /// Runs one cargo, shows what it prints and counts the results in it.
    fn run(&mut self, headline: &str, command: &mut Command) -> Result<()> {
        eprintln!("==> {headline}");
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", name(command)))?;
        let stdout = child.stdout.take().context("the tests have no output")?;
        for line in BufReader::new(stdout).lines() {
            let line = line.context("read the tests' output")?;
            println!("{line}");
            self.count(&line);
        }
        if !child.wait().context("wait for the tests")?.success() {
            self.broken.push(headline.to_owned());
        }
        Ok(())
    }

    /// Counts a line like `test result: ok. 10 passed; 0 failed; 0 ignored; …`.
    fn count(&mut self, line: &str) {
        let Some((_, numbers)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else { return };
        self.programs += 1;
        for part in numbers.split(';') {
            let mut words = part.split_whitespace();
            let Some(number) = words.next().and_then(|word| word.parse::<u32>().ok()) else { continue };
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }

    fn good(&self) -> bool {
        self.broken.is_empty() && self.failed == 0
    }

    fn summary(&self, seconds: u64) -> String {
        let word = if self.good() { "ok" } else { "FAILED" };
        let mut text = format!(
            "xtask test: {word}: {} passed, {} failed, {} ignored in {} test programs, {}m{:02}s with set-up",
            self.passed,
            self.failed,
            self.ignored,
            self.programs,
            seconds / 60,
            seconds % 60
        );
        if !self.broken.is_empty() {
            text.push_str(&format!("; failed: {}", self.broken.join(", ")));
        }
        text
    }
}

/// Folders of the example plugins that are written in Rust.
fn plugins(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("plugins");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
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
    fn counts_results() {
        let mut tally = Tally::default();
        for line in [
            "running 10 tests",
            "test result: ok. 10 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.21s",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 7s",
        ] {
            tally.count(line);
        }
        assert_eq!(tally, Tally { programs: 2, passed: 13, failed: 1, ignored: 1, broken: Vec::new() });
        let summary = tally.summary(75);
        assert!(summary.contains("FAILED: 13 passed, 1 failed, 1 ignored in 2 test programs, 1m15s"), "{summary}");
    }

    #[test]
    fn a_run_that_breaks_before_its_result_is_not_good() {
        let tally = Tally { passed: 5, broken: vec!["tests of the workspace".to_owned()], ..Tally::default() };
        assert!(!tally.good());
        assert!(tally.summary(1).ends_with("failed: tests of the workspace"));
    }
}
