//! Regular files, read within a limit. Owns what is no file to read: a pipe or a device would
//! hang or never end. Never looks into one.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error("{0}")]
    Failed(#[from] io::Error),
    #[error("this is no regular file")]
    Special,
    #[error("{size} bytes, more than the {max} that the host accepts")]
    TooLarge { size: u64, max: u64 },
}

/// Reads a file of at most `max` bytes; blocking.
///
/// # Errors
/// Why not. A file that grows meanwhile is too large as soon as it is.
pub(super) fn read(path: &Path, max: u64) -> Result<Vec<u8>, Unread> {
    // A pipe without a writer would not even open.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(Unread::Special);
    }
    let size = meta.len();
    if size > max {
        return Err(Unread::TooLarge { size, max });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > max => Err(Unread::TooLarge { size, max }),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_within_the_limit_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "1234").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"1234");
        assert_eq!(read(&path, 3).unwrap_err().to_string(), "4 bytes, more than the 3 that the host accepts");
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for special in ["/dev/zero", pipe.to_str().unwrap(), folder.path().to_str().unwrap()] {
            assert!(matches!(read(Path::new(special), 4), Err(Unread::Special)), "{special}");
        }
        // Its length is not known before it is read.
        assert!(matches!(read(Path::new("/proc/self/status"), 10), Err(Unread::TooLarge { .. })));
        assert!(matches!(read(&folder.path().join("b"), 4), Err(Unread::Failed(_))));
    }
}
