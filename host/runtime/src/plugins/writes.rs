//! The books that wait to be written. Owns that those which come while others are written go to the disk together, in the
//! order in which they came: a host with a thousand plugins waits for the disk a few times, not a thousand times. Never
//! decides what stands in a book.

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

/// What waits; as many as there are plugins.
#[derive(Default)]
pub(super) struct Writes {
    waiting: Mutex<Vec<(Write, oneshot::Sender<Answer>)>>,
    turn: tokio::sync::Mutex<()>,
}

impl Writes {
    /// Writes a book, with those of others that wait. `None`: another host leads by now. Who waits no more has it written all
    /// the same.
    ///
    /// # Errors
    /// It was not written.
    pub(super) async fn write(&self, revisions: &Arc<Revisions>, write: Write) -> Answer {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().push((write, tell));
        {
            let _turn = self.turn.lock().await;
            // Nothing is left if it was among those of the one before.
            let waiting = std::mem::take(&mut *self.waiting.lock());
            if !waiting.is_empty() {
                let revisions = Arc::clone(revisions);
                tokio::task::spawn_blocking(move || all(&revisions, waiting)).await.map_err(io::Error::other)?;
            }
        }
        told.await.unwrap_or_else(|gone| Err(io::Error::other(gone)))
    }
}

fn all(revisions: &Revisions, waiting: Vec<(Write, oneshot::Sender<Answer>)>) {
    // They may have waited for long.
    let (mut ours, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(write, _)| write.tenure.owns());
    for (_, tell) in others {
        // Nobody hears it whose plugin is gone.
        let _gone = tell.send(Ok(None));
    }
    let pages = ours.iter_mut().map(|(Write { plugin, book, component, .. }, _)| {
        let component = component.as_ref().map(|(digest, wasm)| (digest.as_str(), &**wasm));
        Page { plugin, book, component, done: Ok(()) }
    });
    let mut pages: Vec<Page<'_>> = pages.collect();
    revisions.save_all(&mut pages);
    let done: Vec<io::Result<()>> = pages.into_iter().map(|page| page.done).collect();
    for ((write, tell), done) in ours.into_iter().zip(done) {
        let _gone = tell.send(done.map(|()| Some(write.book)));
    }
}
