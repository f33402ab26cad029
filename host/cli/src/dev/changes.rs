//! When files of a folder may have changed: told by the file system, and every few seconds without being told. Owns the watcher and the
//! pace; never reads a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::AccessKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Looked at without being told.
const POLL: Duration = Duration::from_secs(5);

/// Tells when to look again.
pub(super) struct Changes {
    told: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Changes {
    /// Without a watcher the folders (`what`) are looked at all the same, only later.
    pub(super) fn new(what: &str) -> Self {
        let told = Arc::new(Notify::new());
        let tell = Arc::clone(&told);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Whoever looks opens and reads: that is no news.
            let read = matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(AccessKind::Open(_) | AccessKind::Read)));
            if !read {
                tell.notify_one();
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(target: "wharf::dev", %error, "file changes are not told, {what} are looked at every {} s", POLL.as_secs());
        }
        Self { told, watcher: watcher.ok(), watched: BTreeSet::new() }
    }

    /// Has a folder watched, if it is not yet. One that cannot be is looked at like all others.
    pub(super) fn watch(&mut self, folder: &Path, mode: RecursiveMode) {
        // A folder that went and came is another one to the file system.
        self.watched.retain(|folder| folder.is_dir());
        if let Some(watcher) = &mut self.watcher
            && !self.watched.contains(folder)
            && watcher.watch(folder, mode).is_ok()
        {
            self.watched.insert(folder.to_owned());
        }
    }

    /// Waits for a change, and then for `quiet`: editors write several files for one save.
    pub(super) async fn next(&self, quiet: Duration) {
        tokio::select! {
            () = self.told.notified() => tokio::time::sleep(quiet).await,
            () = tokio::time::sleep(POLL) => {}
        }
    }
}
