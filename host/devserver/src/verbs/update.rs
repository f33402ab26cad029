//! PUT and PATCH: from the present object to the next, tried again when somebody else was faster and nobody asked for a version.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{self, carry, set, unset};
use super::options::{FieldValidation, WriteOptions};
use super::{Answer, Api, Body, Content, Payload, Request, Verb, body, create, definitions, events, pods, policy};
use crate::apply::{self, Writer};
use crate::crd;
use crate::defaults;
use crate::kind::{Resource, Schema};
use crate::patch;
use crate::schema::Shape;
use crate::status::{Cause, Status};
use crate::store::{Key, Refused, Stored};
use crate::validate;

/// What of the object a write may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All but status.
    Object,
    /// The status subresource.
    Status,
    /// A namespace's `finalize`.
    Finalize,
    /// A pod's `ephemeralcontainers`.
    Ephemeral,
    /// A pod's `resize`.
    Resize,
}

/// Nobody asked for a version, so a race is nobody's business; so often.
const TRIES: u32 = 16;
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// Serves PUT or PATCH of an object or of a part of it.
///
/// # Errors
/// As the real server: 400, 404, 409, 415, 422, 500.
pub(crate) async fn update(api: &Arc<Api>, request: &Request, scope: Scope) -> Result<Answer, Status> {
    let options = WriteOptions::of(request)?;
    let Some(payload) = &request.body else { return Err(Status::bad_request("the request has no body")) };
    let change = Written::read(request, payload, &options)?;
    write(api, request, scope, &options, &change).await
}

/// A write: a whole object, or how to come to it.
pub(crate) enum Written {
    Whole(Value, Vec<String>),
    Patch(Content, Value),
    Apply(Value),
}

impl Written {
    fn read(request: &Request, payload: &Payload, options: &WriteOptions) -> Result<Self, Status> {
        let resource = &request.resource;
        if request.verb == Verb::Update {
            let read = body::read(payload, resource, options.validation)?;
            return Ok(Self::Whole(read.value, read.warnings));
        }
        let undecodable = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
        match payload.content {
            Content::Apply => {
                let mut config =
                    crate::yaml::value(&payload.bytes).map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
                body::refuse_repeated(payload, options.validation)?;
                body::check_kind(&mut config, resource)?;
                // A status that the write cannot change is nobody's by it.
                if request.subresource.is_none() && resource.is_custom() && resource.subresource("status").is_some() {
                    config.as_object_mut().map(|config| config.remove("status"));
                }
                if resource.namespaced && object::text(&config, "namespace").is_empty() {
                    set(&mut config, "namespace", &*request.namespace);
                }
                Ok(Self::Apply(config))
            }
            Content::StrategicMergePatch if resource.is_custom() => Err(unsupported(resource)),
            Content::JsonPatch | Content::MergePatch | Content::StrategicMergePatch => {
                let patch = serde_json::from_slice(&payload.bytes).map_err(|error| undecodable(error.to_string()))?;
                let patch: Value = patch;
                if payload.content != Content::JsonPatch && !patch.is_object() {
                    return Err(undecodable("it is no object".to_owned()));
                }
                Ok(Self::Patch(payload.content, patch))
            }
            Content::Json | Content::Yaml | Content::Protobuf => Err(unsupported(resource)),
        }
    }

    /// The next object, in the form in which it is kept, and warnings.
    fn next(&self, api: &Api, request: &Request, options: &WriteOptions, old: &Value) -> Result<(Value, Vec<String>), Status> {
        let resource = &request.resource;
        match self {
            Self::Whole(value, warnings) => Ok((value.clone(), warnings.clone())),
            Self::Patch(content, patch) => {
                let patched = match content {
                    Content::JsonPatch => patch::json_patch(old.clone(), patch)?,
                    Content::StrategicMergePatch => patch::strategic_merge_patch(old.clone(), patch, Shape::of(resource))?,
                    _ => {
                        let mut next = old.clone();
                        patch::merge_patch(&mut next, patch);
                        next
                    }
                };
                settle_patched(patched, resource, options.validation)
            }
            Self::Apply(config) => {
                let (version, now) = (resource.api_version(), api.time());
                let subresource = request.subresource.as_deref();
                let writer = Writer { manager: &options.manager, api_version: &version, subresource, now: &now };
                let mut next = apply::apply(Some(old), config, Shape::of(resource), writer, options.force)?;
                body::normalise(&mut next, resource).map_err(Status::server_error)?;
                Ok((next, Vec::new()))
            }
        }
    }
}

