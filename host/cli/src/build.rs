//! `wharf build`: from a plugin's folder to a component beside its Plugin document. Owns
//! reading the document and printing the result; building is `wharf_build`'s.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use wharf_build::{BuildError, Built, Draft, Language, Options, Reproducible};
use wharf_core::Reason;
use wharf_core::plugin::{ComponentRef, Description, Limits, PluginDocument, read_description, resolve};
use wharf_engine::Inspection;
use wharf_runtime::config::document::read_documents;

use crate::args::{BuildArgs, BuildLanguage};
use crate::report::{CliError, print_data};
use crate::{exit, inspect, validate};

/// What to do when the component cannot say what it is.
const DESCRIBE: &str = "correct the plugin's description; the text ends with what the plugin itself logged last, if it did";

pub(crate) fn run(args: &BuildArgs) -> Result<u8, CliError> {
    let start = Instant::now();
    let language = wharf_build::detect(&args.dir, args.language.map(Into::into)).map_err(failed)?;
    let document = read_document(&args.dir)?;
    let plugin = Plugin::new(args, document.as_ref())?;
    if document.is_none() {
        warn("there is no plugin.yaml: built without grants, for a host that runs bare components");
    }
    let draft = Draft::open(&plugin.output).map_err(failed)?;
    let options = Options {
        folder: args.dir.clone(),
        name: plugin.name,
        cluster: document.as_ref().is_some_and(|document| !document.grants.cluster.is_empty()),
        language: Some(language),
        tools_dir: args.tools_dir.clone(),
        debug: args.debug,
        keep_wasi: args.keep_wasi,
    };
    let mut built = wharf_build::build(&options, &|text| say(text)).map_err(failed)?;
    for warning in &built.warnings {
        say(warning);
    }
    let described = describe(&mut built)?;
    if let Some(document) = &document {
        compare(document, &described);
    }
    draft.finish(&built.component).map_err(failed)?;
    print_data(&report(&plugin.output, &built, &described, start))?;
    Ok(exit::OK)
}

/// What the document says about building.
struct Plugin {
    name: String,
    output: PathBuf,
}

impl Plugin {
    fn new(args: &BuildArgs, document: Option<&PluginDocument>) -> Result<Self, CliError> {
        let (name, file) = match document {
            Some(PluginDocument { name, component: ComponentRef::File(file), .. }) => (name.name.to_string(), file.clone()),
            // It is built all the same; from there it goes into the ConfigMap.
            Some(PluginDocument { name, component: ComponentRef::ConfigMap { .. }, .. }) => {
                (name.name.to_string(), format!("{}.wasm", name.name))
            }
            None => {
                let folder = args.dir.canonicalize().unwrap_or_else(|_| args.dir.clone());
                let name = folder.file_name().map_or_else(|| "plugin".to_owned(), |name| name.to_string_lossy().into_owned());
                let file = format!("{name}.wasm");
                (name, file)
            }
        };
        let output = args.output.clone().unwrap_or_else(|| args.dir.join(file));
        if output.is_dir() {
            let message = format!("{} is a folder", output.display());
            return Err(CliError::new(exit::USAGE, message).hint("name a file: --output plugin.wasm"));
        }
        Ok(Self { name, output })
    }
}

/// The folder's Plugin document, if there is one.
fn read_document(folder: &Path) -> Result<Option<PluginDocument>, CliError> {
    let file = folder.join("plugin.yaml");
    if !file.exists() {
        return Ok(None);
    }
    let text = validate::read(&file)?;
    let mut documents = read_documents(&file, &text);
    let only = documents.pop().filter(|_| documents.is_empty());
    let Some(document) = only else {
        let message = format!("{}: a plugin's folder has one document, and this file has {}", file.display(), documents.len() + 1);
        return Err(CliError::new(exit::NO, message).hint("move the other documents into folders of their own"));
    };
    document.map(Some).map_err(|error| CliError::new(exit::NO, error.to_string()).hint(Reason::DocumentInvalid.hint()))
}

/// What the component itself says.
struct Described {
    inspection: Inspection,
    asks: Value,
    description: Description,
}

/// Asks the component, and makes sure that a host can use the answer.
fn describe(built: &mut Built) -> Result<Described, CliError> {
    let refused = |what: String, reason: Reason| CliError::new(exit::NO, format!("{what} [{reason}]")).hint(reason.hint());
    let asks =
        crate::block_on(inspect::describe(built.component.clone().into()))?.map_err(|e| CliError::new(exit::NO, e).hint(DESCRIBE))?;
    let description = read_description(&asks.to_string()).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|p| format!("\n  {}: {}", p.pointer, p.message)).collect();
        let what = format!("the plugin describes itself as no host can use it:{}", lines.concat());
        refused(what, Reason::DescribeFailed)
    })?;
    built.set_version(&description.version);
    let inspection = wharf_engine::inspect(&built.component).map_err(|e| refused(e.message, e.reason))?;
    Ok(Described { inspection, asks, description })
}

