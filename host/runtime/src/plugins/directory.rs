//! Plugins from a folder: YAML documents, and bare components where the operator allows
//! them.
//!
//! Owns when the folder is read again: told by the file system, debounced, and looked at
//! every ten seconds for file systems that tell nothing. A mounted ConfigMap is exchanged
//! by a rename of its `..data` link, which is seen like any other change. Never decides
//! what becomes of a plugin.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use notify::event::AccessKind;
use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;
use wharf_core::plugin::{ComponentRef, PluginDocument};

use super::component::Component;
use super::desired::{Desired, Extent, Origin, Refusal, Wish, Wishes};
use super::file;
use super::quiet::quiet;
use crate::config::document::{MAX_DOCUMENT_BYTES, read_documents};

/// Looked at without being told.
const POLL: Duration = Duration::from_secs(10);
/// A folder with more files than this is not what the operator meant.
const MAX_FILES: usize = 10_000;

/// A folder that is followed.
#[derive(Debug)]
pub struct Followed {
    /// What it wishes.
    pub wishes: watch::Receiver<Wishes>,
    /// Changes whenever a component in it was written, for those who name one elsewhere.
    pub components: watch::Receiver<u64>,
}

/// The folder of plugins.
#[derive(Clone, Debug)]
pub struct Directory {
    /// The folder.
    pub path: PathBuf,
    /// May a `.wasm` without a document run?
    pub allow_bare: bool,
    /// Is each folder in it that has a `plugin.yaml` a plugin too, and it itself if it has one? Of such a folder that document and the
    /// components are read and nothing else, since sources, roles and tests lie there as well. Deeper folders are never looked into.
    pub folders: bool,
}

/// The document of a folder that is a plugin.
const FOLDERS_DOCUMENT: &str = "plugin.yaml";

