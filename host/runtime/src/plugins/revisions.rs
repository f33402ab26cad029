//! The last revisions of each plugin on disk: documents and components, so that what served can
//! serve again when its source is away, broken or worse than before.
//!
//! Owns the files of one folder. Each is written beside its place and renamed, so a crash leaves
//! the old one or the new one; a component is named by its digest, which is checked when it is
//! read. One that no book names any more is removed. All calls block. Never decides which revision serves.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::book::Book;
use super::named::Named;
use super::writes::Writes;

/// A larger book is none of ours.
const MAX_BOOK: u64 = 64 << 20;

/// The revisions of all plugins of a host.
pub struct Revisions {
    folder: PathBuf,
    keep: usize,
    /// One writer at a time: a component that is written must not be removed before its book is. `None` until the first
    /// write: on standby the books are another host's, and change.
    turn: Mutex<Option<Named>>,
    pub(super) writes: Writes,
}

impl Revisions {
    /// Revisions in a folder, which is made if it is missing; `keep` (at least 2) of each plugin.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, keep: usize) -> io::Result<Self> {
        let revisions = Self { folder: folder.to_owned(), keep, turn: Mutex::default(), writes: Writes::default() };
        for folder in [folder.to_owned(), revisions.components()] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        Ok(revisions)
    }

    /// The plugins that something is kept of.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<PluginName>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let file = entry?.file_name();
            names.extend(file.to_str().and_then(|file| file.strip_suffix(".json")).and_then(plugin));
        }
        names.sort();
        Ok(names)
    }

    /// What is kept of a plugin; nothing if there is no book.
    ///
    /// # Errors
    /// There is one, and it cannot be read.
    pub fn load(&self, plugin: &PluginName) -> io::Result<Book> {
        let file = match File::open(self.book(plugin)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Book::default()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BOOK).read_to_end(&mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// Writes a plugin's book, and the component of its newest revision if that is given.
    ///
    /// # Errors
    /// It was not written; the old book stands.
    pub fn save(&self, plugin: &PluginName, book: &mut Book, component: Option<(&str, &[u8])>) -> io::Result<()> {
        let mut page = Page { plugin, book, component, done: Ok(()) };
        self.save_all(std::slice::from_mut(&mut page));
        page.done
    }

    /// The same for the books of many plugins, which wait for the disk together.
    pub(super) fn save_all(&self, pages: &mut [Page<'_>]) {
        let mut turn = self.turn.lock();
        let mut named = self.named(&mut turn);
        let mut components = BTreeMap::new();
        let drafts = pages.iter_mut().map(|page| {
            named.as_ref().map_err(shared)?;
            self.drafts(page, &mut components)
        });
        let drafts: Vec<io::Result<Draft>> = drafts.collect();
        let components: Vec<Draft> = components.into_values().collect();
        // No book names a component that is not there.
        let put = self.sync(components.iter().chain(drafts.iter().flatten())).and_then(|()| {
            components.iter().try_for_each(Draft::publish)?;
            if components.is_empty() { Ok(()) } else { sync(&self.components()) }
        });
        let published: Vec<io::Result<()>> =
            drafts.into_iter().map(|draft| draft.and_then(|draft| put.as_ref().map_err(shared).and_then(|()| draft.publish()))).collect();
        let synced = sync(&self.folder);
        for (page, done) in pages.iter_mut().zip(published) {
            page.done = done.and_then(|()| synced.as_ref().map_err(shared).copied());
            if let (Ok(()), Ok(named)) = (&page.done, &mut named) {
                self.remove(named.names(page.plugin, page.book.revisions.iter().map(|kept| kept.digest.clone())));
            }
        }
    }

    /// Writes what is to take its place, beside it. A component that several have is written once.
    fn drafts(&self, page: &mut Page<'_>, components: &mut BTreeMap<PathBuf, Draft>) -> io::Result<Draft> {
        page.book.shorten(self.keep);
        if let Some((digest, wasm)) = page.component {
            let path = self.component_path(digest).ok_or_else(|| invalid("a digest that is none"))?;
            if !path.exists() && !components.contains_key(&path) {
                components.insert(path.clone(), Draft::write(path, wasm)?);
            }
        }
        let bytes = serde_json::to_vec_pretty(&page.book).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        Draft::write(self.book(page.plugin), &bytes)
    }

    /// Waits until drafts are on the disk: one or two by themselves, many with all that there is.
    fn sync<'a>(&self, drafts: impl Iterator<Item = &'a Draft>) -> io::Result<()> {
        let drafts: Vec<_> = drafts.collect();
        if drafts.len() > 2 {
            return Ok(rustix::fs::syncfs(File::open(&self.folder)?)?);
        }
        drafts.into_iter().try_for_each(|draft| sync(&draft.beside))
    }

    fn components(&self) -> PathBuf {
        self.folder.join("components")
    }

    /// The bytes of a component.
    ///
    /// # Errors
    /// They are not there, or not those that were written.
    pub fn component(&self, digest: &str) -> io::Result<Vec<u8>> {
        let wasm = fs::read(self.component_path(digest).ok_or_else(|| invalid("a digest that is none"))?)?;
        let is: String = Sha256::digest(&wasm).iter().map(|byte| format!("{byte:02x}")).collect();
        if digest.strip_prefix("sha256:") == Some(&*is) { Ok(wasm) } else { Err(invalid("the bytes are others than were written")) }
    }

    /// Forgets a plugin.
    ///
    /// # Errors
    /// Its book is still there.
    pub fn forget(&self, plugin: &PluginName) -> io::Result<()> {
        let mut turn = self.turn.lock();
        let named = self.named(&mut turn)?;
        match fs::remove_file(self.book(plugin)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => self.remove(named.names(plugin, [])),
        }
        Ok(())
    }

    /// Removes the components that no book names: those of a host that ended in between. Nothing is removed as long as
    /// there is a book that cannot be read.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn sweep(&self) -> io::Result<()> {
        let mut turn = self.turn.lock();
        let named = self.named(&mut turn)?;
        for entry in fs::read_dir(self.components())? {
            let path = entry?.path();
            let hex = path.file_name().and_then(|file| file.to_str()).and_then(|file| file.strip_suffix(".wasm"));
            if named.all_known() && !hex.is_some_and(|hex| named.contains(&format!("sha256:{hex}"))) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// What the books name; they are read once.
    fn named<'a>(&self, turn: &'a mut Option<Named>) -> io::Result<&'a mut Named> {
        let named = match turn.take() {
            Some(named) => named,
            None => {
                let mut named = Named::default();
                for plugin in self.names()? {
                    match self.load(&plugin) {
                        Ok(book) => drop(named.names(&plugin, book.revisions.into_iter().map(|kept| kept.digest))),
                        // Its plugin says so.
                        Err(_) => named.hides(&plugin),
                    }
                }
                named
            }
        };
        Ok(turn.insert(named))
    }

    /// Removes components. One that stays takes room, and goes with the next sweep.
    fn remove(&self, digests: Vec<String>) {
        for path in digests.iter().filter_map(|digest| self.component_path(digest)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    tracing::warn!(
                        target: "wharf::plugin", reason = %Reason::RevisionsUnusable, %error, path = %path.display(),
                        "a component that no revision needs stays"
                    );
                }
                _ => {}
            }
        }
    }

    fn book(&self, plugin: &PluginName) -> PathBuf {
        // No name has a dot.
        self.folder.join(format!("{}.{}.json", plugin.namespace, plugin.name))
    }

    fn component_path(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
        Some(self.components().join(format!("{hex}.wasm")))
    }
}

