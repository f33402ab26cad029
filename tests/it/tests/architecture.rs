//! Holds the shape of the project: which crate may use which, what only one crate may
//! know, and how files look. A new arrow needs a change of the tables here, and with it a
//! reason (ARCHITECTURE.md).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wharf_testkit::paths;

/// The arrows between the crates of the workspace, for every kind of dependency.
const ARROWS: [(&str, &[&str]); 17] = [
    ("wharf-core", &[]),
    ("wharf-queue", &[]),
    ("wharf-cache", &["wharf-core"]),
    ("wharf-devserver", &["wharf-core"]),
    ("wharf-engine", &["wharf-core"]),
    ("wharf-runtime", &["wharf-core", "wharf-queue", "wharf-cache", "wharf-engine"]),
    ("wharf-build", &["wharf-core"]),
    ("wharf-cli", &["wharf-core", "wharf-build", "wharf-devserver", "wharf-engine", "wharf-runtime"]),
    ("wharf", &["wharf-cli"]),
    // Itself with its optional features on, for its own tests.
    ("wharf-sdk", &["wharf-sdk"]),
    ("wharf-bench-record", &[]),
    ("wharf-bench-apiserver", &["wharf-devserver"]),
    ("wharf-bench-informer", &["wharf-core", "wharf-cache", "wharf-bench-record"]),
    ("wharf-bench-dispatch", &["wharf-core", "wharf-cache", "wharf-engine", "wharf-runtime", "wharf-bench-record"]),
    ("wharf-testkit", &[]),
    ("wharf-it", &["wharf-testkit", "wharf-core", "wharf-cache", "wharf-engine"]),
    ("xtask", &["wharf-sdk", "wharf-testkit"]),
];

/// All that the pure crate may use. `cel` is there for its parser, which is a function of a text.
const CORE_MAY_USE: [&str; 4] = ["cel", "serde", "serde_json", "thiserror"];

/// What only some crates may know, by the beginning of the dependency's name.
const ONLY_IN: [(&str, &[&str]); 9] = [
    ("wasmtime", &["wharf-engine"]),
    ("kube", &["wharf-cache", "wharf-runtime", "wharf-testkit", "wharf-bench-informer", "wharf-bench-dispatch"]),
    ("k8s-openapi", &["wharf-cache", "wharf-runtime", "wharf-testkit"]),
    ("clap", &["wharf-cli", "xtask"]),
    ("axum", &["wharf-runtime"]),
    ("notify", &["wharf-runtime", "wharf-cli"]),
    (
        "anyhow",
        &[
            "wharf-runtime",
            "wharf-cli",
            "wharf-testkit",
            "wharf-it",
            "wharf-bench-record",
            "wharf-bench-apiserver",
            "wharf-bench-informer",
            "wharf-bench-dispatch",
            "xtask",
        ],
    ),
    ("tracing-subscriber", &["wharf-runtime"]),
    ("mimalloc", &["wharf", "wharf-bench-apiserver", "wharf-bench-informer", "wharf-bench-dispatch"]),
];

/// Lines of a file that is not generated, and of a `mod.rs`.
const MAX_LINES: usize = 500;
const MAX_LINES_OF_MOD: usize = 100;

struct Package {
    name: String,
    /// (name, is a normal or build dependency).
    dependencies: Vec<(String, bool)>,
}

#[test]
fn arrows_are_those_of_the_table() -> Result<()> {
    let packages = packages()?;
    let table = BTreeMap::from(ARROWS);
    let ours: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let allowed = table.get(package.name.as_str()).with_context(|| format!("{} is not in the table", package.name))?;
        let arrows = package.dependencies.iter().filter(|(name, _)| ours.contains(&name.as_str()));
        wrong.extend(arrows.filter(|(name, _)| !allowed.contains(&name.as_str())).map(|(name, _)| format!("{} -> {name}", package.name)));
    }
    ensure!(wrong.is_empty(), "the table has no such arrow: {wrong:?}");
    let missing: Vec<_> = table.keys().filter(|name| !ours.contains(name)).collect();
    ensure!(missing.is_empty(), "the table names crates that are not there: {missing:?}");
    Ok(())
}

#[test]
fn knowledge_stays_where_it_belongs() -> Result<()> {
    let mut wrong = Vec::new();
    for package in packages()? {
        // Tests may use more than what they test.
        for (name, _) in package.dependencies.iter().filter(|(_, in_product)| *in_product) {
            let rule = ONLY_IN.iter().find(|(prefix, _)| name == prefix || name.starts_with(&format!("{prefix}-")));
            if rule.is_some_and(|(_, crates)| !crates.contains(&package.name.as_str())) {
                wrong.push(format!("{} must not know {name}", package.name));
            }
            if package.name == "wharf-core" && !CORE_MAY_USE.contains(&name.as_str()) {
                wrong.push(format!("the pure crate uses {name}"));
            }
            if package.name == "wharf-queue" && (name.starts_with("serde") || name == "tracing") {
                wrong.push(format!("the queue uses {name}: it knows only keys and times"));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn files_say_what_they_own_and_stay_small() -> Result<()> {
    let mut wrong = Vec::new();
    let files = sources(&paths::root())?;
    ensure!(files.len() > 50, "only {} files were found", files.len());
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let lines = text.lines().count();
        let generated = text.lines().take(3).any(|line| line.contains("do not edit"));
        let most = if path.ends_with("mod.rs") { MAX_LINES_OF_MOD } else { MAX_LINES };
        if !text.starts_with("//!") && !is_test(&path) {
            wrong.push(format!("{} does not begin with //!", path.display()));
        }
        if lines > most && !generated && !is_test(&path) {
            wrong.push(format!("{} has {lines} lines, more than {most}", path.display()));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Where ARCHITECTURE.md says that something is held by a test, the test is there.
#[test]
fn the_invariants_name_tests_that_exist() -> Result<()> {
    let root = paths::root();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let (_, table) = text.split_once("## Invariants").context("ARCHITECTURE.md has no invariants")?;
    let files: Vec<&str> = table.split('`').filter(|part| part.contains('/') && part.contains('.')).collect();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        assert!(root.join(file).exists(), "ARCHITECTURE.md names {file}, which is not there");
    }
    Ok(())
}

fn packages() -> Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(paths::root()).args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = command.output().context("start cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let dependency = |value: &Value| (text(value, "name"), text(value, "kind") != "dev");
    let package =
        |value: &Value| Package { name: text(value, "name"), dependencies: list(value, "dependencies").iter().map(dependency).collect() };
    Ok(list(&metadata, "packages").iter().map(package).collect())
}

/// All Rust files of the repository, without what is built.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// In a `tests` folder of a crate, or a crate's `tests.rs`. The crates below `tests/` are no
/// tests themselves.
fn is_test(path: &Path) -> bool {
    let inside = path.strip_prefix(paths::root()).unwrap_or(path);
    path.ends_with("tests.rs") || inside.components().skip(1).any(|part| part.as_os_str() == "tests")
}
