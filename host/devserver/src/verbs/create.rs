//! POST: a new object, from its body to its first revision.

use std::sync::Arc;

use rand::RngExt as _;
use serde_json::{Value, json};

use super::object::{self, edit, set, unset};
use super::options::WriteOptions;
use super::{Answer, Api, Body, Request, body, definitions, policy};
use crate::apply::{self, Writer};
use crate::crd;
use crate::defaults;
use crate::kind::{Resource, Schema};
use crate::schema::Shape;
use crate::status::{About, Cause, Status};
use crate::store::{Key, Refused, Stored};
use crate::validate;

/// Members of metadata that only the server decides.
const SERVERS_OWN: [&str; 5] = ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// Names that are made up are tried so often.
const NAME_TRIES: u32 = 8;
/// And a commit, when the namespace or the definition changes meanwhile.
const COMMIT_TRIES: u32 = 16;

/// Serves a POST to a collection.
///
/// # Errors
/// As the real server: 400, 404 (namespace), 409, 422, 500.
pub(crate) async fn create(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let options = WriteOptions::of(request)?;
    let Some(payload) = &request.body else { return Err(Status::bad_request("the request has no body")) };
    let read = body::read(payload, &request.resource, options.validation)?;
    object(api, request, read.value, read.warnings).await
}

/// Creates an object that is decoded already.
pub(crate) async fn object(api: &Arc<Api>, request: &Request, mut value: Value, warnings: Vec<String>) -> Result<Answer, Status> {
    let options = WriteOptions::of(request)?;
    let resource = &request.resource;
    if object::member(&value, "resourceVersion").is_some_and(|version| version.as_str() != Some("")) {
        return Err(Status::server_error("resourceVersion should not be set on objects to be created"));
    }
    place(&mut value, request)?;
    let made_up = object::text(&value, "name").is_empty() && !object::text(&value, "generateName").is_empty();
    let mut tries = 0;
    loop {
        tries += 1;
        let mut one = value.clone();
        if made_up {
            let name = format!("{}{}", object::text(&one, "generateName"), suffix());
            set(&mut one, "name", name);
        }
        begin(api, resource, &mut one);
        track(api, request, &options, None, &mut one);
        let refused = causes(resource, &one);
        if !refused.is_empty() {
            return Err(Status::invalid(resource.about_kind(), object::text(&one, "name"), &refused));
        }
        match commit(api, request, &one, options.dry_run) {
            Err(status) if made_up && status.code == 409 && tries < NAME_TRIES => {}
            answer => return Ok(answer?.warned(warnings)),
        }
    }
}

/// The first state: what the server decides, and defaults.
pub(crate) fn begin(api: &Api, resource: &Resource, value: &mut Value) {
    unset(value, &SERVERS_OWN);
    edit(value, |metadata| {
        metadata.remove("resourceVersion");
        metadata.insert("uid".to_owned(), json!(uid()));
        metadata.insert("creationTimestamp".to_owned(), json!(api.time()));
    });
    defaults::prepare_create(resource, value);
    if policy::is_definition(resource) {
        crd::prepare(value);
    }
    defaults::defaults(resource, value, &api.addresses);
    if defaults::has_generation(resource) {
        set(value, "generation", 1);
    }
}

/// All that is wrong with a new object.
pub(crate) fn causes(resource: &Resource, value: &Value) -> Vec<Cause> {
    let mut causes = validate::create(resource, value);
    if let Schema::Custom(version) = &resource.schema {
        causes.extend(crd::validate(version, value, None));
    }
    if policy::is_definition(resource) {
        causes.extend(crd::validate_definition(value, None));
    }
    causes
}

/// Puts the namespace of the URL in; another one in the object is refused.
pub(crate) fn place(value: &mut Value, request: &Request) -> Result<(), Status> {
    let given = object::text(value, "namespace");
    if !request.resource.namespaced {
        if !given.is_empty() {
            unset(value, &["namespace"]);
        }
        return Ok(());
    }
    if !given.is_empty() && given != &*request.namespace {
        return Err(Status::bad_request("the namespace of the provided object does not match the namespace sent on the request"));
    }
    set(value, "namespace", &*request.namespace);
    Ok(())
}

/// A custom object wants its definition, one with a namespace its namespace: there, and not going. Returns them and their versions.
fn admit(api: &Api, request: &Request, value: &Value) -> Result<Vec<(Key, u64)>, Status> {
    let resource = &request.resource;
    let mut within: Vec<(Key, u64)> = definitions::admit(api, resource)?.into_iter().collect();
    if !resource.namespaced {
        return Ok(within);
    }
    let namespace = &request.namespace;
    let key = Key { storage: Arc::from(policy::NAMESPACES), namespace: Arc::from(""), name: Arc::clone(namespace) };
    let Some(found) = api.store.get(&key) else {
        return Err(Status::not_found(About { group: "", kind: policy::NAMESPACES }, namespace));
    };
    // Asked at each create.
    if !(found.may_be_deleting() && object::is_deleting(&found.value("v1", "Namespace"))) {
        within.push((key, found.version));
        return Ok(within);
    }
    let name = object::text(value, "name");
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(resource.about(), name, &why);
    if let Some(details) = &mut status.details {
        let cause = json!({"reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"});
        details.insert("causes".to_owned(), json!([cause]));
    }
    Err(status)
}

/// Notes who wrote which fields.
pub(crate) fn track(api: &Api, request: &Request, options: &WriteOptions, old: Option<&Value>, new: &mut Value) {
    let (version, now) = (request.resource.api_version(), api.time());
    let subresource = request.subresource.as_deref();
    let writer = Writer { manager: &options.manager, api_version: &version, subresource, now: &now };
    apply::track(old, new, Shape::of(&request.resource), writer);
}

/// Stores a finished new object, while what it relies on is there: that is looked at again if it changed before the commit.
pub(crate) fn commit(api: &Api, request: &Request, value: &Value, dry_run: bool) -> Result<Answer, Status> {
    let resource = &request.resource;
    let key = Key { name: Arc::from(object::text(value, "name")), ..request.key() };
    let taken = |old: &Stored| {
        let mut status = Status::already_exists(resource.about(), &key.name);
        if object::is_deleting(&Api::value(resource, old)) {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    };
    for _ in 0..COMMIT_TRIES {
        let within = admit(api, request, value)?;
        if dry_run {
            return match api.store.get(&key) {
                Some(old) => Err(taken(&old)),
                None => Ok(Answer::new(201, Body::Object { resource: Arc::clone(resource), value: value.clone() })),
            };
        }
        match api.insert(resource, &key, value.clone(), &within) {
            Ok(stored) => {
                if policy::is_definition(resource) {
                    definitions::establish(api);
                }
                return Ok(Answer::stored(201, resource, stored));
            }
            Err(Refused::Taken(old)) => return Err(taken(&old)),
            Err(Refused::Raced) => {}
        }
    }
    Err(Status::conflict(resource.about(), &key.name, "what the object relies on is being changed all the time; please try again"))
}

fn suffix() -> String {
    let mut random = rand::rng();
    (0..SUFFIX_LENGTH).filter_map(|_| SUFFIX.get(random.random_range(0..SUFFIX.len()))).map(|byte| char::from(*byte)).collect()
}

/// A random (version 4) UUID.
fn uid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
