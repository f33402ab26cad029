//! `wharf:plugin/cluster`: the point of use of the grants. Owns the order of the checks:
//! effects allowed at all, names are names, granted for this kind, where it lives, granted
//! there. Only then a port is asked. Never speaks to a server.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use tokio::task::JoinHandle;
use wharf_core::grant::Place;
use wharf_core::{Gvk, Selector, Verb};

use crate::activity::HostFunction;
use crate::bindings::wharf::plugin::cluster::{self, ApiError as WitError, EventType};
use crate::bindings::wharf::plugin::types;
use crate::config::Caps;
use crate::host::fields::Fields;
use crate::host::{Ctx, names};
use crate::limits::clean;
use crate::ports::{ApiError, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Propagation, WriteOptions, Written};
use crate::task::{Lost, join};

const MAX_SELECTOR_BYTES: usize = 1024;
const MAX_TOKEN_BYTES: usize = 16 << 10;
const MAX_VERSION_BYTES: usize = 256;
const MAX_EVENT_REASON_BYTES: usize = 128;
const MAX_EVENT_MESSAGE_BYTES: usize = 1024;

/// The outer error ends the call, the inner one is the guest's to see.
type Answer<T> = wasmtime::Result<Result<T, WitError>>;

/// Runs checks that may fail in either way.
macro_rules! tried {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Ok(Err(WitError::from(ApiError::from(error)))),
        }
    };
}

impl cluster::Host for Ctx {
    async fn get(&mut self, kind: types::Gvk, namespace: Option<String>, name: String, fields: Vec<String>, live: bool) -> Answer<String> {
        self.enter(HostFunction::ClusterGet);
        let kind = Gvk::from(kind);
        let fields = tried!(Fields::parse(&fields));
        tried!(names::name(&name));
        let namespace = tried!(self.allow(Verb::Get, &kind, namespace, Missing::Own).await?);
        let ports = Arc::clone(&self.plugin.ports);
        self.watched.ask(Verb::Get, kind.clone());
        let task = self.control.spawn(async move { ports.get(&kind, namespace.as_deref(), &name, live).await });
        let object = tried!(self.answer(task).await?);
        Ok(handed_out(&object, &fields, self.plugin.caps).map_err(WitError::from))
    }

    async fn list_objects(&mut self, kind: types::Gvk, options: cluster::ListOptions) -> Answer<cluster::Page> {
        self.enter(HostFunction::ClusterList);
        let kind = Gvk::from(kind);
        let fields = tried!(Fields::parse(&options.fields));
        let mut options = tried!(list_options(options));
        options.namespace = tried!(self.allow(Verb::List, &kind, options.namespace.take(), Missing::All).await?);
        let ports = Arc::clone(&self.plugin.ports);
        self.watched.ask(Verb::List, kind.clone());
        let task = self.control.spawn(async move { ports.list(&kind, options).await });
        let page = tried!(self.answer(task).await?);
        Ok(page_handed_out(page, &fields, self.plugin.caps).map_err(WitError::from))
    }

    async fn create(&mut self, object: String, options: cluster::WriteOptions) -> Answer<cluster::Written> {
        self.enter(HostFunction::ClusterCreate);
        let fields = tried!(Fields::parse(&options.fields));
        let options = tried!(write_options(options, false));
        let target = tried!(self.target_of(Verb::Create, &object).await?);
        let (ports, about, dry) = (Arc::clone(&self.plugin.ports), target.clone(), options.dry_run);
        self.watched.ask(Verb::Create, target.kind.clone());
        let task = self.control.spawn(async move { ports.create(&target, object, options).await });
        let answer = tried!(self.answer(task).await?);
        self.wrote(Verb::Create, &about, dry);
        Ok(written(answer, &fields, self.plugin.caps).map_err(WitError::from))
    }

    async fn apply(&mut self, object: String, options: cluster::WriteOptions) -> Answer<cluster::Written> {
        self.enter(HostFunction::ClusterApply);
        let fields = tried!(Fields::parse(&options.fields));
        let options = tried!(write_options(options, true));
        let target = tried!(self.target_of(Verb::Apply, &object).await?);
        let (ports, about, dry) = (Arc::clone(&self.plugin.ports), target.clone(), options.dry_run);
        self.watched.ask(Verb::Apply, target.kind.clone());
        let task = self.control.spawn(async move { ports.apply(&target, object, options).await });
        let answer = tried!(self.answer(task).await?);
        self.wrote(Verb::Apply, &about, dry);
        Ok(written(answer, &fields, self.plugin.caps).map_err(WitError::from))
    }

