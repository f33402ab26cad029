//! Bodies of requests: their limit, their content type, and reading them as JSON where no resource's type decides.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use std::pin::pin;
use std::time::Duration;

use crate::schema::decode_protobuf;
use crate::status::Status;
use crate::verbs::{Content, Payload, Verb};

/// How long the rest of a body that is too large is read, so that the client hears the refusal instead of a broken connection.
const DRAIN: Duration = Duration::from_secs(5);

const OBJECT_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const CUSTOM_PATCH_TYPES: &str = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// Reads a whole body.
///
/// # Errors
/// 413 over `limit` bytes; 400 when the connection broke.
pub(crate) async fn read<B>(body: B, limit: usize) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(format!("error reading the body of the request: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len().saturating_add(data.len()) > limit {
            drain(body, limit).await;
            return Err(Status::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}")));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

async fn drain<B: Body<Data = Bytes>>(mut body: std::pin::Pin<&mut B>, limit: usize) {
    let mut read = 0_usize;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            read = read.saturating_add(frame.data_ref().map_or(0, Bytes::len));
            if read > limit {
                break;
            }
        }
    };
    // Whether the client was slow or not, the answer is the same.
    let _ = tokio::time::timeout(DRAIN, rest).await;
}

/// How a body is written, by its content type. A missing one means JSON.
///
/// # Errors
/// 415 in the wording of the verb.
pub(crate) fn content(content_type: Option<&str>, verb: Verb, custom: bool) -> Result<Content, Status> {
    let given = content_type.map(str::trim).filter(|text| !text.is_empty()).unwrap_or("application/json");
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let content = match kind.as_str() {
        "application/json" => Content::Json,
        "application/yaml" => Content::Yaml,
        "application/vnd.kubernetes.protobuf" => Content::Protobuf,
        "application/json-patch+json" => Content::JsonPatch,
        "application/merge-patch+json" => Content::MergePatch,
        "application/strategic-merge-patch+json" => Content::StrategicMergePatch,
        "application/apply-patch+yaml" => Content::Apply,
        _ => return Err(unsupported(verb, custom)),
    };
    let patch = matches!(content, Content::JsonPatch | Content::MergePatch | Content::StrategicMergePatch | Content::Apply);
    if patch != (verb == Verb::Patch) || (custom && content == Content::StrategicMergePatch) {
        return Err(unsupported(verb, custom));
    }
    Ok(content)
}

fn unsupported(verb: Verb, custom: bool) -> Status {
    match (verb, custom) {
        // The router of the built-in kinds refuses before their handler does.
        (Verb::Patch, false) => {
            let mut status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            status.details = Some(Map::new());
            status
        }
        (Verb::Patch, true) => unknown_format(CUSTOM_PATCH_TYPES),
        _ => unknown_format(OBJECT_TYPES),
    }
}

fn unknown_format(types: &str) -> Status {
    Status::new(
        415,
        "UnsupportedMediaType",
        format!("the body of the request was in an unknown format - accepted media types include: {types}"),
    )
}

/// Reads a body that is no object of a resource (a review) as JSON.
///
/// # Errors
/// 400 for what cannot be read.
pub(crate) fn value(payload: &Payload, kind: &str) -> Result<Value, Status> {
    let unrecognized = |why: String| Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"));
    let value: Value = match payload.content {
        Content::Protobuf => decode_protobuf(&payload.bytes).map_err(unrecognized)?,
        Content::Yaml => crate::yaml::value(&payload.bytes).map_err(unrecognized)?,
        _ => serde_json::from_slice(&payload.bytes).map_err(|error| unrecognized(error.to_string()))?,
    };
    if value.is_object() { Ok(value) } else { Err(unrecognized("not an object".to_owned())) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;

    use super::{content, read};
    use crate::verbs::{Content, Verb};

    #[test]
    fn content_types() {
        for (text, verb, custom, want) in [
            (None, Verb::Create, false, Ok(Content::Json)),
            (Some("application/json; charset=utf-8"), Verb::Create, false, Ok(Content::Json)),
            (Some("Application/YAML"), Verb::Update, false, Ok(Content::Yaml)),
            (Some("application/vnd.kubernetes.protobuf"), Verb::Delete, false, Ok(Content::Protobuf)),
            (Some("application/apply-patch+yaml"), Verb::Patch, true, Ok(Content::Apply)),
            (Some("application/strategic-merge-patch+json"), Verb::Patch, false, Ok(Content::StrategicMergePatch)),
            (Some("application/strategic-merge-patch+json"), Verb::Patch, true, Err("the body of the request was in an unknown format")),
            (Some("application/json"), Verb::Patch, false, Err("415: Unsupported Media Type")),
            (None, Verb::Patch, false, Err("415: Unsupported Media Type")),
            (Some(" "), Verb::Create, false, Ok(Content::Json)),
            (Some(";;"), Verb::Create, false, Err("the body of the request was in an unknown format")),
            (
                Some("text/plain"),
                Verb::Create,
                false,
                Err("the body of the request was in an unknown format - accepted media types include: application/json"),
            ),
            (Some("application/merge-patch+json"), Verb::Update, false, Err("the body of the request was in an unknown format")),
        ] {
            match (content(text, verb, custom), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{text:?}"),
                (Err(status), Err(want)) => {
                    assert_eq!((status.code, status.reason), (415, "UnsupportedMediaType"), "{text:?}");
                    assert!(status.message.starts_with(want), "{text:?}: {}", status.message);
                }
                (got, want) => panic!("{text:?}: {got:?}, not {want:?}"),
            }
        }
    }

    #[tokio::test]
    async fn limits_bodies() {
        assert_eq!(read(Full::new(Bytes::from_static(b"1234")), 4).await, Ok(Bytes::from_static(b"1234")));
        let status = read(Full::new(Bytes::from_static(b"12345")), 4).await.unwrap_err();
        assert_eq!(
            (status.code, status.reason, status.message.as_str()),
            (413, "RequestEntityTooLarge", "Request entity too large: limit is 4")
        );
    }
}
