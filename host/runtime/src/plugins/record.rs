//! One plugin's book with its place on disk. Owns that the two agree, as far as the disk allows:
//! what cannot be written is said, and nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wharf_core::Reason;
use wharf_core::plugin::{PluginDocument, PluginName, read_document};

use super::book::{Book, Kept, Standing, now};
use super::desired::Refusal;
use super::revisions::Revisions;
use super::writes::{Component, Write};
use crate::dispatch::Numbers;
use crate::lease::Tenure;

/// The revisions of one plugin.
pub(super) struct Record {
    name: PluginName,
    revisions: Option<Arc<Revisions>>,
    tenure: Tenure,
    book: Book,
    /// The book was read when it was this host's already.
    current: bool,
    /// Why the book cannot be read, if it is there.
    unread: Option<String>,
    /// Said already.
    failing: bool,
}

impl Record {
    /// Empty, until it is [read](Self::read).
    pub(super) fn new(revisions: Option<Arc<Revisions>>, name: PluginName, tenure: Tenure) -> Self {
        Self { name, revisions, tenure, book: Book::default(), current: false, unread: None, failing: false }
    }

    pub(super) fn book(&self) -> &Book {
        &self.book
    }

    /// Reads what an earlier host has left. A book that cannot be read is not taken for an empty one: that would call a plugin
    /// that is paused, and take up again what was withdrawn.
    pub(super) async fn read(&mut self) {
        let (name, owned) = (self.name.clone(), self.tenure.is_open());
        match self.ask(move |revisions| revisions.load(&name)).await {
            None => (self.current, self.unread) = (owned, None),
            Some(Ok(book)) => (self.book, self.current, self.unread) = (book, owned, None),
            Some(Err(error)) => (self.current, self.unread) = (false, Some(error.to_string())),
        }
    }

    /// Is the book what this host, which leads, has made of it?
    pub(super) fn is_current(&self) -> bool {
        self.current
    }

    /// Is it known what is kept?
    ///
    /// # Errors
    /// `RevisionsUnusable`.
    pub(super) fn known(&self) -> Result<(), Refusal> {
        let Some(error) = &self.unread else { return Ok(()) };
        let hint = "put its file in order, or remove it from the folder `revisions`: the plugin begins anew then, neither paused nor with anything withdrawn";
        Err(Refusal::new(Reason::RevisionsUnusable, format!("the book of its revisions cannot be read: {error}")).hint(hint))
    }

    /// What the host before has written since this one began, and what could not be read the last time.
    pub(super) async fn refresh(&mut self) {
        if !self.current && (self.unread.is_some() || self.tenure.is_open()) {
            self.read().await;
        }
    }

