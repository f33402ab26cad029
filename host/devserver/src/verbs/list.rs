//! GET of one object and LIST: which version is read, pages and their tokens, selectors.
//!
//! Never changes anything.

mod options;
mod token;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Answer, Body, Request, events};
use crate::select::{FieldSelector, LabelSelector};
use crate::status::Status;
use crate::store::{Key, Snapshot, Store, Stored};

pub(super) use options::{ListOptions, Match, parse_version};
pub(crate) use token::Token;

/// How long a request waits for a version that is not there yet.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// GET of one object. Waits up to 3 s for a version that is not there yet.
pub(crate) async fn get(store: &Arc<Store>, request: &Request) -> Result<Answer, Status> {
    let version = parse_version(request.query.get("resourceVersion").unwrap_or_default()).map_err(Status::server_error)?;
    wait_for(store, version).await?;
    let resource = &request.resource;
    let name = request.name.clone().unwrap_or_default();
    let key = Key { storage: Arc::clone(&resource.storage), namespace: Arc::clone(&request.namespace), name };
    match store.get(&key) {
        Some(object) => Ok(Answer::stored(200, resource, object)),
        None => Err(Status::not_found(resource.about(), &key.name)),
    }
}

/// LIST.
pub(crate) async fn list(store: &Arc<Store>, request: &Request) -> Result<Answer, Status> {
    let options = ListOptions::parse(request, false)?;
    let token = options.continue_token.as_deref().map(Token::decode).transpose()?;
    let snapshot = read(store, request, &options, token.as_ref()).await?;
    let version = snapshot.version;
    let page = Page::cut(snapshot.items, &options, token.as_ref());
    let across = request.resource.namespaced && request.namespace.is_empty();
    let continue_token = page.next.map(|last| Token::after(&last, across, version).encode());
    Ok(answer(Body::List {
        resource: Arc::clone(&request.resource),
        version,
        items: page.items.into_iter().map(|item| events::view(&request.resource, item)).collect(),
        continue_token,
        remaining: page.remaining,
    }))
}

/// Whether an object is selected.
pub(super) fn selects(labels: &LabelSelector, fields: &FieldSelector, object: &Stored) -> bool {
    labels.matches(&object.labels) && fields.matches(object)
}

/// The namespace to look into; none for all, and for cluster-scoped resources.
pub(super) fn namespace_of(request: &Request) -> Option<&str> {
    (!request.namespace.is_empty()).then_some(&*request.namespace)
}

/// 504: the version asked for is not there, and did not come while the request waited.
pub(super) fn too_large(version: u64, current: u64) -> Status {
    let mut status = Status::new(504, "Timeout", format!("Timeout: Too large resource version: {version}, current: {current}")).retry_in(1);
    if let Some(details) = &mut status.details {
        details.insert("causes".to_owned(), json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]));
    }
    status
}

fn answer(body: Body) -> Answer {
    Answer { code: 200, warnings: Vec::new(), body }
}

async fn wait_for(store: &Store, version: u64) -> Result<(), Status> {
    match tokio::time::timeout(PATIENCE, store.reached(version)).await {
        Ok(()) => Ok(()),
        Err(_) => Err(too_large(version, store.version())),
    }
}

/// The state that the options ask for.
async fn read(store: &Store, request: &Request, options: &ListOptions, token: Option<&Token>) -> Result<Snapshot, Status> {
    let (storage, namespace) = (&request.resource.storage, namespace_of(request));
    let text = options.version.as_str();
    if let Some(token) = token {
        if !text.is_empty() && text != "0" {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let at = token.version();
        wait_for(store, at.unwrap_or(0)).await?;
        return store.list(storage, namespace, at).map_err(|_| token.expired());
    }
    let version = parse_version(text).map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
    let exact = options.version_match == Some(Match::Exact) || (options.version_match.is_none() && options.limit.is_some() && version > 0);
    wait_for(store, version).await?;
    store
        .list(storage, namespace, exact.then_some(version))
        .map_err(|_| Status::expired("The resourceVersion for the provided list is too old."))
}

/// What is answered of all objects.
struct Page {
    items: Vec<Arc<Stored>>,
    /// The last object, if more are selected.
    next: Option<Arc<Stored>>,
    remaining: Option<u64>,
}

impl Page {
    fn cut(items: Vec<Arc<Stored>>, options: &ListOptions, token: Option<&Token>) -> Self {
        let all = options.labels.is_empty() && options.fields.is_empty();
        // Objects are in order: what a page begins after is skipped without looking at it.
        let start = token.map_or(0, |token| items.partition_point(|object| !token.precedes(object)));
        let mut rest = items.into_iter().skip(start);
        // A list of whatever version is there ("0") is never cut.
        let Some(limit) = options.limit.filter(|_| options.version != "0") else {
            let items = rest.filter(|object| all || selects(&options.labels, &options.fields, object)).collect();
            return Self { items, next: None, remaining: None };
        };
        let mut page = Vec::new();
        while let Some(object) = rest.next() {
            if !all && !selects(&options.labels, &options.fields, &object) {
                continue;
            }
            if page.len() >= limit {
                // How many of the rest are selected is not counted, as on the real server.
                let remaining = all.then(|| rest.len() as u64 + 1);
                return Self { next: page.last().cloned(), items: page, remaining };
            }
            page.push(object);
        }
        Self { items: page, next: None, remaining: None }
    }
}

#[cfg(test)]
pub(super) mod tests;