fn unsupported(resource: &Resource) -> Status {
    let mut known = vec!["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
    if !resource.is_custom() {
        known.push("application/strategic-merge-patch+json");
    }
    let message = format!("the body of the request was in an unknown format - accepted media types include: {}", known.join(", "));
    Status::new(415, "UnsupportedMediaType", message)
}

/// A patched object that does not decode is refused as Go's server does it: kind and name unknown, the whole object as the value.
fn settle_patched(mut value: Value, resource: &Resource, validation: FieldValidation) -> Result<(Value, Vec<String>), Status> {
    let whole = value.clone();
    let refused = |why: &str| {
        let cause = Cause::invalid("patch", &Value::from(whole.to_string()), why);
        Status::invalid(crate::status::About { group: "", kind: "" }, "", &[cause])
    };
    body::check_kind(&mut value, resource)?;
    let unknown = body::normalise(&mut value, resource).map_err(|why| refused(&why))?;
    let warnings = body::judge(unknown, validation).map_err(|all| refused(&format!("strict decoding error: {all}")))?;
    Ok((value, warnings))
}

/// Writes until it is done or refused.
pub(crate) async fn write(
    api: &Arc<Api>,
    request: &Request,
    scope: Scope,
    options: &WriteOptions,
    change: &Written,
) -> Result<Answer, Status> {
    let (resource, key) = (&request.resource, request.key());
    let mut tries = 0;
    loop {
        tries += 1;
        let Some(old) = api.store.get(&key) else { return absent(api, request, scope, options, change).await };
        let present = Api::value(resource, &old);
        let (mut next, warnings) = change.next(api, request, options, &present)?;
        let pinned = preconditions(request, change, &next, &old)?;
        let refused = finish(api, request, scope, &present, &mut next)?;
        match change {
            Written::Apply(_) => apply::settle(Some(&present), &mut next),
            _ => create::track(api, request, options, Some(&present), &mut next),
        }
        if !refused.is_empty() {
            return Err(Status::invalid(resource.about_kind(), &key.name, &refused));
        }
        if next == present {
            return Ok(Answer::stored(200, resource, old).warned(warnings));
        }
        if options.dry_run {
            return Ok(Answer::new(200, Body::Object { resource: Arc::clone(resource), value: next }).warned(warnings));
        }
        match commit(api, resource, &key, &old, next) {
            Ok(stored) => {
                if policy::is_definition(resource) {
                    definitions::establish(api);
                }
                return Ok(Answer::stored(200, resource, stored).warned(warnings));
            }
            Err(_) if !pinned && tries < TRIES => {}
            Err(_) => return Err(Status::conflict(resource.about(), &key.name, MODIFIED)),
        }
    }
}

/// The last finalizer of an object that is being deleted takes the object with it, in one revision. Watches are shown the state before,
/// with the finalizer; who took it away is answered with the state that it asked for, at the version before.
pub(crate) fn commit(api: &Api, resource: &Resource, key: &Key, old: &Arc<Stored>, next: Value) -> Result<Arc<Stored>, Refused> {
    let kept_by_spec =
        policy::is_namespace(resource) && next.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let graceful = object::member(&next, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    if object::is_deleting(&next) && object::finalizers(&next).is_empty() && !kept_by_spec && !graceful {
        api.remove(key, old)?;
        return Ok(Arc::new(Stored::new(key, events::kept(resource, next), old.version)));
    }
    api.exchange(resource, key, old, next)
}

/// True if a version was asked for, so that a race must be told.
fn preconditions(request: &Request, change: &Written, next: &Value, old: &Stored) -> Result<bool, Status> {
    let (resource, name) = (&request.resource, request.name.as_deref().unwrap_or_default());
    let given = object::text(next, "name");
    if !given.is_empty() && given != name {
        let why = format!("the name of the object ({given}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(why));
    }
    let namespace = object::text(next, "namespace");
    if resource.namespaced && !namespace.is_empty() && namespace != &*request.namespace {
        return Err(Status::bad_request(format!(
            "the namespace of the object ({namespace}) does not match the namespace on the URL ({})",
            request.namespace
        )));
    }
    let version = object::text(next, "resourceVersion");
    let asked = match change {
        Written::Whole(..) => version,
        // A patched object carries the version it was made from, unless the patch names one.
        Written::Patch(Content::JsonPatch, _) => {
            if version == old.version.to_string() {
                ""
            } else {
                version
            }
        }
        Written::Patch(_, patch) => object::text(patch, "resourceVersion"),
        Written::Apply(config) => object::text(config, "resourceVersion"),
    };
    let uid = match change {
        Written::Whole(..) => object::text(next, "uid"),
        Written::Apply(config) => object::text(config, "uid"),
        Written::Patch(..) => "",
    };
    if !uid.is_empty() && uid != &*old.uid {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.uid);
        return Err(Status::conflict(resource.about(), name, &why));
    }
    if asked.is_empty() || asked == "0" {
        let whole = matches!(change, Written::Whole(..));
        if whole && !policy::of(resource).unconditional {
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(Status::invalid(resource.about_kind(), name, &[cause]));
        }
        return Ok(false);
    }
    if asked.parse::<u64>().is_err() {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(asked), "must be an unsigned integer");
        return Err(Status::invalid(resource.about_kind(), name, &[cause]));
    }
    if asked != old.version.to_string() {
        return Err(Status::conflict(resource.about(), name, MODIFIED));
    }
    Ok(true)
}

/// From what the client wants to what becomes of it: what it cannot change is taken from the old, defaults, generation. Returns what is wrong.
fn finish(api: &Api, request: &Request, scope: Scope, old: &Value, next: &mut Value) -> Result<Vec<Cause>, Status> {
    let resource = &request.resource;
    let mut causes = Vec::new();
    let uid = object::text(next, "uid");
    if !uid.is_empty() && uid != object::text(old, "uid") {
        causes.push(Cause::invalid("metadata.uid", &json!(uid), "field is immutable"));
    }
    for name in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
        "resourceVersion",
    ] {
        carry(old, next, name);
    }
    if defaults::has_generation(resource) || object::generation(old) > 0 {
        carry(old, next, "generation");
    }
    unset(next, &["selfLink"]);
    match scope {
        Scope::Object => defaults::prepare_update(resource, next, old),
        Scope::Status => defaults::prepare_status(resource, next, old),
        Scope::Finalize => {
            let wanted = next.pointer("/spec/finalizers").cloned();
            *next = old.clone();
            if let (Some(spec), Some(wanted)) = (next.get_mut("spec").and_then(Value::as_object_mut), wanted) {
                spec.insert("finalizers".to_owned(), wanted);
            } else if let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
            return Ok(causes);
        }
        Scope::Ephemeral => pods::keep_but_ephemeral(next, old, &mut causes),
        Scope::Resize => pods::keep_but_resources(next, old),
    }
    defaults::defaults(resource, next, &api.addresses);
    let wrong = validate::update(resource, next, old);
    if scope == Scope::Object {
        causes.extend(wrong);
        if policy::is_definition(resource) {
            causes.extend(crd::validate_definition(next, Some(old)));
        }
    } else {
        // Of the rest only what the subresource may write has changed.
        causes.extend(wrong.into_iter().filter(|cause| cause.field.starts_with("metadata.")));
    }
    if let Schema::Custom(version) = &resource.schema {
        causes.extend(crd::validate(version, next, Some(old)));
    }
    if scope != Scope::Status && defaults::has_generation(resource) && defaults::bumps_generation(resource, next, old) {
        set(next, "generation", object::generation(old) + 1);
    }
    Ok(causes)
}

