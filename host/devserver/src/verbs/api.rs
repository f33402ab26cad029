//! The API behind HTTP: holds what the verbs share, and sends each request to its verb.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::addresses::Addresses;
use super::definitions::Definitions;
use super::{Answer, Body, Request, Verb, Watch, create, definitions, delete, events, list, pods, scale, update};
use crate::collect::Collector;
use crate::kind::{Registry, Resource};
use crate::schema::time_text;
use crate::status::Status;
use crate::store::{Key, Refused, Store, StoreOptions, Stored};

/// Settings of the API.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// Where objects lie and how much history is kept.
    pub store: StoreOptions,
    /// Whether deleted namespaces end, owned objects go with their owners, and namespaces get a ServiceAccount; off, the server
    /// behaves as a kube-apiserver without kube-controller-manager.
    pub controllers: bool,
}

/// The API: store, kinds and verbs. Shared behind an `Arc`.
pub struct Api {
    pub(crate) store: Arc<Store>,
    /// What is served; watches of custom objects hear of each change.
    pub(crate) registry: watch::Sender<Arc<Registry>>,
    /// One change of definitions at a time: names are given to the first.
    pub(crate) definitions: Mutex<Definitions>,
    pub(crate) addresses: Addresses,
    pub(crate) collector: Collector,
    /// Seconds that this server's clock is ahead of the machine's, for tests.
    ahead: AtomicI64,
}

impl Api {
    /// Opens the store, makes what every cluster has (namespaces default, kube-system, kube-public and kube-node-lease; Service kubernetes), and
    /// starts the collector on the present tokio runtime; it ends when the API is dropped.
    ///
    /// # Errors
    /// If the file of the store cannot be opened or is none.
    pub async fn open(options: ApiOptions) -> io::Result<Arc<Self>> {
        let store = Store::open(options.store)?;
        let api = Arc::new(Self {
            store,
            registry: watch::Sender::new(Registry::builtin()),
            definitions: Mutex::default(),
            addresses: Addresses::default(),
            collector: Collector::new(options.controllers),
            ahead: AtomicI64::new(0),
        });
        definitions::establish(&api);
        api.addresses.take_all(&api);
        api.collector.learn(&api);
        super::cluster::make(&api).await;
        api.collector.start(&api);
        Ok(api)
    }

    /// What is served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.borrow())
    }

    /// For discovery, metrics, faults and tests.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The server's time.
    pub(crate) fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        now.checked_add(jiff::SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))).unwrap_or(now)
    }

    /// Moves the server's clock by so many seconds, for tests of clients.
    pub fn move_clock(&self, seconds: i64) {
        self.ahead.fetch_add(seconds, Ordering::Relaxed);
    }

    /// The server's time as objects carry it: RFC 3339 with seconds.
    pub(crate) fn time(&self) -> String {
        time_text(self.now())
    }

    /// Serves one request. Watches are answered at once and go on in the answer's body. Cancel safe: a commit is made or not.
    ///
    /// # Errors
    /// The refusal, as the real server words it.
    pub(crate) async fn serve(self: &Arc<Self>, request: Request) -> Result<Answer, Status> {
        match request.subresource.as_deref() {
            None => self.object(&request).await,
            Some("status" | "approval") => self.part(&request, update::Scope::Status).await,
            Some("scale") => scale::serve(self, &request).await,
            Some("finalize") if request.verb == Verb::Update => update::update(self, &request, update::Scope::Finalize).await,
            Some("ephemeralcontainers") => self.part(&request, update::Scope::Ephemeral).await,
            Some("resize") => self.part(&request, update::Scope::Resize).await,
            Some(name) => pods::serve(self, &request, name).await,
        }
    }

    /// A subresource that shows the whole object and writes a part of it.
    async fn part(self: &Arc<Self>, request: &Request, scope: update::Scope) -> Result<Answer, Status> {
        match request.verb {
            Verb::Get => list::get(&self.store, request).await,
            Verb::Update | Verb::Patch => update::update(self, request, scope).await,
            _ => Err(Status::method_not_allowed()),
        }
    }

    async fn object(self: &Arc<Self>, request: &Request) -> Result<Answer, Status> {
        match request.verb {
            Verb::Get => list::get(&self.store, request).await,
            Verb::List => list::list(&self.store, request).await,
            Verb::Watch => {
                let watch = Watch::start(&self.store, request).await?.while_served(&self.registry);
                Ok(Answer::new(200, Body::Watch { resource: Arc::clone(&request.resource), watch: Box::new(watch) }))
            }
            Verb::Create => create::create(self, request).await,
            Verb::Update | Verb::Patch => update::update(self, request, update::Scope::Object).await,
            Verb::Delete => delete::delete(self, request).await,
            Verb::DeleteCollection => delete::collection(self, request).await,
        }
    }

    /// Commits a new object, as long as those it relies on are as they were; the collector hears of it.
    pub(crate) fn insert(&self, resource: &Resource, key: &Key, value: Value, within: &[(Key, u64)]) -> Result<Arc<Stored>, Refused> {
        let stored = self.store.create_within(key, events::kept(resource, value), within)?;
        self.collector.changed(&self.store, resource, key, &stored, None);
        Ok(stored)
    }

    /// Commits a change; the collector hears of it.
    pub(crate) fn exchange(&self, resource: &Resource, key: &Key, old: &Arc<Stored>, value: Value) -> Result<Arc<Stored>, Refused> {
        let stored = self.store.replace(key, old.version, events::kept(resource, value))?;
        self.collector.changed(&self.store, resource, key, &stored, Some(old));
        Ok(stored)
    }

    /// Commits a removal; the collector hears of it.
    pub(crate) fn remove(&self, key: &Key, old: &Arc<Stored>) -> Result<Arc<Stored>, Refused> {
        let stored = self.store.remove(key, old.version)?;
        self.collector.removed(&self.store, key, old);
        Ok(stored)
    }

    /// The object as JSON of this version of its resource.
    pub(crate) fn value(resource: &Resource, stored: &Stored) -> Value {
        events::shown(resource, stored.value(&resource.api_version(), &resource.kind))
    }
}
