//! Commands that use the cluster. An API error is part of the answer, but where a command
//! wants it uncaught.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use wharf_sdk::cluster::{DeleteOptions, ListOptions, Propagation, ReadOptions, WriteOptions, Written};
use wharf_sdk::prelude::*;
use wharf_sdk::{Gvk, ObjectRef};

use crate::{args, report, unknown};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Args {
    kind: Kind,
    namespace: Option<String>,
    name: String,
    fields: Vec<String>,
    live: bool,
    label_selector: String,
    limit: u32,
    object: Value,
    patch: Value,
    dry_run: bool,
    force: bool,
    subresource: Option<String>,
    if_resource_version: String,
    if_uid: String,
    propagation: String,
    r#type: String,
    reason: String,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Kind {
    api_version: String,
    kind: String,
}

pub(crate) fn obey(command: &str, event: &Event) -> Result {
    let args: Args = args(event)?;
    match command {
        "cluster-get" => answer(get(&args)),
        "cluster-get-uncaught" => report(get(&args)?),
        "cluster-list" => answer(list(&args)),
        "cluster-create" => answer(cluster::create_with(&args.object, &write_options(&args)).map(written)),
        "cluster-apply" => answer(cluster::apply_with(&args.object, &write_options(&args)).map(written)),
        "cluster-patch" => answer(cluster::merge_patch_with(&target(&args), &args.patch, &write_options(&args)).map(written)),
        "cluster-delete" => answer(delete(&args)),
        "record-event" => {
            let event_type = if args.r#type == "warning" { EventType::Warning } else { EventType::Normal };
            cluster::record_event(event.key(), event_type, &args.reason, &args.message);
            Ok(Outcome::done())
        }
        _ => unknown(command),
    }
}

fn answer(answer: std::result::Result<Value, ApiError>) -> Result {
    report(answer.unwrap_or_else(|error| caught(&error)))
}

fn caught(error: &ApiError) -> Value {
    let (word, text) = match error {
        ApiError::NotGranted(text) => ("not-granted", text.as_str()),
        ApiError::Forbidden(text) => ("forbidden", text.as_str()),
        ApiError::NotFound => ("not-found", ""),
        ApiError::Conflict(text) => ("conflict", text.as_str()),
        ApiError::AlreadyExists => ("already-exists", ""),
        ApiError::Invalid(text) => ("invalid", text.as_str()),
        ApiError::Throttled(_) => ("throttled", ""),
        ApiError::Unavailable(text) => ("unavailable", text.as_str()),
        ApiError::TooLarge => ("too-large", ""),
        ApiError::Decode(text) => ("decode", text.as_str()),
    };
    let mut all = Map::new();
    all.insert("error".to_owned(), word.into());
    if !text.is_empty() {
        all.insert("text".to_owned(), text.into());
    }
    if let ApiError::Throttled(after) = error {
        all.insert("retryAfterMs".to_owned(), u64::try_from(after.as_millis()).unwrap_or(u64::MAX).into());
    }
    all.into()
}

fn get(args: &Args) -> std::result::Result<Value, ApiError> {
    let options = ReadOptions { fields: args.fields.clone(), live: args.live };
    cluster::get_with(&kind(args), args.namespace.as_deref(), &args.name, &options)
}

fn list(args: &Args) -> std::result::Result<Value, ApiError> {
    let mut options = ListOptions {
        namespace: args.namespace.clone(),
        label_selector: args.label_selector.clone(),
        limit: args.limit,
        ..ListOptions::default()
    };
    let (mut pages, mut names) = (0_u32, Vec::new());
    loop {
        let page = cluster::list::<Value>(&kind(args), &options)?;
        pages = pages.saturating_add(1);
        names.extend(page.items.iter().filter_map(|item| item.pointer("/metadata/name").cloned()));
        if page.continue_token.is_empty() {
            return Ok(json!({"pages": pages, "names": names}));
        }
        options.continue_token = page.continue_token;
    }
}

fn delete(args: &Args) -> std::result::Result<Value, ApiError> {
    let propagation = match args.propagation.as_str() {
        "foreground" => Propagation::Foreground,
        "orphan" => Propagation::Orphan,
        _ => Propagation::Background,
    };
    let options = DeleteOptions { if_uid: args.if_uid.clone(), propagation, ..DeleteOptions::default() };
    cluster::delete_with(&target(args), &options).map(|()| "deleted".into())
}

fn written(written: Written) -> Value {
    let object = serde_json::from_str(&written.object).unwrap_or(Value::Null);
    json!({"resourceVersion": written.resource_version, "object": object})
}

fn write_options(args: &Args) -> WriteOptions {
    WriteOptions {
        dry_run: args.dry_run,
        force: args.force,
        if_resource_version: args.if_resource_version.clone(),
        subresource: args.subresource.clone(),
        fields: args.fields.clone(),
    }
}

fn kind(args: &Args) -> Gvk {
    Gvk::new(&args.kind.api_version, args.kind.kind.as_str())
}

fn target(args: &Args) -> ObjectRef {
    ObjectRef { kind: kind(args), namespace: args.namespace.clone(), name: args.name.clone(), uid: String::new() }
}
