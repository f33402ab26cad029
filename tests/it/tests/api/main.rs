//! The real API server and the embedded one, asked the same: `cargo test --workspace --test api`.
//!
//! `checks.yaml` holds requests with what must come back, `kubectl.yaml` commands whose outputs
//! must be equal; a Go program follows changes as client-go does. Every check and every command is
//! one test, named after its server: `-- real/` or `-- embedded/` runs one side, `-- kubectl/` the
//! commands of both. A sequence is always played as a whole, since later steps live on what
//! earlier ones left behind.

#![allow(clippy::print_stderr, reason = "how many passed is for the one who runs it")]

mod assertion;
mod check;
mod client_go;
mod http;
mod kubectl;
mod normal;
mod play;
mod report;
mod server;
mod text;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Builder;

use crate::check::Checks;
use crate::kubectl::Script;
use crate::report::{Outcome, Report, Verdict};
use wharf_testkit::Kind;

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let (checks, script) = (Checks::load()?, Script::load()?);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let wants = |name: &str| !arguments.list && !arguments.is_filtered_out(&Trial::test(name.to_owned(), || Ok(())));
    let mut trials = Vec::new();
    // The real server is first: what its kubectl printed is what the embedded one's must print.
    let mut real_outputs = None;
    for kind in Kind::ALL {
        let names = |prefix: &str, ids: Vec<String>| ids.into_iter().map(|id| format!("{}/{prefix}{id}", kind.name())).collect::<Vec<_>>();
        let (http, commands) = (names("", checks.ids()), names("kubectl/", script.ids()));
        if http.iter().any(|name| wants(name)) {
            // On this thread, which outlives the sequence: the servers end with it.
            let report = runtime.block_on(play::play(kind, &checks)).unwrap_or_else(|error| Report::all(checks.ids(), &error));
            eprintln!("{}: {}", kind.name(), report.summary());
            trials.extend(report.outcomes.into_iter().zip(http).map(trial));
        } else {
            trials.extend(http.into_iter().map(|name| trial((Outcome::unasked(), name))));
        }
        let compared = kind == Kind::Embedded && commands.iter().any(|name| wants(name));
        let wanted = commands.iter().any(|name| wants(name));
        if compared && real_outputs.is_none() {
            real_outputs = Some(runtime.block_on(kubectl::run(Kind::Real, &script)).context("run kubectl on the real server")?);
        }
        if wanted {
            let outputs = runtime.block_on(kubectl::run(kind, &script));
            let report = match &outputs {
                Ok(outputs) => kubectl::judge(&script, outputs, real_outputs.as_deref()),
                Err(error) => Report::all(script.ids(), error),
            };
            eprintln!("{} kubectl: {}", kind.name(), report.summary());
            trials.extend(report.outcomes.into_iter().zip(commands).map(trial));
            if kind == Kind::Real {
                real_outputs = outputs.ok();
            }
        } else {
            trials.extend(commands.into_iter().map(|name| trial((Outcome::unasked(), name))));
        }
        let name = format!("{}/client-go", kind.name());
        if wants(&name) {
            let figures = runtime.block_on(client_go::run(kind));
            if let Ok(figures) = &figures {
                eprintln!("{} client-go: {}", kind.name(), figures.trim());
            }
            trials.push(trial((Outcome::of(figures.map(drop).map_err(|error| format!("{error:#}"))), name)));
        } else {
            trials.push(trial((Outcome::unasked(), name)));
        }
    }
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

/// A test that tells what is known already.
fn trial((outcome, name): (Outcome, String)) -> Trial {
    match outcome.verdict {
        Verdict::Passed => Trial::test(name, || Ok(())),
        Verdict::Skipped(why) => Trial::test(name, || Ok(())).with_kind(format!("skipped: {why}")).with_ignored_flag(true),
        Verdict::Failed(why) => Trial::test(name, move || Err(why.into())),
    }
}

/// Where this program's data lies.
fn data(file: &str) -> Result<String> {
    let path = wharf_testkit::paths::root().join("tests/it/tests/api").join(file);
    std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}
