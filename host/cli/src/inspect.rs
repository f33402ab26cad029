//! `wharf inspect`: what a WebAssembly file is, what it imports, and what it asks for.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use wharf_build::{Metadata, Named};
use wharf_core::grant::{ClusterGrant, Namespaces};
use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Grants, Gvk, Verb};
use wharf_engine::{BinaryKind, Compile, Engine, EngineConfig, Inspection, NoPorts, RevisionSpec};

use crate::args::{InspectArgs, InspectOutput};
use crate::exit;
use crate::report::{CliError, print_data};

pub(crate) fn run(args: &InspectArgs) -> Result<u8, CliError> {
    let file = args.component.display();
    let wasm = std::fs::read(&args.component)
        .map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::USAGE, format!("read {file}")) })?;
    let inspection = wharf_engine::inspect(&wasm)
        .map_err(|e| CliError::new(exit::NO, format!("{file}: {} [{}]", e.message, e.reason)).hint(e.reason.hint()))?;
    let metadata = wharf_build::read_metadata(&wasm);
    let description =
        if inspection.kind == BinaryKind::Component { crate::block_on(describe(wasm.into()))? } else { Err("not a component".to_owned()) };
    let text = match args.output {
        InspectOutput::Json => format!("{:#}\n", as_json(&inspection, &metadata, &description)),
        InspectOutput::Text => as_text(&inspection, &metadata, &description),
    };
    print_data(&text)?;
    Ok(if description.is_ok() { exit::OK } else { exit::NO })
}

/// Asks the component itself, in an instance whose effects are refused.
pub(crate) async fn describe(wasm: Arc<[u8]>) -> Result<Value, String> {
    let config = EngineConfig { instances: 2, threads: 1, cache_dir: None, compile: Compile::Quick, ..EngineConfig::default() };
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
        isolation: Isolation::Fresh,
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

fn as_json(inspection: &Inspection, metadata: &Metadata, description: &Result<Value, String>) -> Value {
    json!({
        "kind": kind(inspection.kind),
        "digest": inspection.digest,
        "size": inspection.size,
        "metadata": {
            "name": metadata.name,
            "version": metadata.version,
            "revision": metadata.revision,
            "languages": named(&metadata.languages),
            "sdks": named(&metadata.sdks),
            "tools": named(&metadata.tools),
        },
        "imports": inspection.imports,
        "exports": inspection.exports,
        "description": description.as_ref().ok(),
        "problem": description.as_ref().err(),
    })
}

fn as_text(inspection: &Inspection, metadata: &Metadata, description: &Result<Value, String>) -> String {
    let mut text = format!("kind:    {}\ndigest:  {}\nsize:    {} bytes\n", kind(inspection.kind), inspection.digest, inspection.size);
    for (title, words) in origin(metadata) {
        let _infallible = writeln!(text, "{title:<8} {words}");
    }
    for (title, names) in [("imports", &inspection.imports), ("exports", &inspection.exports)] {
        let _infallible = writeln!(text, "{title}:");
        for name in names {
            let _infallible = writeln!(text, "  {name}");
        }
    }
    match description {
        Ok(value) => {
            let _infallible = writeln!(text, "asks for:");
            text.push_str(&indented(value));
        }
        Err(problem) => {
            let _infallible = writeln!(text, "problem: {problem}");
        }
    }
    text
}

/// Where the component comes from, as far as it says so: titles and words.
fn origin(metadata: &Metadata) -> Vec<(&'static str, String)> {
    let words = |names: &[Named]| names.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ");
    let plugin = [metadata.name.as_deref(), metadata.version.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let all = [
        ("plugin:", plugin),
        ("source:", metadata.revision.clone().unwrap_or_default()),
        ("made of:", words(&metadata.languages)),
        ("on:", words(&metadata.sdks)),
        ("by:", words(&metadata.tools)),
    ];
    all.into_iter().filter(|(_, words)| !words.is_empty()).collect()
}

fn named(names: &[Named]) -> Value {
    names.iter().map(|(name, version)| (name.clone(), Value::from(version.as_str()))).collect::<serde_json::Map<_, _>>().into()
}

/// A value as YAML, each line indented.
pub(crate) fn indented(value: &Value) -> String {
    let yaml = serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string());
    yaml.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_what_the_component_says() {
        let metadata = Metadata {
            name: Some("a".to_owned()),
            version: Some("1.0.0".to_owned()),
            languages: vec![("Go".to_owned(), "1.26.8".to_owned())],
            ..Metadata::default()
        };
        assert_eq!(origin(&metadata), [("plugin:", "a 1.0.0".to_owned()), ("made of:", "Go 1.26.8".to_owned())]);
        assert!(origin(&Metadata::default()).is_empty());
    }
}
