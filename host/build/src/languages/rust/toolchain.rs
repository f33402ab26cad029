//! Which Rust compiler can make WebAssembly. Owns the order: a target that is installed, else
//! one that rustup adds, else Debian's compiler, which builds the standard library itself.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use super::super::Job;
use crate::command::Tool;
use crate::error::BuildError;
use crate::tools::find_program;
use crate::version::Version;

/// The oldest compiler that the SDK builds with.
const OLDEST: Version = Version(1, 95, 0);
const GET: &str = "install Rust with rustup (https://rustup.rs)";
const UPDATE: &str = "run `rustup update stable`";
/// What Debian has where rustup cannot add the target.
const DEBIAN_PACKAGES: &str = "rustc-web cargo-web rust-web-src lld";

/// The targets that a plugin can be compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Without any system.
    Unknown,
    /// With WASI, which is taken out afterwards.
    Wasip2,
}

impl Target {
    pub(super) const fn triple(self) -> &'static str {
        match self {
            Self::Unknown => "wasm32-unknown-unknown",
            Self::Wasip2 => "wasm32-wasip2",
        }
    }
}

/// A compiler, and the target that it is used with.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub(super) target: Target,
    pub(super) version: Version,
    debian: bool,
}

impl Toolchain {
    pub(super) fn find(job: &Job<'_>) -> Result<Self, BuildError> {
        let said = rustc(job).arg("--version").run()?;
        let version = Version::at_least("rustc", &said.line(), OLDEST, UPDATE)?;
        let found = |target| Self { target, version, debian: false };
        // Without WASI there is nothing to take out.
        let first = if job.options.keep_wasi { Target::Wasip2 } else { Target::Unknown };
        for target in [first, Target::Wasip2] {
            if has(job, target) {
                return Ok(found(target));
            }
        }
        (job.tell)(&format!("adding the target {} with rustup", first.triple()));
        let rustup = Tool::new("rustup", job.folder, "add the target").get(GET).downloads().args(["target", "add", first.triple()]).run();
        if rustup.is_ok() && has(job, first) {
            return Ok(found(first));
        }
        if first == Target::Unknown
            && let Some(version) = debian(job)
        {
            (job.tell)("using Debian's Rust, whose first build also builds the standard library");
            return Ok(Self { target: Target::Unknown, version, debian: true });
        }
        let why = rustup.err().map_or_else(|| "rustc still does not have it".to_owned(), |error| error.to_string());
        Err(BuildError::ToolMissing {
            program: format!("a Rust compiler with the target {}", first.triple()),
            why,
            hint: format!("run `rustup target add {}`, or on Debian `sudo apt-get install {DEBIAN_PACKAGES}`", first.triple()),
        })
    }

    /// A cargo that compiles with it, in the plugin's folder.
    pub(super) fn cargo(&self, job: &Job<'_>, what: &str) -> Tool {
        if !self.debian {
            return in_its_place(Tool::new(program("CARGO", "cargo"), job.folder, what).get(GET), job);
        }
        // Debian has no target to install: std is built from source, which stable does only so.
        in_its_place(Tool::new("/usr/bin/cargo", job.folder, what), job)
            .env("RUSTC", "/usr/bin/rustc")
            .without_env("RUSTUP_TOOLCHAIN")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld")
    }
}

/// Where plugins share a folder of tools, what cargo makes lies there too: the plugin's own folder
/// stays as it is. Whoever has set another place means it.
fn in_its_place(cargo: Tool, job: &Job<'_>) -> Tool {
    match job.workspace.outside() {
        Some(folder) if env::var_os("CARGO_TARGET_DIR").is_none() => cargo.env("CARGO_TARGET_DIR", folder.join("cargo")),
        _ => cargo,
    }
}

/// What cargo tells the programs that it runs, else what a shell would find.
fn program(variable: &str, name: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| name.into())
}

fn rustc(job: &Job<'_>) -> Tool {
    Tool::new(program("RUSTC", "rustc"), job.folder, "ask the Rust compiler").get(GET)
}

fn has(job: &Job<'_>, target: Target) -> bool {
    let said = rustc(job).args(["--print", "target-libdir", "--target", target.triple()]).run();
    said.is_ok_and(|said| Path::new(&said.line()).is_dir())
}

/// The version of Debian's compiler, where all that it needs is installed.
fn debian(job: &Job<'_>) -> Option<Version> {
    let ask = |flags: &[&str]| Tool::new("/usr/bin/rustc", job.folder, "ask Debian's Rust compiler").args(flags).run().ok();
    let sysroot = ask(&["--print", "sysroot"])?.line();
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml");
    if !source.is_file() || !Path::new("/usr/bin/cargo").is_file() {
        return None;
    }
    find_program("wasm-ld")?;
    Version::find(&ask(&["--version"])?.line()).filter(|version| *version >= OLDEST)
}
