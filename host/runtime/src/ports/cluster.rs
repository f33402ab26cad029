//! Reads and writes of one plugin.
//!
//! Owns the choice between cache and server: a kind that the plugin is subscribed to is
//! read from the store, everything else and everything `live` from the server. Reading
//! never starts a watch. Writes carry the plugin's field manager.

use std::sync::{Arc, Weak};

use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wharf_core::{Gvk, Object, ObjectKey, ResourceKind, Selector};
use wharf_engine::{ApiError, DeleteOptions, Document, ListOptions, ObjectRef, Page, WriteOptions, Written};

use super::api::{Api, Call};
use crate::dispatch::{Dispatcher, OwnWrite};

/// Items of a page if the plugin does not say.
const DEFAULT_LIMIT: u32 = 100;
/// ... and at most.
const MAX_LIMIT: u32 = 500;
/// A page from the cache ends when it holds so many bytes.
const PAGE_BYTES: usize = 4 << 20;
/// Objects of the store that are looked at in one go.
const STEP: usize = 128;
/// Marks a continue token as one of the cache's.
const CACHE_TOKEN: &str = "cache:";

/// The cluster as one plugin sees it.
pub(super) struct Cluster {
    api: Api,
    manager: String,
    dispatcher: Weak<Dispatcher>,
}

impl Cluster {
    pub(super) fn new(api: Api, manager: String, dispatcher: Weak<Dispatcher>) -> Self {
        Self { api, manager, dispatcher }
    }

    /// The plugin's dispatcher, unless the plugin is gone.
    pub(super) fn dispatcher(&self) -> Option<Arc<Dispatcher>> {
        self.dispatcher.upgrade()
    }

    pub(super) fn manager(&self) -> &str {
        &self.manager
    }

    pub(super) async fn namespaced(&self, kind: &Gvk) -> Result<bool, ApiError> {
        Ok(self.api.resolve(kind).await?.namespaced)
    }

    pub(super) async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError> {
        if !live && let Some(found) = self.cached(kind, namespace, name) {
            return found.map(Document::Cached).ok_or(ApiError::NotFound);
        }
        let resource = self.api.resolve(kind).await?;
        let path = Api::path(&resource, namespace, Some(name), None)?;
        let text = self.api.send(Call { method: Method::GET, path, query: Vec::new(), body: None }).await?;
        Ok(Document::Cached(parse(&text, kind)?))
    }

    pub(super) async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError> {
        if options.continue_token.starts_with(CACHE_TOKEN) || (!options.live && options.continue_token.is_empty()) {
            if let Some(page) = self.cached_page(kind, &options).await {
                return Ok(page);
            }
            if !options.continue_token.is_empty() {
                return Err(ApiError::Invalid("the continue token is of a cache that is no longer there; list again".to_owned()));
            }
        }
        self.live_page(kind, &options).await
    }

    pub(super) async fn create(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        let resource = self.api.resolve(&target.kind).await?;
        let path = Api::path(&resource, target.namespace.as_deref(), None, None)?;
        self.write(target, Method::POST, path, ("application/json", object), &options, false).await
    }

    pub(super) async fn apply(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.change(target, ("application/apply-patch+yaml", object), &options, options.force).await
    }

