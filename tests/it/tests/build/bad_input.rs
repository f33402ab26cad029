//! Folders, documents and sources that cannot become a plugin.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::paths;

use crate::support::{Scratch, bare_build, clean, fails, succeeds};

#[test]
fn the_folder_must_hold_one_language() -> Result<()> {
    let scratch = Scratch::new()?;
    fails(&mut bare_build(&scratch.path("none"))?, &["none is not a folder"], "wharf build DIR")?;
    let empty = scratch.folder("empty", &[("README.md", "")])?;
    fails(&mut bare_build(&empty)?, &["empty has none of the files"], "Cargo.toml (Rust), go.mod (Go)")?;
    let both = scratch.folder("both", &[("go.mod", "module x\n"), ("plugin.c", "")])?;
    fails(&mut bare_build(&both)?, &["go.mod (Go)", "plugin.c (C)"], "--language go or --language c")?;
    fails(bare_build(&both)?.args(["--language", "rust"]), &["has no Cargo.toml"], "leave out --language")?;
    Ok(())
}

#[test]
fn the_document_must_be_valid() -> Result<()> {
    let scratch = Scratch::new()?;
    let document = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: a}\nspec: {component: {file: a.wasm}}\n";
    let wrong = scratch.folder("wrong", &[("plugin.c", ""), ("plugin.yaml", &document.replace("component", "compnent"))])?;
    fails(&mut bare_build(&wrong)?, &["plugin.yaml:4:", "compnent"], "wharf validate")?;
    let two = scratch.folder("two", &[("plugin.c", ""), ("plugin.yaml", &format!("{document}---\n{document}"))])?;
    fails(&mut bare_build(&two)?, &["this file has 2"], "folders of their own")?;
    let folder = scratch.folder("folder", &[("plugin.c", ""), ("plugin.yaml", document), ("out/file", "")])?;
    fails(bare_build(&folder)?.arg("--output").arg(folder.join("out")), &["out is a folder"], "--output plugin.wasm")?;
    Ok(())
}

/// Root may write everywhere: the right to is taken away for this one process.
#[test]
fn a_read_only_folder_is_named_before_anything_is_built() -> Result<()> {
    let scratch = Scratch::new()?;
    let folder = scratch.folder("read-only", &[("plugin.c", "")])?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555))?;
    let id = Command::new("id").arg("-u").output().context("ask who runs the tests")?;
    let mut command = if id.stdout == b"0\n" {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search", "--"]);
        command.arg(paths::wharf()?).arg("build").arg(&folder);
        clean(&mut command);
        command
    } else {
        bare_build(&folder)?
    };
    fails(&mut command, &["cannot write", "read-only", "ermission denied"], "--output FILE --tools-dir FOLDER")?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    ensure!(fs::read_dir(&folder)?.count() == 1, "something was left in the folder");
    Ok(())
}

#[test]
fn what_the_compiler_says_is_shown_and_the_old_component_stays() -> Result<()> {
    let scratch = Scratch::new()?;
    let folder = scratch.plugin("label-guard-c", "broken")?;
    let output = scratch.path("plugin.wasm");
    fs::write(&output, "the old one")?;
    fs::write(folder.join("more.c"), "int f(void) { return undeclared_name; }\n")?;
    fails(scratch.build(&folder)?.arg("--output").arg(&output), &["compile the plugin failed", "more.c:1:", "undeclared_name"], "correct")?;
    fs::write(folder.join("more.c"), "")?;
    // A plugin that no host can use: it watches objects of no version.
    let (right, wrong) = (".api_version = \"v1\"", ".api_version = \"v 1\"");
    let text = fs::read_to_string(folder.join("plugin.c"))?;
    ensure!(text.contains(right), "the plugin's source has changed");
    fs::write(folder.join("plugin.c"), text.replace(right, wrong))?;
    let words = ["describes itself", "/subscribe/0/apiVersion", "[DescribeFailed]"];
    fails(scratch.build(&folder)?.arg("--output").arg(&output), &words, "wharf inspect")?;
    ensure!(fs::read(&output)? == b"the old one", "the old component is gone");
    Ok(())
}

/// Rust packages without dependencies, which compile in no time.
#[test]
fn what_is_no_plugin_is_refused_with_the_names() -> Result<()> {
    let scratch = Scratch::new()?;
    let manifest = |kind: &str| {
        format!("[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"{kind}\"]\n[workspace]\n")
    };
    let package = |name: &str, kind: &str, code: &str| scratch.folder(name, &[("Cargo.toml", &manifest(kind)), ("src/lib.rs", code)]);

    let library = package("library", "rlib", "")?;
    fails(&mut scratch.build(&library)?, &["Cargo.toml: package other makes no WebAssembly module"], "crate-type = [\"cdylib\"]")?;

    // A core module, and none of the exports.
    let core = package("core", "cdylib", "#[unsafe(no_mangle)] pub extern \"C\" fn hello() {}")?;
    let missing = ["wharf:plugin/setup@0.1.0.describe", "wharf:plugin/handler@0.1.0.add", "[WorldMismatch]"];
    fails(&mut scratch.build(&core)?, &missing, "wharf_sdk::plugin!")?;

    let code = r#"#[unsafe(export_name = "wharf:plugin/handler@0.2.0#add")] pub extern "C" fn add() {}"#;
    let newer = package("newer", "cdylib", code)?;
    fails(
        &mut scratch.build(&newer)?,
        &["another contract than wharf:plugin@0.1.0: wharf:plugin/handler@0.2.0"],
        "SDK of this wharf's version",
    )?;

    let code = "#[link(wasm_import_module = \"wasi2:http/client@9.0.0\")] unsafe extern \"C\" { fn get(); }\n#[unsafe(no_mangle)] pub extern \"C\" fn hello() { unsafe { get() } }";
    let world = package("world", "cdylib", code)?;
    fails(&mut scratch.build(&world)?, &["wasi2:http/client@9.0.0", "[ImportUnknown]"], "interfaces of wharf:plugin")?;
    Ok(())
}

#[test]
fn a_document_without_the_grant_is_warned_about() -> Result<()> {
    let scratch = Scratch::new()?;
    let folder = scratch.plugin("label-guard-c", "no-grant")?;
    let document = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: a}\nspec:\n  component: {file: a.wasm}\n  subscribe: [{name: other}]\n";
    fs::write(folder.join("plugin.yaml"), document)?;
    let said = succeeds(&mut scratch.build(&folder)?)?;
    for warning in ["plugin.yaml grants nothing of it [GrantMissing]", "/spec/subscribe/0/name: the component has no subscription other"] {
        ensure!(said.err.contains(warning), "{warning:?} is missing in:\n{}", said.err);
    }
    ensure!(folder.join("a.wasm").is_file(), "no component");
    Ok(())
}
