//! What operators ask of plugins: the way to a plugin's task and back. Owns that it ends; what is
//! done is the task's.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::book::Book;
use super::desired::Refusal;
use super::registry::Registry;
use super::task::{Order, Ordered};

/// A task that does not answer for so long is exchanging a revision.
const PATIENCE: Duration = Duration::from_secs(10);

impl Registry {
    /// Asks something of a plugin; `None` if there is no such plugin.
    pub async fn order(&self, name: &PluginName, what: Ordered) -> Option<Result<String, Refusal>> {
        let orders = self.plugins.lock().get(name)?.orders.clone();
        let (answer, answered) = oneshot::channel();
        let asked = async {
            orders.send(Order { what, answer }).await.ok()?;
            answered.await.ok()
        };
        let busy = || Err(Refusal::new(Reason::Other, "it is busy with another revision; ask again"));
        Some(timeout(PATIENCE, asked).await.ok().flatten().unwrap_or_else(busy))
    }

    /// The revisions of a plugin that are kept; `None` if there is no such plugin.
    pub async fn history(&self, name: &PluginName) -> Option<Result<Book, Refusal>> {
        if !self.plugins.lock().contains_key(name) {
            return None;
        }
        let (Some(revisions), name) = (self.revisions.clone(), name.clone()) else { return Some(Ok(Book::default())) };
        let read = tokio::task::spawn_blocking(move || revisions.load(&name)).await;
        let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        Some(read.map_err(|error| Refusal::new(Reason::RevisionsUnusable, error.to_string())))
    }
}
