//! Makes components of the guests in tests/guests/wat. Owns the assembling; needs no toolchain.
//! Depends on nothing but `wat`, `wit-parser` and `wit-component`, so that other test crates
//! can take this file as a module of theirs (`#[path]`).

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Functions that the prelude has for guests that do not define them.
const DEFAULTS: [&str; 6] = ["realloc", "validate-config", "describe", "add", "update", "delete"];

/// The component of `tests/guests/wat/NAME.wat`.
pub(crate) fn guest(name: &str) -> Result<Vec<u8>> {
    let root = root()?;
    let folder = root.join("tests/guests/wat");
    let text = fs::read_to_string(folder.join(format!("{name}.wat")))?;
    let prelude = fs::read_to_string(folder.join("prelude.wat"))?;
    if text.lines().any(|line| line.starts_with("(component")) {
        return Ok(wat::parse_str(whole(&prelude, &text)?)?);
    }
    let wit = folder.join(format!("{name}.wit"));
    let extra = if wit.exists() { Some(fs::read_to_string(wit)?) } else { None };
    encode(&root, &module(&prelude, &text)?, extra.as_deref())
}

/// A guest's text as a whole core module.
pub(crate) fn module(prelude: &str, text: &str) -> Result<String> {
    let (imports, body) = text.split_once(";; body").ok_or("a guest has a line `;; body`")?;
    let mut out = format!("(module\n{imports}\n{}\n{body}\n", section(prelude, "base")?);
    for name in body.lines().filter_map(|line| line.strip_prefix(";; with ")) {
        out.push_str(section(prelude, name)?);
    }
    for name in DEFAULTS {
        if !body.contains(&format!("(func ${name} ")) {
            out.push_str(section(prelude, name)?);
        }
    }
    out.push_str(section(prelude, "exports")?);
    out.push(')');
    Ok(out)
}

/// A whole component with the sections that it uses.
fn whole(prelude: &str, text: &str) -> Result<String> {
    let lines = text.lines().map(|line| match line.trim_start().strip_prefix(";; use ") {
        Some(name) => section(prelude, name),
        None => Ok(line),
    });
    Ok(lines.collect::<Result<Vec<_>>>()?.join("\n"))
}

fn section<'a>(prelude: &'a str, name: &str) -> Result<&'a str> {
    let (_, rest) = prelude.split_once(&format!(";; section: {name}\n")).ok_or_else(|| format!("the prelude has no section {name}"))?;
    Ok(rest.split_once(";; section: ").map_or(rest, |(section, _)| section))
}

/// Encodes a core module for the world `controller`, or for the world `guest` of more WIT.
fn encode(root: &Path, module: &str, extra: Option<&str>) -> Result<Vec<u8>> {
    let mut bytes = wat::parse_str(module)?;
    let mut resolve = Resolve::default();
    let (mut package, _) = resolve.push_dir(root.join("wit"))?;
    let mut world = "controller";
    if let Some(extra) = extra {
        package = resolve.push_str("extra.wit", extra)?;
        world = "guest";
    }
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8)?;
    Ok(ComponentEncoder::default().validate(true).module(&bytes)?.encode()?)
}

/// The folder of the whole project.
pub(crate) fn root() -> Result<PathBuf> {
    let start = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = start.ancestors().find(|folder| folder.join("wit/worlds.wit").exists());
    Ok(found.ok_or("the project's folder is not above this crate")?.to_owned())
}
