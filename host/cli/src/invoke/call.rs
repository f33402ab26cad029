//! The call itself, in the real engine. Owns the order of the steps, which is a host's own:
//! load, check imports, check the configuration, describe, call. Prints nothing but that it is
//! still compiling, to a person who waits.

use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wharf_core::plugin::{Description, Isolation, Limits, read_description};
use wharf_core::printable;
use wharf_core::{Failure, Reason, Strike};
use wharf_engine::{Artifact, BinaryKind, CallReport, Engine, EngineConfig, LoadError, Revision, RevisionSpec};

use super::args::InvokeArgs;
use super::asked::Asked;
use super::case::Case;
use super::plugin::Plugin;
use super::ports::{Record, Recorder};
use super::{cache, input};
use crate::exit;
use crate::report::CliError;

/// So long a person waits without being told what for.
const PATIENCE: Duration = Duration::from_secs(1);

/// All that there is to say about a call.
pub(super) struct Report {
    pub(super) plugin: Plugin,
    pub(super) case: Case,
    pub(super) artifact: Arc<Artifact>,
    /// What was made ready in, from the file to the first function.
    pub(super) load: Duration,
    pub(super) description: Description,
    pub(super) limits: Limits,
    pub(super) subscription: Arc<str>,
    pub(super) notes: Vec<String>,
    pub(super) call: CallReport,
    pub(super) record: Record,
}

/// Makes the call.
///
/// # Errors
/// When the component is refused before its handler is called.
pub(super) async fn make(args: &InvokeArgs, plugin: Plugin, case: Case, ports: Arc<Recorder>) -> Result<Report, CliError> {
    let started = Instant::now();
    let wasm = std::fs::read(&plugin.component).map_err(|e| input::failed(format!("read {}", plugin.component.display()), e))?;
    let (engine, mut notes) = engine(args)?;
    let artifact = load(&engine, &plugin.component, wasm).await?;
    let load = started.elapsed();
    // As in a host: what the component itself would like is known only after it was asked.
    let first = plugin.limits.fill(&Limits::default());
    let revision = prepare(&engine, &artifact, &plugin, first, &ports)?;
    let description = ask(&revision, args, &plugin).await?;
    let asked = Asked::of(&plugin, &description)?;
    let (subscription, found) = asked.subscription(case.subscription.as_deref(), &case)?;
    notes.extend(case.note.clone());
    notes.extend(found);
    let limits = asked.limits;
    let revision = if limits == first { revision } else { prepare(&engine, &artifact, &plugin, limits, &ports)? };
    let call = revision.call(case.delivery(&subscription)).await;
    notes.extend(unlisted(&call, &description));
    if let Some(file) = &args.coredump {
        notes.push(core_dump(file, &call)?);
    }
    let record = ports.take();
    if record.uses_left_out > 0 {
        notes.push(format!("{} more uses of the cluster are not shown", record.uses_left_out));
    }
    if call.log_dropped > 0 {
        notes.push(format!("{} log lines were dropped: a call has 200", call.log_dropped));
    }
    Ok(Report { plugin, case, artifact, load, description, limits, subscription, notes, call, record })
}

/// An engine for one call at a time. A cache that was not asked for by name may fail.
fn engine(args: &InvokeArgs) -> Result<(Engine, Vec<String>), CliError> {
    let config =
        |cache_dir| EngineConfig { instances: 2, threads: 1, cache_dir, core_dumps: args.coredump.is_some(), ..EngineConfig::default() };
    let failed = |error| input::failed("start the engine", error);
    let folder = cache::folder(args, |name| std::env::var_os(name));
    match Engine::new(config(folder.clone())) {
        Ok(engine) => Ok((engine, Vec::new())),
        Err(error) if folder.is_some() && args.cache_dir.is_none() => {
            let note = format!("compiled components are not kept: {error}; --cache-dir names another folder");
            Ok((Engine::new(config(None)).map_err(failed)?, vec![note]))
        }
        Err(error) => Err(failed(error)),
    }
}