/// A write of an object that is not there.
async fn absent(api: &Arc<Api>, request: &Request, scope: Scope, options: &WriteOptions, change: &Written) -> Result<Answer, Status> {
    let resource = &request.resource;
    let name = request.name.as_deref().unwrap_or_default();
    let missing = || Err(Status::not_found(resource.about(), name));
    if scope != Scope::Object {
        return missing();
    }
    match change {
        Written::Whole(value, warnings) if policy::of(resource).put_creates => {
            let mut value = value.clone();
            let given = object::text(&value, "name");
            if !given.is_empty() && given != name {
                return Err(Status::bad_request(format!("the name of the object ({given}) does not match the name on the URL ({name})")));
            }
            set(&mut value, "name", name);
            unset(&mut value, &["resourceVersion"]);
            Box::pin(create::object(api, request, value, warnings.clone())).await
        }
        Written::Apply(config) => {
            let given = object::text(config, "name");
            if !given.is_empty() && given != name {
                return Err(Status::bad_request(format!("the name of the object ({given}) does not match the name on the URL ({name})")));
            }
            if !object::text(config, "uid").is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {}, and no existing object was found",
                    object::text(config, "uid")
                );
                return Err(Status::conflict(resource.about(), name, &why));
            }
            applied(api, request, options, config).await
        }
        _ => missing(),
    }
}

/// An apply that makes the object.
async fn applied(api: &Arc<Api>, request: &Request, options: &WriteOptions, config: &Value) -> Result<Answer, Status> {
    let resource = &request.resource;
    let (version, now) = (resource.api_version(), api.time());
    let writer = Writer { manager: &options.manager, api_version: &version, subresource: None, now: &now };
    let mut value = apply::apply(None, config, Shape::of(resource), writer, options.force)?;
    body::normalise(&mut value, resource).map_err(Status::server_error)?;
    set(&mut value, "name", request.name.as_deref().unwrap_or_default());
    create::place(&mut value, request)?;
    create::begin(api, resource, &mut value);
    apply::settle(None, &mut value);
    let refused = create::causes(resource, &value);
    if !refused.is_empty() {
        return Err(Status::invalid(resource.about_kind(), object::text(&value, "name"), &refused));
    }
    create::commit(api, request, &value, options.dry_run)
}
