//! The store on disk: one redb file, which one process opens at a time. Owns its tables, the two
//! limits of what it holds, and what happens to a file that cannot be read: it is set aside.
//!
//! Every commit is one transaction that is on the disk when it returns, so a crash of process or
//! machine leaves what the last one wrote.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redb::{Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, StorageError, TableDefinition};
use wharf_core::TargetKey;
use wharf_core::ledger::Record;

use super::body;
use super::header::Header;
use super::key::{Part, encode_key};
use super::store::{Batch, Body, Change, Saved, Store, StoreError, Usage};

/// Plugin's number and key; sorted by both.
type Keyed = (u32, &'static [u8]);

const RECORDS: TableDefinition<'_, Keyed, &[u8]> = TableDefinition::new("records");
const BODIES: TableDefinition<'_, Keyed, &[u8]> = TableDefinition::new("bodies");
const PLUGINS: TableDefinition<'_, &str, (u32, &[u8])> = TableDefinition::new("plugins");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// Number of the whole format: tables, keys, headers and bodies by the first digits, records by
/// the last three.
const FORMAT: u64 = 1000 + Record::FORMAT as u64;
/// Pages that are kept in memory, in bytes.
const CACHE: usize = 8 << 20;

/// A store in a file.
pub struct FileStore {
    path: PathBuf,
    /// Most bytes of keys and records, and of bodies.
    limits: (u64, u64),
    door: Mutex<Door>,
}

/// Whether the file is open.
enum Door {
    /// Not, and nobody may open it: see [`FileStore::unlock`].
    Locked,
    /// Not, after a failure: whoever wants it next opens it.
    Closed,
    Open(Database),
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the file open.
    #[error(
        "{0} is in use by another process: every host needs a data directory of its own (--data-dir), or all must elect a leader by the same lease"
    )]
    InUse(PathBuf),
    /// It cannot be read or written.
    #[error("{0}")]
    Unusable(String),
}

enum Trouble {
    InUse,
    Broken(String),
    Unusable(String),
}

impl FileStore {
    /// Opens a file, or makes one. A file that is damaged or of another format is renamed to
    /// `….broken`, in place of an earlier one; then the reason is returned too. Reads the whole
    /// file once. `max_bytes` bounds what is kept, `body_bytes` the part of it that bodies may
    /// have; the file itself may take twice as much.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path, max_bytes: u64, body_bytes: u64) -> Result<(Self, Option<String>), OpenError> {
        let store = Self::locked(path, max_bytes, body_bytes);
        let why = store.unlock()?;
        Ok((store, why))
    }

    /// A store whose file nobody touches before [`Self::unlock`]: it may be another host's still.
    pub fn locked(path: &Path, max_bytes: u64, body_bytes: u64) -> Self {
        let bodies = body_bytes.min(max_bytes / 2);
        Self { path: path.to_owned(), limits: (max_bytes.saturating_sub(bodies), bodies), door: Mutex::new(Door::Locked) }
    }

    /// Opens the file. See [`Self::open`].
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn unlock(&self) -> Result<Option<String>, OpenError> {
        let path = &*self.path;
        let failed = |trouble: Trouble| match trouble {
            Trouble::InUse => OpenError::InUse(path.to_owned()),
            Trouble::Broken(why) | Trouble::Unusable(why) => OpenError::Unusable(format!("{}: {why}", path.display())),
        };
        let mut door = self.door.lock();
        let (database, why) = match open(path) {
            Ok(database) => (database, None),
            Err(Trouble::Broken(why)) => {
                set_aside(path).map_err(|error| failed(Trouble::Unusable(error.to_string())))?;
                (open(path).map_err(failed)?, Some(why))
            }
            Err(trouble) => {
                // What cannot be opened now is tried again by whoever wants it; what is another's is not.
                *door = if matches!(trouble, Trouble::InUse) { Door::Locked } else { Door::Closed };
                return Err(failed(trouble));
            }
        };
        *door = Door::Open(database);
        Ok(why)
    }

    /// Closes the file, for good unless it is unlocked again. Waits for what is under way.
    pub fn lock(&self) {
        *self.door.lock() = Door::Locked;
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one step on the database; after a failure it is opened anew next time.
    fn with<T>(&self, step: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let mut door = self.door.lock();
        let database = match std::mem::replace(&mut *door, Door::Closed) {
            Door::Open(database) => database,
            Door::Closed => open(&self.path).map_err(|trouble| match trouble {
                Trouble::InUse => StoreError(OpenError::InUse(self.path.clone()).to_string()),
                // A disk that was full leaves half a file: the next attempt begins a new one.
                Trouble::Broken(why) => match set_aside(&self.path) {
                    Ok(()) => StoreError(format!("{}: {why}; it was set aside", self.path.display())),
                    Err(error) => StoreError(format!("{}: {why}, and it cannot be set aside: {error}", self.path.display())),
                },
                Trouble::Unusable(why) => StoreError(format!("{}: {why}", self.path.display())),
            })?,
            Door::Locked => {
                *door = Door::Locked;
                return Err(StoreError(format!("{}: it is for the host that leads", self.path.display())));
            }
        };
        let done = guarded(|| step(&database)).and_then(|done| done.map_err(|error| error.to_string()));
        match done {
            Ok(done) => {
                *door = Door::Open(database);
                Ok(done)
            }
            Err(why) => Err(StoreError(format!("{}: {why}", self.path.display()))),
        }
    }
}

