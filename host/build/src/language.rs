//! The languages of plugins, and how a folder tells which one it holds. Owns the names and
//! the manifests; how each is built is in `languages`.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::error::BuildError;

/// A language that plugins are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// Rust, by cargo.
    Rust,
    /// Go, by the go command.
    Go,
    /// Python, by componentize-py.
    Python,
    /// JavaScript, by the QuickJS encoder.
    JavaScript,
    /// TypeScript: JavaScript whose types are taken out.
    TypeScript,
    /// C, by zig's compiler.
    C,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Rust, Self::Go, Self::Python, Self::JavaScript, Self::TypeScript, Self::C];

    /// As it is written on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::C => "c",
        }
    }

    /// The file in the plugin's folder that tells the language.
    pub const fn manifest(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::Go => "go.mod",
            Self::Python => "pyproject.toml",
            Self::JavaScript | Self::TypeScript => "package.json",
            Self::C => "plugin.c",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::C => "C",
        })
    }
}

/// The language of the plugin in a folder: the one that is wished, if its manifest is there,
/// else the only one whose manifest is there.
///
/// # Errors
/// [`BuildError::NoFolder`], [`BuildError::NoLanguage`], [`BuildError::SeveralLanguages`] or
/// [`BuildError::NotThisLanguage`].
pub fn detect(folder: &Path, wish: Option<Language>) -> Result<Language, BuildError> {
    if let Err(source) = fs::read_dir(folder) {
        return Err(BuildError::NoFolder { folder: folder.to_owned(), source });
    }
    let mut found = Vec::new();
    for language in Language::ALL.into_iter().filter(|l| *l != Language::TypeScript) {
        if folder.join(language.manifest()).is_file() {
            found.push(if language == Language::JavaScript { dialect(folder) } else { language });
        }
    }
    match (wish, found.as_slice()) {
        (Some(wish), found) if found.iter().any(|l| l.manifest() == wish.manifest()) => Ok(wish),
        (Some(language), _) => Err(BuildError::NotThisLanguage { folder: folder.to_owned(), language }),
        (None, [one]) => Ok(*one),
        (None, []) => Err(BuildError::NoLanguage { folder: folder.to_owned() }),
        (None, _) => Err(BuildError::SeveralLanguages { folder: folder.to_owned(), found }),
    }
}

/// TypeScript where the entry in `package.json` says so. One that cannot be read is reported
/// by the build itself.
fn dialect(folder: &Path) -> Language {
    let text = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let typed = package.get("main").and_then(Value::as_str).is_some_and(|main| main.ends_with(".ts"));
    if typed { Language::TypeScript } else { Language::JavaScript }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_tells_the_language() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(detect(folder.path(), None), Err(BuildError::NoLanguage { .. })));
        for language in Language::ALL {
            let file = folder.path().join(language.manifest());
            let text = if language == Language::TypeScript { r#"{"main": "src/plugin.ts"}"# } else { "" };
            fs::write(&file, text).unwrap();
            assert_eq!(detect(folder.path(), None).unwrap(), language);
            fs::remove_file(file).unwrap();
        }
        assert!(matches!(detect(&folder.path().join("none"), None), Err(BuildError::NoFolder { .. })));
    }

    #[test]
    fn several_are_named_and_the_wish_decides() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["go.mod", "plugin.c"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let error = detect(folder.path(), None).unwrap_err();
        assert!(error.to_string().contains("go.mod (Go), plugin.c (C)"), "{error}");
        assert_eq!(error.hint(), "say which one to build: --language go or --language c");
        assert_eq!(detect(folder.path(), Some(Language::C)).unwrap(), Language::C);
        let error = detect(folder.path(), Some(Language::Rust)).unwrap_err();
        assert!(error.to_string().contains("has no Cargo.toml"), "{error}");
    }
}