    pub(super) async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.change(target, ("application/merge-patch+json", patch), &options, false).await
    }

    /// Changes an object. Where the plugin ignores its own writes, the server is first asked to
    /// write upon the version that the cache has: only then it is known what the write was made
    /// upon. Where that fails it is done as the plugin asked, and nothing is known.
    async fn change(
        &self,
        target: &ObjectRef,
        (media_type, body): (&'static str, String),
        options: &WriteOptions,
        force: bool,
    ) -> Result<Written, ApiError> {
        let path = self.object_path(target, options).await?;
        let asked = &options.if_resource_version;
        let own = if options.dry_run { None } else { self.own_write(target) };
        if let Some(own) = own {
            let upon = if asked.is_empty() { own.upon().to_owned() } else { asked.clone() };
            let insisting = with_resource_version(body.clone(), &upon)?;
            match self.write(target, Method::PATCH, path.clone(), (media_type, insisting), options, force).await {
                Ok(written) => {
                    own.done(&upon, &written.resource_version);
                    return Ok(written);
                }
                Err(error) if !asked.is_empty() || !may_be_of_version(&error) => return Err(error),
                // The write is still in flight, as far as others are concerned.
                Err(_) => return self.write(target, Method::PATCH, path, (media_type, body), options, force).await,
            }
        }
        let body = with_resource_version(body, asked)?;
        self.write(target, Method::PATCH, path, (media_type, body), options, force).await
    }

    fn own_write(&self, target: &ObjectRef) -> Option<OwnWrite> {
        self.dispatcher.upgrade()?.begin_write(&target.kind, target.namespace.as_deref(), &target.name)
    }

    pub(super) async fn delete(&self, target: &ObjectRef, options: DeleteOptions) -> Result<(), ApiError> {
        let resource = self.api.resolve(&target.kind).await?;
        let path = Api::path(&resource, target.namespace.as_deref(), Some(&target.name), None)?;
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": options.propagation.as_str()});
        let mut preconditions = serde_json::Map::new();
        for (field, value) in [("uid", options.if_uid), ("resourceVersion", options.if_resource_version)] {
            if !value.is_empty() {
                preconditions.insert(field.to_owned(), Value::from(value));
            }
        }
        if let Some(body) = body.as_object_mut() {
            if !preconditions.is_empty() {
                body.insert("preconditions".to_owned(), Value::from(preconditions));
            }
            if options.dry_run {
                body.insert("dryRun".to_owned(), json!(["All"]));
            }
        }
        let body = Some(("application/json", body.to_string().into_bytes()));
        self.api.send(Call { method: Method::DELETE, path, query: Vec::new(), body }).await?;
        Ok(())
    }

    async fn object_path(&self, target: &ObjectRef, options: &WriteOptions) -> Result<String, ApiError> {
        let resource: ResourceKind = self.api.resolve(&target.kind).await?;
        Api::path(&resource, target.namespace.as_deref(), Some(&target.name), options.status.then_some("status"))
    }

    async fn write(
        &self,
        target: &ObjectRef,
        method: Method,
        path: String,
        body: (&'static str, String),
        options: &WriteOptions,
        force: bool,
    ) -> Result<Written, ApiError> {
        let mut query = vec![("fieldManager", self.manager.clone())];
        if force {
            query.push(("force", "true".to_owned()));
        }
        if options.dry_run {
            query.push(("dryRun", "All".to_owned()));
        }
        let body = Some((body.0, body.1.into_bytes()));
        let text = self.api.send(Call { method, path, query, body }).await?;
        let object = parse(&text, &target.kind)?;
        Ok(Written { resource_version: object.resource_version().to_owned(), object: Document::Cached(object) })
    }

    /// `None`: the cache does not cover it; `Some(None)`: it does, and there is none.
    fn cached(&self, kind: &Gvk, namespace: Option<&str>, name: &str) -> Option<Option<Arc<Object>>> {
        let view = self.dispatcher.upgrade()?.subscribed().view(kind, namespace)?;
        Some(view.get(&ObjectKey::new(namespace.unwrap_or(""), name)))
    }

    /// A page from the store; `None` if the cache does not cover it. Goes through the store in
    /// steps and lets others run in between: a store may be large, and a selector rare.
    async fn cached_page(&self, kind: &Gvk, options: &ListOptions) -> Option<Page> {
        let fields = Selector::parse(&options.field_selector).ok()?;
        if fields.keys().any(|field| !matches!(field, "metadata.name" | "metadata.namespace")) {
            return None;
        }
        let namespace = options.namespace.as_deref();
        let view = self.dispatcher.upgrade()?.subscribed().view(kind, namespace)?;
        let mut after = options.continue_token.strip_prefix(CACHE_TOKEN).map(|token| match token.split_once('/') {
            Some((namespace, name)) => ObjectKey::new(namespace, name),
            None => ObjectKey::new("", token),
        });
        let (limit, mut bytes, mut page) = (limit(options) as usize, 0, Page::default());
        loop {
            let step = view.after(namespace, after.as_ref(), STEP);
            let last = step.len() < STEP;
            for object in step {
                after = Some(object.key().clone());
                if !object.matches_labels(&options.label_selector) || !object.matches_fields(&fields) {
                    continue;
                }
                bytes += object.json().len();
                let token = format!("{CACHE_TOKEN}{}", object.key());
                page.items.push(Document::Cached(object));
                if page.items.len() >= limit || bytes >= PAGE_BYTES {
                    // There may be nothing behind it: then the next page is empty.
                    page.continue_token = token;
                    return Some(page);
                }
            }
            if last {
                return Some(page);
            }
            tokio::task::yield_now().await;
        }
    }

    async fn live_page(&self, kind: &Gvk, options: &ListOptions) -> Result<Page, ApiError> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(default)]
            metadata: Meta,
            #[serde(borrow)]
            items: Vec<&'a RawValue>,
        }
        #[derive(Default, Deserialize)]
        struct Meta {
            #[serde(default, rename = "continue")]
            token: String,
        }
        let resource = self.api.resolve(kind).await?;
        let path = Api::path(&resource, options.namespace.as_deref(), None, None)?;
        let mut query = vec![("limit", limit(options).to_string())];
        for (name, value) in [
            ("labelSelector", options.label_selector.to_string()),
            ("fieldSelector", options.field_selector.clone()),
            ("continue", options.continue_token.clone()),
        ] {
            if !value.is_empty() {
                query.push((name, value));
            }
        }
        let text = self.api.send(Call { method: Method::GET, path, query, body: None }).await?;
        let list: List<'_> = serde_json::from_str(&text).map_err(|e| ApiError::Unavailable(format!("unreadable list: {e}")))?;
        let items = list.items.into_iter().map(|item| parse(item.get(), kind).map(Document::Cached)).collect::<Result<_, _>>()?;
        Ok(Page { items, continue_token: list.metadata.token })
    }
}