impl Store for FileStore {
    fn load(&self, plugin: &str) -> Result<Option<Saved>, StoreError> {
        self.with(|database| {
            let read = database.begin_read()?;
            let Some((id, header)) = header(&read.open_table(PLUGINS)?, plugin)? else { return Ok(None) };
            let written = number(&read.open_table(NUMBERS)?, "written")?;
            let mut records = Vec::new();
            for entry in read.open_table(RECORDS)?.range(keys_of(id))? {
                let (key, record) = entry?;
                records.push((key.value().1.to_vec(), record.value().to_vec()));
            }
            Ok(Some(Saved { header, written: Duration::from_secs(written), records }))
        })
    }

    fn bodies(&self, plugin: &str, keys: &[TargetKey]) -> Result<HashMap<TargetKey, Body>, StoreError> {
        self.with(|database| {
            let read = database.begin_read()?;
            let mut bodies = HashMap::new();
            let Some((id, _)) = header(&read.open_table(PLUGINS)?, plugin)? else { return Ok(bodies) };
            let table = read.open_table(BODIES)?;
            for key in keys {
                let Some(bytes) = encode_key(key, Part::Target) else { continue };
                if let Some(found) = table.get((id, &*bytes))? {
                    bodies.extend(body::decode(found.value(), key).map(|body| (key.clone(), body)));
                }
            }
            Ok(bodies)
        })
    }

    fn commit(&self, batches: &[Batch], now: Duration) -> Result<Usage, StoreError> {
        self.with(|database| write(database, batches, now, self.limits))
    }

    fn plugins(&self) -> Result<Vec<(String, Header)>, StoreError> {
        self.with(|database| {
            let read = database.begin_read()?;
            let mut plugins = Vec::new();
            for entry in read.open_table(PLUGINS)?.iter()? {
                let (name, value) = entry?;
                plugins.extend(Header::decode(value.value().1).map(|header| (name.value().to_owned(), header)));
            }
            Ok(plugins)
        })
    }

    fn forget(&self, plugin: &str) -> Result<Usage, StoreError> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            let mut usage = Usage::default();
            {
                let mut numbers = transaction.open_table(NUMBERS)?;
                let mut tally = Tally::read(&numbers)?;
                let mut plugins = transaction.open_table(PLUGINS)?;
                let id = plugins.remove(plugin)?.map(|value| value.value().0);
                if let Some(id) = id {
                    let (mut keys, mut bytes, mut bodies) = (0, 0, 0);
                    transaction.open_table(RECORDS)?.retain_in(keys_of(id), |key, record| {
                        keys += 1;
                        bytes += size(key.1, record);
                        false
                    })?;
                    transaction.open_table(BODIES)?.retain_in(keys_of(id), |_, body| {
                        bodies += body.len() as u64;
                        false
                    })?;
                    tally.usage.keys = tally.usage.keys.saturating_sub(keys);
                    tally.usage.bytes = tally.usage.bytes.saturating_sub(bytes);
                    tally.usage.body_bytes = tally.usage.body_bytes.saturating_sub(bodies);
                }
                tally.write(&mut numbers)?;
                usage.clone_from(&tally.usage);
            }
            transaction.commit()?;
            Ok(usage)
        })
    }
}

