//! What test programs count, whatever tool runs them. Owns reading their output, and the
//! summary.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::step::name;

/// Whose output it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `cargo test`.
    Cargo,
    /// `go test -v`.
    Go,
    /// `python3 -m unittest`, which writes to standard error.
    Python,
    /// `node --test`.
    Node,
    /// `sdk/c/test.sh`.
    C,
}

/// What the test programs counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    programs: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    /// Runs that ended with an error.
    broken: Vec<String>,
}

impl Tally {
    /// Runs one tool, shows what it prints and counts the results in it.
    ///
    /// # Errors
    /// If it cannot be started. A tool that counts nothing is broken.
    pub(super) fn run(&mut self, headline: &str, format: Format, command: &mut Command) -> Result<()> {
        eprintln!("==> {headline}");
        let before = self.programs;
        let stderr = format == Format::Python;
        let piped = if stderr { command.stderr(Stdio::piped()) } else { command.stdout(Stdio::piped()) };
        let mut child = piped.spawn().with_context(|| format!("cannot start {}", name(command)))?;
        let output: Option<Box<dyn Read>> =
            if stderr { child.stderr.take().map(|pipe| Box::new(pipe) as _) } else { child.stdout.take().map(|pipe| Box::new(pipe) as _) };
        for line in BufReader::new(output.context("the tests have no output")?).lines() {
            let line = line.context("read the tests' output")?;
            println!("{line}");
            self.count(format, &line);
        }
        if !child.wait().context("wait for the tests")?.success() || self.programs == before {
            self.broken.push(headline.to_owned());
        }
        Ok(())
    }

    /// Counts what one line says.
    fn count(&mut self, format: Format, line: &str) {
        match format {
            Format::Cargo => self.count_cargo(line),
            Format::Go => self.count_go(line),
            Format::Python => self.count_python(line),
            Format::Node => self.count_node(line),
            Format::C => self.count_c(line),
        }
    }

    /// `test result: ok. 10 passed; 0 failed; 0 ignored; …`
    fn count_cargo(&mut self, line: &str) {
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

    /// `--- PASS: TestName (0.00s)`, and `ok` or `FAIL` with a package. Subtests are indented.
    fn count_go(&mut self, line: &str) {
        let ended = |word: &str| line.starts_with(&format!("--- {word}: "));
        if ended("PASS") {
            self.passed += 1;
        } else if ended("FAIL") {
            self.failed += 1;
        } else if ended("SKIP") {
            self.ignored += 1;
        } else if line.starts_with("ok  \t") || line.starts_with("FAIL\t") {
            self.programs += 1;
        }
    }

    /// `Ran 12 tests in 0.003s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=2)`.
    fn count_python(&mut self, line: &str) {
        if let Some(number) = line.strip_prefix("Ran ").and_then(|rest| rest.split(' ').next()).and_then(|word| word.parse::<u32>().ok()) {
            self.programs += 1;
            self.passed += number;
        } else if line.starts_with("OK (") || line.starts_with("FAILED (") {
            for part in line.split(['(', ')', ',']) {
                let Some((word, number)) = part.trim().split_once('=') else { continue };
                let number: u32 = number.parse().unwrap_or(0);
                self.passed = self.passed.saturating_sub(number);
                match word {
                    "failures" | "errors" => self.failed += number,
                    _ => self.ignored += number,
                }
            }
        }
    }

    /// `# pass 5`, or with another reporter `ℹ pass 5`.
    fn count_node(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else { return };
        let Some((word, number)) = rest.split_once(' ') else { return };
        let Ok(number) = number.trim().parse::<u32>() else { return };
        match word {
            "pass" => {
                self.programs += 1;
                self.passed += number;
            }
            "fail" | "cancelled" => self.failed += number,
            "skipped" | "todo" => self.ignored += number,
            _ => {}
        }
    }

    /// `label-guard-c: 23 checks, 0 failed`: one program, which is one test here.
    fn count_c(&mut self, line: &str) {
        let Some(numbers) = line.strip_suffix(" failed").and_then(|rest| rest.split_once(" checks, ")) else { return };
        self.programs += 1;
        if numbers.1 == "0" {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    /// Did everything that ran pass?
    pub(super) fn good(&self) -> bool {
        self.broken.is_empty() && self.failed == 0
    }

    /// One line about all of it.
    pub(super) fn summary(&self, seconds: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(format: Format, lines: &[&str]) -> (u32, u32, u32, u32) {
        let mut tally = Tally::default();
        for line in lines {
            tally.count(format, line);
        }
        (tally.programs, tally.passed, tally.failed, tally.ignored)
    }

    #[test]
    fn every_tool_is_understood() {
        for (format, lines, numbers) in [
            (
                Format::Cargo,
                &[
                    "running 10 tests",
                    "test result: ok. 10 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.21s",
                    "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 7s",
                ][..],
                (2, 13, 1, 1),
            ),
            (
                Format::Go,
                &[
                    "=== RUN   TestA",
                    "--- PASS: TestA (0.00s)",
                    "    --- PASS: TestA/sub (0.00s)",
                    "--- FAIL: TestB (0.00s)",
                    "--- SKIP: TestC",
                    "FAIL\tgithub.com/x\t0.1s",
                    "ok  \tgithub.com/y\t0.1s",
                ],
                (2, 1, 1, 1),
            ),
            (Format::Python, &["Ran 12 tests in 0.003s", "", "FAILED (failures=1, errors=2, skipped=1)"], (1, 8, 3, 1)),
            (Format::Python, &["Ran 1 test in 0.003s", "OK"], (1, 1, 0, 0)),
            (Format::Node, &["# tests 4", "# pass 3", "# fail 1", "# skipped 0", "ℹ pass 2", "# Subtest: pass 5"], (2, 5, 1, 0)),
            (Format::C, &["sdk: 120 checks, 0 failed", "counter: 3 checks, 1 failed", "other"], (2, 1, 1, 0)),
        ] {
            assert_eq!(counted(format, lines), numbers, "{format:?}");
        }
    }

    #[test]
    fn the_summary_counts_all() {
        let tally = Tally { programs: 2, passed: 13, failed: 1, ignored: 1, broken: Vec::new() };
        let summary = tally.summary(75);
        assert!(summary.contains("FAILED: 13 passed, 1 failed, 1 ignored in 2 test programs, 1m15s"), "{summary}");
    }

    #[test]
    fn a_run_that_breaks_or_counts_nothing_is_not_good() {
        for script in ["echo '# pass 5'; exit 1", "echo no results"] {
            let mut tally = Tally::default();
            tally.run("the suite", Format::Node, Command::new("/bin/sh").args(["-c", script])).unwrap();
            assert!(!tally.good());
            assert!(tally.summary(1).ends_with("failed: the suite"), "{script}");
        }
        let mut tally = Tally::default();
        tally.run("the suite", Format::Python, Command::new("/bin/sh").args(["-c", "echo Ran 1 test in 1s >&2"])).unwrap();
        assert!(tally.good());
    }
}
