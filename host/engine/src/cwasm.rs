//! Compiled components on disk. Owns the folder: names made of what was compiled and for
//! which engine, a checksum beside each file, and a ceiling for the whole. Never maps a file
//! into memory, and never takes one that somebody else put there.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// No compiler takes so long.
const MAX_DRAFT_AGE: Duration = Duration::from_secs(3600);

/// The folder of one engine.
#[derive(Debug)]
pub(crate) struct CompiledStore {
    folder: PathBuf,
    /// Bytes that it may hold; the files that were not used for longest go first.
    max: u64,
    /// Tells apart the code of engines with other versions or settings.
    compatibility: String,
    next: AtomicU64,
}

impl CompiledStore {
    /// Opens the folder, makes it where it is missing, and shuts everybody else out: whoever
    /// can write here can run code as the host.
    pub(crate) fn open(folder: &Path, max: u64, compatibility: &impl Hash) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        let mut hasher = Sha(Sha256::new());
        compatibility.hash(&mut hasher);
        let compatibility = format!("{:x}", hasher.0.finalize()).chars().take(16).collect();
        let store = Self { folder: folder.to_owned(), max, compatibility, next: AtomicU64::new(0) };
        store.tidy()?;
        Ok(store)
    }

    /// The file for a component, if it is there and whole. A file that is not is removed. What was checked is what is
    /// handed out, whatever becomes of the name.
    pub(crate) fn find(&self, digest: &str) -> io::Result<Option<File>> {
        let path = self.path(digest);
        let want = match open(&sum_path(&path)).and_then(io::read_to_string) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let found = match open(&path) {
            Ok(file) => Some((checksum(&path, &file)?, file)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        if let Some((_, file)) = found.filter(|(sum, _)| sum == want.trim()) {
            // Its age counts from its last use. Failing to note that costs nothing but order.
            if let Err(error) = file.set_modified(SystemTime::now()) {
                tracing::debug!(%error, path = %path.display(), "the last use of a compiled component could not be noted");
            }
            return Ok(Some(file));
        }
        tracing::warn!(path = %path.display(), "a compiled component is damaged and is made again");
        self.remove(digest)?;
        Ok(None)
    }

    /// Keeps the code of a component; afterwards [`Self::find`] finds it, also after a crash
    /// at any moment. Returns the file.
    pub(crate) fn put(&self, digest: &str, code: &[u8]) -> io::Result<File> {
        let draft = self.draft()?;
        draft.file()?.write_all(code)?;
        self.keep(digest, draft)
    }

    /// A new file for the code of a component, which nobody finds before it is kept.
    pub(crate) fn draft(&self) -> io::Result<Draft> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{}-{number}.tmp", std::process::id()));
        drop(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?);
        Ok(Draft { path })
    }

    /// Keeps what was written to a draft, as [`put`](Self::put) does.
    pub(crate) fn keep(&self, digest: &str, draft: Draft) -> io::Result<File> {
        let path = self.path(digest);
        let file = open(&draft.path)?;
        let sum = checksum(&path, &file)?;
        // The checksum goes last: a file without one is never looked at.
        draft.publish(&path)?;
        let draft = self.draft()?;
        draft.file()?.write_all(format!("{sum}\n").as_bytes())?;
        draft.publish(&sum_path(&path))?;
        File::open(&self.folder)?.sync_all()?;
        if let Err(error) = self.prune(self.max, &path) {
            tracing::warn!(%error, folder = %self.folder.display(), "old compiled components could not be removed");
        }
        Ok(file)
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

    /// Removes drafts of processes that were killed. Another process may be writing one here.
    fn tidy(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let left = entry.path().extension().is_some_and(|e| e == "tmp")
                && entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age > MAX_DRAFT_AGE);
            if left {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
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

/// A file that is being written. Dropping it removes it.
pub(crate) struct Draft {
    path: PathBuf,
}

impl Draft {
    /// The file, for writing.
    pub(crate) fn file(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.path)
    }

    /// Gives it its name: readers see the old file or the whole new one.
    fn publish(self, path: &Path) -> io::Result<()> {
        self.file()?.sync_all()?;
        fs::rename(&self.path, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.path.display(), "a draft of a compiled component could not be removed");
            }
            _ => {}
        }
    }
}

fn sum_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

/// Opens a plain file. What a link leads to others may change, and a pipe would be waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
}

/// Of the contents for this place: the code of another component is not taken here, also not with its checksum.
fn checksum(path: &Path, mut file: &File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes());
    // No name has it.
    hasher.update([0]);
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
    use std::io::Seek as _;

    use super::*;

    fn store() -> (tempfile::TempDir, CompiledStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = CompiledStore::open(&dir.path().join("a/b"), 1 << 20, &"engine").unwrap();
        (dir, store)
    }

    #[test]
    fn keeps_and_finds() {
        let (_dir, store) = store();
        assert!(store.find("sha256:aa").unwrap().is_none());
        for mut file in [store.put("sha256:aa", b"code").unwrap(), store.find("sha256:aa").unwrap().unwrap()] {
            let mut code = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut code).unwrap();
            assert_eq!(code, "code");
        }
        let path = store.path("sha256:aa");
        assert_eq!(fs::metadata(&store.folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = CompiledStore::open(&store.folder, 1 << 20, &"another engine").unwrap();
        assert!(other.find("sha256:aa").unwrap().is_none());
    }

    #[test]
    fn drafts_go_when_nobody_keeps_them() {
        let (_dir, store) = store();
        let left = store.draft().unwrap();
        let other = store.draft().unwrap();
        assert_eq!((left.path.exists(), other.path.exists()), (true, true));
        drop(other);
        let path = left.path.clone();
        std::mem::forget(left);
        store.tidy().unwrap();
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1, "somebody may be at it still");
        File::options().append(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        store.tidy().unwrap();
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 0);
    }

    #[test]
    fn damage_is_found() {
        let (_dir, store) = store();
        for harm in [
            (|path: &Path| fs::write(path, b"evil").unwrap()) as fn(&Path),
            |path| fs::remove_file(path).unwrap(),
            |path| fs::write(sum_path(path), b"").unwrap(),
        ] {
            store.put("sha256:aa", b"code").unwrap();
            let path = store.path("sha256:aa");
            harm(&path);
            assert!(store.find("sha256:aa").unwrap().is_none());
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let (dir, store) = store();
        store.put("sha256:aa", b"code").unwrap();
        let (path, elsewhere) = (store.path("sha256:aa"), dir.path().join("elsewhere"));
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        store.find("sha256:aa").unwrap_err();
        store.remove("sha256:aa").unwrap();
        assert!(elsewhere.exists() && !path.exists());
    }

    #[test]
    fn the_oldest_go_first() {
        let (_dir, store) = store();
        let paths = ["a", "b", "c"].map(|name| {
            store.put(name, &[0; 100]).unwrap();
            store.path(name)
        });
        for (age, path) in paths.iter().enumerate() {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64);
            File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        }
        store.prune(250, &paths[0]).unwrap();
        assert_eq!(paths.iter().map(|p| p.exists()).collect::<Vec<_>>(), [true, false, true]);
        assert!(!sum_path(&paths[1]).exists());
    }
}
