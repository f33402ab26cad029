//! One build, from the folder to the component's bytes. Owns the order of the steps and what
//! goes in and comes out; how a language is built is in `languages`.

use std::path::PathBuf;

use crate::error::BuildError;
use crate::language::{Language, detect};
use crate::languages::{self, Job};
use crate::metadata::{self, Metadata};
use crate::tools::Tools;
use crate::workspace::Workspace;
use crate::{contract, git, sdk};

/// What to build, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The plugin's folder.
    pub folder: PathBuf,
    /// The plugin's name.
    pub name: String,
    /// May it use the cluster? Languages that import their whole world get the interface only
    /// then.
    pub cluster: bool,
    /// The language; `None`: what the folder holds.
    pub language: Option<Language>,
    /// Where tools are installed and files between the steps lie; `None`: `.wharf` in the
    /// plugin's folder.
    pub tools_dir: Option<PathBuf>,
    /// Keep what debuggers and stack traces need.
    pub debug: bool,
    /// Leave a Rust guest's imports of WASI to the host, which answers that nothing is there.
    pub keep_wasi: bool,
}

/// What was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The component, checked against the contract.
    pub component: Vec<u8>,
    /// The language that it is written in.
    pub language: Language,
    /// What it says of its origin.
    pub metadata: Metadata,
    /// Would another build of the same source have the same bytes?
    pub reproducible: Reproducible,
    /// What the tools said that is no error.
    pub warnings: Vec<String>,
}

impl Built {
    /// Notes the plugin's version where the manifest has none: what its description says.
    pub fn set_version(&mut self, version: &str) {
        if self.metadata.version.is_none() {
            metadata::add_version(&mut self.component, version);
            self.metadata.version = Some(version.to_owned());
        }
    }
}

/// Would another build of the same source, with the same tools, have the same bytes?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reproducible {
    /// Bit for bit, in any folder of the machine.
    Yes,
    /// No, and why.
    No(&'static str),
}

/// Builds the plugin in a folder. `tell` hears what takes longer than usual, such as the
/// installation of a tool. Writes nothing but into `.wharf` (or the tools folder) and what
/// the language's own tools write; the component is returned.
///
/// # Errors
/// Whatever is wrong with folder, tools, source or result.
pub fn build(options: &Options, tell: &dyn Fn(&str)) -> Result<Built, BuildError> {
    let language = detect(&options.folder, options.language)?;
    let folder = options.folder.canonicalize().map_err(BuildError::files("find", &options.folder))?;
    let workspace = Workspace::open(&folder, options.tools_dir.as_deref())?;
    let tools = Tools::new(&workspace, tell);
    let job = Job { folder: &folder, options, workspace: &workspace, tools: &tools, tell };
    let made = languages::build(language, &job)?;
    let mut made_by = vec![("wharf".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    made_by.extend(made.tools);
    let mut sdks: Vec<_> = made.sdk_version.map(|version| ("wharf-sdk".to_owned(), version)).into_iter().collect();
    sdks.push(("wharf:plugin".to_owned(), contract::version()?));
    let metadata = Metadata {
        name: Some(options.name.clone()),
        version: made.version,
        revision: git::revision(&folder),
        languages: vec![(language.to_string(), made.compiler)],
        sdks,
        tools: made_by,
    };
    Ok(Built {
        component: metadata::write(&made.component, &metadata)?,
        language,
        metadata,
        reproducible: made.reproducible,
        warnings: made.warnings,
    })
}

/// The version of the SDKs that come with this program.
pub(crate) fn embedded_sdk() -> Option<String> {
    Some(sdk::VERSION.to_owned())
}
