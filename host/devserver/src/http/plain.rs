//! Documents of the server itself: version, health, metrics, the list of paths, discovery and OpenAPI.

use http::header::{CACHE_CONTROL, ETAG, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Method, Response};
use serde_json::{Value, json};

use super::accept::{self, Format, Offer};
use super::call::Call;
use super::documents::Document;
use super::handle::Refusal;
use super::path::Path;
use super::response::{self, Outgoing};
use super::{Front, discovery, openapi};
use crate::status::Status;

/// The release whose API is served.
const VERSION: &str = "v1.36.3+wharf";
const CHECKS: [&str; 3] = ["ping", "log", "store"];

/// Answers with the document that a path names.
pub(crate) fn document(front: &Front, call: &Call) -> Result<Response<Outgoing>, Refusal> {
    let health = matches!(call.path, Path::Health { .. });
    if call.path == Path::Unknown {
        return Err(Refusal::PageNotFound);
    }
    if call.method != Method::GET && !(health && call.method == Method::HEAD) {
        return Err(Status::method_not_allowed().into());
    }
    let registry = front.api.registry();
    let groups = registry.groups();
    match &call.path {
        Path::Index => json_value(call, &index(front)),
        Path::Version => json_value(call, &version()),
        Path::Health { which, check } => health_text(call, which, check.as_deref()),
        Path::Metrics => Ok(response::full(200, "text/plain; version=0.0.4; charset=utf-8", front.metrics.text(front))),
        Path::CoreVersions | Path::Groups => {
            let core = call.path == Path::CoreVersions;
            let choices =
                [("v2", discovery::AGGREGATED.0, discovery::AGGREGATED.1), ("v2beta1", discovery::AGGREGATED.0, discovery::AGGREGATED.1)];
            let mut answer = match accept::first_of(call.accept().as_deref(), &choices) {
                Some(version) => aggregated(call, &front.documents.of(&registry).aggregated(core, version), version),
                None if core => json_value(call, &discovery::core_versions(groups, &front.address))?,
                None => json_value(call, &discovery::group_list(groups))?,
            };
            answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            Ok(answer)
        }
        Path::Group(name) => json_value(call, &discovery::group(groups, name).ok_or(Refusal::PageNotFound)?),
        Path::Resources { group, version } => json_value(call, &discovery::resources(groups, group, version).ok_or(Refusal::PageNotFound)?),
        Path::OpenApiV2 if call.accept().is_some_and(|accept| accept.contains(openapi::V2_PROTOBUF)) => {
            Ok(response::full(200, openapi::V2_ANSWERED, openapi::v2_protobuf()))
        }
        Path::OpenApiV2 => json_value(call, &openapi::v2()),
        Path::OpenApiIndex => json_value(call, &front.documents.of(&registry).openapi_index()),
        Path::OpenApi(place) => {
            let documents = front.documents.of(&registry);
            let document = documents.openapi(place).ok_or(Refusal::PageNotFound)?;
            Ok(openapi_of(call, place, document))
        }
        Path::Faults | Path::Resource(_) | Path::Unknown => Err(Refusal::PageNotFound),
    }
}

/// A document that has no other form, in JSON or YAML.
fn json_value(call: &Call, value: &Value) -> Result<Response<Outgoing>, Refusal> {
    let wanted = accept::negotiate(call.accept().as_deref(), Offer::Document)?;
    Ok(response::value(200, wanted.format, wanted.pretty || call.is_pretty(), value))
}

fn aggregated(call: &Call, document: &Document, version: &str) -> Response<Outgoing> {
    let content_type = match version {
        "v2beta1" => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    };
    let mut response = tagged(call, document, content_type);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}

/// An address with the right hash never changes; one with another leads to it.
fn openapi_of(call: &Call, place: &str, document: &Document) -> Response<Outgoing> {
    let hash = call.query.get("hash").unwrap_or_default();
    if !hash.is_empty() && hash != document.hash {
        let mut response = response::text(301, "");
        insert(response.headers_mut(), LOCATION, &format!("/openapi/v3/{place}?hash={}", document.hash));
        return response;
    }
    let mut response = tagged(call, document, Format::Json.content_type());
    if !hash.is_empty() {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// A document with its tag; 304 if the client has it.
fn tagged(call: &Call, document: &Document, content_type: &'static str) -> Response<Outgoing> {
    let tag = format!("\"{}\"", document.hash);
    let mut response =
        if call.has_tag(&tag) { response::full(304, content_type, "") } else { response::full(200, content_type, document.body.clone()) };
    insert(response.headers_mut(), ETAG, &tag);
    response
}

fn insert(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn health_text(call: &Call, which: &str, check: Option<&str>) -> Result<Response<Outgoing>, Refusal> {
    if check.is_some_and(|check| !CHECKS.contains(&check)) {
        return Err(Refusal::PageNotFound);
    }
    if check.is_some() || call.query.get("verbose").is_none() {
        return Ok(response::text(200, "ok"));
    }
    let mut text: String = CHECKS.iter().map(|check| format!("[+]{check} ok\n")).collect();
    text.push_str(&format!("{which} check passed\n"));
    Ok(response::text(200, text))
}

fn index(front: &Front) -> Value {
    let registry = front.api.registry();
    let mut paths: Vec<String> =
        ["/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"].iter().map(|&path| path.to_owned()).collect();
    for which in ["healthz", "livez", "readyz"] {
        paths.extend(CHECKS.iter().map(|check| format!("/{which}/{check}")));
    }
    for group in registry.groups() {
        let root = if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
        paths.extend(group.versions.iter().map(|one| format!("{root}/{}", one.version)));
        paths.push(root);
    }
    paths.push("/apis".to_owned());
    paths.sort();
    json!({"paths": paths})
}
