//! `wharf inspect`: what a WebAssembly file is, what it imports, and what it asks for.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use wharf_core::grant::{ClusterGrant, Namespaces};
use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Grants, Gvk, Verb};
use wharf_engine::{BinaryKind, Engine, EngineConfig, Inspection, NoPorts, RevisionSpec};

use crate::args::{InspectArgs, InspectOutput};
use crate::exit;
use crate::report::{CliError, print_data};

pub(crate) fn run(args: &InspectArgs) -> Result<u8, CliError> {
    let file = args.component.display();
    let wasm = std::fs::read(&args.component)
        .map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::USAGE, format!("read {file}")) })?;
    let inspection = wharf_engine::inspect(&wasm)
        .map_err(|e| CliError::new(exit::NO, format!("{file}: {} [{}]", e.message, e.reason)).hint(e.reason.hint()))?;
    let description =
        if inspection.kind == BinaryKind::Component { crate::block_on(describe(wasm.into()))? } else { Err("not a component".to_owned()) };
    let text = match args.output {
        InspectOutput::Json => format!("{:#}\n", as_json(&inspection, &description)),
        InspectOutput::Text => as_text(&inspection, &description),
    };
    print_data(&text)?;
    Ok(if description.is_ok() { exit::OK } else { exit::NO })
}

/// Asks the component itself, in an instance whose effects are refused.
async fn describe(wasm: Arc<[u8]>) -> Result<Value, String> {
    let config = EngineConfig { instances: 2, threads: 1, cache_dir: None, ..EngineConfig::default() };
    let engine = Engine::new(config).map_err(|e| e.to_string())?;
    let artifact = engine.load(wasm).await.map_err(|e| format!("{} [{}]", e.message, e.reason))?;
    // Any grant opens the interface; without a cluster behind it nothing can be reached.
    let any = ClusterGrant {
        kind: Gvk::new("", "v1", "ConfigMap"),
        verbs: vec![Verb::Get],
        namespaces: Namespaces::Some(vec!["default".into()]),
    };
    let spec = RevisionSpec {
        name: PluginName { namespace: "default".into(), name: "inspect".into() },
        limits: Limits::default(),
        grants: Grants { cluster: vec![any] },
        config: "{}".into(),
        ports: Arc::new(NoPorts),
    };
    let revision = engine.prepare(artifact, spec).map_err(|e| format!("{} [{}]", e.message, e.reason))?;
    let text = revision.describe().await.map_err(|s| format!("describe failed: {} [{}]", s.message, s.reason))?;
    serde_json::from_str(&text).map_err(|e| format!("describe answered something else than JSON: {e}"))
}

const fn kind(kind: BinaryKind) -> &'static str {
    match kind {
        BinaryKind::Component => "component",
        BinaryKind::CoreModule => "core module, not a component",
        BinaryKind::Other => "neither a component nor a core module",
    }
}

fn as_json(inspection: &Inspection, description: &Result<Value, String>) -> Value {
    json!({
        "kind": kind(inspection.kind),
        "digest": inspection.digest,
        "size": inspection.size,
        "imports": inspection.imports,
        "exports": inspection.exports,
        "description": description.as_ref().ok(),
        "problem": description.as_ref().err(),
    })
}

fn as_text(inspection: &Inspection, description: &Result<Value, String>) -> String {
    let mut text = format!("kind:    {}\ndigest:  {}\nsize:    {} bytes\n", kind(inspection.kind), inspection.digest, inspection.size);
    for (title, names) in [("imports", &inspection.imports), ("exports", &inspection.exports)] {
        let _infallible = writeln!(text, "{title}:");
        for name in names {
            let _infallible = writeln!(text, "  {name}");
        }
    }
    match description {
        Ok(value) => {
            let _infallible = writeln!(text, "asks for:");
            for line in serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string()).lines() {
                let _infallible = writeln!(text, "  {line}");
            }
        }
        Err(problem) => {
            let _infallible = writeln!(text, "problem: {problem}");
        }
    }
    text
}
