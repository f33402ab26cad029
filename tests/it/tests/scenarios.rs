//! Plays every file of `tests/scenarios` with a real host against two API servers, a real one and wharf's own: a test per file and
//! server, `real/NAME` and `embedded/NAME`. `cargo test -p wharf-it --test scenarios -- NAME` plays one on both.

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Builder, Runtime};
use wharf_it::scenario::{Scenario, Shared, play};
use wharf_testkit::{Cluster, Kind, paths};

/// Scenarios mostly wait, so more of them than processors go on at a time.
const THREADS: usize = 4;

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let files = files()?;
    let runtime = Arc::new(Builder::new_multi_thread().worker_threads(2).enable_all().build()?);
    let wanted = |name: &str| !arguments.list && !arguments.is_filtered_out(&Trial::test(name.to_owned(), || Ok(())));
    let (mut trials, mut servers) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        let server = kind.name();
        // A file that cannot be read is a test that fails, once.
        let plays = |text: &str, name: &str| Scenario::parse(text, name).map_or(kind == Kind::Real, |scenario| scenario.runs_on(kind));
        let own = |text: &str, name: &str| Scenario::parse(text, name).is_ok_and(|scenario| scenario.own_cluster);
        let files: Vec<_> = files.iter().filter(|(name, text)| plays(text, name)).cloned().collect();
        let shares = files.iter().any(|(name, text)| wanted(&format!("{server}/{name}")) && !own(text, name));
        // On this thread, which outlives all scenarios: the servers end with it, and none before.
        let cluster = if shares { Some(Arc::new(runtime.block_on(Cluster::start_as(kind))?)) } else { None };
        let shared = Arc::new(Shared { kind, cluster });
        servers.push(Arc::clone(&shared));
        trials.extend(files.into_iter().map(|(name, text)| trial(server, name, text, &runtime, &shared)));
    }
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn trial(server: &str, name: String, text: String, runtime: &Arc<Runtime>, shared: &Arc<Shared>) -> Trial {
    let (runtime, shared) = (Arc::clone(runtime), Arc::clone(shared));
    Trial::test(format!("{server}/{name}"), move || {
        let played = runtime.block_on(Box::pin(play(&shared, &name, &text)));
        played.map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// Name and text of every scenario, in the order of their names.
fn files() -> Result<Vec<(String, String)>> {
    let folder = paths::root().join("tests").join("scenarios");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((name, fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?));
        }
    }
    files.sort();
    Ok(files)
}
