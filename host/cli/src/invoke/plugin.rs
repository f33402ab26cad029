//! Which plugin is called: its component's file, its document and its configuration. Owns the
//! finding of the three; never opens the component.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wharf_core::Grants;
use wharf_core::plugin::{AskedLimits, ComponentRef, PluginDocument, PluginName};
use wharf_runtime::config::read_documents;

use super::args::InvokeArgs;
use super::input::{self, wrong};
use crate::exit;
use crate::report::CliError;

/// The document of a plugin's folder.
const DOCUMENT: &str = "plugin.yaml";

/// A plugin, before its component was asked anything.
#[derive(Clone, Debug)]
pub(super) struct Plugin {
    /// The component's file.
    pub(super) component: PathBuf,
    /// Whose own namespace is meant where a use of the cluster names none.
    pub(super) name: PluginName,
    /// The document that holds, if there is one.
    pub(super) document: Option<PluginDocument>,
    /// What it may use.
    pub(super) grants: Grants,
    /// What the document says of limits.
    pub(super) limits: AskedLimits,
    /// JSON text.
    pub(super) config: Arc<str>,
}

impl Plugin {
    /// Finds everything that the arguments name.
    ///
    /// # Errors
    /// When a file is missing, or the document is not valid.
    pub(super) fn find(args: &InvokeArgs) -> Result<Self, CliError> {
        let is_folder = args.component.is_dir();
        let file = args.plugin.clone().or_else(|| is_folder.then(|| args.component.join(DOCUMENT)));
        if is_folder && file.as_ref().is_some_and(|file| !file.is_file()) && args.plugin.is_none() {
            return Err(wrong(format!("{}: no {DOCUMENT} in this folder", args.component.display()))
                .hint("name a component's file, or a plugin's folder with its document"));
        }
        let document = file.map(|file| document(&file, &args.component, is_folder)).transpose()?;
        let component = match &document {
            Some(document) if is_folder => match &document.component {
                ComponentRef::File(name) => args.component.join(name),
                ComponentRef::ConfigMap { name, .. } => {
                    let message = format!("plugin {}: its component is in the ConfigMap {name}, not in this folder", document.name);
                    return Err(wrong(message).hint("name the component's file, and the document by --plugin"));
                }
            },
            _ => args.component.clone(),
        };
        if !component.is_file() {
            let hint = if is_folder { format!("build it: wharf build {}", args.component.display()) } else { String::new() };
            return Err(wrong(format!("{}: there is no such component", component.display())).hint(hint));
        }
        let config = args.config.as_deref().map(config).transpose()?;
        Ok(Self::new(component, document, config))
    }

    fn new(component: PathBuf, document: Option<PluginDocument>, config: Option<String>) -> Self {
        let own = PluginName { namespace: PluginName::DEFAULT_NAMESPACE.into(), name: "invoke".into() };
        let written = document.as_ref().map_or_else(|| "{}".into(), |document| Arc::clone(&document.config));
        Self {
            component,
            name: document.as_ref().map_or(own, |document| document.name.clone()),
            grants: document.as_ref().map_or_else(Grants::everything, |document| document.grants.clone()),
            limits: document.as_ref().map(|document| document.limits).unwrap_or_default(),
            config: config.map_or(written, Into::into),
            document,
        }
    }
}

/// The document in a file. Of several the one whose component is meant.
fn document(file: &Path, component: &Path, is_folder: bool) -> Result<PluginDocument, CliError> {
    let text = crate::validate::read(file)?;
    let documents = read_documents(file, &text).into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| {
        CliError::new(exit::NO, format!("{}: not a valid Plugin document\n{error}", file.display()))
            .hint(format!("`wharf validate {}` checks all of it", file.display()))
    })?;
    let (count, name) = (documents.len(), component.file_name());
    let of_component = |document: &PluginDocument| {
        !is_folder && matches!(&document.component, ComponentRef::File(path) if Path::new(path).file_name() == name)
    };
    let mut fitting: Vec<_> = documents.into_iter().filter(|document| count == 1 || of_component(document)).collect();
    match (fitting.pop(), fitting.len()) {
        (Some(document), 0) => Ok(document),
        _ => {
            let message = format!("{}: {count} documents, and it is not clear which one is meant", file.display());
            Err(wrong(message).hint("name a file with one document, and the component's file"))
        }
    }
}

