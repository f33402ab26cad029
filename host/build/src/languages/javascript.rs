//! JavaScript and TypeScript, by the program that the SDK brings: it bundles the plugin's
//! modules (which also takes the types out) and puts them together with the QuickJS engine.
//! Owns how that program is called and which npm packages it needs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Job, Made};
use crate::command::Tool;
use crate::contract;
use crate::error::BuildError;
use crate::language::Language;
use crate::plugin::{Reproducible, embedded_sdk};
use crate::sdk::Sdk;
use crate::tools::{COMPONENTIZE_QJS, ESBUILD};
use crate::workspace::read;

const FIX: &str = "the file that package.json names as `main` must `export default definePlugin({...})` of @wharf-dev/sdk";
const WHY_NOT: &str = "the picture of the JavaScript engine's memory differs from build to build";

pub(super) fn build(job: &Job<'_>, language: Language) -> Result<Made, BuildError> {
    let package = Package::read(job.folder)?;
    let node = job.tools.node()?;
    let tools = job.tools.npm(&[COMPONENTIZE_QJS, ESBUILD])?;
    let sdk = Sdk::JavaScript.unpack(job.workspace)?;
    let wit = job.workspace.build().join("wit");
    contract::write_world(&wit, job.options.cluster)?;
    let module = job.workspace.fresh("component.wasm")?;
    let mut tool = Tool::new("node", job.folder, "make a component of the JavaScript modules");
    tool = tool.fix("correct what it names").arg(sdk.join("build").join("main.js"));
    tool = tool.args(["--world", contract::GENERATED_WORLD]);
    for (flag, value) in [("--plugin", job.folder), ("--wit", &wit), ("--tools", &tools), ("--output", &module)] {
        tool = tool.arg(flag).arg(value);
    }
    tool = tool.arg("--entry").arg(&package.main);
    if job.options.cluster {
        tool = tool.arg("--cluster");
    }
    if job.options.debug {
        tool = tool.arg("--keep").arg(job.workspace.build());
    }
    let said = tool.run()?;
    let component = read(&module)?;
    contract::check_component(&component, FIX)?;
    Ok(Made {
        component,
        compiler: "ES2024".to_owned(),
        version: package.version,
        sdk_version: embedded_sdk(),
        tools: vec![COMPONENTIZE_QJS.named(), ESBUILD.named(), ("node".to_owned(), node.to_string())],
        reproducible: Reproducible::No(WHY_NOT),
        warnings: remarks(&said.out, language),
    })
}

/// What the program says beside the component: the bundler's warnings, and why the types of a
/// TypeScript plugin were not checked.
fn remarks(answer: &[u8], language: Language) -> Vec<String> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let warnings = answer.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let mut remarks: Vec<String> = warnings.filter_map(Value::as_str).map(str::to_owned).collect();
    let types = answer.get("types").and_then(Value::as_str).filter(|types| types.starts_with("not checked"));
    if language == Language::TypeScript {
        remarks.extend(types.map(|types| format!("types {types}")));
    }
    remarks
}

/// What `package.json` says.
struct Package {
    /// The plugin's file, as the manifest names it.
    main: String,
    version: Option<String>,
}

impl Package {
    fn read(folder: &Path) -> Result<Self, BuildError> {
        let file = folder.join("package.json");
        let text = fs::read_to_string(&file).map_err(BuildError::files("read", &file))?;
        let wrong = |problem: String, hint: &str| BuildError::Manifest { file: file.clone(), problem, hint: hint.to_owned() };
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(format!("not JSON: {e}"), "correct it"))?;
        let field = |name: &str| value.get(name).and_then(Value::as_str);
        let main = field("main").unwrap_or("plugin.js");
        if !folder.join(main).is_file() {
            let hint = "name the plugin's file: \"main\": \"plugin.js\" or \"plugin.ts\"";
            return Err(wrong(format!("`main` names {main}, which is not there"), hint));
        }
        Ok(Self { main: main.to_owned(), version: field("version").map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_the_entry() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = |text: &str| fs::write(folder.path().join("package.json"), text).unwrap();
        for (text, problem) in [("{", "not JSON"), ("{}", "`main` names plugin.js"), (r#"{"main": "x.ts"}"#, "`main` names x.ts")] {
            manifest(text);
            let error = Package::read(folder.path()).err().unwrap();
            assert!(error.to_string().contains(problem) && !error.hint().is_empty(), "{error}");
        }
        fs::write(folder.path().join("x.ts"), "").unwrap();
        manifest(r#"{"main": "x.ts", "version": "1.2.3"}"#);
        let package = Package::read(folder.path()).unwrap();
        assert_eq!((package.main.as_str(), package.version.as_deref()), ("x.ts", Some("1.2.3")));
    }

    #[test]
    fn remarks_are_warnings_and_unchecked_types() {
        let answer = br#"{"warnings": ["a.js:1: odd"], "types": "not checked: no typescript"}"#;
        assert_eq!(remarks(answer, Language::JavaScript), ["a.js:1: odd"]);
        assert_eq!(remarks(answer, Language::TypeScript), ["a.js:1: odd", "types not checked: no typescript"]);
        assert!(remarks(b"", Language::TypeScript).is_empty());
    }
}
