//! The manifest files of a folder: which there are, which are still being written, and the text of one. Owns what a failure says about
//! what is there: nothing. Never knows what is in a text.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 16 << 20;

/// What tells that a file was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// What was seen at one look.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) files: BTreeMap<PathBuf, Stamp>,
    /// Files and folders that could not be looked at, and why. What is known of them, and of all below, is still so.
    pub(super) failed: BTreeMap<PathBuf, String>,
}

impl Seen {
    /// Looks at the YAML and JSON files of a folder and those in it, hidden ones left out.
    pub(super) fn of(folder: &Path) -> Self {
        let mut seen = Self::default();
        if let Err(error) = seen.walk(folder) {
            seen.fail(folder, &error);
        }
        seen
    }

    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let looked = match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.walk(&path),
                Ok(_) if is_manifest(&path) => fs::metadata(&path).and_then(|metadata| self.add(&path, &metadata)),
                other => other.map(drop),
            };
            match looked {
                // It went while it was looked at. A link that leads nowhere is there.
                Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {}
                Err(error) => self.fail(&path, &error),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, metadata: &Metadata) -> io::Result<()> {
        if self.files.len() >= MAX_FILES {
            return Err(io::Error::other(format!("more than {MAX_FILES} files")));
        }
        if metadata.is_file() {
            self.files.insert(path.to_owned(), Stamp::of(metadata));
        }
        Ok(())
    }

    fn fail(&mut self, path: &Path, error: &io::Error) {
        self.failed.insert(path.to_owned(), error.to_string());
    }

    /// Was nothing written between an earlier look and this one, as far as a path goes?
    pub(super) fn is_settled(&self, path: &Path, before: &Self) -> bool {
        self.files.get(path) == before.files.get(path)
    }

    /// Is it known that a file is not there?
    pub(super) fn is_gone(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && !path.ancestors().any(|above| self.failed.contains_key(above))
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
}

/// What there is to read in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    /// Not a byte: a shell has opened it for the output of a command that has not written yet.
    Empty,
    /// It is being written.
    Unsettled,
}

/// Reads a file of which `stamp` was seen.
///
/// # Errors
/// If it cannot be read, is no text, or is too large.
pub(super) fn read(path: &Path, stamp: Stamp) -> io::Result<Content> {
    if stamp.len > MAX_BYTES {
        return Err(io::Error::other(format!("more than {MAX_BYTES} bytes")));
    }
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    (&file).take(stamp.len.saturating_add(1)).read_to_end(&mut bytes)?;
    if Stamp::of(&file.metadata()?) != stamp || u64::try_from(bytes.len()) != Ok(stamp.len) {
        return Ok(Content::Unsettled);
    }
    let text = String::from_utf8(bytes).map_err(|error| io::Error::other(format!("no UTF-8: {}", error.utf8_error())))?;
    Ok(if text.is_empty() { Content::Empty } else { Content::Text(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("manifests");
        let file = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        };
        let gone = Seen::of(&root);
        assert!(gone.files.is_empty() && gone.failed.contains_key(&root));
        assert!(!gone.is_gone(&root.join("a.yaml")) && !gone.is_gone(&root.join("in/b.yml")), "a folder that is gone says nothing");

        let (a, b) = (file("a.yaml", b"a"), file("in/b.yml", b"b"));
        for other in ["c.txt", ".d.yaml", ".git/e.yaml"] {
            file(other, b"");
        }
        fs::create_dir(root.join("f.yaml")).unwrap();
        std::os::unix::fs::symlink(&a, root.join("g.json")).unwrap();
        std::os::unix::fs::symlink(root.join("nowhere"), root.join("h.yaml")).unwrap();
        let seen = Seen::of(&root);
        assert_eq!(seen.files.keys().collect::<Vec<_>>(), [&a, &root.join("g.json"), &b]);
        assert_eq!(seen.failed.keys().collect::<Vec<_>>(), [&root.join("h.yaml")]);
        assert!(seen.is_gone(&root.join("c.yaml")) && !seen.is_gone(&a) && !seen.is_gone(&root.join("h.yaml")));

        assert!(!seen.is_settled(&a, &Seen::default()) && seen.is_settled(&a, &Seen::of(&root)));
        file("a.yaml", b"ab");
        fs::remove_file(&b).unwrap();
        let next = Seen::of(&root);
        assert!(!next.is_settled(&a, &seen), "it was written");
        assert!(!next.is_settled(&b, &seen) && Seen::of(&root).is_settled(&b, &next), "gone at two looks");
    }

    #[test]
    fn what_is_in_a_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.yaml");
        let stamp = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Stamp::of(&fs::metadata(&path).unwrap())
        };
        let text = stamp(b"a: 1");
        assert_eq!(read(&path, text).unwrap(), Content::Text("a: 1".to_owned()));
        let empty = stamp(b"");
        assert_eq!(read(&path, empty).unwrap(), Content::Empty);
        assert_eq!(read(&path, text).unwrap(), Content::Unsettled);
        let binary = stamp(b"a: \xff");
        assert!(read(&path, binary).unwrap_err().to_string().starts_with("no UTF-8"));
        assert!(read(&path, Stamp { len: MAX_BYTES + 1, ..text }).is_err());
        assert_eq!(read(&home.path().join("b.yaml"), text).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