fn config(file: &Path) -> Result<String, CliError> {
    let json = input::one(file, false)?;
    if json.starts_with('{') {
        return Ok(json);
    }
    Err(wrong(format!("{}: the configuration is no set of fields", file.display())).hint("write fields and values; {} is none at all"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: InvokeArgs,
    }

    const ONE: &str =
        "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: one}\nspec: {component: {file: one.wasm}, config: {a: 1}}\n";
    const TWO: &str = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: two}\nspec: {component: {file: two.wasm}}\n";

    fn find(folder: &Path, args: &[&str]) -> Result<Plugin, CliError> {
        let in_folder = |arg: &&str| if arg.starts_with("--") { (*arg).to_owned() } else { folder.join(arg).display().to_string() };
        let fixed = ["wharf", "--event=add", "--object=o.yaml"].map(ToOwned::to_owned);
        let cli = Cli::try_parse_from(fixed.into_iter().chain(args.iter().map(in_folder))).unwrap();
        Plugin::find(&cli.args)
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("one.wasm", ""),
            ("two.wasm", ""),
            ("plugin.yaml", ONE),
            ("both.yaml", &format!("{ONE}---\n{TWO}")),
            ("bad.yaml", "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\n"),
            ("config.yaml", "b: 2\n"),
            ("config.json", "{\"b\": 1e3}\n"),
            ("list.yaml", "- 1\n"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_file_alone_is_granted_everything() {
        let folder = folder();
        let plugin = find(folder.path(), &["one.wasm"]).unwrap();
        assert_eq!((plugin.grants, &*plugin.config, plugin.document), (Grants::everything(), "{}", None));
    }

    #[test]
    fn a_folder_has_a_document() {
        let folder = folder();
        let plugin = find(folder.path(), &["."]).unwrap();
        assert_eq!((plugin.grants, &*plugin.config, &*plugin.name.name), (Grants::default(), "{\"a\":1}", "one"));
        assert_eq!(plugin.component.file_name().unwrap(), "one.wasm");
        let plugin = find(folder.path(), &[".", "--config", "config.yaml"]).unwrap();
        assert_eq!(&*plugin.config, "{\"b\":2}");
        let plugin = find(folder.path(), &[".", "--config", "config.json"]).unwrap();
        assert_eq!(&*plugin.config, "{\"b\":1e3}");
    }

    #[test]
    fn of_several_documents_the_components_own() {
        let folder = folder();
        let plugin = find(folder.path(), &["two.wasm", "--plugin", "both.yaml"]).unwrap();
        assert_eq!(&*plugin.name.name, "two");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = folder();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        for (args, code, expected) in [
            (&["none.wasm"][..], exit::USAGE, "none.wasm: there is no such component"),
            (&["empty"], exit::USAGE, "empty: no plugin.yaml in this folder"),
            (&[".", "--plugin", "both.yaml"], exit::USAGE, "2 documents"),
            (&["one.wasm", "--plugin", "bad.yaml"], exit::NO, "bad.yaml: not a valid Plugin document"),
            (&["one.wasm", "--plugin", "none.yaml"], exit::USAGE, "none.yaml"),
            (&["one.wasm", "--config", "list.yaml"], exit::USAGE, "no set of fields"),
        ] {
            let error = find(folder.path(), args).unwrap_err();
            assert!(error.message.contains(expected), "{expected:?} is missing in {:?}", error.message);
            assert_eq!(error.code, code, "{args:?}");
        }
    }
}
