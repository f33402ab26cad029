//! Everything that can go wrong in a build. Owns the texts: what failed, on what, why, and
//! what to do about it; never prints them.

use std::path::{Path, PathBuf};

use wharf_core::Reason;

use crate::language::Language;

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no folder of that name.
    #[error("{} is not a folder that can be read", folder.display())]
    NoFolder {
        /// Which.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// No file says which language the plugin is written in.
    #[error("{} has none of the files that tell a plugin's language", folder.display())]
    NoLanguage {
        /// Where.
        folder: PathBuf,
    },
    /// The files of more than one language.
    #[error("{} holds plugins in several languages: {}", folder.display(), list_files(found))]
    SeveralLanguages {
        /// Where.
        folder: PathBuf,
        /// Which.
        found: Vec<Language>,
    },
    /// The manifest of the language that was asked for is not there.
    #[error("{} has no {}, which a plugin in {language} has", folder.display(), language.manifest())]
    NotThisLanguage {
        /// Where.
        folder: PathBuf,
        /// Which.
        language: Language,
    },
    /// The language's own manifest cannot be used.
    #[error("{}: {problem}", file.display())]
    Manifest {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A program that the language needs is not installed.
    #[error("{program} is needed and cannot be started: {why}")]
    ToolMissing {
        /// Its name.
        program: String,
        /// What the system says.
        why: String,
        /// How to get it.
        hint: String,
    },
    /// A program is older than what the build needs.
    #[error("{program} {found} is too old: {needed} or newer is needed")]
    ToolTooOld {
        /// Its name.
        program: String,
        /// The version that was found.
        found: String,
        /// The oldest version that does.
        needed: String,
        /// How to get it.
        hint: String,
    },
    /// A download failed because nobody answered.
    #[error("{what} needs the network, which does not answer\n{output}")]
    NoNetwork {
        /// What was being done.
        what: String,
        /// What the tool said.
        output: String,
    },
    /// A tool failed.
    #[error("{what} failed: {command} ended with {status}\n{output}")]
    Failed {
        /// What was being done.
        what: String,
        /// The command line.
        command: String,
        /// Its exit code or signal.
        status: String,
        /// What it printed.
        output: String,
        /// What to do.
        hint: String,
    },
    /// A file or folder cannot be written or read.
    #[error("cannot {what} {}", path.display())]
    Files {
        /// What was being done, for example `write`.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The tools made something that is no plugin.
    #[error("{problem}")]
    Contract {
        /// The name of the cause.
        reason: Reason,
        /// What is wrong, with the names.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The encoder refused the module, for a reason that has no better name.
    #[error("the module cannot be made into a component: {why}")]
    Encode {
        /// What the encoder says.
        why: String,
    },
}

impl BuildError {
    /// The name of the cause, where the host has one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Contract { reason, .. } => Some(*reason),
            Self::Encode { .. } => Some(Reason::ComponentInvalid),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoFolder { .. } => "name the plugin's folder: `wharf build DIR`".to_owned(),
            Self::NoLanguage { .. } => {
                let files: Vec<String> =
                    Language::ALL.iter().filter(|l| **l != Language::TypeScript).map(|l| format!("{} ({l})", l.manifest())).collect();
                format!("name the plugin's folder, which has one of: {}", files.join(", "))
            }
            Self::SeveralLanguages { found, .. } => {
                let words: Vec<String> = found.iter().map(|language| format!("--language {}", language.word())).collect();
                format!("say which one to build: {}", words.join(" or "))
            }
            Self::NotThisLanguage { folder, .. } => {
                format!("leave out --language to build what {} holds", folder.display())
            }
            Self::NoNetwork { .. } => {
                "build once with network (behind a proxy: set HTTPS_PROXY); what was downloaded is kept, and later builds need none"
                    .to_owned()
            }
            Self::Files { path, source, .. } => files_hint(path, source),
            Self::Encode { .. } => "build it with the SDK that fits this wharf; `wharf version` shows the contract".to_owned(),
            Self::Manifest { hint, .. }
            | Self::ToolMissing { hint, .. }
            | Self::ToolTooOld { hint, .. }
            | Self::Failed { hint, .. }
            | Self::Contract { hint, .. } => hint.clone(),
        }
    }

    /// An error with a file or folder.
    pub(crate) fn files(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Files { what, path, source }
    }
}

fn files_hint(path: &Path, source: &std::io::Error) -> String {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match source.kind() {
        PermissionDenied | ReadOnlyFilesystem => format!(
            "make {} writable, or build into other folders: `wharf build DIR --output FILE --tools-dir FOLDER`",
            path.parent().unwrap_or(path).display()
        ),
        StorageFull => "make room on the disk".to_owned(),
        _ => String::new(),
    }
}

fn list_files(found: &[Language]) -> String {
    found.iter().map(|language| format!("{} ({language})", language.manifest())).collect::<Vec<_>>().join(", ")
}
