//! The contract in `wit/`, inside this program. Owns the world that is made for a plugin, and
//! the checks of what a toolchain made against it, none of which runs any of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use wasmparser::{Encoding, Parser, Payload};
use wharf_core::Reason;
use wit_parser::{Resolve, SourceMap, WorldId, WorldItem, WorldKey};

use crate::error::BuildError;
use crate::workspace::write;

/// The files of the contract.
const FILES: [(&str, &str); 9] = [
    ("cluster.wit", include_str!("../../../wit/cluster.wit")),
    ("config.wit", include_str!("../../../wit/config.wit")),
    ("event.wit", include_str!("../../../wit/event.wit")),
    ("handler.wit", include_str!("../../../wit/handler.wit")),
    ("log.wit", include_str!("../../../wit/log.wit")),
    ("setup.wit", include_str!("../../../wit/setup.wit")),
    ("system.wit", include_str!("../../../wit/system.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("worlds.wit", include_str!("../../../wit/worlds.wit")),
];

/// The package, and the largest world that is built.
const PACKAGE: &str = "wharf:plugin";
const WORLD: &str = "controller";

/// The world that is made for plugins whose language imports all of its world.
pub(crate) const GENERATED_WORLD: &str = "plugin";

/// What Go's compiler leaves for an adapter.
pub(crate) const WASI_PREVIEW1: &str = "wasi_snapshot_preview1";

/// The contract as the WebAssembly tools see it, and its largest world.
pub(crate) fn controller() -> Result<(Resolve, WorldId), BuildError> {
    let mut sources = SourceMap::new();
    for (name, text) in FILES {
        sources.push_str(name, text);
    }
    let wrong = |why: String| BuildError::Encode { why };
    let mut resolve = Resolve::default();
    let group = sources.parse().map_err(|(_, e)| wrong(format!("the contract: {e}")))?;
    let package = resolve.push_group(group).map_err(|e| wrong(format!("the contract: {e}")))?;
    let world = resolve.select_world(&[package], Some(WORLD)).map_err(|e| wrong(format!("{e:#}")))?;
    Ok((resolve, world))
}

/// The version of the contract.
pub(crate) fn version() -> Result<String, BuildError> {
    let (resolve, world) = controller()?;
    let package = resolve.worlds.get(world).and_then(|world| world.package).and_then(|package| resolve.packages.get(package));
    Ok(package.and_then(|package| package.name.version.as_ref()).map(ToString::to_string).unwrap_or_default())
}

/// Writes the contract into a folder, together with the smallest world for a plugin:
/// [`GENERATED_WORLD`] of the folder's own package.
pub(crate) fn write_world(folder: &Path, cluster: bool) -> Result<(), BuildError> {
    let version = version()?;
    for (name, text) in FILES {
        write(&folder.join("deps").join("wharf-plugin").join(name), text.as_bytes())?;
    }
    let mut world = format!("package wharf:build;\n\nworld {GENERATED_WORLD} {{\n  include {PACKAGE}/observer@{version};\n");
    if cluster {
        let _infallible = writeln!(world, "  import {PACKAGE}/cluster@{version};");
    }
    world.push_str("}\n");
    write(&folder.join("world.wit"), world.as_bytes())
}

/// Names that a module or component has on its outside.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outside {
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
}

/// Checks a core module, before it is made into a component: does it export every function
/// of the world, and import nothing else? `fix` says how the language's SDK exports them.
///
/// # Errors
/// [`BuildError::Contract`], naming everything that is wrong.
pub(crate) fn check_module(module: &[u8], fix: &str) -> Result<(), BuildError> {
    if !Parser::is_core_wasm(module) {
        let problem = "the compiler made no WebAssembly module".to_owned();
        return Err(BuildError::Contract { reason: Reason::ComponentInvalid, problem, hint: fix.to_owned() });
    }
    let outside = outside_of_module(module).map_err(|e| BuildError::Encode { why: e.to_string() })?;
    let (resolve, world) = controller()?;
    // A library that is no plugin, or one for another contract, misses all of them.
    let needed: Vec<String> = exported_functions(&resolve, world);
    let missing: Vec<&String> = needed.iter().filter(|name| !outside.exports.contains(*name)).collect();
    let interfaces = interfaces(&resolve, world);
    check_version(&outside, &interfaces)?;
    check_imports(&outside.imports, &interfaces)?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(|name| name.replace('#', ".")).collect();
    let problem = format!("the plugin does not export what a plugin must: {}", names.join(", "));
    Err(BuildError::Contract { reason: Reason::WorldMismatch, problem, hint: fix.to_owned() })
}

/// Checks a component: names first, then the types of everything.
///
/// # Errors
/// [`BuildError::Contract`], naming everything that is wrong.
pub(crate) fn check_component(component: &[u8], fix: &str) -> Result<(), BuildError> {
    let wrong = |reason, problem, hint: &str| Err(BuildError::Contract { reason, problem, hint: hint.to_owned() });
    if !Parser::is_component(component) {
        let what = if Parser::is_core_wasm(component) { "a core module, not a component" } else { "no WebAssembly component" };
        return wrong(Reason::ComponentInvalid, format!("the toolchain made {what}"), "report this; `wharf inspect` shows what a file is");
    }
    let outside = outside_of_component(component).map_err(|e| BuildError::Encode { why: e.to_string() })?;
    let (resolve, world) = controller()?;
    let interfaces = interfaces(&resolve, world);
    check_version(&outside, &interfaces)?;
    check_imports(&outside.imports, &interfaces)?;
    let exported = exported_interfaces(&resolve, world);
    let missing: Vec<&str> = exported.iter().filter(|name| !outside.exports.contains(*name)).map(String::as_str).collect();
    if !missing.is_empty() {
        let problem = format!("the plugin does not export what a plugin must: {}", missing.join(", "));
        return wrong(Reason::WorldMismatch, problem, fix);
    }
    if outside.imports.iter().any(|import| import.starts_with("wasi:")) {
        // The world does not have them: their types are the host's business.
        return Ok(());
    }
    wit_component::targets(&resolve, world, component).or_else(|error| {
        let problem = format!("the plugin exports or imports something with other types than the contract's: {:#}", error.root_cause());
        wrong(Reason::WorldMismatch, problem, "use the SDK of this wharf's version; `wharf version` shows the contract")
    })
}

/// Another version of the contract is the most likely reason for missing names.
fn check_version(outside: &Outside, interfaces: &BTreeSet<String>) -> Result<(), BuildError> {
    let prefix = format!("{PACKAGE}/");
    let all = outside.imports.iter().chain(&outside.exports);
    let interface = |name: &str| name.split_once('#').map_or(name, |(interface, _)| interface).to_owned();
    let other: BTreeSet<String> = all.map(|name| interface(name)).filter(|n| n.starts_with(&prefix) && !interfaces.contains(n)).collect();
    if other.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = other.iter().map(String::as_str).collect();
    let problem = format!("the plugin is made for another contract than {PACKAGE}@{}: {}", version()?, names.join(", "));
    let hint = "use the SDK of this wharf's version; `wharf version` shows the contract".to_owned();
    Err(BuildError::Contract { reason: Reason::WorldMismatch, problem, hint })
}

fn check_imports(imports: &BTreeSet<String>, interfaces: &BTreeSet<String>) -> Result<(), BuildError> {
    let offered = |import: &&String| interfaces.contains(*import) || import.starts_with("wasi:") || *import == WASI_PREVIEW1;
    let unknown: Vec<&str> = imports.iter().filter(|import| !offered(import)).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let undefined = unknown.contains(&"env");
    let hint = if undefined {
        "`env` stands for functions that are declared but defined nowhere: link the library that has them, or remove the calls"
    } else {
        "a plugin can import the interfaces of wharf:plugin (wit/ in the sources of wharf) and nothing else; remove the dependency that needs more"
    };
    let problem = format!("the plugin imports what wharf does not offer: {}", unknown.join(", "));
    Err(BuildError::Contract { reason: Reason::ImportUnknown, problem, hint: hint.to_owned() })
}

/// All interfaces of the world, with the version.
fn interfaces(resolve: &Resolve, world: WorldId) -> BTreeSet<String> {
    let Some(world) = resolve.worlds.get(world) else { return BTreeSet::new() };
    world.imports.keys().chain(world.exports.keys()).map(|key| resolve.name_world_key(key)).collect()
}

fn exported_interfaces(resolve: &Resolve, world: WorldId) -> BTreeSet<String> {
    let Some(world) = resolve.worlds.get(world) else { return BTreeSet::new() };
    world.exports.keys().map(|key: &WorldKey| resolve.name_world_key(key)).collect()
}

/// The names under which a core module exports the functions of the world.
fn exported_functions(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let Some(world) = resolve.worlds.get(world) else { return Vec::new() };
    let mut names = Vec::new();
    for (key, item) in &world.exports {
        let WorldItem::Interface { id, .. } = item else { continue };
        let functions = resolve.interfaces.get(*id).map(|interface| interface.functions.keys());
        names.extend(functions.into_iter().flatten().map(|function| format!("{}#{function}", resolve.name_world_key(key))));
    }
    names
}

fn outside_of_module(module: &[u8]) -> Result<Outside, wasmparser::BinaryReaderError> {
    let mut outside = Outside::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    outside.imports.insert(import?.module.to_owned());
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    outside.exports.insert(export?.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(outside)
}

fn outside_of_component(component: &[u8]) -> Result<Outside, wasmparser::BinaryReaderError> {
    let mut outside = Outside::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::Version { encoding: Encoding::Module | Encoding::Component, .. } => depth = depth.saturating_add(1),
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    outside.imports.insert(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    outside.exports.insert(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(outside)
}

#[cfg(test)]
mod tests;