fn write(database: &Database, batches: &[Batch], now: Duration, limits: (u64, u64)) -> Result<Usage, redb::Error> {
    let transaction = database.begin_write()?;
    let mut tally;
    {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let mut plugins = transaction.open_table(PLUGINS)?;
        let mut records = transaction.open_table(RECORDS)?;
        let mut bodies = transaction.open_table(BODIES)?;
        tally = Tally::read(&numbers)?;
        for batch in batches {
            let known = plugins.get(&*batch.plugin)?.map(|value| value.value().0);
            let id = known.unwrap_or(tally.next);
            if known.is_none() {
                tally.next = tally.next.saturating_add(1);
            }
            if known.is_none() || batch.header.is_some() {
                let header = batch.header.clone().unwrap_or_default().encode();
                plugins.insert(&*batch.plugin, (id, &*header))?;
            }
            // In the order of the pages.
            let mut changes: Vec<(Vec<u8>, &Change)> =
                batch.changes.iter().filter_map(|change| Some((encode_key(&change.key, change.part)?, change))).collect();
            changes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            for (key, change) in &changes {
                let at = (id, &**key);
                let kept = tally.keep_record(&mut records, at, change.record.as_deref(), limits.0)?;
                let body = change.body.as_ref().filter(|_| kept);
                if !kept || body.is_some() {
                    tally.keep_body(&mut bodies, at, body, limits.1)?;
                }
            }
        }
        numbers.insert("written", now.as_secs())?;
        tally.write(&mut numbers)?;
    }
    transaction.commit()?;
    Ok(tally.usage)
}

/// How much there is, counted in the transaction that changes it.
struct Tally {
    usage: Usage,
    /// The number of the next new plugin.
    next: u32,
}

type Table<'t> = redb::Table<'t, Keyed, &'static [u8]>;

impl Tally {
    fn read(numbers: &impl redb::ReadableTable<&'static str, u64>) -> Result<Self, redb::Error> {
        let usage = Usage {
            keys: number(numbers, "keys")?,
            bytes: number(numbers, "bytes")?,
            body_bytes: number(numbers, "body-bytes")?,
            left_out: 0,
        };
        Ok(Self { usage, next: u32::try_from(number(numbers, "next")?).unwrap_or(u32::MAX) })
    }

    fn write(&self, numbers: &mut redb::Table<'_, &'static str, u64>) -> Result<(), redb::Error> {
        let Usage { keys, bytes, body_bytes, .. } = self.usage;
        for (name, value) in [("keys", keys), ("bytes", bytes), ("body-bytes", body_bytes), ("next", self.next.into())] {
            numbers.insert(name, value)?;
        }
        Ok(())
    }

    /// False if nothing of the key is kept afterwards.
    fn keep_record(&mut self, table: &mut Table<'_>, at: (u32, &[u8]), record: Option<&[u8]>, limit: u64) -> Result<bool, redb::Error> {
        let old = match table.get(at)? {
            // What is written already costs a look.
            Some(old) if record == Some(old.value()) => return Ok(true),
            Some(old) => Some(size(at.1, old.value())),
            None => None,
        };
        let new = record.map(|record| size(at.1, record));
        let bytes = self.usage.bytes.saturating_sub(old.unwrap_or_default()).saturating_add(new.unwrap_or_default());
        match record {
            // A key that is there already stays, whatever its size: an old record would be a lie.
            Some(record) if old.is_some() || bytes <= limit => {
                table.insert(at, record)?;
            }
            Some(_) => {
                self.usage.left_out = self.usage.left_out.saturating_add(1);
                return Ok(false);
            }
            None if old.is_none() => return Ok(false),
            None => {
                table.remove(at)?;
            }
        }
        self.usage.bytes = bytes;
        self.usage.keys = self.usage.keys.saturating_sub(u64::from(old.is_some())).saturating_add(u64::from(new.is_some()));
        Ok(record.is_some())
    }

