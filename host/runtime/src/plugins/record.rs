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
use crate::dispatch::Numbers;
use crate::lease::Tenure;

/// The revisions of one plugin.
pub(super) struct Record {
    name: PluginName,
    revisions: Option<Arc<Revisions>>,
    tenure: Tenure,
    book: Book,
    /// Said already.
    failing: bool,
}

impl Record {
    /// Empty, until it is [read](Self::read).
    pub(super) fn new(revisions: Option<Arc<Revisions>>, name: PluginName, tenure: Tenure) -> Self {
        Self { name, revisions, tenure, book: Book::default(), failing: false }
    }

    pub(super) fn book(&self) -> &Book {
        &self.book
    }

    /// Reads what an earlier host has left.
    pub(super) async fn read(&mut self) {
        let name = self.name.clone();
        if let Some(Ok(book)) = self.ask(move |revisions| revisions.load(&name)).await {
            self.book = book;
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
        let changed = std::mem::replace(&mut self.book.paused, paused) != paused;
        if changed {
            self.save(None).await;
        }
        changed
    }

    /// Notes what the last document says of being told.
    pub(super) async fn suspend(&mut self, suspended: bool) {
        if std::mem::replace(&mut self.book.suspended, suspended) != suspended {
            self.save(None).await;
        }
    }

    /// Could the book not be written down?
    pub(super) fn failing(&self) -> bool {
        self.failing || self.revisions.is_none()
    }

    async fn save(&mut self, component: Option<(String, Arc<[u8]>)>) {
        // Until this host leads the book is another one's.
        if !self.tenure.is_open() {
            return;
        }
        let (name, mut book) = (self.name.clone(), self.book.clone());
        let saved = self.ask(move |revisions| {
            let component = component.as_ref().map(|(digest, wasm)| (digest.as_str(), &**wasm));
            revisions.save(&name, &mut book, component).map(|()| book)
        });
        if let Some(Ok(book)) = saved.await {
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
        let failed = result.as_ref().err();
        if let Some(error) = failed.filter(|_| !self.failing) {
            tracing::error!(
                target: "wharf::plugin", plugin = %self.name, reason = %Reason::RevisionsUnusable, %error, hint = Reason::RevisionsUnusable.hint(),
                "revisions not kept"
            );
        }
        self.failing = failed.is_some();
        Some(result)
    }
}
