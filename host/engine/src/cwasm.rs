//! Compiled components on disk. Owns the folder: names made of what was compiled and for
//! which engine, a checksum beside each file, and a ceiling for the whole. Never maps a file
//! into memory, and never takes one that somebody else put there.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// Bytes that the folder may hold; the files that were not used for longest go first.
const MAX_FOLDER_BYTES: u64 = 2 << 30;

/// The folder of one engine.
#[derive(Debug)]
pub(crate) struct CompiledStore {
    folder: PathBuf,
    /// Tells apart the code of engines with other versions or settings.
    compatibility: String,
    next: AtomicU64,
}

impl CompiledStore {
    /// Opens the folder, makes it where it is missing, and shuts everybody else out: whoever
    /// can write here can run code as the host.
    pub(crate) fn open(folder: &Path, compatibility: &impl Hash) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        let mut hasher = Sha(Sha256::new());
        compatibility.hash(&mut hasher);
        let compatibility = format!("{:x}", hasher.0.finalize()).chars().take(16).collect();
        Ok(Self { folder: folder.to_owned(), compatibility, next: AtomicU64::new(0) })
    }

    /// The file for a component, if it is there and whole. A file that is not is removed.
    pub(crate) fn find(&self, digest: &str) -> io::Result<Option<PathBuf>> {
        let path = self.path(digest);
        let want = match fs::read_to_string(sum_path(&path)) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let got = match File::open(&path) {
            Ok(file) => checksum(file)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(e),
        };
        if got == want.trim() {
            // Its age counts from its last use. Failing to note that costs nothing but order.
            let noted = OpenOptions::new().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
            if let Err(error) = noted {
                tracing::debug!(%error, path = %path.display(), "the last use of a compiled component could not be noted");
            }
            return Ok(Some(path));
        }
        tracing::warn!(path = %path.display(), "a compiled component is damaged and is made again");
        self.remove(digest)?;
        Ok(None)
    }

    /// Keeps the code of a component; afterwards [`Self::find`] finds it, also after a crash
    /// at any moment. Returns the file.
    pub(crate) fn put(&self, digest: &str, code: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(digest);
        // The checksum goes last: a file without one is never looked at.
        self.write(&path, code)?;
        self.write(&sum_path(&path), format!("{:x}\n", Sha256::digest(code)).as_bytes())?;
        File::open(&self.folder)?.sync_all()?;
        if let Err(error) = self.prune(MAX_FOLDER_BYTES, &path) {
            tracing::warn!(%error, folder = %self.folder.display(), "old compiled components could not be removed");
        }
        Ok(path)
    }

    /// Forgets the code of a component.
    pub(crate) fn remove(&self, digest: &str) -> io::Result<()> {
        let path = self.path(digest);
        for path in [sum_path(&path), path] {
            match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        self.folder.join(format!("{hex}-{}.cwasm", self.compatibility))
    }

    /// Writes beside the target and renames: readers see the old file or the whole new one.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("{}-{number}.tmp", std::process::id()));
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, path)
        })();
        if written.is_err() {
            // The error that is returned says more than a failure to tidy up.
            let _tidied = fs::remove_file(&draft);
        }
        written
    }

    /// Removes the files that were not used for longest until the rest fits, but never `keep`.
    fn prune(&self, max: u64, keep: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_file() && entry.path().extension().is_some_and(|e| e == "cwasm" || e == "tmp") {
                files.push((meta.modified()?, meta.len(), entry.path()));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= max {
                break;
            }
            if path == keep {
                continue;
            }
            fs::remove_file(&path)?;
            match fs::remove_file(sum_path(&path)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            total = total.saturating_sub(size);
        }
        Ok(())
    }
}

fn sum_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn checksum(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:x}", hasher.finalize())),
            n => hasher.update(buffer.get(..n).unwrap_or_default()),
        }
    }
}

/// A hasher whose result is the same in every build and on every run.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.clone().finalize().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, CompiledStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = CompiledStore::open(&dir.path().join("a/b"), &"engine").unwrap();
        (dir, store)
    }

    #[test]
    fn keeps_and_finds() {
        let (_dir, store) = store();
        assert_eq!(store.find("sha256:aa").unwrap(), None);
        let path = store.put("sha256:aa", b"code").unwrap();
        assert_eq!(store.find("sha256:aa").unwrap(), Some(path.clone()));
        assert_eq!(fs::read(&path).unwrap(), b"code");
        assert_eq!(fs::metadata(&store.folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = CompiledStore::open(&store.folder, &"another engine").unwrap();
        assert_eq!(other.find("sha256:aa").unwrap(), None);
    }

    #[test]
    fn damage_is_found() {
        let (_dir, store) = store();
        for harm in [
            (|path: &Path| fs::write(path, b"evil").unwrap()) as fn(&Path),
            |path| fs::remove_file(path).unwrap(),
            |path| fs::write(sum_path(path), b"").unwrap(),
        ] {
            let path = store.put("sha256:aa", b"code").unwrap();
            harm(&path);
            assert_eq!(store.find("sha256:aa").unwrap(), None);
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_oldest_go_first() {
        let (_dir, store) = store();
        let paths: Vec<_> = ["a", "b", "c"].iter().map(|name| store.put(name, &[0; 100]).unwrap()).collect();
        for (age, path) in paths.iter().enumerate() {
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
            File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        }
        store.prune(250, &paths[0]).unwrap();
        assert_eq!(paths.iter().map(|p| p.exists()).collect::<Vec<_>>(), [true, false, true]);
        assert!(!sum_path(&paths[1]).exists());
    }
}