impl Directory {
    /// Reads the folder whenever it changes and sends what it wishes, until stopped. The
    /// first answer is sent before this returns.
    ///
    /// # Errors
    /// When the folder cannot be read at the start. Later errors are logged and the last
    /// wishes stay.
    pub fn follow(self, stop: CancellationToken) -> anyhow::Result<Followed> {
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading the folder is an event too, and no news.
            let read = matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(AccessKind::Open(_) | AccessKind::Read)));
            if !read {
                tell.notify_one();
            }
        })
        .context("start the file watcher")?;
        watcher
            .watch(&self.path, RecursiveMode::NonRecursive)
            .with_context(|| format!("watch the plugins directory {}", self.path.display()))?;
        let mut watched = self.watch_folders(&mut watcher, HashSet::new());
        let (sender, wishes) = watch::channel(self.read()?);
        let (written, components) = watch::channel(self.components()?);
        tokio::spawn(async move {
            let mut watcher = watcher;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = changed.notified() => {}
                    () = tokio::time::sleep(POLL) => {}
                }
                quiet(&changed).await;
                // Before they are read: what changes from here on is told.
                watched = self.watch_folders(&mut watcher, watched);
                let this = self.clone();
                let read = tokio::task::spawn_blocking(move || anyhow::Ok((this.read()?, this.components()?))).await;
                match read.unwrap_or_else(|error| Err(error.into())) {
                    Ok((wishes, components)) => {
                        send_news(&sender, wishes);
                        send_news(&written, components);
                    }
                    Err(error) => tracing::warn!(
                        target: "wharf::plugin", reason = %Reason::HostConfigInvalid, error = format!("{error:#}"),
                        "plugins directory cannot be read, the last plugins stay"
                    ),
                }
            }
        });
        Ok(Followed { wishes, components })
    }

    /// Has the folders in it watched that are plugins; returns which are. One that cannot be watched is looked at like all others.
    fn watch_folders(&self, watcher: &mut impl Watcher, mut watched: HashSet<PathBuf>) -> HashSet<PathBuf> {
        // A folder that went and came is another one to the file system.
        watched.retain(|folder| folder.is_dir());
        for folder in self.folders() {
            if folder != self.path && !watched.contains(&folder) && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                watched.insert(folder);
            }
        }
        watched
    }

    /// The folders that are plugins, in order.
    fn folders(&self) -> Vec<PathBuf> {
        if !self.folders {
            return Vec::new();
        }
        let inside = std::fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut folders: Vec<PathBuf> =
            inside.chain([self.path.clone()]).filter(|folder| folder.join(FOLDERS_DOCUMENT).is_file()).take(MAX_FILES).collect();
        folders.sort();
        folders
    }

    /// Reads the folder once.
    ///
    /// # Errors
    /// When the folder itself cannot be listed.
    pub fn read(&self) -> anyhow::Result<Wishes> {
        let mut wishes = Wishes { extent: Extent::Whole, ..Wishes::default() };
        let (mut bare, mut used, mut sure) = (Vec::new(), Vec::new(), true);
        // A component in the folder of a plugin is that plugin's, also while its document cannot be read.
        let folders = self.folders();
        for path in self.files()? {
            match path.extension().and_then(|e| e.to_str()) {
                Some("yaml" | "yml") => sure &= self.read_file(&path, &mut wishes, &mut used),
                Some("wasm") if path.parent().is_none_or(|folder| !folders.iter().any(|one| one == folder)) => bare.push(path),
                _ => {}
            }
        }
        if self.allow_bare {
            for path in bare.into_iter().filter(|path| !used.contains(path)) {
                if sure {
                    self.add_bare(&path, &mut wishes);
                } else {
                    // What it was it stays: without its document it would run with other limits and rights.
                    let why = format!("{}: whether a document names it is not known as long as one cannot be read", path.display());
                    wishes.unreadable.insert(Origin::File(path), Refusal::new(Reason::DocumentInvalid, why));
                }
            }
        }
        Ok(wishes)
    }

    /// A number that changes whenever a component was written.
    fn components(&self) -> anyhow::Result<u64> {
        let mut hasher = DefaultHasher::new();
        for path in self.files()?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "wasm")) {
            if let Ok(Component::File { path, fingerprint }) = Component::file(path) {
                (path, fingerprint).hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }

    /// The files in order of their names. Hidden ones and the `..` entries of a mounted ConfigMap are left out, and of folders that are
    /// plugins other documents than theirs.
    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let folders = self.folders();
        let others = if folders.contains(&self.path) { None } else { Some(&self.path) };
        for folder in others.into_iter().chain(&folders) {
            let context = || format!("read the plugins directory {}", folder.display());
            for entry in std::fs::read_dir(folder).with_context(context)? {
                let entry = entry.with_context(context)?;
                let name = entry.file_name();
                let foreign = others != Some(folder) && name != FOLDERS_DOCUMENT && entry.path().extension().is_none_or(|e| e != "wasm");
                if foreign || name.to_string_lossy().starts_with('.') || entry.path().is_dir() {
                    continue;
                }
                files.push(entry.path());
                anyhow::ensure!(files.len() <= MAX_FILES, "{}: more than {MAX_FILES} files", context());
            }
        }
        files.sort();
        Ok(files)
    }

    /// Are all components known that it names?
    fn read_file(&self, path: &Path, wishes: &mut Wishes, used: &mut Vec<PathBuf>) -> bool {
        let origin = || Origin::File(path.to_owned());
        let text = match read_text(path) {
            Ok(text) => text,
            Err(refusal) => {
                wishes.unreadable.insert(origin(), refusal);
                return false;
            }
        };
        let documents = read_documents(path, &text);
        if documents.is_empty() {
            // A file that is being written is empty for a moment: its plugins stay.
            let refusal = Refusal::new(Reason::DocumentInvalid, format!("{}: no document in it", path.display()));
            wishes.unreadable.insert(origin(), refusal);
        }
        let mut known = !documents.is_empty();
        for document in documents {
            match document {
                Ok(document) => {
                    if let ComponentRef::File(file) = &document.component {
                        used.push(self.beside(path).join(file));
                    }
                    self.add(document, path, wishes);
                }
                Err(error) => {
                    known = false;
                    let refusal = Refusal { reason: error.reason(), message: error.to_string(), hint: String::new() };
                    match error.name {
                        Some(name) => wishes.add(name, Wish { origin: origin(), generation: None, desired: Err(refusal) }),
                        None => {
                            wishes.unreadable.insert(origin(), refusal);
                        }
                    }
                }
            }
        }
        known
    }

    /// The folder of a file, in which its component is.
    fn beside<'a>(&'a self, path: &'a Path) -> &'a Path {
        path.parent().unwrap_or(&self.path)
    }

    fn add_bare(&self, path: &Path, wishes: &mut Wishes) {
        let (Some(stem), Some(file)) = (path.file_stem().and_then(|s| s.to_str()), path.file_name().and_then(|s| s.to_str())) else {
            return;
        };
        match PluginDocument::bare(stem, file) {
            Ok(document) => self.add(document, path, wishes),
            Err(problem) => {
                wishes.unreadable.insert(Origin::File(path.to_owned()), Refusal::new(problem.reason, problem.message));
            }
        }
    }

    fn add(&self, document: PluginDocument, path: &Path, wishes: &mut Wishes) {
        let (name, component) = (document.name.clone(), Component::of(&document, self.beside(path)));
        let desired = component.map(|component| Desired { document: Arc::new(document), component });
        wishes.add(name, Wish { origin: Origin::File(path.to_owned()), generation: None, desired });
    }
}

