//! The request log from outside: what is written at each level, and that nothing is changed.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use parking_lot::Mutex;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, registry};

use super::body::{LogBody, Tap};
use super::layer::START;
use super::{HttpLog, filter_of_verbosity};
use crate::telemetry::LogRing;
use crate::telemetry::layer::{LineLayer, Style};

/// Sends one request and reads the answer; what was logged and what came.
fn exchange(filter: &str, request: Request<Body>, answer: &'static str) -> (Vec<serde_json::Value>, String) {
    let written = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&written);
    let lines = LineLayer::new(Style::Json, move |line: &str| sink.lock().push_str(line), LogRing::new(0));
    let subscriber = registry().with(EnvFilter::new(filter)).with(lines);
    let body = tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let service = service_fn(move |request: Request<Body>| async move {
                let sent = request.into_body().collect().await.unwrap().to_bytes();
                let answer = if sent.is_empty() { Bytes::from_static(answer.as_bytes()) } else { sent };
                let response = Response::builder().header("content-type", "application/json").header("set-cookie", "a=HIDDEN");
                Ok::<_, BoxError>(response.body(Full::new(answer)).unwrap())
            });
            let response = HttpLog.layer(service).oneshot(request).await.unwrap();
            String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
        })
    });
    let lines = written.lock().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, body)
}

fn get(uri: &str) -> Request<Body> {
    let request = Request::get(uri).header("authorization", "Bearer HIDDEN").header("accept", "application/json");
    request.body(Body::from(Vec::new())).unwrap()
}

fn messages(lines: &[serde_json::Value]) -> Vec<&str> {
    lines.iter().map(|line| line["message"].as_str().unwrap()).collect()
}

const SECRET: &str = r#"{"kind":"Secret","metadata":{"name":"n"},"data":{"k":"HIDDEN"}}"#;
const URL: &str = "https://api:6443/api/v1/namespaces/a/secrets/n";

#[test]
fn each_level_shows_more_and_none_shows_secrets() {
    for (level, want) in [
        (5, vec![]),
        (6, vec!["response"]),
        (7, vec!["request headers", "response", "response headers"]),
        (8, vec!["request headers", "response", "response headers", "response body"]),
        (9, vec!["request", "request headers", "response", "response headers", "response body"]),
        (10, vec!["request", "request headers", "response", "response headers", "response body"]),
    ] {
        let filter = format!("info,{}", filter_of_verbosity(level));
        let (lines, body) = exchange(&filter, get(URL), SECRET);
        assert_eq!(messages(&lines), want, "-v {level}");
        assert_eq!(body, SECRET, "the answer is not changed");
        assert!(!format!("{lines:?}").contains("HIDDEN"), "{lines:?}");
        if let Some(response) = lines.iter().find(|line| line["message"] == "response") {
            assert_eq!((&response["verb"], &response["url"], &response["status"]), (&"GET".into(), &URL.into(), &"200 OK".into()));
            assert!(response["milliseconds"].is_u64());
        }
        if level >= 9 {
            let curl = format!("curl -v -X GET -H 'authorization: Bearer <masked>' -H 'accept: application/json' '{URL}'");
            assert_eq!(lines[0]["command"], curl);
        }
    }
}

#[test]
fn a_request_body_is_shown_and_arrives() {
    let body = r#"{"kind":"TokenReview","spec":{"token":"HIDDEN"}}"#;
    let request = Request::post("https://api/apis/authentication.k8s.io/v1/tokenreviews").header("content-type", "application/json");
    let (lines, echoed) = exchange("wharf::http=trace", request.body(Body::from(body.as_bytes().to_vec())).unwrap(), "");
    assert_eq!(echoed, body);
    let shown = lines.iter().find(|line| line["message"] == "request body").unwrap();
    assert_eq!(shown["body"], r#"{"kind":"TokenReview","spec":{"token":"<masked>"}}"#);
}

#[test]
fn long_bodies_are_cut_at_8_and_in_parts_at_9() {
    let long: &'static str = Box::leak(format!("{{\"a\":\"{}\"}}", "x".repeat(20_000)).into_boxed_str());
    let (lines, _) = exchange(filter_of_verbosity(8), get("https://api/api/v1/pods"), long);
    let body = lines.last().unwrap();
    assert_eq!((body["body"].as_str().unwrap().len(), body["bytes_cut"].as_u64()), (1024, Some(20_008 - 1024)));
    let (lines, _) = exchange(filter_of_verbosity(9), get("https://api/api/v1/pods"), long);
    let parts: Vec<&str> =
        lines.iter().filter(|line| line["message"] == "response body").map(|line| line["body"].as_str().unwrap()).collect();
    assert_eq!((parts.len(), parts.concat()), (3, long.to_owned()));
}

#[test]
fn a_watch_is_logged_event_by_event_as_it_passes() {
    let written = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&written);
    let lines = LineLayer::new(Style::Json, move |line: &str| sink.lock().push_str(line), LogRing::new(0));
    let subscriber = registry().with(EnvFilter::new("wharf::http::body=trace")).with(lines);
    tracing::subscriber::with_default(subscriber, || {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", http::HeaderValue::from_static("application/json"));
        let uri: Uri = "https://api/api/v1/pods?watch=1".parse().unwrap();
        let (send, receive) = tokio::sync::mpsc::channel::<&'static str>(4);
        let frames = futures::stream::unfold(receive, |mut receive| async move {
            let text = receive.recv().await?;
            Some((Ok::<_, BoxError>(http_body::Frame::data(Bytes::from_static(text.as_bytes()))), receive))
        });
        let mut body = LogBody::tapped(StreamBody::new(Box::pin(frames)), Tap::response(&uri, &headers, START));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for (text, logged) in [("{\"a\":1}\n{\"b\"", 1), (":2}\n", 2), ("{\"c\"", 2)] {
                send.send(text).await.unwrap();
                let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert_eq!(frame, text, "frames pass as they came");
                assert_eq!(written.lock().lines().count(), logged, "after {text:?}");
            }
        });
        drop(body);
    });
    let bodies: Vec<serde_json::Value> = written.lock().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(bodies.iter().map(|line| line["body"].as_str().unwrap()).collect::<Vec<_>>(), ["{\"a\":1}", "{\"b\":2}", "{\"c\""]);
}