/// Document and component are written by hand: says where a host would refuse the two together.
fn compare(document: &PluginDocument, described: &Described) {
    let imports_cluster = described.inspection.imports.iter().any(|import| import.starts_with("wharf:plugin/cluster@"));
    if imports_cluster && document.grants.cluster.is_empty() {
        let reason = Reason::GrantMissing;
        warn(&format!("the plugin uses the cluster, and plugin.yaml grants nothing of it [{reason}]: {}", reason.hint()));
    }
    for problem in resolve(document, &described.description, &Limits::default()).err().unwrap_or_default() {
        warn(&format!("plugin.yaml{}: {} [{}]: {}", problem.pointer, problem.message, problem.reason, problem.hint));
    }
}

fn report(output: &Path, built: &Built, described: &Described, start: Instant) -> String {
    let mut text = String::new();
    let name = built.metadata.name.as_deref().unwrap_or_default();
    let _infallible = writeln!(text, "plugin:  {name} ({})", made_with(built));
    let _infallible = writeln!(text, "file:    {}", output.display());
    let _infallible = writeln!(text, "size:    {} bytes", described.inspection.size);
    let _infallible = writeln!(text, "digest:  {}", described.inspection.digest);
    if let Some(revision) = &built.metadata.revision {
        let _infallible = writeln!(text, "source:  {revision}");
    }
    let again = match built.reproducible {
        Reproducible::Yes => "reproducible: the same source gives the same bytes".to_owned(),
        Reproducible::No(why) => format!("not reproducible: {why}"),
    };
    let _infallible = writeln!(text, "build:   {:.1} s, {again}", start.elapsed().as_secs_f64());
    let _infallible = writeln!(text, "imports:");
    for import in &described.inspection.imports {
        let _infallible = writeln!(text, "  {import}");
    }
    let _infallible = writeln!(text, "asks for:");
    text.push_str(&inspect::indented(&described.asks));
    text
}

fn made_with(built: &Built) -> String {
    let named = |list: &[wharf_build::Named]| list.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>();
    [named(&built.metadata.languages), named(&built.metadata.sdks)].concat().join(", ")
}

/// An error of the build as people see it.
fn failed(error: BuildError) -> CliError {
    let code = match error {
        BuildError::NoFolder { .. } | BuildError::SeveralLanguages { .. } | BuildError::NotThisLanguage { .. } => exit::USAGE,
        _ => exit::NO,
    };
    let mut message = error.to_string();
    if let Some(reason) = error.reason() {
        let _infallible = write!(message, " [{reason}]");
    }
    let source = std::error::Error::source(&error).map(|source| source.to_string().into());
    CliError { source, ..CliError::new(code, message).hint(error.hint()) }
}

/// Says something beside the result. If standard error is closed nobody is there to be told.
fn say(text: &str) {
    let _closed = writeln!(std::io::stderr(), "{text}");
}

fn warn(text: &str) {
    say(&format!("warning: {text}"));
}

impl From<BuildLanguage> for Language {
    fn from(language: BuildLanguage) -> Self {
        match language {
            BuildLanguage::Rust => Self::Rust,
            BuildLanguage::Go => Self::Go,
            BuildLanguage::Python => Self::Python,
            BuildLanguage::Javascript => Self::JavaScript,
            BuildLanguage::Typescript => Self::TypeScript,
            BuildLanguage::C => Self::C,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(dir: &Path) -> BuildArgs {
        BuildArgs { dir: dir.to_owned(), language: None, output: None, tools_dir: None, debug: false, keep_wasi: false }
    }

    #[test]
    fn the_document_names_plugin_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let bare = Plugin::new(&args(folder.path()), None).unwrap();
        assert_eq!(bare.output, folder.path().join(format!("{}.wasm", bare.name)));
        assert!(read_document(folder.path()).unwrap().is_none());
        let text = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: a}\nspec: {component: {file: out/b.wasm}}\n";
        std::fs::write(folder.path().join("plugin.yaml"), text).unwrap();
        let document = read_document(folder.path()).unwrap().unwrap();
        let plugin = Plugin::new(&args(folder.path()), Some(&document)).unwrap();
        assert_eq!((plugin.name.as_str(), plugin.output), ("a", folder.path().join("out/b.wasm")));
        let into_folder = BuildArgs { output: Some(folder.path().to_owned()), ..args(folder.path()) };
        assert_eq!(Plugin::new(&into_folder, Some(&document)).err().unwrap().code, exit::USAGE);
        std::fs::write(folder.path().join("plugin.yaml"), format!("{text}---\n{text}")).unwrap();
        assert!(read_document(folder.path()).err().unwrap().message.contains("this file has 2"));
    }

    #[test]
    fn errors_keep_reason_cause_and_hint() {
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let error = failed(BuildError::Files { what: "write", path: "/a/b.wasm".into(), source });
        let text = crate::report::render(&error);
        assert!(text.starts_with("error: cannot write /a/b.wasm\n  caused by: permission denied\n\nhint: make /a writable"), "{text}");
        let contract = BuildError::Contract { reason: Reason::WorldMismatch, problem: "no".to_owned(), hint: "do".to_owned() };
        assert_eq!(crate::report::render(&failed(contract)), "error: no [WorldMismatch]\n\nhint: do\n");
    }
}