/// May a write have failed only because of the version that it insisted on?
fn may_be_of_version(error: &ApiError) -> bool {
    match error {
        // Gone meanwhile, or changed.
        ApiError::Conflict(_) | ApiError::NotFound => true,
        // An `apply` that would make the object anew must not name one.
        ApiError::Invalid(message) => message.contains("resourceVersion"),
        _ => false,
    }
}

fn limit(options: &ListOptions) -> u32 {
    match options.limit {
        0 => DEFAULT_LIMIT,
        limit => limit.min(MAX_LIMIT),
    }
}

/// Reads an answer as the store would: without managedFields, with its kind.
fn parse(text: &str, kind: &Gvk) -> Result<Arc<Object>, ApiError> {
    Object::parse(text, kind).map(Arc::new).map_err(|e| ApiError::Unavailable(format!("unreadable answer: {e}")))
}

/// A resourceVersion in the body of a write is the server's precondition.
fn with_resource_version(body: String, version: &str) -> Result<String, ApiError> {
    if version.is_empty() {
        return Ok(body);
    }
    let mut value: Value = serde_json::from_str(&body).map_err(|e| ApiError::Invalid(e.to_string()))?;
    let object = value.as_object_mut().ok_or_else(|| ApiError::Invalid("not a JSON object".to_owned()))?;
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or_else(|| ApiError::Invalid("metadata is no JSON object".to_owned()))?;
    metadata.insert("resourceVersion".to_owned(), Value::from(version));
    Ok(value.to_string())
}
