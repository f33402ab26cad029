//! Builds without a network: the first one says what it needs, the second one needs nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::paths;

use crate::support::{PLUGINS, Scratch, clean, fails, succeeds};

/// Where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";

/// `wharf build FOLDER` without a network: in a network namespace of its own, or where the
/// machine does not allow that, with proxies that are not there.
fn offline(folder: &Path, tools: &Path) -> Result<Command> {
    let namespace = Command::new("unshare").args(["--map-root-user", "--net", "true"]).output();
    let mut command = if namespace.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net"]).arg(paths::wharf()?);
        command
    } else {
        Command::new(paths::wharf()?)
    };
    clean(&mut command);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"] {
        command.env(name, NOWHERE);
    }
    command.arg("build").arg(folder).arg("--tools-dir").arg(tools);
    Ok(command)
}

/// The set-up has built every example, so whatever the package managers fetch is there.
#[test]
fn after_an_edit_no_language_needs_the_network() -> Result<()> {
    let scratch = Scratch::new()?;
    for (plugin, source, edit) in PLUGINS {
        // Paths may have spaces and other letters, in every language.
        let folder = scratch.plugin(plugin, &format!("ein Ordner für {plugin}"))?;
        let path = folder.join(source);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        fs::write(&path, text + edit)?;
        let mut command = offline(&folder, &scratch.tools()?)?;
        let output = scratch.path(&format!("{plugin}.wasm"));
        // What cargo compiled for the examples is as good as a first build of this one.
        command.arg("--output").arg(&output).env("CARGO_TARGET_DIR", paths::target().join("guest-build"));
        let said = succeeds(&mut command).with_context(|| format!("build {plugin} without network"))?;
        for line in ["plugin:  ", "size:    ", "imports:\n  wharf:plugin/", "asks for:\n", "  name: "] {
            ensure!(said.out.contains(line), "{plugin}: {line:?} is missing in:\n{}", said.out);
        }
        let promise = matches!(plugin, "label-guard" | "label-guard-go" | "label-guard-c");
        ensure!(said.out.contains(", reproducible:") == promise, "{plugin}: {}", said.out);
        let mut inspect = Command::new(paths::wharf()?);
        let shown = succeeds(inspect.arg("inspect").arg(&output))?.out;
        for line in ["\nplugin:  ", " 0.1.0\n", "\nmade of: ", "wharf:plugin 0.1.0", "\nby:      "] {
            ensure!(shown.contains(line), "{plugin}: {line:?} is missing in:\n{shown}");
        }
    }
    Ok(())
}

#[test]
fn a_first_build_says_that_it_needs_the_network() -> Result<()> {
    let scratch = Scratch::new()?;
    let tools = scratch.folder("no tools yet", &[])?;
    let empty = scratch.folder("empty", &[])?;
    let sdk = paths::root().join("sdk").display().to_string();
    let cargo = format!(
        "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\nwharf-sdk = {{ path = \"{sdk}/rust\" }}\n[workspace]\n"
    );
    for (name, files) in [
        ("python", &[("pyproject.toml", "[project]\nname = \"x\"\nversion = \"0.1.0\"\n"), ("plugin.py", "")][..]),
        ("js", &[("package.json", "{\"main\": \"plugin.js\"}"), ("plugin.js", "")]),
        ("c", &[("plugin.c", "")]),
        (
            "go",
            &[
                ("go.mod", "module x\n\ngo 1.26\n\nrequire golang.org/x/text v0.31.0\n"),
                ("main.go", "package main\n\nimport _ \"golang.org/x/text/width\"\n\nfunc main() {}\n"),
                ("go.sum", ""),
            ],
        ),
        ("rust", &[("Cargo.toml", &cargo), ("src/lib.rs", "")]),
    ] {
        let folder = scratch.folder(name, files)?;
        let mut command = offline(&folder, &tools)?;
        // As on a machine that has never built anything.
        command
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env_remove("PIP_FIND_LINKS")
            .env("PIP_NO_CACHE_DIR", "1")
            .env("PIP_DEFAULT_TIMEOUT", "1");
        command.env("npm_config_cache", &empty).env("GOMODCACHE", empty.join("go")).env("GOFLAGS", "-modcacherw -mod=mod");
        command.env("GONOSUMDB", "*").env("GOPROXY", NOWHERE).env_remove("GONOPROXY").env("CARGO_HOME", empty.join("cargo"));
        fails(&mut command, &["needs the network, which does not answer"], "build once with network")
            .with_context(|| format!("build {name}"))?;
    }
    ensure!(fs::read_dir(&tools)?.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "plugins")), "half a tool is left");
    Ok(())
}