    async fn merge_patch(&mut self, target: types::ObjectRef, patch: String, options: cluster::WriteOptions) -> Answer<cluster::Written> {
        self.enter(HostFunction::ClusterPatch);
        let fields = tried!(Fields::parse(&options.fields));
        let options = tried!(write_options(options, true));
        tried!(is_object(&patch));
        let target = tried!(self.target(Verb::Patch, target).await?);
        let (ports, about, dry) = (Arc::clone(&self.plugin.ports), target.clone(), options.dry_run);
        self.watched.ask(Verb::Patch, target.kind.clone());
        let task = self.control.spawn(async move { ports.merge_patch(&target, patch, options).await });
        let answer = tried!(self.answer(task).await?);
        self.wrote(Verb::Patch, &about, dry);
        Ok(written(answer, &fields, self.plugin.caps).map_err(WitError::from))
    }

    async fn delete(&mut self, target: types::ObjectRef, options: cluster::DeleteOptions) -> Answer<()> {
        self.enter(HostFunction::ClusterDelete);
        let options = tried!(delete_options(options));
        let mut target = tried!(self.target(Verb::Delete, target).await?);
        // The precondition on the uid stands in the options, and only there.
        target.uid.clear();
        let (ports, about, dry) = (Arc::clone(&self.plugin.ports), target.clone(), options.dry_run);
        self.watched.ask(Verb::Delete, target.kind.clone());
        let task = self.control.spawn(async move { ports.delete(&target, options).await });
        tried!(self.answer(task).await?);
        self.wrote(Verb::Delete, &about, dry);
        Ok(Ok(()))
    }

    async fn record_event(&mut self, about: types::ObjectRef, kind: EventType, reason: String, message: String) -> wasmtime::Result<()> {
        self.enter(HostFunction::ClusterEvent);
        let about = ObjectRef { kind: about.kind.into(), namespace: about.namespace, name: about.name, uid: about.uid };
        if let Err(error) = self.may_record(&about) {
            if !std::mem::replace(&mut self.warned, true) {
                self.log.write(Level::Warn, &format!("an Event was not recorded: {error}"), &[]);
            }
            return Ok(());
        }
        self.events = self.events.saturating_add(1);
        let (reason, message) = (clean(&reason, MAX_EVENT_REASON_BYTES), clean(&message, MAX_EVENT_MESSAGE_BYTES));
        self.plugin.ports.record_event(&about, matches!(kind, EventType::Warning), &reason, &message);
        Ok(())
    }
}

/// What a namespaced kind without a namespace means.
#[derive(Clone, Copy)]
enum Missing {
    /// The plugin's own namespace.
    Own,
    /// All namespaces.
    All,
}

impl Ctx {
    /// A write succeeded.
    fn wrote(&self, verb: Verb, target: &ObjectRef, dry: bool) {
        if !dry {
            self.plugin.ports.wrote(&self.log.call(), verb, target);
        }
    }

    /// Waits for the answer to a request.
    async fn answer<T>(&mut self, task: JoinHandle<Result<T, ApiError>>) -> Result<Result<T, ApiError>, Lost> {
        let answer = self.port(task).await?;
        self.watched.answer(&answer);
        Ok(answer)
    }

    /// Waits for a port. A call that is ended meanwhile is known by it.
    async fn port<T>(&mut self, task: JoinHandle<T>) -> Result<T, Lost> {
        self.asks(true);
        let answer = join(task).await;
        self.asks(false);
        answer
    }

    fn asks(&mut self, asks: bool) {
        self.in_port = asks;
        self.budget.asks(asks);
        self.watched.waits(asks);
    }

    /// All checks but that of the object's name. Returns where the use takes place: `None` for
    /// a cluster-scoped kind, and for all namespaces.
    async fn allow(
        &mut self,
        verb: Verb,
        kind: &Gvk,
        namespace: Option<String>,
        missing: Missing,
    ) -> wasmtime::Result<Result<Option<String>, ApiError>> {
        if let Err(error) = self.allow_kind(verb, kind, namespace.as_deref(), missing) {
            return Ok(Err(error));
        }
        let (ports, asked) = (Arc::clone(&self.plugin.ports), kind.clone());
        let task = self.control.spawn(async move { ports.place(&asked).await });
        let namespaced = match self.port(task).await? {
            Ok(namespaced) => namespaced,
            Err(error) => return Ok(Err(error)),
        };
        let namespace = match (namespaced, missing) {
            (false, _) => None,
            (true, Missing::Own) => Some(namespace.unwrap_or_else(|| self.plugin.name.namespace.as_ref().to_owned())),
            (true, Missing::All) => namespace,
        };
        let place = match &namespace {
            Some(namespace) => Place::Namespace(namespace),
            None if namespaced => Place::AllNamespaces,
            None => Place::Cluster,
        };
        Ok(self.check(verb, kind, place).map(|()| namespace))
    }

