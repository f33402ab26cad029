//! The source's revision. Owns asking git; a plugin outside of version control has none, and
//! that is no error.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a build itself puts into the plugin's folder is no change of its source.
const MADE: [&str; 4] = [":(exclude)*.wasm", ":(exclude).wharf", ":(exclude)target", ":(exclude)node_modules"];

/// The commit that is checked out, with `-dirty` where files of the folder differ from it.
pub(crate) fn revision(folder: &Path) -> Option<String> {
    let commit = git(folder, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--", "."];
    status.extend(MADE);
    let dirty = !git(folder, &status)?.is_empty();
    Some(if dirty { format!("{commit}-dirty") } else { commit })
}

fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Looking at the state must not take a lock that a commit is waiting for.
    command.arg("--no-optional-locks").args(args).current_dir(folder).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_the_commit_and_marks_changes() {
        let folder = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| git(folder.path(), args).unwrap();
        assert_eq!(revision(folder.path()), None);
        run(&["init", "--quiet"]);
        assert_eq!(revision(folder.path()), None);
        fs::write(folder.path().join("plugin.c"), "int x;").unwrap();
        run(&["add", "plugin.c"]);
        run(&["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--message", "one"]);
        let clean = revision(folder.path()).unwrap();
        assert_eq!(clean.len(), 40, "{clean}");
        fs::write(folder.path().join("plugin.wasm"), "made").unwrap();
        assert_eq!(revision(folder.path()).unwrap(), clean);
        fs::write(folder.path().join("plugin.c"), "int y;").unwrap();
        assert_eq!(revision(folder.path()).unwrap(), format!("{clean}-dirty"));
    }
}
