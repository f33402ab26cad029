//! Keeps objects over restarts in one file.
//!
//! Owns the file's form and when it is written: a thread gathers changes for a moment and writes them as one transaction, with the
//! newest state of each object. What is on disk is always the state at one version: a kill loses at most the last changes, those of
//! about 100 ms on a disk that keeps up, and never leaves half of them. [`Store::flush`](super::Store::flush) and dropping the store
//! write all. History is not kept.
//!
//! The file is a redb database: `objects` maps storage, namespace and name (joined by NUL) to the JSON of
//! [`Stored::json`](super::Stored), `meta` holds `format` and `ceiling`, a version that no object ever had.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition, TableHandle as _};

use super::contain::contained;
use super::{Key, Stored};

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT: u64 = 1;

/// How long changes are gathered before they are written.
const GATHER: Duration = Duration::from_millis(50);
/// How long nothing is tried after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How many objects may wait for the disk; whoever commits more writes them itself, and so waits for the disk.
const MOST_WAITING: usize = 65_536;
/// How far the counter may be ahead of what the file says about it. Far more than can be committed between two writes.
const HEADROOM: u64 = 1 << 24;
const CACHE_BYTES: usize = 16 << 20;

/// The file behind a store, and its thread.
pub(super) struct Disk {
    file: Arc<File>,
    thread: Option<JoinHandle<()>>,
}

/// What was in the file.
pub(super) struct Loaded {
    /// Where the counter goes on.
    pub(super) version: u64,
    pub(super) objects: Vec<(Key, Stored)>,
}

struct File {
    /// Until it is closed.
    database: Option<Database>,
    path: PathBuf,
    waiting: Mutex<Waiting>,
    /// Something waits, or the thread shall end.
    wake: Condvar,
    /// One transaction at a time, in the order of the versions.
    turn: Mutex<()>,
}

/// The newest state of what is not on disk yet; none: it was deleted.
#[derive(Default)]
struct Waiting {
    objects: HashMap<Key, Option<Arc<Stored>>>,
    version: u64,
    end: bool,
}

impl Disk {
    /// Opens or makes the file. `first` says where the counter begins in a new one.
    pub(super) fn open(path: &Path, first: impl FnOnce() -> u64) -> io::Result<(Self, Loaded)> {
        // Secrets lie in it: it is made for its owner only, and opened as it is if it is there.
        let made = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        // The database panics on some pages that it cannot read.
        let (database, loaded) = contained(|| read(path, first)).unwrap_or_else(|why| Err(not_ours(path, &why)))?;
        let waiting = Mutex::new(Waiting { version: loaded.version, ..Waiting::default() });
        let file = Arc::new(File { database: Some(database), path: path.to_owned(), waiting, wake: Condvar::new(), turn: Mutex::new(()) });
        let writer = Arc::clone(&file);
        let thread = Builder::new().name("devserver-disk".to_owned()).spawn(move || writer.run())?;
        Ok((Self { file, thread: Some(thread) }, loaded))
    }

    /// Notes a change. Called in the order of the versions, with the store locked.
    pub(super) fn changed(&self, key: &Key, version: u64, object: Option<Arc<Stored>>) {
        let mut waiting = self.file.waiting.lock();
        waiting.version = version;
        if waiting.objects.is_empty() {
            self.file.wake.notify_one();
        }
        waiting.objects.insert(key.clone(), object);
    }

    /// Waits for the disk if too much waits for it. Called without any lock.
    pub(super) fn relieve(&self) {
        if self.file.waiting.lock().objects.len() > MOST_WAITING {
            // The thread reports a disk that fails.
            let _ = self.flush();
        }
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        self.file.write(HEADROOM)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.file.waiting.lock().end = true;
        self.file.wake.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(file = %self.file.path.display(), "the thread that writes the data file failed");
        }
        // Nothing can be committed any more: the next life may go on just here.
        if let Err(error) = self.file.write(0) {
            tracing::error!(file = %self.file.path.display(), %error, "the last changes could not be written");
        }
    }
}

