//! `cargo xtask guests`: builds the example plugins and the guests of the tests into
//! `target/guests/NAME.wasm`. Owns the list of guests, the choice of a toolchain that can
//! build them, and the step from core module to component; what has not changed is not
//! built again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};
use wharf_testkit::paths;
use wit_component::ComponentEncoder;

use crate::step::{cargo, run};

const TARGET: &str = "wasm32-unknown-unknown";

/// What Debian has where rustup cannot add the target.
const DEBIAN_PACKAGES: &str = "rustc-web cargo-web rust-web-src lld";

/// Folders of cargo workspaces, and the packages in each that are guests.
const GUESTS: [(&str, &[&str]); 3] = [
    ("plugins/label-guard", &["label-guard"]),
    ("plugins/configmap-replicator", &["configmap-replicator"]),
    ("tests/guests/probe", &["probe", "probe-v2"]),
];

/// Builds all guests. Seconds when cold, less than one when nothing changed.
///
/// # Errors
/// If there is no toolchain for WebAssembly (the text says how to get one), or a guest
/// does not build.
pub(crate) fn build(root: &Path) -> Result<()> {
    let toolchain = Toolchain::find()?;
    for (folder, packages) in GUESTS {
        build_workspace(&toolchain, &root.join(folder), packages)?;
    }
    Ok(())
}

/// Builds the guest of one folder, for example a copy of an example plugin whose source was
/// changed, and returns the component's file: `target/guests/PACKAGE.wasm`.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_folder(folder: &Path, package: &str) -> Result<PathBuf> {
    build_workspace(&Toolchain::find()?, folder, &[package])?;
    Ok(component_file(package))
}

fn build_workspace(toolchain: &Toolchain, folder: &Path, packages: &[&str]) -> Result<()> {
    // One folder for all guests: they share every dependency.
    let target_dir = paths::target().join("guest-build");
    let mut command = toolchain.cargo();
    command.current_dir(folder).args(["build", "--release", "--target", TARGET, "--target-dir"]).arg(&target_dir);
    for package in packages {
        command.args(["--package", package]);
    }
    run(&mut command).with_context(|| format!("cannot build the guest in {}", folder.display()))?;
    for package in packages {
        let core = target_dir.join(TARGET).join("release").join(format!("{}.wasm", package.replace('-', "_")));
        let component = component_file(package);
        let size = encode(&core, &component).with_context(|| format!("cannot make a component of {package}"))?;
        if let Some(bytes) = size {
            eprintln!("    {} ({} KiB)", component.strip_prefix(paths::root()).unwrap_or(&component).display(), bytes.div_ceil(1024));
        }
    }
    Ok(())
}

fn component_file(package: &str) -> PathBuf {
    paths::target().join("guests").join(format!("{package}.wasm"))
}

/// Makes a component of a core module and returns its size, unless there is one that is
/// newer. The file appears whole or not at all: a host may be watching.
fn encode(core: &Path, component: &Path) -> Result<Option<usize>> {
    if modified(component).is_ok_and(|made| modified(core).is_ok_and(|built| made >= built)) {
        return Ok(None);
    }
    let module = fs::read(core).with_context(|| format!("cannot read {}", core.display()))?;
    let bytes = ComponentEncoder::default().validate(true).module(&module)?.encode()?;
    let folder = component.parent().context("no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let unfinished = component.with_extension("unfinished");
    fs::write(&unfinished, &bytes).with_context(|| format!("cannot write {}", unfinished.display()))?;
    fs::rename(&unfinished, component).with_context(|| format!("cannot write {}", component.display()))?;
    Ok(Some(bytes.len()))
}

fn modified(file: &Path) -> Result<SystemTime> {
    Ok(fs::metadata(file)?.modified()?)
}

/// Which compiler builds guests.
#[derive(Debug, PartialEq, Eq)]
enum Toolchain {
    /// The one that runs this task; it has the target.
    Current,
    /// Debian's, which has the standard library's source and builds that as well.
    Debian,
}

impl Toolchain {
    /// An installed target, else one that rustup adds, else Debian's toolchain.
    fn find() -> Result<Self> {
        if has_target() {
            return Ok(Self::Current);
        }
        eprintln!("    adding the target {TARGET} with rustup");
        let added = run(Command::new("rustup").args(["target", "add", TARGET]));
        if added.is_ok() && has_target() {
            return Ok(Self::Current);
        }
        if has_debian() {
            eprintln!("    using Debian's toolchain; its first build also builds the standard library");
            return Ok(Self::Debian);
        }
        let why = added.err().map_or_else(|| "rustc still does not have it".to_owned(), |error| error.to_string());
        bail!(
            "there is no Rust compiler with the target {TARGET} ({why})\nhint: run `rustup target add {TARGET}`, or on Debian \
             `sudo apt-get install {DEBIAN_PACKAGES}`"
        )
    }

    fn cargo(&self) -> Command {
        match self {
            Self::Current => cargo(),
            Self::Debian => {
                let mut command = Command::new("/usr/bin/cargo");
                command.env("RUSTC", "/usr/bin/rustc").env_remove("RUSTUP_TOOLCHAIN");
                // Debian has no target to install: std is built from source, which stable does only so.
                command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
                command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld");
                command
            }
        }
    }
}

fn has_target() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    output(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET])).is_ok_and(|dir| Path::new(&dir).is_dir())
}

fn has_debian() -> bool {
    let sysroot = output(Command::new("/usr/bin/rustc").args(["--print", "sysroot"]));
    let source = sysroot.map(|sysroot| Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml"));
    let linker = env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join("wasm-ld").is_file());
    Path::new("/usr/bin/cargo").is_file() && linker && source.is_ok_and(|file| file.is_file())
}

/// What a command prints, without the line's end.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_is_a_package_of_its_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (folder, packages) in GUESTS {
            for package in packages {
                let name = format!("name = \"{package}\"");
                let lock = fs::read_to_string(root.join(folder).join("Cargo.lock")).unwrap();
                assert!(lock.contains(&name), "{folder}: {package}");
            }
        }
    }

    #[test]
    fn debian_builds_the_standard_library() {
        let command = Toolchain::Debian.cargo();
        let set: Vec<_> = command.get_envs().filter(|(_, value)| value.is_some()).map(|(name, _)| name.to_string_lossy()).collect();
        for name in ["RUSTC", "RUSTC_BOOTSTRAP", "CARGO_UNSTABLE_BUILD_STD", "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"] {
            assert!(set.iter().any(|n| n == name), "{name} is not among {set:?}");
        }
    }

    #[test]
    fn encoding_is_skipped_for_what_is_newer() {
        let folder = env::temp_dir().join(format!("wharf-xtask-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (core, component) = (folder.join("core.wasm"), folder.join("out/component.wasm"));
        fs::write(&core, wat::parse_str("(module)").unwrap()).unwrap();
        assert_eq!(encode(&core, &component).unwrap(), Some(fs::read(&component).unwrap().len()));
        fs::write(&component, "newer").unwrap();
        assert_eq!(encode(&core, &component).unwrap(), None);
        fs::File::open(&component).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(encode(&core, &component).unwrap().is_some());
        fs::remove_dir_all(folder).unwrap();
    }
}
