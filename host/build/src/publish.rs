//! The component's file. Owns that it appears by rename, whole or not at all: a host may be
//! watching the folder. Finds out before a long build whether it could be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use crate::error::BuildError;
use crate::workspace::make;

/// A file that is going to appear. Dropping it leaves no trace.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    unfinished: PathBuf,
}

impl Draft {
    /// Makes sure that the file can be written, without touching it.
    ///
    /// # Errors
    /// [`BuildError::Files`] if its folder cannot be written.
    pub fn open(path: &Path) -> Result<Self, BuildError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make(folder)?;
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.unfinished", process::id()));
        let this = Self { path: path.to_owned(), unfinished: path.with_file_name(name) };
        fs::write(&this.unfinished, b"").map_err(BuildError::files("write", &this.unfinished))?;
        Ok(this)
    }

    /// Where it is going to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the file appear, in place of what was there.
    ///
    /// # Errors
    /// [`BuildError::Files`]; what was there stays.
    pub fn finish(self, bytes: &[u8]) -> Result<(), BuildError> {
        fs::write(&self.unfinished, bytes).map_err(BuildError::files("write", &self.unfinished))?;
        fs::rename(&self.unfinished, &self.path).map_err(BuildError::files("write", &self.path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `finish` it is gone already.
        let _gone = fs::remove_file(&self.unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in/there/a.wasm");
        let draft = Draft::open(&path).unwrap();
        assert!(!path.exists());
        drop(draft);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        Draft::open(&path).unwrap().finish(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_found_out_first() {
        let error = Draft::open(Path::new("/proc/no/a.wasm")).unwrap_err();
        assert!(error.to_string().starts_with("cannot make the folder /proc/no"), "{error}");
    }
}
