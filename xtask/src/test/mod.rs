//! `cargo xtask test`: sets up and runs every test: those of the workspace, the scenarios
//! among them, and the native ones of plugins and SDKs in all languages, by each language's
//! own tool. Owns the order and what the arguments choose; the suites are in `native`, the
//! counting in `tally`.

mod native;
mod tally;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use self::tally::{Format, Tally};
use crate::setup;
use crate::step::cargo;

/// Runs all tests, also after one failed. With arguments only those that they choose, of the
/// tests that cargo runs: `cargo xtask test NAME`, or `cargo xtask test -p wharf-it --test
/// scenarios -- NAME`.
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
    tally.run("tests of the workspace", Format::Cargo, command.args(args))?;
    if !one_package {
        for mut suite in native::suites(root)? {
            if suite.format == Format::Cargo {
                suite.command.args(args);
            } else if !args.is_empty() {
                continue;
            }
            native::prepare(&suite)?;
            tally.run(&suite.headline, suite.format, &mut suite.command)?;
        }
    }
    println!("{}", tally.summary(start.elapsed().as_secs()));
    Ok(if tally.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