impl File {
    /// The thread: writes until the store ends.
    fn run(&self) {
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.objects.is_empty() && !waiting.end {
                self.wake.wait(&mut waiting);
            }
            if !waiting.end {
                self.wake.wait_for(&mut waiting, GATHER);
            }
            if waiting.end {
                return;
            }
            drop(waiting);
            if let Err(error) = self.write(HEADROOM) {
                tracing::error!(file = %self.path.display(), %error, "changes could not be written; they stay in memory and are tried again");
                let mut waiting = self.waiting.lock();
                if !waiting.end {
                    self.wake.wait_for(&mut waiting, PAUSE);
                }
            }
        }
    }

    /// Writes everything that waits, and that no version up to `headroom` above the last will be given out again.
    fn write(&self, headroom: u64) -> io::Result<()> {
        let _turn = self.turn.lock();
        let (batch, version) = {
            let mut waiting = self.waiting.lock();
            (std::mem::take(&mut waiting.objects), waiting.version)
        };
        let transacted = || self.database.as_ref().map_or(Ok(()), |database| transact(database, &batch, version.saturating_add(headroom)));
        let result = match contained(transacted) {
            Ok(result) => result.map_err(|error| (kind(&error), error.to_string())),
            Err(panicked) => Err((io::ErrorKind::InvalidData, panicked)),
        };
        if result.is_err() {
            let mut waiting = self.waiting.lock();
            for (key, object) in batch {
                // What has come since is newer.
                waiting.objects.entry(key).or_insert(object);
            }
        }
        result.map_err(|(kind, why)| io::Error::new(kind, format!("cannot write {}: {why}", self.path.display())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if let Err(panicked) = contained(|| drop(self.database.take())) {
            tracing::error!(file = %self.path.display(), error = panicked, "the data file could not be closed");
        }
    }
}

fn transact(database: &Database, batch: &HashMap<Key, Option<Arc<Stored>>>, ceiling: u64) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert("format", FORMAT)?;
        meta.insert("ceiling", ceiling)?;
        let mut objects = transaction.open_table(OBJECTS)?;
        for (key, object) in batch {
            let place = format!("{}\0{}\0{}", key.storage, key.namespace, key.name);
            match object {
                Some(object) => objects.insert(place.as_str(), &*object.json)?,
                None => objects.remove(place.as_str())?,
            };
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Opens or makes the database, and reads all of it.
fn read(path: &Path, first: impl FnOnce() -> u64) -> io::Result<(Database, Loaded)> {
    let unreadable = |error| unreadable(path, error);
    let database = redb::Builder::new().set_cache_size(CACHE_BYTES).create(path).map_err(|error| unreadable(error.into()))?;
    let loaded = load(&database, path)?.unwrap_or_else(|| Loaded { version: first(), objects: Vec::new() });
    // Before the first commit, so that its version is below what the file says even if it never gets there.
    transact(&database, &HashMap::new(), loaded.version.saturating_add(HEADROOM)).map_err(unreadable)?;
    Ok((database, loaded))
}

/// Everything in the file; `None` if it is new.
fn load(database: &Database, path: &Path) -> io::Result<Option<Loaded>> {
    let read = || -> Result<Option<Loaded>, Trouble> {
        let transaction = database.begin_read().map_err(redb::Error::from)?;
        let tables: Vec<String> = transaction.list_tables().map_err(redb::Error::from)?.map(|table| table.name().to_owned()).collect();
        if tables.is_empty() {
            return Ok(None);
        }
        if !tables.iter().any(|table| table == META.name()) || !tables.iter().any(|table| table == OBJECTS.name()) {
            return Err(Trouble::Foreign("it is a database of something else"));
        }
        let meta = transaction.open_table(META).map_err(redb::Error::from)?;
        let number = |name: &str| meta.get(name).map(|found| found.map(|guard| guard.value())).map_err(redb::Error::from);
        if number("format")? != Some(FORMAT) {
            return Err(Trouble::Foreign("it is of another format"));
        }
        let version = number("ceiling")?.ok_or(Trouble::Foreign("its counter is missing"))?;
        let table = transaction.open_table(OBJECTS).map_err(redb::Error::from)?;
        let mut objects = Vec::new();
        for entry in table.iter().map_err(redb::Error::from)? {
            let (place, json) = entry.map_err(redb::Error::from)?;
            objects.push(object(place.value(), json.value()).ok_or(Trouble::Foreign("it holds an object that cannot be read"))?);
        }
        Ok(Some(Loaded { version, objects }))
    };
    read().map_err(|trouble| match trouble {
        Trouble::Database(error) => unreadable(path, error),
        Trouble::Foreign(why) => not_ours(path, why),
    })
}

/// Why a file that redb could open cannot be loaded.
enum Trouble {
    Database(redb::Error),
    Foreign(&'static str),
}

impl From<redb::Error> for Trouble {
    fn from(error: redb::Error) -> Self {
        Self::Database(error)
    }
}

fn object(place: &str, json: &[u8]) -> Option<(Key, Stored)> {
    let mut parts = place.splitn(3, '\0').map(Arc::from);
    let key = Key { storage: parts.next()?, namespace: parts.next()?, name: parts.next()? };
    let object = Stored::read(&key, json)?;
    Some((key, object))
}

fn unreadable(path: &Path, error: redb::Error) -> io::Error {
    match error {
        redb::Error::DatabaseAlreadyOpen => {
            io::Error::new(io::ErrorKind::WouldBlock, format!("{} is in use by another server", path.display()))
        }
        redb::Error::Io(error) if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()))
        }
        redb::Error::Corrupted(why) => not_ours(path, &why),
        // What was written is always of these tables, and of this version of the database.
        other => not_ours(path, &other.to_string()),
    }
}

fn not_ours(path: &Path, why: &str) -> io::Error {
    let text = format!("{} is damaged or no data file of this server: {why}. Move it away to begin with an empty one", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn kind(error: &redb::Error) -> io::ErrorKind {
    match error {
        redb::Error::Io(error) => error.kind(),
        _ => io::ErrorKind::Other,
    }
}
