//! Is the ServiceAccount there in whose name a plugin asks the API server? Owns when that is asked, and the
//! words for it. A request in the name of one that is not there looks like one without rights, which is why the host
//! says it; a host that may not look says nothing. Changes nothing that serves.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::sleep;
use wharf_core::plugin::PluginName;
use wharf_core::{Gvk, ResourceKind};
use wharf_engine::ApiError;

use crate::ports::api::{Api, Call};

/// Between two looks at one that is missing, or at a server that does not answer.
const LOOK: Duration = Duration::from_secs(5);

/// What is known of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    /// Nothing yet.
    Unknown,
    /// It is not there.
    Missing,
    /// It was there, or nobody can tell, or none is named.
    Settled,
}

/// Asks until something else is known. Cancel safe.
pub(super) async fn changed<F>(known: Account, ask: impl Fn() -> F) -> Account
where
    F: Future<Output = Result<(), ApiError>>,
{
    let mut pause = known == Account::Missing;
    loop {
        if pause {
            sleep(LOOK).await;
        }
        pause = true;
        match ask().await {
            Err(ApiError::NotFound) if known == Account::Missing => {}
            Err(ApiError::NotFound) => return Account::Missing,
            Err(ApiError::Unavailable(_) | ApiError::Throttled(_)) => {}
            // Above all for lack of rights.
            Ok(()) | Err(_) => return Account::Settled,
        }
    }
}

/// Asks the server for an account, in the host's own name.
///
/// # Errors
/// `NotFound` if there is none, or why that is not known.
pub(super) async fn ask(api: &Api, namespace: &str, name: &str) -> Result<(), ApiError> {
    let path = Api::path(&kind(), Some(namespace), Some(name), None)?;
    api.send(Call { method: Method::GET, path, query: Vec::new(), body: None }).await.map(drop)
}

/// Makes an account.
///
/// # Errors
/// What the server answers, `NotFound` without its namespace.
pub(super) async fn make(api: &Api, namespace: &str, name: &str) -> Result<(), ApiError> {
    let path = Api::path(&kind(), Some(namespace), None, None)?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": name}});
    let body = Some(("application/json", account.to_string().into_bytes()));
    api.send(Call { method: Method::POST, path, query: Vec::new(), body }).await.map(drop)
}

fn kind() -> ResourceKind {
    ResourceKind { gvk: Gvk::new("", "v1", "ServiceAccount"), plural: "serviceaccounts".into(), namespaced: true }
}

/// What it means that the account of a plugin is missing, for people.
pub(crate) fn missing(plugin: &PluginName, account: &str) -> String {
    let namespace = &plugin.namespace;
    format!(
        "ServiceAccount {namespace}/{account} does not exist, so the API server refuses what the plugin asks of it; \
         create it, or correct spec.serviceAccountName"
    )
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;
    use std::future::ready;

    use tokio::time::Instant;

    use super::*;

    /// What comes of these answers, and how many were needed.
    async fn after<const N: usize>(known: Account, answers: [Result<(), ApiError>; N]) -> (Account, usize) {
        let (answers, asked) = (RefCell::new(VecDeque::from(answers)), Cell::new(0));
        let ask = || {
            asked.set(asked.get() + 1);
            ready(answers.borrow_mut().pop_front().unwrap())
        };
        (changed(known, ask).await, asked.get())
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_missing_is_looked_for_until_it_is_there() {
        let (gone, busy) = (|| Err(ApiError::NotFound), || Err(ApiError::Unavailable("503".into())));
        assert_eq!(after(Account::Unknown, [Ok(())]).await, (Account::Settled, 1));
        assert_eq!(after(Account::Unknown, [busy(), gone()]).await, (Account::Missing, 2));
        let start = Instant::now();
        assert_eq!(after(Account::Missing, [gone(), busy(), Ok(())]).await, (Account::Settled, 3));
        assert_eq!(start.elapsed(), 3 * LOOK);
    }

    #[tokio::test(start_paused = true)]
    async fn who_may_not_look_says_nothing() {
        for known in [Account::Unknown, Account::Missing] {
            assert_eq!(after(known, [Err(ApiError::Forbidden("no".into()))]).await, (Account::Settled, 1));
        }
    }
}
