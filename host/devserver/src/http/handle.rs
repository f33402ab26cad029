//! The way of one request: who asks, whether they may, which fault it meets, where it goes, and what is written about it.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use serde_json::Map;
use tokio::time::Instant;

use super::accept::{self, Format};
use super::authorize::refusal;
use super::call::Call;
use super::identity::{Identity, MASTERS};
use super::path::Path;
use super::response::{self, Outgoing};
use super::{Front, body, impersonate, objects, plain, random};
use crate::fault::{self, Mangle};
use crate::status::Status;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// Characters of an Audit-Id that a client chose itself.
const AUDIT_ID_LENGTH: usize = 64;

/// What is answered instead of what was asked for.
pub(crate) enum Refusal {
    Status(Box<Status>),
    /// Outside of all that is served: no Status.
    PageNotFound,
    /// The request took too long.
    Timeout,
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

/// What is known of a request when it is over, for the audit line.
#[derive(Default)]
struct Trail {
    user: String,
    impersonated: String,
}

/// Answers one request.
pub(crate) async fn handle<B>(front: Arc<Front>, request: Request<B>) -> Response<Outgoing>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let call = Call::new(parts);
    let id = audit_id(&call);
    let mut trail = Trail::default();
    let mut response = match Box::pin(respond(&front, &call, body, &mut trail)).await {
        Ok(response) => response,
        Err(refusal) => refused(&refusal, &call),
    };
    response::never_cached(response.headers_mut());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(AUDIT_ID, id);
    }
    let code = response.status().as_u16();
    front.metrics.count(&call, code);
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        target: "wharf_devserver::audit",
        id,
        verb = call.word,
        path = call.raw_path,
        user = trail.user,
        impersonated = trail.impersonated,
        code,
        milliseconds,
        "request"
    );
    response
}

async fn respond<B>(front: &Arc<Front>, call: &Call, body: B, trail: &mut Trail) -> Result<Response<Outgoing>, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    if let Some(doorkeeper) = &front.doorkeeper {
        doorkeeper.admit(&call.headers)?;
    }
    let identity = authenticate(front, call, trail)?;
    if call.path == Path::Faults {
        return control(front, call, &identity, body).await;
    }
    let attributes = call.attributes();
    if !front.authorizer.allows(&identity.user, attributes) {
        return Err(refusal(&identity.user, attributes).into());
    }
    let work = async {
        let mangle = meet_faults(front, call).await?;
        match &call.path {
            Path::Resource(target) => objects::serve(front, call, target, &identity, body, mangle).await,
            _ => plain::document(front, call),
        }
    };
    // What a fault takes is the server's time too.
    match call.deadline()? {
        None => work.await,
        Some(deadline) => tokio::time::timeout(deadline, work).await.unwrap_or(Err(Refusal::Timeout)),
    }
}

/// Who the request counts as: the sender, or whom the sender may impersonate.
fn authenticate(front: &Front, call: &Call, trail: &mut Trail) -> Result<Identity, Refusal> {
    let sender = front.authenticator.of_request(&call.headers, &call.path, &front.api, front.now())?;
    trail.user.clone_from(&sender.user.name);
    let Some(wish) = impersonate::wish(&call.headers)? else { return Ok(sender) };
    let identity = wish.grant(&sender.user, &front.authorizer)?;
    trail.impersonated.clone_from(&identity.user.name);
    Ok(identity)
}

async fn meet_faults(front: &Front, call: &Call) -> Result<Mangle, Refusal> {
    let effects = front.faults.meet(&call.asked());
    if !effects.delay.is_zero() {
        tokio::time::sleep(effects.delay).await;
    }
    match effects.refusal {
        Some(status) => Err(status.into()),
        None => Ok(effects.mangle),
    }
}

/// Faults are told by those only who may do everything: with them one can keep everybody else out.
async fn control<B>(front: &Front, call: &Call, identity: &Identity, body: B) -> Result<Response<Outgoing>, Refusal>
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    if !identity.is_in(MASTERS) {
        return Err(refusal(&identity.user, call.attributes()).into());
    }
    let body = body::read(body, front.body_limit).await?;
    let (code, value) = fault::control(&call.method, call.query.get("id"), &body, &front.faults, &front.api)?;
    Ok(response::value(code, Format::Json, call.is_pretty(), &value))
}

/// The answer of a request that is not met.
pub(super) fn refused(refusal: &Refusal, call: &Call) -> Response<Outgoing> {
    match refusal {
        Refusal::Status(status) => {
            let mut response = response::status(status, accept::error_format(call.accept().as_deref()), call.is_pretty());
            if status.code == 401 {
                response.headers_mut().insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
        Refusal::PageNotFound => response::page_not_found(),
        Refusal::Timeout => {
            let mut status = Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
            status.details = Some(Map::new());
            // The real server's filter for this does not say that it is JSON.
            response::text(504, response::encode(Format::Json, false, &status.to_json()))
        }
    }
}

fn audit_id(call: &Call) -> String {
    let sent = call.headers.get(AUDIT_ID).and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty());
    sent.map_or_else(random::uuid, |id| id.chars().take(AUDIT_ID_LENGTH).collect())
}
