//! The Unix socket of the control API: only the host's own user may use it, a stale one is
//! replaced, a living one never, and it goes when the server does.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::net::{UnixListener, UnixStream};

use super::http::Accept;

/// A listening socket and its file.
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Who made the file, and which file it was.
    owner: u32,
    inode: u64,
}

impl Socket {
    /// Listens at `path`.
    ///
    /// # Errors
    /// The folder does not exist, something else stands there, or another host listens.
    pub(super) fn bind(path: &Path) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("the folder {} of the control socket does not exist", folder.display());
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path)
            .with_context(|| format!("cannot listen at {} (such a path may have 107 bytes at most)", path.display()))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .with_context(|| format!("cannot restrict {} to its owner", path.display()))?;
        let file = fs::symlink_metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        Ok(Self { listener, path: path.to_owned(), owner: file.uid(), inode: file.ino() })
    }
}

impl Accept for Socket {
    type Io = UnixStream;

    /// The file's mode keeps other users out; this holds even for the moment before it was set.
    async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _peer) = self.listener.accept().await?;
            let user = stream.peer_cred()?.uid();
            if user == self.owner || user == 0 {
                return Ok(stream);
            }
            tracing::warn!(target: "wharf::admin", user, "control connection of another user refused");
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(target: "wharf::admin", path = %self.path.display(), %error, "control socket left behind");
        }
    }
}

fn remove_stale(path: &Path) -> anyhow::Result<()> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {}", path.display())),
    };
    if !file.file_type().is_socket() {
        bail!("{} exists and is no socket; remove it, or use another path for the control socket", path.display());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => bail!("another wharf host listens at {}; give each host a data directory of its own", path.display()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).with_context(|| format!("cannot remove the stale socket {}", path.display()))
        }
        Err(error) => Err(error).with_context(|| format!("cannot tell whether a host listens at {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a dead host leaves its socket behind");

        let socket = Socket::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = Socket::bind(&path).err().unwrap();
        assert!(error.to_string().contains("another wharf host listens"), "{error}");
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_is_no_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        fs::write(&path, "precious").unwrap();
        assert!(Socket::bind(&path).err().unwrap().to_string().contains("is no socket"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let nowhere = folder.path().join("missing/control.sock");
        assert!(Socket::bind(&nowhere).err().unwrap().to_string().contains("does not exist"));
    }

    #[tokio::test]
    async fn the_socket_of_a_successor_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let first = Socket::bind(&path).unwrap();
        // Kept under another name, so that its inode is not used again.
        fs::rename(&path, folder.path().join("old.sock")).unwrap();
        let _second = Socket::bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
    }
}
