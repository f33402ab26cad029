//! Temporary folders. Owns their names, which say whose they are, so that the folders of a
//! process that was killed can be removed by the next one.

use std::env;
use std::fs;
use std::path::Path;
use std::process;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

const PREFIX: &str = "wharf-test-";

/// Makes a temporary folder with a short path, and removes what killed processes of this
/// kind have left behind.
///
/// # Errors
/// If it cannot be made.
pub fn scratch(what: &str) -> Result<TempDir> {
    remove_orphans(&env::temp_dir(), |pid| Path::new("/proc").join(pid).exists())?;
    let prefix = format!("{PREFIX}{}-{what}-", process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir().with_context(|| format!("make a folder for the {what}"))
}

fn remove_orphans(parent: &Path, lives: impl Fn(&str) -> bool) -> Result<()> {
    // Without a /proc nobody can be told to be dead.
    if !Path::new("/proc/self").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(parent).with_context(|| format!("read {}", parent.display()))? {
        let entry = entry.with_context(|| format!("read {}", parent.display()))?;
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split_once('-')).map(|(pid, _)| pid);
        if pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) && !lives(pid)) {
            // Another process may be removing it as well, or it is another user's.
            let _gone = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folders_of_the_dead_go() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["wharf-test-1-cluster-x", "wharf-test-2-cluster-y", "wharf-test--z", "other"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        remove_orphans(parent.path(), |pid| pid == "1").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["other", "wharf-test--z", "wharf-test-1-cluster-x"]);
    }

    #[test]
    fn the_folder_says_whose_it_is() {
        let folder = scratch("unit").unwrap();
        assert!(folder.path().display().to_string().contains(&format!("{PREFIX}{}-unit-", process::id())));
    }
}