    fn keep_body(&mut self, table: &mut Table<'_>, at: (u32, &[u8]), body: Option<&Body>, limit: u64) -> Result<(), redb::Error> {
        let old = match table.get(at)? {
            Some(old) if body.is_some_and(|Body(object)| body::is(old.value(), object)) => return Ok(()),
            old => old.map(|old| old.value().len() as u64),
        };
        let without = self.usage.body_bytes.saturating_sub(old.unwrap_or_default());
        let new = body.and_then(|Body(object)| body::encode(object));
        let with = |bytes: &Vec<u8>| without.saturating_add(bytes.len() as u64);
        match new.filter(|bytes| with(bytes) <= limit) {
            Some(bytes) => {
                table.insert(at, &*bytes)?;
                self.usage.body_bytes = with(&bytes);
            }
            // An older body is better than none.
            None if body.is_some() => {}
            None if old.is_some() => {
                table.remove(at)?;
                self.usage.body_bytes = without;
            }
            None => {}
        }
        Ok(())
    }
}

fn size(key: &[u8], record: &[u8]) -> u64 {
    (key.len() as u64).saturating_add(record.len() as u64)
}

fn keys_of(id: u32) -> std::ops::Range<(u32, &'static [u8])> {
    (id, &[][..])..(id.saturating_add(1), &[][..])
}

fn number(table: &impl redb::ReadableTable<&'static str, u64>, name: &str) -> Result<u64, redb::Error> {
    Ok(table.get(name)?.map(|value| value.value()).unwrap_or_default())
}

type Plugins = redb::ReadOnlyTable<&'static str, (u32, &'static [u8])>;

/// A plugin whose header cannot be read is one that is not known.
fn header(plugins: &Plugins, plugin: &str) -> Result<Option<(u32, Header)>, redb::Error> {
    let Some(value) = plugins.get(plugin)? else { return Ok(None) };
    let (id, header) = value.value();
    Ok(Header::decode(header).map(|header| (id, header)))
}

fn open(path: &Path) -> Result<Database, Trouble> {
    match std::fs::metadata(path) {
        // As a power cut may leave it.
        Ok(file) if file.len() == 0 => return Err(Trouble::Broken("it is empty".to_owned())),
        // Last states of objects are for the host's user alone, whatever the process's mask; redb keeps the mode.
        Ok(_) => {}
        Err(_) => private(path).map_err(|error| of_io(&error))?,
    }
    let create = || Builder::new().set_cache_size(CACHE).set_check_integrity_on_open(true).create(path);
    let database = match guarded(create) {
        Ok(Ok(database)) => database,
        Ok(Err(error)) => return Err(trouble(&error)),
        Err(why) => return Err(Trouble::Broken(why)),
    };
    match guarded(|| begin(&database)) {
        Ok(Ok(FORMAT)) => Ok(database),
        Ok(Ok(other)) => Err(Trouble::Broken(format!("its format is {other}, not {FORMAT}"))),
        Ok(Err(redb::Error::Io(error))) => Err(of_io(&error)),
        Ok(Err(error)) => Err(Trouble::Broken(error.to_string())),
        Err(why) => Err(Trouble::Broken(why)),
    }
}

/// Renames a file that cannot be read, in place of an earlier one.
fn set_aside(path: &Path) -> std::io::Result<()> {
    std::fs::rename(path, path.with_extension("redb.broken"))
}

/// Makes a file that nobody else can read.
fn private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

/// Makes what is missing, and says which format the file has.
fn begin(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let format = {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let format = numbers.get("format")?.map(|value| value.value());
        if let Some(format) = format.filter(|format| *format != FORMAT) {
            return Ok(format);
        }
        numbers.insert("format", FORMAT)?;
        transaction.open_table(PLUGINS)?;
        transaction.open_table(RECORDS)?;
        transaction.open_table(BODIES)?;
        FORMAT
    };
    transaction.commit()?;
    Ok(format)
}

fn trouble(error: &DatabaseError) -> Trouble {
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Trouble::InUse,
        DatabaseError::Storage(StorageError::Io(error)) => of_io(error),
        other => Trouble::Broken(other.to_string()),
    }
}

fn of_io(error: &std::io::Error) -> Trouble {
    match error.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => Trouble::Broken(error.to_string()),
        _ => Trouble::Unusable(error.to_string()),
    }
}

/// A damaged file must not take the host along, even where the library panics.
fn guarded<T>(step: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it cannot be read".to_owned())
    })
}

impl From<Arc<wharf_core::Object>> for Body {
    fn from(object: Arc<wharf_core::Object>) -> Self {
        Self(object)
    }
}

mod take_over;

#[cfg(test)]
mod tests;
