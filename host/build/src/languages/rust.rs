//! Rust, by the plugin author's own cargo. Owns the command line and finding the module in
//! what cargo says; which compiler has the target is `toolchain`.

mod toolchain;

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::toolchain::{Target, Toolchain};
use super::{Job, Made, warnings};
use crate::encode::{self, Plan};
use crate::error::BuildError;
use crate::plugin::Reproducible;
use crate::workspace::read;

const FIX: &str =
    "name the plugin's type in one line: `wharf_sdk::plugin!(MyPlugin);`, with wharf-sdk among the dependencies in Cargo.toml";
const COMPILE: &str = "correct what cargo names";

pub(super) fn build(job: &Job<'_>) -> Result<Made, BuildError> {
    let toolchain = Toolchain::find(job)?;
    let package = Package::find(job, &toolchain)?;
    let said = compile(job, &toolchain, &package)?;
    let output = String::from_utf8_lossy(&said.out);
    let module = package.module(&output).ok_or_else(|| package.no_module())?;
    let plan = Plan { keep_wasi: job.options.keep_wasi, fix: FIX, ..Plan::default() };
    Ok(Made {
        component: encode::component(&read(&module)?, &plan)?,
        compiler: toolchain.version.to_string(),
        version: Some(package.version),
        sdk_version: sdk_version(&output),
        tools: Vec::new(),
        reproducible: Reproducible::Yes,
        warnings: warnings(&said.err),
    })
}

fn compile(job: &Job<'_>, toolchain: &Toolchain, package: &Package) -> Result<crate::command::Said, BuildError> {
    let target = toolchain.target.triple();
    // By itself: only this may lack a network, and a compiler's message may be about one.
    toolchain.cargo(job, "fetch the packages").downloads().fix(COMPILE).args(["fetch", "--quiet", "--target", target]).run()?;
    let mut cargo = toolchain.cargo(job, "compile the plugin").fix(COMPILE);
    cargo = cargo.args(["rustc", "--quiet", "--release", "--lib", "--target", target, "--message-format", "json-render-diagnostics"]);
    cargo = cargo.arg("--package").arg(&package.name);
    if let Some(home) = cargo_home() {
        // Names of source files are in panic messages: they must not tell whose machine it was.
        let flag = format!("--remap-path-prefix={}=/cargo", home.display());
        cargo = match author_flags() {
            // They would hide those of the command line.
            Some(flags) => cargo.env("CARGO_ENCODED_RUSTFLAGS", format!("{flags}\u{1f}{flag}")),
            None => cargo.arg("--config").arg(format!("target.{target}.rustflags=[{}]", Value::from(flag))),
        };
    }
    if job.options.debug {
        cargo = cargo.args(["--config", "profile.release.debug=\"line-tables-only\"", "--config", "profile.release.strip=\"none\""]);
    }
    if toolchain.target == Target::Wasip2 {
        cargo = cargo.args(["--", "-Clink-arg=--skip-wit-component"]);
    }
    cargo.run()
}

/// Flags of the compiler in the environment, as cargo encodes them.
fn author_flags() -> Option<String> {
    let set = |name: &str| env::var(name).ok().filter(|flags| !flags.trim().is_empty());
    set("CARGO_ENCODED_RUSTFLAGS").or_else(|| Some(set("RUSTFLAGS")?.split_whitespace().collect::<Vec<_>>().join("\u{1f}")))
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo").into())).map(PathBuf::from)
}

/// The package of the plugin's folder.
struct Package {
    name: String,
    version: String,
    manifest: PathBuf,
    dynamic: bool,
}

impl Package {
    fn find(job: &Job<'_>, toolchain: &Toolchain) -> Result<Self, BuildError> {
        let manifest = job.folder.join("Cargo.toml");
        let cargo = toolchain.cargo(job, "read Cargo.toml").fix("correct what cargo names");
        let said = cargo.args(["metadata", "--no-deps", "--format-version", "1"]).run()?;
        let metadata: Value = serde_json::from_slice(&said.out).unwrap_or_default();
        let wrong =
            |problem: &str, hint: &str| BuildError::Manifest { file: manifest.clone(), problem: problem.to_owned(), hint: hint.to_owned() };
        let packages = metadata.get("packages").and_then(Value::as_array);
        let here = packages.into_iter().flatten().find(|package| text(package, "/manifest_path").map(Path::new) == Some(&manifest));
        let Some(here) = here else {
            return Err(wrong("there is no package in it", "name the folder of the plugin's package: `wharf build DIR`"));
        };
        let targets = here.get("targets").and_then(Value::as_array);
        let kinds = |target: &Value| list(target, "crate_types").any(|kind| kind == "cdylib");
        let this = Self {
            name: text(here, "/name").unwrap_or_default().to_owned(),
            version: text(here, "/version").unwrap_or_default().to_owned(),
            manifest: manifest.clone(),
            dynamic: targets.into_iter().flatten().any(kinds),
        };
        if this.dynamic { Ok(this) } else { Err(this.no_module()) }
    }

    /// The module, in the messages of cargo.
    fn module(&self, messages: &str) -> Option<PathBuf> {
        let mut found = None;
        for message in artifacts(messages) {
            if text(&message, "/manifest_path").map(Path::new) == Some(&self.manifest) {
                found = list(&message, "filenames").find(|file| file.ends_with(".wasm")).map(PathBuf::from).or(found);
            }
        }
        found
    }

    fn no_module(&self) -> BuildError {
        BuildError::Manifest {
            file: self.manifest.clone(),
            problem: format!("package {} makes no WebAssembly module", self.name),
            hint: "add to Cargo.toml: [lib] crate-type = [\"cdylib\"]".to_owned(),
        }
    }
}

/// Cargo's messages about what it made.
fn artifacts(messages: &str) -> impl Iterator<Item = Value> + '_ {
    let values = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter(|message| text(message, "/reason") == Some("compiler-artifact"))
}

/// The version of the SDK, from the identifier of its package (`…#wharf-sdk@0.1.0`).
fn sdk_version(messages: &str) -> Option<String> {
    let sdk = artifacts(messages).find(|message| text(message, "/target/name") == Some("wharf_sdk"))?;
    let (_, version) = text(&sdk, "/package_id")?.rsplit_once(['@', '#'])?;
    Some(version.to_owned())
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v str> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","package_id":"path+file:///x/sdk/rust#wharf-sdk@0.3.0","manifest_path":"/x/sdk/rust/Cargo.toml","target":{"name":"wharf_sdk"},"filenames":["/t/libwharf_sdk.rlib"]}
{"reason":"compiler-artifact","package_id":"path+file:///x/p#0.1.0","manifest_path":"/x/p/Cargo.toml","target":{"name":"p"},"filenames":["/t/p.wasm","/t/libp.rlib"]}
{"reason":"build-finished","success":true}"#;

    #[test]
    fn cargo_says_where_the_module_is() {
        let package = Package { name: "p".to_owned(), version: "0.1.0".to_owned(), manifest: "/x/p/Cargo.toml".into(), dynamic: true };
        assert_eq!(package.module(MESSAGES), Some("/t/p.wasm".into()));
        assert_eq!(sdk_version(MESSAGES), Some("0.3.0".to_owned()));
        assert_eq!(package.module(""), None);
        assert_eq!(sdk_version(""), None);
    }
}
