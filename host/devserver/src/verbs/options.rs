//! The options of writes: CreateOptions, UpdateOptions, PatchOptions and DeleteOptions, from the query and from a body.

use serde_json::Value;

use super::{Content, Payload, Query, Request, Verb};
use crate::schema::decode_protobuf;
use crate::status::{About, Cause, Status};

/// What becomes of fields that the kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options of create, update and patch.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) manager: String,
    pub(crate) validation: FieldValidation,
    /// For apply only.
    pub(crate) force: bool,
}

const MANAGER_LENGTH: usize = 128;

impl WriteOptions {
    /// Reads and checks them.
    ///
    /// # Errors
    /// 422 with all that is wrong.
    pub(crate) fn of(request: &Request) -> Result<Self, Status> {
        let apply = request.body.as_ref().is_some_and(|body| body.content == Content::Apply);
        let patch = request.verb == Verb::Patch;
        let query = &request.query;
        let mut causes = Vec::new();
        let dry_run = dry_run(query.all("dryRun").into_iter(), &mut causes);
        let validation = match query.get("fieldValidation").unwrap_or_default() {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                causes.push(Cause::not_supported("fieldValidation", &Value::from(other), &["", "Ignore", "Strict", "Warn"]));
                FieldValidation::Warn
            }
        };
        let given = query.get("fieldManager").unwrap_or_default();
        if apply && given.is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        if given.len() > MANAGER_LENGTH {
            causes.push(Cause::too_long("fieldManager", &format!("may not be more than {MANAGER_LENGTH} bytes")));
        }
        if given.chars().any(char::is_control) {
            causes.push(Cause::invalid("fieldManager", &Value::from(given), "should only contain printable characters"));
        }
        let force = query.get("force");
        if !apply && patch && force.is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if !causes.is_empty() {
            let kind = match request.verb {
                Verb::Patch => "PatchOptions",
                Verb::Update => "UpdateOptions",
                _ => "CreateOptions",
            };
            return Err(Status::invalid(About { group: "meta.k8s.io", kind }, "", &causes));
        }
        Ok(Self {
            dry_run,
            manager: manager(given, &request.user_agent),
            validation,
            force: force.is_some_and(|text| text == "true" || text == "1"),
        })
    }
}

/// The manager that a write without `fieldManager` gets: the first word of the User-Agent.
fn manager(given: &str, user_agent: &str) -> String {
    let name = if given.is_empty() { user_agent.split('/').next().unwrap_or_default() } else { given };
    let mut name: String = name.chars().filter(|c| !c.is_control()).collect();
    while name.len() > MANAGER_LENGTH {
        name.pop();
    }
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, causes: &mut Vec<Cause>) -> bool {
    let mut wanted = false;
    for value in values {
        if value == "All" {
            wanted = true;
        } else {
            causes.push(Cause::not_supported("dryRun", &Value::from(value), &["All"]));
        }
    }
    wanted
}

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Options of a delete.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// From the body if there is one, else from the query.
    ///
    /// # Errors
    /// 400 for a body that cannot be read, 422 for what is wrong in it.
    pub(crate) fn of(request: &Request) -> Result<Self, Status> {
        let body = match &request.body {
            Some(payload) if !payload.bytes.is_empty() => Self::read(payload)?,
            _ => from_query(&request.query),
        };
        Self::of_value(&body)
    }

    /// Of a body that is read already, such as the one inside of an Eviction.
    ///
    /// # Errors
    /// 422 for what is wrong in it.
    pub(crate) fn of_value(body: &Value) -> Result<Self, Status> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut causes = Vec::new();
        let all = body.get("dryRun").and_then(Value::as_array);
        let dry_run = dry_run(all.into_iter().flatten().map(|one| one.as_str().unwrap_or_default()), &mut causes);
        let orphan = body.get("orphanDependents").and_then(Value::as_bool);
        let mut propagation = match text("propagationPolicy").as_deref() {
            None | Some("") => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = ["Background", "Foreground", "Orphan", "nil"];
                causes.push(Cause::not_supported("propagationPolicy", &Value::from(other), &known));
                None
            }
        };
        if let Some(orphan) = orphan {
            if propagation.is_some() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                causes.push(Cause::invalid("propagationPolicy", &Value::from(text("propagationPolicy")), why));
            }
            propagation = Some(if orphan { Propagation::Orphan } else { Propagation::Background });
        }
        let grace_seconds = body.get("gracePeriodSeconds").and_then(Value::as_i64);
        if let Some(seconds) = grace_seconds
            && seconds < 0
        {
            causes.push(Cause::invalid("gracePeriodSeconds", &Value::from(seconds), "must be non-negative"));
        }
        if !causes.is_empty() {
            return Err(Status::invalid(About { group: "", kind: "DeleteOptions" }, "", &causes));
        }
        let precondition = |name: &str| body.get("preconditions").and_then(|all| all.get(name)).and_then(Value::as_str).map(str::to_owned);
        Ok(Self { dry_run, grace_seconds, propagation, uid: precondition("uid"), resource_version: precondition("resourceVersion") })
    }

    fn read(payload: &Payload) -> Result<Value, Status> {
        let value = match payload.content {
            Content::Protobuf => decode_protobuf(&payload.bytes).map_err(Status::bad_request)?,
            _ => super::body::parse(payload, "DeleteOptions")?,
        };
        if value.is_object() { Ok(value) } else { Err(Status::bad_request("the DeleteOptions are no object")) }
    }
}

fn from_query(query: &Query) -> Value {
    let mut options = serde_json::Map::new();
    for name in ["propagationPolicy"] {
        if let Some(text) = query.get(name) {
            options.insert(name.to_owned(), Value::from(text));
        }
    }
    let dry: Vec<&str> = query.all("dryRun");
    if !dry.is_empty() {
        options.insert("dryRun".to_owned(), Value::from(dry));
    }
    if let Some(seconds) = query.get("gracePeriodSeconds").and_then(|text| text.parse::<i64>().ok()) {
        options.insert("gracePeriodSeconds".to_owned(), Value::from(seconds));
    }
    if let Some(orphan) = query.get("orphanDependents").and_then(|text| text.parse::<bool>().ok()) {
        options.insert("orphanDependents".to_owned(), Value::from(orphan));
    }
    Value::Object(options)
}
