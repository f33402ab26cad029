//! Scratch copies of plugins, and `wharf build` on them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use wharf_testkit::{paths, scratch};

/// The languages, by the example plugin that is written in all of them: its folder, a file of
/// its source, and what is added to that file as an edit.
pub(crate) const PLUGINS: [(&str, &str, &str); 6] = [
    ("label-guard", "src/lib.rs", "\n/// An edit.\npub const EDITED: u32 = 1;\n"),
    ("label-guard-go", "main.go", "\n// An edit.\nconst edited = 1\n"),
    ("label-guard-python", "plugin.py", "\nEDITED = 1\n"),
    ("label-guard-js", "plugin.js", "\nexport const edited = 1;\n"),
    ("label-guard-ts", "plugin.ts", "\nexport const edited: number = 1;\n"),
    ("label-guard-c", "plugin.c", "\nstatic const int edited = 1;\nint how_often(void) { return edited; }\n"),
];

/// A folder of a test's own, whose name has what paths may have.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(scratch("build")?))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a folder with some files.
    pub(crate) fn folder(&self, name: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
        let folder = self.path(name);
        fs::create_dir_all(&folder)?;
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(folder)
    }

    /// A folder of tools with those that the set-up has installed. What builds leave there goes
    /// with this scratch folder.
    pub(crate) fn tools(&self) -> Result<PathBuf> {
        let tools = self.path("tools");
        if !tools.exists() {
            fs::create_dir(&tools)?;
            let installed = paths::target().join("tools");
            for entry in
                fs::read_dir(&installed).with_context(|| format!("read {}; make it with: cargo xtask guests", installed.display()))?
            {
                let entry = entry?;
                if entry.file_name() != "plugins" {
                    symlink(entry.path(), tools.join(entry.file_name()))?;
                }
            }
        }
        Ok(tools)
    }

    /// `wharf build FOLDER`, with the tools that the set-up has installed.
    pub(crate) fn build(&self, folder: &Path) -> Result<Command> {
        let mut command = bare_build(folder)?;
        command.arg("--tools-dir").arg(self.tools()?);
        Ok(command)
    }

    /// Copies an example plugin, without what tools have made there.
    pub(crate) fn plugin(&self, plugin: &str, name: &str) -> Result<PathBuf> {
        let to = self.path(name);
        copy(&paths::root().join("plugins").join(plugin), &to)?;
        // The SDK is where the repository is, and no longer two folders up.
        for file in ["Cargo.toml", "go.mod"] {
            let path = to.join(file);
            if let Ok(text) = fs::read_to_string(&path) {
                let sdks = paths::root().join("sdk").display().to_string();
                ensure!(text.contains("../../sdk"), "{} names no SDK", path.display());
                fs::write(&path, text.replace("../../sdk", &sdks))?;
            }
        }
        Ok(to)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() {
            if !["target", "node_modules", "tests", "test", "__pycache__", ".wharf"].contains(&name.as_str()) {
                copy(&path, &to.join(&name))?;
            }
        } else if !name.ends_with(".wasm") {
            fs::copy(&path, to.join(&name)).with_context(|| format!("copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// `wharf build FOLDER`, in an environment as a shell has it, without cargo's additions.
pub(crate) fn bare_build(folder: &Path) -> Result<Command> {
    let mut command = Command::new(paths::wharf()?);
    clean(&mut command);
    command.arg("build").arg(folder);
    Ok(command)
}

/// Takes out what cargo tells the tests that it runs.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text.starts_with("CARGO_BIN_")
            || text == "CARGO_TARGET_DIR"
        {
            command.env_remove(&name);
        }
    }
}

/// What a command said, when it ended as it should.
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a build that must succeed.
pub(crate) fn succeeds(command: &mut Command) -> Result<Said> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let said = said(&output);
    ensure!(output.status.success(), "{command:?} ended with {}\n{}{}", output.status, said.out, said.err);
    Ok(said)
}

/// Runs a build that must fail with an error that has all the words, and a hint that has `hint`.
pub(crate) fn fails(command: &mut Command, words: &[&str], hint: &str) -> Result<Said> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let said = said(&output);
    ensure!(matches!(output.status.code(), Some(1 | 2)), "{command:?} ended with {}\n{}{}", output.status, said.out, said.err);
    let (_, error) = said.err.split_once("error: ").with_context(|| format!("no error in:\n{}", said.err))?;
    for word in words {
        ensure!(error.contains(word), "{word:?} is missing in:\n{error}");
    }
    let (_, said_hint) = error.rsplit_once("\nhint: ").with_context(|| format!("no hint in:\n{error}"))?;
    ensure!(said_hint.contains(hint), "the hint lacks {hint:?}:\n{error}");
    ensure!(said.out.is_empty(), "a result in spite of the error: {}", said.out);
    Ok(said)
}

fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { out: text(&output.stdout), err: text(&output.stderr) }
}