async fn load(engine: &Engine, file: &Path, wasm: Vec<u8>) -> Result<Arc<Artifact>, CliError> {
    let wasm: Arc<[u8]> = wasm.into();
    let loaded = {
        let mut loading = std::pin::pin!(engine.load(Arc::clone(&wasm)));
        match tokio::time::timeout(PATIENCE, &mut loading).await {
            Ok(loaded) => loaded,
            Err(_) => {
                say_that_it_compiles(file);
                loading.await
            }
        }
    };
    loaded.map_err(|error| {
        let refused = refused(file, &error);
        match wharf_engine::inspect(&wasm).map(|inspection| inspection.kind) {
            Ok(BinaryKind::CoreModule) => refused.hint("`wharf build` makes a component of a core module"),
            Ok(BinaryKind::Other) => refused.hint("name a file that `wharf build` made; `wharf inspect` shows what a file is"),
            _ => refused,
        }
    })
}

/// If standard error is no terminal, or closed, nobody waits in front of it.
fn say_that_it_compiles(file: &Path) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _closed = writeln!(stderr, "compiling {} …", file.display());
    }
}

fn prepare(
    engine: &Engine,
    artifact: &Arc<Artifact>,
    plugin: &Plugin,
    limits: Limits,
    ports: &Arc<Recorder>,
) -> Result<Arc<Revision>, CliError> {
    let spec = RevisionSpec {
        name: plugin.name.clone(),
        limits,
        grants: plugin.grants.clone(),
        config: Arc::clone(&plugin.config),
        ports: Arc::<Recorder>::clone(ports),
        isolation: Isolation::Fresh,
    };
    engine.prepare(Arc::clone(artifact), spec).map_err(|error| refused(&plugin.component, &error))
}

/// `validate-config`, then `describe`.
async fn ask(revision: &Revision, args: &InvokeArgs, plugin: &Plugin) -> Result<Description, CliError> {
    let file = plugin.component.display();
    let no = |message: String, hint: &str| CliError::new(exit::NO, message).hint(hint);
    let struck =
        |what: &str, strike: Strike| no(format!("{file}: {what} failed: {} [{}]", strike.message, strike.reason), strike.reason.hint());
    revision.validate_config().await.map_err(|strike| struck("validate-config", strike))?.map_err(|sentences| {
        let hint = match (&args.config, &plugin.document) {
            (Some(config), _) => format!("correct {}", config.display()),
            (None, Some(_)) => "correct spec.config of the document, or give another one by --config".to_owned(),
            (None, None) => "give a configuration by --config, or a Plugin document by --plugin".to_owned(),
        };
        let list: Vec<_> = sentences.iter().map(|sentence| format!("  {sentence}")).collect();
        no(format!("{file}: the component refuses its configuration [{}]\n{}", Reason::ConfigInvalid, list.join("\n")), &hint)
    })?;
    let text = revision.describe().await.map_err(|strike| struck("describe", strike))?;
    read_description(&text).map_err(|problems| {
        let lines: Vec<_> = problems.iter().map(|problem| format!("  {}", printable(&problem.to_string()))).collect();
        no(format!("{file}: describe answered something unusable\n{}", lines.join("\n")), Reason::DescribeFailed.hint())
    })
}

fn refused(file: &Path, error: &LoadError) -> CliError {
    CliError::new(exit::NO, format!("{}: {} [{}]", file.display(), error.message, error.reason)).hint(error.reason.hint())
}

/// Only its owner may read it: it has what the guest was handed.
fn core_dump(file: &Path, call: &CallReport) -> Result<String, CliError> {
    let Some(dump) = &call.core_dump else { return Ok("the call did not trap: there is no core dump".to_owned()) };
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file).and_then(|mut to| to.write_all(dump));
    written.map_err(|error| input::failed(format!("write {}", file.display()), error))?;
    Ok(format!("the core dump is in {}", file.display()))
}

/// A host counts a reason that the description does not list as another one.
fn unlisted(call: &CallReport, description: &Description) -> Option<String> {
    let (Failure::Retry(fault) | Failure::Permanent(fault)) = call.result.as_ref().ok()?.as_ref().err()?;
    let listed = description.reasons.iter().any(|reason| **reason == *fault.reason);
    (!listed).then(|| format!("the description does not list the reason {}: a host counts it as {}", fault.reason, Reason::Other))
}