fn send_news<T: PartialEq>(sender: &watch::Sender<T>, now: T) {
    sender.send_if_modified(|last| {
        let changed = *last != now;
        *last = now;
        changed
    });
}

fn read_text(path: &Path) -> Result<String, Refusal> {
    let invalid = |message: String| Refusal::new(Reason::DocumentInvalid, format!("{}: {message}", path.display()));
    let bytes = file::read(path, MAX_DOCUMENT_BYTES).map_err(|error| invalid(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use wharf_core::plugin::PluginName;

    use super::*;

    fn document(name: &str, file: &str) -> String {
        format!("apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {{name: {name}}}\nspec: {{component: {{file: {file}}}}}\n")
    }

    fn directory(path: &Path, allow_bare: bool) -> Directory {
        Directory { path: path.to_owned(), allow_bare, folders: false }
    }

    fn reasons(wishes: &Wishes) -> Vec<(String, Option<Reason>)> {
        wishes.plugins.iter().map(|(name, wish)| (name.to_string(), wish.desired.as_ref().err().map(|r| r.reason))).collect()
    }

    #[test]
    fn documents_and_bare_components() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.yaml", &(document("a", "a.wasm") + "---\n" + &document("b", "missing.wasm")));
        write("a.wasm", "");
        write("bare.wasm", "");
        write("notes.txt", "");
        let wishes = directory(folder.path(), false).read().unwrap();
        assert_eq!(reasons(&wishes), [("default/a".to_owned(), None), ("default/b".to_owned(), Some(Reason::ComponentNotFound))]);
        let wishes = directory(folder.path(), true).read().unwrap();
        assert_eq!(wishes.plugins.len(), 3, "a.wasm has a document and is not bare: {:?}", reasons(&wishes));
        assert!(wishes.plugins.contains_key(&PluginName::new("default", "bare").unwrap()));
    }

    #[test]
    fn one_name_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["1.yaml", "2.yaml"] {
            fs::write(folder.path().join(file), document("a", "a.wasm")).unwrap();
        }
        fs::write(folder.path().join("a.wasm"), "").unwrap();
        let wishes = directory(folder.path(), false).read().unwrap();
        assert_eq!(reasons(&wishes), [("default/a".to_owned(), Some(Reason::DuplicatePlugin))]);
        let message = wishes.plugins.values().next().unwrap().desired.as_ref().unwrap_err().to_string();
        assert!(message.contains("1.yaml") && message.contains("2.yaml"), "{message}");
    }

    #[test]
    fn a_component_is_not_bare_for_a_mistake_in_its_document() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("guard");
        fs::create_dir(&plugin).unwrap();
        fs::write(plugin.join("guard.wasm"), "").unwrap();
        let read = |folders: bool, path: &Path| Directory { path: path.to_owned(), allow_bare: true, folders }.read().unwrap();
        for text in ["foo: [".to_owned(), document("guard", "guard.wasm") + "  limits: {memory: 16Xi}\n", String::new()] {
            fs::write(plugin.join("plugin.yaml"), &text).unwrap();
            for wishes in [read(true, folder.path()), read(true, &plugin), read(false, &plugin)] {
                assert!(wishes.plugins.values().all(|wish| wish.desired.is_err()), "{text}: {wishes:?}");
                let duplicate = reasons(&wishes).iter().any(|(_, reason)| *reason == Some(Reason::DuplicatePlugin));
                assert!(!duplicate, "{text}: {wishes:?}");
            }
        }
        // Where it was bare before, it stays what it was.
        assert!(read(false, &plugin).unreadable.contains_key(&Origin::File(plugin.join("guard.wasm"))));
    }

    #[test]
    fn mistakes_are_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wrong.yaml"), document("wrong", "a.wasm") + "status: {}\n").unwrap();
        fs::write(folder.path().join("junk.yaml"), "{").unwrap();
        // As a file is for a moment while it is written.
        fs::write(folder.path().join("empty.yaml"), "").unwrap();
        let wishes = directory(folder.path(), false).read().unwrap();
        assert_eq!(wishes.plugins.len() + wishes.unreadable.len(), 3, "{wishes:?}");
        let unreadable = |name: &str| wishes.unreadable.contains_key(&Origin::File(folder.path().join(name)));
        assert!(unreadable("empty.yaml"));
        assert!(wishes.plugins.get(&PluginName::new("default", "wrong").unwrap()).is_some_and(|wish| wish.desired.is_err()));
        assert!(unreadable("junk.yaml"));
        assert!(directory(&folder.path().join("none"), false).read().is_err());
    }

    #[tokio::test]
    async fn folders_that_are_plugins() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = |name: &str| {
            let inside = folder.path().join(name);
            fs::create_dir(&inside).unwrap();
            fs::write(inside.join("plugin.yaml"), document(name, "p.wasm")).unwrap();
            fs::write(inside.join("p.wasm"), "").unwrap();
            // Not a plugin, and nobody's mistake.
            fs::write(inside.join("rbac.yaml"), "kind: Role").unwrap();
            inside
        };
        let one = plugin("one");
        let all = Directory { folders: true, ..directory(folder.path(), true) };
        assert_eq!(directory(folder.path(), true).read().unwrap(), Wishes { extent: Extent::Whole, ..Wishes::default() });
        let Followed { mut wishes, .. } = all.follow(CancellationToken::new()).unwrap();
        assert_eq!(reasons(&wishes.borrow_and_update()), [("default/one".to_owned(), None)]);
        assert!(wishes.borrow().unreadable.is_empty());
        plugin("two");
        wishes.wait_for(|wishes| wishes.plugins.len() == 2).await.unwrap();
        let first = wishes.borrow_and_update().clone();
        fs::write(folder.path().join("two").join("p.wasm"), "1").unwrap();
        wishes.changed().await.unwrap();
        assert_ne!(*wishes.borrow(), first);
        // A plugin's own folder is one, too.
        let own = Directory { folders: true, ..directory(&one, false) }.read().unwrap();
        assert_eq!((reasons(&own), own.unreadable.len()), (vec![("default/one".to_owned(), None)], 0));
    }

    /// As the kubelet does it: `..data` is a link to a folder that is exchanged as a whole.
    #[tokio::test]
    async fn a_mounted_config_map_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let version = |name: &str, plugin: &str| {
            let inside = folder.path().join(name);
            fs::create_dir(&inside).unwrap();
            fs::write(inside.join("p.yaml"), document(plugin, "p.wasm")).unwrap();
            fs::write(inside.join("p.wasm"), "").unwrap();
        };
        version("..1", "one");
        symlink("..1", folder.path().join("..data")).unwrap();
        for file in ["p.yaml", "p.wasm"] {
            symlink(format!("..data/{file}"), folder.path().join(file)).unwrap();
        }
        let stop = CancellationToken::new();
        let Followed { mut wishes, .. } = directory(folder.path(), false).follow(stop.clone()).unwrap();
        assert_eq!(reasons(&wishes.borrow_and_update()), [("default/one".to_owned(), None)]);

        version("..2", "two");
        symlink("..2", folder.path().join("..data_tmp")).unwrap();
        fs::rename(folder.path().join("..data_tmp"), folder.path().join("..data")).unwrap();
        wishes.wait_for(|w| w.plugins.contains_key(&PluginName::new("default", "two").unwrap())).await.unwrap();
        assert_eq!(wishes.borrow().plugins.len(), 1);
        stop.cancel();
    }

    #[tokio::test]
    async fn a_saved_component_is_news_and_an_untouched_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), document("a", "a.wasm")).unwrap();
        fs::write(folder.path().join("a.wasm"), "1").unwrap();
        let Followed { mut wishes, mut components } = directory(folder.path(), false).follow(CancellationToken::new()).unwrap();
        let first = wishes.borrow_and_update().clone();
        assert_eq!(directory(folder.path(), false).read().unwrap(), first);
        fs::write(folder.path().join("a.wasm"), "12").unwrap();
        wishes.changed().await.unwrap();
        assert_ne!(*wishes.borrow(), first);
        // Whoever else names it learns of it too.
        components.changed().await.unwrap();
    }
}
