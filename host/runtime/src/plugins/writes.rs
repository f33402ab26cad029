//! The books that wait to be written. Owns that those which come while others are written go to the disk together, in the
//! order in which they came: a host with a thousand plugins waits for the disk a few times, not a thousand times. Never
//! decides what stands in a book.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use wharf_core::plugin::PluginName;

use super::book::Book;
use super::revisions::{Page, Revisions};
use crate::lease::Tenure;

/// Digest and bytes.
pub(super) type Component = (String, Arc<[u8]>);

/// One plugin's wish.
pub(super) struct Write {
    pub(super) plugin: PluginName,
    pub(super) book: Book,
    /// That of the newest revision, if it may be new.
    pub(super) component: Option<Component>,
    pub(super) tenure: Tenure,
}

type Answer = io::Result<Option<Book>>;
type Tell = oneshot::Sender<Answer>;

/// What waits, the newest of each plugin.
#[derive(Default)]
pub(super) struct Writes {
    waiting: Mutex<BTreeMap<PluginName, (Write, Vec<Tell>)>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Writes {
    /// Writes a book, with those of others that wait. `None`: another host leads by now. Who waits no more has it written all
    /// the same.
    ///
    /// # Errors
    /// It was not written.
    pub(super) async fn write(&self, revisions: &Arc<Revisions>, write: Write) -> Answer {
        let (tell, told) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            let tells = waiting.remove(&write.plugin).map(|(_, tells)| tells).unwrap_or_default();
            waiting.insert(write.plugin.clone(), (write, tells.into_iter().chain([tell]).collect()));
        }
        // Whoever waits may be ended, and what others wait for must not end with it.
        let revisions = Arc::clone(revisions);
        tokio::spawn(async move { revisions.writes.flush(&revisions).await });
        told.await.unwrap_or_else(|gone| Err(io::Error::other(gone)))
    }

    /// Writes what waits, if anything does: others may have done it. What is being written is waited for.
    pub(super) async fn flush(&self, revisions: &Arc<Revisions>) {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let waiting = std::mem::take(&mut *self.waiting.lock());
        if waiting.is_empty() {
            return;
        }
        let revisions = Arc::clone(revisions);
        let work = move || {
            all(&revisions, waiting.into_values().collect());
            drop(turn);
        };
        // Those whose answers are lost hear that they are.
        let _ended = tokio::task::spawn_blocking(work).await;
    }

    /// Forgets a plugin that is gone, if this host leads: neither what waits of it nor what is being written comes after that.
    ///
    /// # Errors
    /// Its book is still there.
    pub(super) async fn forget(&self, revisions: &Arc<Revisions>, plugin: &PluginName, tenure: Tenure) -> io::Result<()> {
        self.waiting.lock().remove(plugin);
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (revisions, plugin) = (Arc::clone(revisions), plugin.clone());
        let work = move || {
            let forgotten = if tenure.owns() { revisions.forget(&plugin) } else { Ok(()) };
            drop(turn);
            forgotten
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

fn all(revisions: &Revisions, waiting: Vec<(Write, Vec<Tell>)>) {
    let tell = |tells: Vec<Tell>, answer: &Answer| {
        for tell in tells {
            let answer = match answer {
                Ok(book) => Ok(book.clone()),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            // Nobody hears it whose plugin is gone.
            let _gone = tell.send(answer);
        }
    };
    // They may have waited for long.
    let (mut ours, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(write, _)| write.tenure.owns());
    others.into_iter().for_each(|(_, tells)| tell(tells, &Ok(None)));
    let pages = ours.iter_mut().map(|(Write { plugin, book, component, .. }, _)| {
        let component = component.as_ref().map(|(digest, wasm)| (digest.as_str(), &**wasm));
        Page { plugin, book, component, done: Ok(()) }
    });
    let mut pages: Vec<Page<'_>> = pages.collect();
    revisions.save_all(&mut pages);
    let done: Vec<io::Result<()>> = pages.into_iter().map(|page| page.done).collect();
    for ((write, tells), done) in ours.into_iter().zip(done) {
        tell(tells, &done.map(|()| Some(write.book)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(plugin: &PluginName, paused: bool) -> Write {
        Write { plugin: plugin.clone(), book: Book { paused, ..Book::default() }, component: None, tenure: Tenure::always() }
    }

    #[tokio::test]
    async fn who_waits_no_more_is_written_and_who_is_forgotten_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let revisions = Arc::new(Revisions::open(folder.path(), 2).unwrap());
        let [kept, gone, other] = ["kept", "gone", "other"].map(|name| PluginName::new("team-a", name).unwrap());
        let turn = Arc::clone(&revisions.writes.turn).lock_owned().await;
        for plugin in [&kept, &gone] {
            for paused in [false, true] {
                let mut waits = std::pin::pin!(revisions.writes.write(&revisions, write(plugin, paused)));
                assert!(futures::poll!(&mut waits).is_pending());
            }
        }
        let forget = revisions.writes.forget(&revisions, &gone, Tenure::always());
        let mut forget = std::pin::pin!(forget);
        assert!(futures::poll!(&mut forget).is_pending());
        drop(turn);
        forget.await.unwrap();
        assert!(revisions.writes.write(&revisions, write(&other, false)).await.unwrap().is_some());
        revisions.writes.flush(&revisions).await;
        assert_eq!(revisions.names().unwrap(), [kept.clone(), other]);
        assert!(revisions.load(&kept).unwrap().paused, "the newest");
    }
}