    /// The checks that need no server. A kind that no grant names is refused here, before
    /// anybody is asked about it.
    fn allow_kind(&self, verb: Verb, kind: &Gvk, namespace: Option<&str>, missing: Missing) -> Result<(), ApiError> {
        if self.delivery.is_none() {
            return Err(ApiError::NotGranted("not granted: the cluster cannot be used from inside setup".to_owned()));
        }
        names::kind(kind)?;
        namespace.map_or(Ok(()), names::namespace)?;
        if self.plugin.grants.check(verb, kind, Place::Cluster).is_ok() {
            return Ok(());
        }
        match (namespace, missing) {
            (Some(namespace), _) => self.check(verb, kind, Place::Namespace(namespace)),
            (None, Missing::Own) => self.check(verb, kind, Place::Namespace(&self.plugin.name.namespace)),
            (None, Missing::All) => self.check(verb, kind, Place::AllNamespaces),
        }
    }

    fn check(&self, verb: Verb, kind: &Gvk, place: Place<'_>) -> Result<(), ApiError> {
        self.plugin.grants.check(verb, kind, place).map_err(|denied| {
            let text = denied.to_string();
            self.plugin.ports.denied(verb, &text);
            ApiError::NotGranted(text)
        })
    }

    /// Checks a target that the guest names.
    async fn target(&mut self, verb: Verb, target: types::ObjectRef) -> wasmtime::Result<Result<ObjectRef, ApiError>> {
        let kind = Gvk::from(target.kind);
        if let Err(error) = names::name(&target.name) {
            return Ok(Err(error));
        }
        let namespace = self.allow(verb, &kind, target.namespace, Missing::Own).await?;
        Ok(namespace.map(|namespace| ObjectRef { kind, namespace, name: target.name, uid: target.uid }))
    }

    /// Checks a target that stands in an object's own JSON text.
    async fn target_of(&mut self, verb: Verb, object: &str) -> wasmtime::Result<Result<ObjectRef, ApiError>> {
        let head = match Head::read(object, verb) {
            Ok(head) => head,
            Err(error) => return Ok(Err(error)),
        };
        let kind = Gvk::from_api_version(&head.api_version, &head.kind);
        let namespace = head.metadata.namespace.filter(|namespace| !namespace.is_empty()).map(Cow::into_owned);
        let namespace = self.allow(verb, &kind, namespace, Missing::Own).await?;
        let name = head.metadata.name.into_owned();
        Ok(namespace.map(|namespace| ObjectRef { kind, namespace, name, uid: String::new() }))
    }

    fn may_record(&self, about: &ObjectRef) -> Result<(), ApiError> {
        names::name(&about.name)?;
        names::kind(&about.kind)?;
        let event = Gvk::new("events.k8s.io", "v1", "Event");
        let namespace = about.namespace.as_deref().unwrap_or("default");
        self.allow_kind(Verb::Create, &event, Some(namespace), Missing::Own)?;
        self.check(Verb::Create, &event, Place::Namespace(namespace))?;
        let most = self.plugin.caps.events;
        if self.events >= most {
            return Err(ApiError::Invalid(format!("more than {most} Events in one call")));
        }
        Ok(())
    }
}

/// The part of an object that says which one it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metadata: HeadMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMeta<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    generate_name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    fn read(object: &'a str, verb: Verb) -> Result<Self, ApiError> {
        let head: Self = serde_json::from_str(object).map_err(|e| ApiError::Invalid(clean(&format!("the object: {e}"), 512)))?;
        let meta = &head.metadata;
        if verb == Verb::Create && meta.name.is_empty() && !meta.generate_name.is_empty() {
            names::name(&meta.generate_name)?;
        } else {
            names::name(&meta.name)?;
        }
        Ok(head)
    }
}

