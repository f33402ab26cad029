//! The file of a leader that is frozen: it holds the lock still, although its lease has run out.
//! Owns the copy that its successor goes on with. Never decides that somebody is frozen.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::{FileStore, OpenError};

/// A file that changes while it is copied is copied again.
const TRIES: usize = 3;

impl FileStore {
    /// Puts a copy in the place of a file that another process has open, and opens it. What the
    /// other one would write goes to a file without a name from now on.
    ///
    /// The file of a process that is frozen is as that of one that was killed: the commits of
    /// before are in it. If it is not frozen after all and changes while it is copied, that is tried again, and a
    /// copy that cannot be read is set aside as any file.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn take_over(&self) -> Result<Option<String>, OpenError> {
        let path = self.path();
        replace_by_copy(path).map_err(|error| OpenError::Unusable(format!("{}: it cannot be copied: {error}", path.display())))?;
        self.unlock()
    }
}

fn replace_by_copy(path: &Path) -> io::Result<()> {
    let copy = path.with_extension("redb.taken");
    for _ in 0..TRIES {
        let before = state(path)?;
        fs::copy(path, &copy)?;
        if state(path)? == before {
            break;
        }
    }
    File::open(&copy)?.sync_all()?;
    fs::rename(&copy, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn state(path: &Path) -> io::Result<(u64, SystemTime)> {
    let file = fs::metadata(path)?;
    Ok((file.len(), file.modified()?))
}