fn plugin(stem: &str) -> Option<PluginName> {
    let (namespace, name) = stem.split_once('.')?;
    PluginName::new(namespace, name)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// The book of one plugin that is to be written, and how that ended.
pub(super) struct Page<'a> {
    pub(super) plugin: &'a PluginName,
    pub(super) book: &'a mut Book,
    pub(super) component: Option<(&'a str, &'a [u8])>,
    pub(super) done: io::Result<()>,
}

/// A file beside its place. A crash leaves what was there, or all of this.
struct Draft {
    beside: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Only the host's user can read it: a document may have secrets in its configuration.
    fn write(path: PathBuf, bytes: &[u8]) -> io::Result<Self> {
        let beside = path.with_extension("new");
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?.write_all(bytes)?;
        Ok(Self { beside, path })
    }

    fn publish(&self) -> io::Result<()> {
        fs::rename(&self.beside, &self.path)
    }
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// An error that several have.
fn shared(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::book::{Kept, Standing, now};
    use super::*;

    fn digest(wasm: &[u8]) -> String {
        let hex: String = Sha256::digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    }

    fn kept(number: u64, standing: Standing, wasm: &[u8]) -> Kept {
        Kept {
            number,
            identity: format!("i{number}"),
            digest: digest(wasm),
            document: "{}".into(),
            since: now(),
            standing,
            message: String::new(),
        }
    }

    #[test]
    fn many_are_written_together_and_each_has_its_own_end() {
        let folder = tempfile::tempdir().unwrap();
        let revisions = Revisions::open(folder.path(), 2).unwrap();
        let names: Vec<PluginName> = (0..20).map(|i| PluginName::new("team-a", &format!("p{i}")).unwrap()).collect();
        let mut books: Vec<Book> =
            names.iter().map(|_| Book { revisions: vec![kept(1, Standing::Good, b"one")], ..Book::default() }).collect();
        let (one, junk) = (digest(b"one"), "sha256:junk".to_owned());
        let pages = names.iter().zip(&mut books).enumerate();
        let mut pages: Vec<Page<'_>> = pages
            .map(|(i, (plugin, book))| Page { plugin, book, component: Some((if i == 3 { &junk } else { &one }, b"one")), done: Ok(()) })
            .collect();
        revisions.save_all(&mut pages);
        for (i, page) in pages.iter().enumerate() {
            assert_eq!(page.done.is_ok(), i != 3, "{i}");
            assert_eq!(revisions.load(page.plugin).unwrap().revisions.len(), usize::from(i != 3));
        }
        assert_eq!(revisions.component(&one).unwrap(), b"one");
        let left = fs::read_dir(folder.path()).unwrap().filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "new"));
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn what_was_kept_comes_back_and_what_nobody_names_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("revisions");
        let (guard, other) = (PluginName::new("team-a", "guard").unwrap(), PluginName::new("team-b", "guard").unwrap());
        let revisions = Revisions::open(&path, 2).unwrap();
        assert_eq!(revisions.load(&guard).unwrap(), Book::default());
        let mut book = Book::default();
        for number in 1..=4_u64 {
            book.revisions.push(kept(number, Standing::New, &number.to_le_bytes()));
            book.judge(1, Standing::Good, "");
            let component = digest(&number.to_le_bytes());
            revisions.save(&guard, &mut book, Some((&component, &number.to_le_bytes()))).unwrap();
        }
        let again = Revisions::open(&path, 2).unwrap();
        let read = again.load(&guard).unwrap();
        let numbers: Vec<u64> = read.revisions.iter().map(|kept| kept.number).collect();
        // The last good one stays, whatever its age.
        assert_eq!((numbers, read.good().map(|kept| kept.number)), (vec![1, 4], Some(1)));
        assert_eq!(again.component(&digest(&1_u64.to_le_bytes())).unwrap(), 1_u64.to_le_bytes());
        again
            .save(
                &other,
                &mut Book { paused: true, revisions: vec![kept(1, Standing::Good, &4_u64.to_le_bytes())], ..Book::default() },
                None,
            )
            .unwrap();
        assert_eq!(again.names().unwrap(), [guard.clone(), other.clone()]);
        // What was dropped is gone, without anybody's doing.
        assert!(again.component(&digest(&2_u64.to_le_bytes())).is_err() && again.component(&digest(&3_u64.to_le_bytes())).is_err());
        again.forget(&guard).unwrap();
        again.forget(&guard).unwrap();
        assert!(again.component(&digest(&1_u64.to_le_bytes())).is_err());
        assert!(again.load(&other).unwrap().paused);
        assert_eq!(again.component(&digest(&4_u64.to_le_bytes())).unwrap(), 4_u64.to_le_bytes());
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let guard = PluginName::new("team-a", "guard").unwrap();
        let revisions = Revisions::open(folder.path(), 3).unwrap();
        let mut book = Book { revisions: vec![kept(1, Standing::Good, b"wasm")], ..Book::default() };
        revisions.save(&guard, &mut book, Some((&digest(b"wasm"), b"wasm"))).unwrap();
        let path = revisions.component_path(&digest(b"wasm")).unwrap();
        fs::write(&path, b"wasn").unwrap();
        assert_eq!(revisions.component(&digest(b"wasm")).unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(revisions.component("sha256:../../etc/passwd").is_err());
        fs::write(folder.path().join("team-a.guard.json"), "{").unwrap();
        assert_eq!(revisions.load(&guard).unwrap_err().kind(), ErrorKind::InvalidData);
        // Nothing is removed as long as it is not known what is named; others are kept all the same.
        let revisions = Revisions::open(folder.path(), 3).unwrap();
        let other = PluginName::new("team-a", "other").unwrap();
        let mut book = Book { revisions: vec![kept(1, Standing::Good, b"more")], ..Book::default() };
        revisions.save(&other, &mut book, Some((&digest(b"more"), b"more"))).unwrap();
        revisions.forget(&other).unwrap();
        revisions.sweep().unwrap();
        assert!(path.exists() && revisions.component(&digest(b"more")).is_ok());
        revisions.forget(&guard).unwrap();
        revisions.sweep().unwrap();
        assert_eq!(fs::read_dir(folder.path().join("components")).unwrap().count(), 0, "now it is known");
    }

    #[test]
    fn what_a_host_has_left_in_the_middle_of_a_write_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let guard = PluginName::new("team-a", "guard").unwrap();
        let revisions = Revisions::open(folder.path(), 3).unwrap();
        let mut book = Book { revisions: vec![kept(1, Standing::Good, b"wasm")], ..Book::default() };
        revisions.save(&guard, &mut book, Some((&digest(b"wasm"), b"wasm"))).unwrap();
        let components = folder.path().join("components");
        for left in [revisions.component_path(&digest(b"left")).unwrap(), components.join("half.new")] {
            fs::write(left, "left").unwrap();
        }
        Revisions::open(folder.path(), 3).unwrap().sweep().unwrap();
        let files: Vec<_> = fs::read_dir(components).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files, [revisions.component_path(&digest(b"wasm")).unwrap()]);
    }
}
