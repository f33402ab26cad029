//! `cargo xtask guests`: builds the example plugins and the guests of the tests into
//! `target/guests/NAME.wasm`, with `wharf build`, as a plugin's author does. Owns the list of
//! guests and the rule that nothing is built again whose sources are older than its component.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use wharf_testkit::paths;

use crate::step::without_this_package;

/// Folders whose subfolders are guests, and what their names begin with.
const FOLDERS: [(&str, &str); 2] = [("plugins", ""), ("tests/guests/conformance", "conformance-")];

/// Guests elsewhere: name, folder, and a folder with more of their sources.
const OTHERS: [(&str, &str, &str); 2] =
    [("probe", "tests/guests/probe", "tests/guests/probe"), ("probe-v2", "tests/guests/probe/v2", "tests/guests/probe/src")];

/// The file that tells a guest's language, and the folder of that language's SDK.
const LANGUAGES: [(&str, &str); 5] =
    [("Cargo.toml", "rust"), ("go.mod", "go"), ("pyproject.toml", "python"), ("package.json", "js"), ("plugin.c", "c")];

/// What every guest depends on besides its own source and its language's SDK.
const SHARED_SOURCES: [&str; 2] = ["wit", "host/build"];

/// Folders that tools fill.
const MADE: [&str; 4] = ["target", "node_modules", "__pycache__", "tests"];

/// One guest to build.
#[derive(Debug, PartialEq, Eq)]
struct Guest {
    name: String,
    folder: PathBuf,
    /// Files and folders that its component is made of.
    sources: Vec<PathBuf>,
}

/// Builds all guests that are out of date; less than a second when none is. Goes on after one
/// that fails.
///
/// # Errors
/// If any does not build; the text is that of `wharf build`.
pub(crate) fn build(root: &Path) -> Result<()> {
    build_all(guests(root)?)
}

/// The same for some of them.
///
/// # Errors
/// As [`build`]; also if there is no guest of such a name.
pub(crate) fn build_named(root: &Path, names: &[&str]) -> Result<()> {
    let mut wanted = guests(root)?;
    wanted.retain(|guest| names.contains(&guest.name.as_str()));
    ensure!(wanted.len() == names.len(), "not all of these are guests: {}", names.join(", "));
    build_all(wanted)
}

fn build_all(guests: Vec<Guest>) -> Result<()> {
    let mut failed = Vec::new();
    for guest in guests {
        let component = component_file(&guest.name);
        if is_current(&component, &guest.sources)? {
            continue;
        }
        if let Err(error) = build_one(&guest.folder, &guest.name) {
            eprintln!("    {}: failed: {error:#}", guest.name);
            failed.push(guest.name);
        }
    }
    ensure!(failed.is_empty(), "these guests do not build: {}", failed.join(", "));
    Ok(())
}

/// Builds the guest of one folder, for example a copy of an example plugin whose source was
/// changed, and returns the component's file: `target/guests/NAME.wasm`.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_folder(folder: &Path, name: &str) -> Result<PathBuf> {
    build_one(folder, name)?;
    Ok(component_file(name))
}

fn build_one(folder: &Path, name: &str) -> Result<()> {
    let component = component_file(name);
    let start = Instant::now();
    let mut command = Command::new(paths::wharf()?);
    command.arg("build").arg(folder).arg("--output").arg(&component);
    // One folder of tools for all, and one for what cargo makes: they share most of it.
    command.arg("--tools-dir").arg(paths::target().join("tools")).env("CARGO_TARGET_DIR", paths::target().join("guest-build"));
    let output = without_this_package(&mut command).output().context("run wharf build")?;
    if !output.status.success() {
        bail!("wharf build {} ended with {}\n{}", folder.display(), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let bytes = fs::metadata(&component).with_context(|| format!("read {}", component.display()))?.len();
    eprintln!("    {name}: {} KiB in {:.1} s", bytes.div_ceil(1024), start.elapsed().as_secs_f64());
    Ok(())
}

fn component_file(name: &str) -> PathBuf {
    paths::target().join("guests").join(format!("{name}.wasm"))
}

/// All guests of the repository, by name.
fn guests(root: &Path) -> Result<Vec<Guest>> {
    let mut found = Vec::new();
    for (folder, prefix) in FOLDERS {
        let folder = root.join(folder);
        for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            let entry = entry.with_context(|| format!("read {}", folder.display()))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            found.extend(guest(root, name, entry.path(), Vec::new()));
        }
    }
    for (name, folder, more) in OTHERS {
        found.extend(guest(root, name.to_owned(), root.join(folder), vec![root.join(more)]));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The guest in a folder; none where nothing tells its language.
fn guest(root: &Path, name: String, folder: PathBuf, more: Vec<PathBuf>) -> Option<Guest> {
    let (_, sdk) = LANGUAGES.into_iter().find(|(manifest, _)| folder.join(manifest).is_file())?;
    let mut sources = vec![folder.clone(), root.join("sdk").join(sdk)];
    sources.extend(more);
    sources.extend(SHARED_SOURCES.map(|source| root.join(source)));
    Some(Guest { name, folder, sources })
}

/// Is the component there, and newer than all that it is made of?
fn is_current(component: &Path, sources: &[PathBuf]) -> Result<bool> {
    let Ok(made) = fs::metadata(component).and_then(|metadata| metadata.modified()) else { return Ok(false) };
    for source in sources {
        if newest(source)? > made {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The time of the last change of a file, or of any file in a folder.
fn newest(path: &Path) -> Result<SystemTime> {
    let wrong = || format!("read {}", path.display());
    let metadata = fs::metadata(path).with_context(wrong)?;
    if !metadata.is_dir() {
        return metadata.modified().with_context(wrong);
    }
    let mut newest_yet = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(path).with_context(wrong)? {
        let entry = entry.with_context(wrong)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !MADE.contains(&name.as_str()) && !name.ends_with(".wasm") {
            newest_yet = newest_yet.max(newest(&entry.path())?);
        }
    }
    Ok(newest_yet)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_guests_of_the_repository_are_found() {
        let guests = guests(&paths::root()).unwrap();
        for name in ["configmap-replicator", "conformance-rust", "label-guard", "label-guard-go", "probe", "probe-v2"] {
            let guest = guests.iter().find(|guest| guest.name == name).unwrap_or_else(|| panic!("{name} is not among {guests:?}"));
            for source in &guest.sources {
                assert!(source.exists(), "{name}: {}", source.display());
            }
        }
    }

    #[test]
    fn only_what_is_older_than_its_sources_is_built() {
        let folder = tempfile::tempdir().unwrap();
        let component = folder.path().join("a.wasm");
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("deep/target")).unwrap();
        let set = |path: &Path, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::create(path).unwrap().set_modified(time).unwrap();
        };
        set(&source.join("deep/plugin.c"), 100);
        // What tools make does not count.
        set(&source.join("deep/target/x"), 900);
        set(&source.join(".hidden"), 900);
        assert!(!is_current(&component, std::slice::from_ref(&source)).unwrap());
        set(&component, 200);
        assert!(is_current(&component, std::slice::from_ref(&source)).unwrap());
        set(&source.join("deep/plugin.c"), 300);
        assert!(!is_current(&component, std::slice::from_ref(&source)).unwrap());
    }
}