    /// Document and component of a revision.
    ///
    /// # Errors
    /// `RevisionsUnusable`, or what is wrong with the document by now.
    pub(super) async fn revision(&self, kept: &Kept) -> Result<(Arc<PluginDocument>, Arc<[u8]>), Refusal> {
        let unusable = |error: String| Refusal::new(Reason::RevisionsUnusable, format!("revision {} cannot be read: {error}", kept.number));
        let value: Value = serde_json::from_str(&kept.document).map_err(|error| unusable(error.to_string()))?;
        let document = read_document(&value).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.message)).collect();
            unusable(lines.join("\n"))
        })?;
        let Some(revisions) = self.revisions.clone() else { return Err(unusable("there is no data folder".into())) };
        let digest = kept.digest.clone();
        let read = tokio::task::spawn_blocking(move || revisions.component(&digest)).await;
        let wasm = read.map_err(|error| unusable(error.to_string()))?.map_err(|error| unusable(error.to_string()))?;
        Ok((Arc::new(document), wasm.into()))
    }

    /// A revision goes into service, `proven` if it is one of before. Returns how long it has to prove itself, if it must.
    pub(super) async fn serves(
        &mut self,
        number: u64,
        identity: &str,
        digest: &str,
        document: &PluginDocument,
        wasm: Arc<[u8]>,
        proven: bool,
    ) -> Option<Duration> {
        let kept = Kept {
            number,
            identity: identity.to_owned(),
            digest: digest.to_owned(),
            document: document.source.to_string(),
            since: now(),
            standing: if proven || document.bake.is_zero() { Standing::Good } else { Standing::New },
            message: String::new(),
        };
        let standing = self.book.serves(kept);
        self.save(Some((digest.to_owned(), wasm))).await;
        // Also after a restart: what it had done until then is not known any more.
        (standing == Standing::New).then_some(document.bake)
    }

    /// Notes what a good revision has done before another one takes its place; it is kept with that.
    pub(super) fn measure(&mut self, identity: &str, numbers: Numbers) {
        self.book.measure.served(identity, numbers);
    }

    /// Notes what became of a revision.
    pub(super) async fn judge(&mut self, number: u64, standing: Standing, message: &str) {
        self.book.judge(number, standing, message);
        self.save(None).await;
    }

    /// Notes that an operator has paused the plugin, or not; false if that is so already.
    pub(super) async fn pause(&mut self, paused: bool) -> bool {
        self.refresh().await;
        let changed = std::mem::replace(&mut self.book.paused, paused) != paused;
        if changed {
            self.save(None).await;
        }
        changed
    }

    /// Notes what the last document says of being told.
    pub(super) async fn suspend(&mut self, suspended: bool) {
        self.refresh().await;
        if std::mem::replace(&mut self.book.suspended, suspended) != suspended {
            self.save(None).await;
        }
    }

    /// Could the book not be written down?
    pub(super) fn failing(&self) -> bool {
        self.failing || self.revisions.is_none()
    }

    async fn save(&mut self, component: Option<Component>) {
        // Until this host leads the book is another one's; and what is not known is not written over.
        if !self.tenure.owns() || self.unread.is_some() {
            return;
        }
        let Some(revisions) = self.revisions.clone() else { return };
        let write = Write { plugin: self.name.clone(), book: self.book.clone(), component, tenure: self.tenure.clone() };
        let saved = revisions.writes.write(&revisions, write).await;
        self.note(saved.as_ref().err());
        if let Ok(Some(book)) = saved {
            self.book = book;
        }
    }

    /// `None` without a folder; an error is said once.
    async fn ask<T: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&Revisions) -> std::io::Result<T> + Send + 'static,
    ) -> Option<std::io::Result<T>> {
        let revisions = self.revisions.clone()?;
        let asked = tokio::task::spawn_blocking(move || ask(&revisions)).await;
        let result = asked.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        self.note(result.as_ref().err());
        Some(result)
    }

    fn note(&mut self, failed: Option<&std::io::Error>) {
        if let Some(error) = failed.filter(|_| !self.failing) {
            tracing::error!(
                target: "wharf::plugin", plugin = %self.name, reason = %Reason::RevisionsUnusable, %error, hint = Reason::RevisionsUnusable.hint(),
                "revisions not kept"
            );
        }
        self.failing = failed.is_some();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::*;
    use crate::lease::Timing;

    fn guard() -> PluginName {
        PluginName::new("team-a", "guard").unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_book_is_written_by_the_host_that_leads_and_begins_where_the_last_one_ended() {
        let folder = tempfile::tempdir().unwrap();
        let revisions = Arc::new(Revisions::open(folder.path(), 3).unwrap());
        let tenure = Tenure::elected(Timing::default());
        let mut record = Record::new(Some(Arc::clone(&revisions)), guard(), tenure.clone());
        record.read().await;
        record.suspend(true).await;
        assert_eq!(revisions.load(&guard()).unwrap(), Book::default(), "it stands by");
        // The host before writes until its end.
        Revisions::open(folder.path(), 3).unwrap().save(&guard(), &mut Book { paused: true, ..Book::default() }, None).unwrap();
        assert!(tenure.grant(Instant::now()));
        tenure.open();
        assert!(!record.is_current());
        record.suspend(true).await;
        let both = Book { paused: true, suspended: true, ..Book::default() };
        assert!(record.is_current() && revisions.load(&guard()).unwrap() == both);
        // Frozen, and late to notice.
        advance(Duration::from_secs(14)).await;
        record.pause(false).await;
        assert!(tenure.is_open() && revisions.load(&guard()).unwrap() == both, "another host may lead");
    }

    #[tokio::test]
    async fn a_book_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let revisions = Arc::new(Revisions::open(folder.path(), 3).unwrap());
        let path = folder.path().join("team-a.guard.json");
        std::fs::write(&path, "{").unwrap();
        let mut record = Record::new(Some(revisions), guard(), Tenure::always());
        record.read().await;
        assert_eq!(record.known().unwrap_err().reason, Reason::RevisionsUnusable);
        record.suspend(true).await;
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{", "it may be put in order");
        std::fs::write(&path, r#"{"paused": true}"#).unwrap();
        record.refresh().await;
        assert!(record.known().is_ok() && record.book().paused);
    }
}