fn is_object(patch: &str) -> Result<(), ApiError> {
    let parsed: Result<&serde_json::value::RawValue, _> = serde_json::from_str(patch);
    match parsed {
        Ok(raw) if raw.get().starts_with('{') => Ok(()),
        _ => Err(ApiError::Invalid("the patch is no JSON object".to_owned())),
    }
}

fn list_options(options: cluster::ListOptions) -> Result<ListOptions, ApiError> {
    within("label-selector", &options.label_selector, MAX_SELECTOR_BYTES)?;
    within("field-selector", &options.field_selector, MAX_SELECTOR_BYTES)?;
    within("continue-token", &options.continue_token, MAX_TOKEN_BYTES)?;
    let label_selector = Selector::parse(&options.label_selector).map_err(|e| ApiError::Invalid(format!("label-selector: {e}")))?;
    Ok(ListOptions {
        namespace: options.namespace,
        label_selector,
        field_selector: options.field_selector,
        live: options.live,
        limit: options.limit,
        continue_token: options.continue_token,
    })
}

fn write_options(options: cluster::WriteOptions, may_status: bool) -> Result<WriteOptions, ApiError> {
    within("if-resource-version", &options.if_resource_version, MAX_VERSION_BYTES)?;
    let status = match options.subresource.as_deref() {
        None => false,
        Some("status") if may_status => true,
        Some(_) => return Err(ApiError::Invalid("subresource: only `status`, by apply and merge-patch".to_owned())),
    };
    Ok(WriteOptions { dry_run: options.dry_run, force: options.force, if_resource_version: options.if_resource_version, status })
}

fn delete_options(options: cluster::DeleteOptions) -> Result<DeleteOptions, ApiError> {
    within("if-uid", &options.if_uid, MAX_VERSION_BYTES)?;
    within("if-resource-version", &options.if_resource_version, MAX_VERSION_BYTES)?;
    Ok(DeleteOptions {
        dry_run: options.dry_run,
        if_uid: options.if_uid,
        if_resource_version: options.if_resource_version,
        propagation: match options.propagation {
            cluster::Propagation::Background => Propagation::Background,
            cluster::Propagation::Foreground => Propagation::Foreground,
            cluster::Propagation::Orphan => Propagation::Orphan,
        },
    })
}

fn within(what: &str, text: &str, max: usize) -> Result<(), ApiError> {
    if text.len() <= max { Ok(()) } else { Err(ApiError::Invalid(format!("{what}: at most {max} bytes"))) }
}

fn handed_out(object: &Document, fields: &Fields, caps: Caps) -> Result<String, ApiError> {
    let json = if fields.is_empty() { object.json().to_owned() } else { fields.cut(object.json())? };
    if json.len() > caps.object_bytes { Err(ApiError::TooLarge) } else { Ok(json) }
}

fn page_handed_out(page: Page, fields: &Fields, caps: Caps) -> Result<cluster::Page, ApiError> {
    let items = page.items.iter().map(|item| handed_out(item, fields, caps)).collect::<Result<Vec<_>, _>>()?;
    if items.iter().map(String::len).sum::<usize>() > caps.page_bytes {
        return Err(ApiError::TooLarge);
    }
    Ok(cluster::Page { items, continue_token: page.continue_token })
}

/// Without fields a guest gets the new resourceVersion and nothing else.
fn written(written: Written, fields: &Fields, caps: Caps) -> Result<cluster::Written, ApiError> {
    let object = if fields.is_empty() { String::new() } else { handed_out(&written.object, fields, caps)? };
    Ok(cluster::Written { resource_version: written.resource_version, object })
}

impl From<types::Gvk> for Gvk {
    fn from(kind: types::Gvk) -> Self {
        Self::new(&kind.group, &kind.version, &kind.kind)
    }
}

impl From<ApiError> for WitError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::NotGranted(text) => Self::NotGranted(text),
            ApiError::Forbidden(text) => Self::Forbidden(text),
            ApiError::NotFound => Self::NotFound,
            ApiError::Conflict(text) => Self::Conflict(text),
            ApiError::AlreadyExists => Self::AlreadyExists,
            ApiError::Invalid(text) => Self::Invalid(text),
            ApiError::Throttled(after) => Self::Throttled(u32::try_from(after.as_millis()).unwrap_or(u32::MAX)),
            ApiError::Unavailable(text) => Self::Unavailable(text),
            ApiError::TooLarge => Self::TooLarge,
        }
    }
}
