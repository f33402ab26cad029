//! Requests on resources: finds what the path names, reads the body, asks the verbs or a review, shapes the answer.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body::Body;

use super::accept::{self, Format, Offer, PLAIN, Wanted};
use super::call::Call;
use super::events::Lines;
use super::handle::{Refusal, refused};
use super::identity::Identity;
use super::path::Target;
use super::response::{self, Outgoing};
use super::review::{self, Question, Review};
use super::rows::Include;
use super::shape::{Style, shape};
use super::stream::Stream;
use super::{Front, body, words};
use crate::fault::Mangle;
use crate::kind::Resource;
use crate::status::Status;
use crate::verbs::{self, Answer, Payload, Verb};

/// Serves one request on a resource.
pub(crate) async fn serve<B>(
    front: &Arc<Front>,
    call: &Call,
    target: &Target,
    identity: &Identity,
    body: B,
    mangle: Mangle,
) -> Result<Response<Outgoing>, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let (verb, resource) = find(front, call, target)?;
    let style = style(front, call, target, verb)?;
    let payload = payload(front, call, &resource, verb, body).await?;
    // A body may take its time, and a definition goes or changes meanwhile.
    let (verb, resource) = find(front, call, target)?;
    if let Some(review) = review::find(&target.group, &target.plural, target.subresource.as_deref()) {
        let value = ask(front, review, &resource, target, identity, payload)?;
        return Ok(response::value(201, style.wanted.format, style.pretty, &value));
    }
    let request = verbs::Request {
        verb,
        user_agent: call.user_agent().to_owned(),
        resource: Arc::clone(&resource),
        subresource: target.subresource.as_deref().map(Arc::from),
        namespace: if resource.namespaced { target.namespace.as_deref().unwrap_or_default().into() } else { "".into() },
        // What an old watch path names became a selector.
        name: target.name.as_deref().filter(|_| verb != Verb::Watch).map(Arc::from),
        query: call.query.clone(),
        body: payload,
    };
    let mut all = Vec::from_iter(resource.deprecation.as_deref().map(str::to_owned));
    let Answer { code, warnings, body } = match Box::pin(front.api.serve(request)).await {
        Ok(answer) => answer,
        Err(status) => {
            let mut response = refused(&status.into(), call);
            response::add_warnings(response.headers_mut(), &all);
            return Ok(response);
        }
    };
    all.extend(warnings);
    let mut response = match body {
        verbs::Body::Watch { resource, watch } => {
            let stream = Stream {
                api: Arc::clone(&front.api),
                watch,
                lines: Lines::new(resource, style),
                mangle,
                open: front.faults.open(call.asked()),
                stopping: front.stopping.clone(),
            };
            response::with_body(code, Format::Json.content_type(), Outgoing::stream(Box::new(stream)))
        }
        body => shape(code, body, style)?,
    };
    response::add_warnings(response.headers_mut(), &all);
    Ok(response)
}

/// What the path names as it is served now.
fn find(front: &Front, call: &Call, target: &Target) -> Result<(Verb, Arc<Resource>), Refusal> {
    let registry = front.api.registry();
    if !registry.has_group_version(&target.group, &target.version) {
        return Err(Refusal::PageNotFound);
    }
    let resource = registry.find(&target.group, &target.version, &target.plural).ok_or_else(Status::no_resource)?;
    Ok((route(call, target, resource)?, Arc::clone(resource)))
}

/// The verb, if the path and the resource have it.
fn route(call: &Call, target: &Target, resource: &Resource) -> Result<Verb, Status> {
    // A namespace stands in its own path; other resources without a namespace stand in none.
    let misplaced = !resource.namespaced && target.namespace.is_some() && target.namespace != target.name;
    let homeless = resource.namespaced && target.namespace.is_none();
    if misplaced || target.beyond || (homeless && target.name.is_some() && !target.watch) {
        return Err(Status::no_resource());
    }
    let part = match &target.subresource {
        Some(name) => Some(resource.subresource(name).ok_or_else(Status::no_resource)?),
        None => None,
    };
    let verb = call.verb.filter(|verb| words::fits(*verb, target)).ok_or_else(Status::method_not_allowed)?;
    let word = words::word(verb);
    let allowed = match part {
        Some(part) => part.verbs.iter().any(|known| &**known == word),
        None => resource.allows(word),
    };
    // Without a namespace one can look at everything, but change nothing.
    if !allowed || (homeless && !matches!(verb, Verb::List | Verb::Watch)) {
        return Err(Status::method_not_allowed());
    }
    Ok(verb)
}

fn style(front: &Front, call: &Call, target: &Target, verb: Verb) -> Result<Style, Status> {
    let offer = if verb == Verb::Watch { Offer::Events } else { Offer::Objects };
    let wanted = match accept::negotiate(call.accept().as_deref(), offer) {
        Ok(wanted) => wanted,
        // A log is text, whatever was hoped for.
        Err(_) if target.subresource.as_deref() == Some("log") => PLAIN,
        Err(status) => return Err(status),
    };
    let include = Include::parse(call.query.get("includeObject"))?;
    Ok(Style { wanted: Wanted { pretty: false, ..wanted }, pretty: wanted.pretty || call.is_pretty(), include, now: front.now() })
}

/// The body of a request that may have one.
async fn payload<B>(front: &Front, call: &Call, resource: &Resource, verb: Verb, body: B) -> Result<Option<Payload>, Status>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let deletes = match verb {
        Verb::Get | Verb::List | Verb::Watch => return Ok(None),
        Verb::Create | Verb::Update | Verb::Patch => false,
        Verb::Delete | Verb::DeleteCollection => true,
    };
    let content = body::content(call.content_type(), verb, resource.is_custom());
    if !deletes && let Err(status) = content {
        return Err(status);
    }
    let bytes = body::read(body, front.body_limit).await?;
    if deletes && bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some(Payload { content: content?, bytes }))
}

fn ask(
    front: &Front,
    review: Review,
    resource: &Resource,
    target: &Target,
    identity: &Identity,
    payload: Option<Payload>,
) -> Result<serde_json::Value, Status> {
    // A part of another resource is a question of its own kind.
    let part = target.subresource.as_deref().and_then(|name| resource.subresource(name));
    let (api_version, kind) = match part {
        Some(part) => (super::discovery::group_version(&part.group, &part.version), &*part.kind),
        None => (resource.api_version(), &*resource.kind),
    };
    let payload = payload.ok_or_else(|| Status::bad_request("a review needs a body"))?;
    let question = Question {
        review,
        asker: identity,
        namespace: target.namespace.as_deref().unwrap_or_default(),
        name: target.name.as_deref().unwrap_or_default(),
        api_version: &api_version,
        kind,
        body: body::value(&payload, kind)?,
    };
    review::answer(front, question)
}
