//! The folder `.wharf` beside a plugin's source. Owns what lies where in it: tools, unpacked
//! SDKs, and what a build leaves between its steps. It keeps itself out of version control.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::BuildError;

/// Where one plugin's build keeps its files.
#[derive(Debug)]
pub(crate) struct Workspace {
    tools: PathBuf,
    state: PathBuf,
    outside: bool,
    /// One build at a time: their files have the same names. Unlocked when it is closed.
    _lock: fs::File,
}

impl Workspace {
    /// Makes the folders of a plugin. With `tools` nothing is kept in the plugin's own folder:
    /// tools and files between steps go there, and plugins may share it.
    ///
    /// # Errors
    /// If they cannot be made.
    pub(crate) fn open(folder: &Path, tools: Option<&Path>) -> Result<Self, BuildError> {
        let (tools, state) = match tools {
            None => {
                let state = folder.join(".wharf");
                (state.join("tools"), state)
            }
            Some(tools) => {
                let tools = std::path::absolute(tools).map_err(BuildError::files("find", tools))?;
                let whose = folder.canonicalize().map_err(BuildError::files("find", folder))?;
                let digest = format!("{:x}", Sha256::digest(whose.as_os_str().as_encoded_bytes()));
                let state = tools.join("plugins").join(digest.get(..16).unwrap_or(&digest));
                (tools, state)
            }
        };
        make(&tools)?;
        make(&state)?;
        let path = state.join("lock");
        let lock = fs::File::create(&path).map_err(BuildError::files("write", &path))?;
        lock.lock().map_err(BuildError::files("lock", &path))?;
        let outside = !state.starts_with(folder);
        let this = Self { tools, state, outside, _lock: lock };
        make(&this.build())?;
        let ignore = this.state.join(".gitignore");
        if !ignore.exists() {
            write(&ignore, b"*\n")?;
        }
        Ok(this)
    }

    /// Tools that were installed for this plugin, or for all that share them.
    pub(crate) fn tools(&self) -> &Path {
        &self.tools
    }

    /// Unpacked SDKs.
    pub(crate) fn sdk(&self) -> PathBuf {
        self.state.join("sdk")
    }

    /// The folder for this plugin's files, if they are kept away from its source.
    pub(crate) fn outside(&self) -> Option<&Path> {
        self.outside.then_some(&*self.state)
    }

    /// A file that a tool is about to make: what an earlier build left there is gone.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, BuildError> {
        let path = self.build().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(BuildError::files("remove", &path)(error)),
            _ => Ok(path),
        }
    }

    /// What is made between the steps of a build.
    pub(crate) fn build(&self) -> PathBuf {
        self.state.join("build")
    }
}

/// Makes a folder and those above it.
pub(crate) fn make(folder: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(folder).map_err(BuildError::files("make the folder", folder))
}

/// Reads a file that a tool has made.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(BuildError::files("read", path))
}

/// Writes a file into a folder that need not be there yet.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    if let Some(folder) = path.parent() {
        make(folder)?;
    }
    fs::write(path, bytes).map_err(BuildError::files("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_itself_out_of_version_control() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), None).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(".wharf/.gitignore")).unwrap(), "*\n");
        assert!(workspace.tools().is_dir() && workspace.build().is_dir());
    }

    #[test]
    fn a_tools_folder_keeps_the_plugins_folder_clean() {
        let (a, b, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = Workspace::open(a.path(), Some(tools.path())).unwrap();
        let second = Workspace::open(b.path(), Some(tools.path())).unwrap();
        assert_eq!(first.tools(), second.tools());
        assert_ne!(first.build(), second.build());
        assert_eq!(fs::read_dir(a.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".wharf"), "a file").unwrap();
        let error = Workspace::open(folder.path(), None).unwrap_err();
        assert!(error.to_string().contains(".wharf/tools"), "{error}");
    }
}
