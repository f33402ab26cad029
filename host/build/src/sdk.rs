//! The SDKs inside this binary: Python's, JavaScript's and C's, and the WASI adapter of Go's.
//! They fit the host's contract because they come with it. Owns unpacking them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::encode::Adapter;
use crate::error::BuildError;
use crate::workspace::{Workspace, write};

/// The version of the SDKs, which is this program's.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files of the SDKs: their names inside the SDK's folder, and what is in them.
mod files {
    include!(concat!(env!("OUT_DIR"), "/sdk.rs"));
}

/// An SDK that is unpacked for a build.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sdk {
    Python,
    JavaScript,
    C,
}

impl Sdk {
    fn parts(self) -> (&'static str, &'static [(&'static str, &'static [u8])]) {
        match self {
            Self::Python => ("python", files::PYTHON),
            Self::JavaScript => ("js", files::JAVASCRIPT),
            Self::C => ("c", files::C),
        }
    }

    /// Puts the SDK's files where the toolchain finds them, and returns the folder. Files that
    /// are as they should be are left alone: tools look at their times. What is no part of the
    /// SDK goes: compilers take whole folders.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn unpack(self, workspace: &Workspace) -> Result<PathBuf, BuildError> {
        let (name, files) = self.parts();
        let folder = workspace.sdk().join(format!("{name}-{VERSION}"));
        for (name, bytes) in files {
            let path = folder.join(name);
            if fs::read(&path).is_ok_and(|old| old == *bytes) {
                continue;
            }
            write(&path, bytes)?;
        }
        remove_others(&folder, &folder, files)?;
        Ok(folder)
    }
}

fn remove_others(root: &Path, folder: &Path, files: &[(&str, &[u8])]) -> Result<(), BuildError> {
    for entry in fs::read_dir(folder).map_err(BuildError::files("read", folder))? {
        let path = entry.map_err(BuildError::files("read", folder))?.path();
        if path.is_dir() {
            remove_others(root, &path, files)?;
        } else if !files.iter().any(|(name, _)| path.strip_prefix(root).is_ok_and(|rest| rest == Path::new(name))) {
            fs::remove_file(&path).map_err(BuildError::files("remove", &path))?;
        }
    }
    Ok(())
}

/// The module that answers what Go's runtime asks of WASI.
pub(crate) fn go_adapter() -> Adapter<'static> {
    let file = |name: &str| files::GO.iter().find(|(file, _)| *file == name).map_or(&[][..], |(_, bytes)| bytes);
    Adapter { wat: file("adapter.wat"), wit: file("adapter.wit") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sdk_has_its_files() {
        for (sdk, file) in [(Sdk::Python, ".py"), (Sdk::JavaScript, ".js"), (Sdk::C, ".h"), (Sdk::C, ".c")] {
            let (_, files) = sdk.parts();
            assert!(files.iter().any(|(name, _)| name.ends_with(file)), "{sdk:?} has no {file}");
        }
        assert!(!go_adapter().wat.is_empty() && !go_adapter().wit.is_empty());
    }

    #[test]
    fn unpacking_twice_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(home.path(), None).unwrap();
        let folder = Sdk::C.unpack(&workspace).unwrap();
        let (name, _) = Sdk::C.parts().1.first().unwrap();
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let first = time(&folder.join(name));
        let other = folder.join("src/old.c");
        fs::write(&other, "").unwrap();
        assert_eq!(Sdk::C.unpack(&workspace).unwrap(), folder);
        assert_eq!(time(&folder.join(name)), first);
        assert!(!other.exists(), "a compiler would take it");
    }
}
