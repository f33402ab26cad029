//! When files of a folder may have changed: told by the file system, and every few seconds without being told. Owns the watcher and the
//! pace; never reads a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::AccessKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Looked at without being told.
const POLL: Duration = Duration::from_secs(5);
/// As long as changes that come without a pause are waited for.
const LONGEST: Duration = Duration::from_secs(2);

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

    /// Waits for a change, and then until none has come for `quiet`: editors write several files for one save. Whoever writes without
    /// end is not waited for.
    pub(super) async fn next(&self, quiet: Duration) {
        if timeout(POLL, self.told.notified()).await.is_err() {
            return;
        }
        let still = async { while timeout(quiet, self.told.notified()).await.is_ok() {} };
        // Either way it is time to look.
        let _ = timeout(LONGEST, still).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    const QUIET: Duration = Duration::from_millis(100);

    /// How long `next` waits if something changes `times` times, every 60 ms.
    async fn waited(times: u32) -> Duration {
        let changes = Changes { told: Arc::new(Notify::new()), watcher: None, watched: BTreeSet::new() };
        let (start, told) = (Instant::now(), Arc::clone(&changes.told));
        let write = async {
            for _ in 0..times {
                sleep(Duration::from_millis(60)).await;
                told.notify_one();
            }
            std::future::pending().await
        };
        tokio::select! {
            () = changes.next(QUIET) => {}
            () = write => {}
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn waits_for_quiet() {
        let about = |waited: Duration, millis: u64| (millis..millis + 10).contains(&u64::try_from(waited.as_millis()).unwrap());
        assert!(about(waited(0).await, 5_000), "looked at without being told");
        assert!(about(waited(1).await, 160));
        assert!(about(waited(5).await, 400));
        assert!(about(waited(10_000).await, 2_060), "whoever writes without end");
    }
}
