//! Orders to plugins as a whole, and the revisions that are kept of them. Owns the words between an
//! operator and the registry; what is done is `plugins`'.

use jiff::Timestamp;

use super::operator::{Named, Operator};
use crate::admin::operate::{OrderAsk, OrderRow, OrderWord, Refused, RevisionRow, RevisionsAsk};
use crate::plugins::book::{Kept, now};
use crate::plugins::order::Ordered;
use crate::plugins::{Refusal, Registry};

impl Operator {
    /// Refuses what is for the host that leads: here it would do nothing now, and who knows what when this one leads; and
    /// why a plugin was called is not known here.
    pub(super) fn leads(&self) -> Result<(), Refused> {
        self.registry.stands_by().map_or(Ok(()), |leader| {
            let hint = "ask the host that leads".to_owned();
            Err(Refused { error: format!("this host stands by and calls no plugin: {leader}"), hint, missing: false })
        })
    }

    /// Does what is asked.
    pub(super) async fn ordered(&self, ask: OrderAsk) -> Result<OrderRow, Refused> {
        let Named { name, .. } = self.plugin(&ask.plugin, ask.namespace.as_deref())?;
        self.leads()?;
        let what = match (ask.order, ask.revision) {
            (OrderWord::Rollback, revision) => Ordered::Rollback(revision),
            (_, Some(_)) => {
                let error = "only a rollback goes to a revision".to_owned();
                return Err(Refused { error, hint: "leave the revision out".into(), missing: false });
            }
            (OrderWord::Reload, None) => Ordered::Reload,
            (OrderWord::Pause, None) => Ordered::Pause,
            (OrderWord::Resume, None) => Ordered::Resume,
        };
        let said = self.registry.order(&name, what).await.unwrap_or_else(|| Err(gone())).map_err(|refusal| refused(&refusal))?;
        tracing::info!(target: "wharf::admin", plugin = %name, order = ?ask.order, said, "an operator gave an order");
        Ok(OrderRow { plugin: name.to_string(), said })
    }

    /// What is kept, by plugin, the oldest first.
    pub(super) async fn kept(&self, ask: RevisionsAsk) -> Result<Vec<RevisionRow>, Refused> {
        let mut rows = Vec::new();
        for Named { name, dispatcher, .. } in self.plugins(ask.plugin.as_deref(), ask.namespace.as_deref())? {
            let Some(book) = Registry::history(&self.registry, &name).await else { continue };
            let book = book.map_err(|refusal| refused(&refusal))?;
            let serving = dispatcher.serving().map(|serving| serving.number);
            let row = |kept: &Kept| RevisionRow {
                plugin: name.to_string(),
                number: kept.number,
                digest: kept.digest.clone(),
                standing: book.word(kept, serving).to_owned(),
                serving: serving == Some(kept.number),
                message: kept.message.clone(),
                since: i64::try_from(kept.since)
                    .ok()
                    .and_then(|s| Timestamp::from_second(s).ok())
                    .map(|t| t.to_string())
                    .unwrap_or_default(),
                age_seconds: now().saturating_sub(kept.since),
            };
            rows.extend(book.revisions.iter().map(row));
        }
        Ok(rows)
    }
}

fn refused(refusal: &Refusal) -> Refused {
    let hint = if refusal.hint.is_empty() { refusal.reason.hint().to_owned() } else { refusal.hint.clone() };
    Refused { error: refusal.message.clone(), hint, missing: false }
}

fn gone() -> Refusal {
    Refusal::new(wharf_core::Reason::Cancelled, "the plugin has just been removed")
}
