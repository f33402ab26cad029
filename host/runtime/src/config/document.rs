//! Plugin documents as YAML text: from the text to the document, or to every mistake with
//! its line. Owns the way between the two; what a document may say is decided in
//! `wharf_core::plugin`, what YAML may do in `yaml`.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wharf_core::Reason;
use wharf_core::plugin::{API_VERSION, KIND, PluginDocument, PluginName, read_document};

use super::problem::LocatedProblem;
use super::yaml::{self, Loaded};

/// A longer file is refused, in bytes.
pub const MAX_DOCUMENT_BYTES: u64 = yaml::MAX_BYTES as u64;

/// Everything that is wrong with one document. Printed as one line a problem, `file:line:column`
/// first, and its hint on the next line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The file.
    pub file: PathBuf,
    /// Whose document it is, where that can be told: its last good revision goes on.
    pub name: Option<PluginName>,
    /// In the order of the file; never empty.
    pub problems: Vec<LocatedProblem>,
}

impl DocumentError {
    /// The reason of the first problem.
    pub fn reason(&self) -> Reason {
        self.problems.first().map_or(Reason::DocumentInvalid, |problem| problem.reason)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.write(&self.file, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for DocumentError {}

/// Reads all documents of a file, separated by `---`; empty ones are left out. A broken one
/// does not hide the others. Work and memory are bounded by the text's size, which is at
/// most [`MAX_DOCUMENT_BYTES`].
///
/// # Errors
/// For each document on its own: all of its problems.
pub fn read_documents(file: &Path, text: &str) -> Vec<Result<PluginDocument, DocumentError>> {
    yaml::load(text, Reason::DocumentInvalid).into_iter().map(|loaded| read(file, loaded)).collect()
}

fn read(file: &Path, loaded: Loaded) -> Result<PluginDocument, DocumentError> {
    let Loaded { value, places, mut problems } = loaded;
    let read = value.as_ref().map(read_document);
    let found = match read {
        Some(Ok(document)) if problems.is_empty() => return Ok(document),
        Some(Err(found)) => found,
        _ => Vec::new(),
    };
    // What is wrong as YAML was said already, and comes first.
    let new = found.into_iter().filter(|p| problems.iter().all(|q| q.pointer != p.pointer));
    let new: Vec<_> = new.map(|problem| LocatedProblem::new(problem, &places)).collect();
    problems.extend(new);
    problems.sort_by_key(|p| (p.line, p.column));
    Err(DocumentError { file: file.to_owned(), name: value.as_ref().and_then(name), problems })
}

/// The name in a document that is otherwise wrong.
fn name(value: &Value) -> Option<PluginName> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let namespace = match value.pointer("/metadata/namespace") {
        Some(namespace) => namespace.as_str()?,
        None => PluginName::DEFAULT_NAMESPACE,
    };
    let ours = text("/apiVersion") == Some(API_VERSION) && text("/kind") == Some(KIND);
    if ours { PluginName::new(namespace, text("/metadata/name")?) } else { None }
}
