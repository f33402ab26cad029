//! A client over HTTP that asks for one thing at a time, and reads watches line by line.

use std::net::SocketAddr;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// One user of the API; clones share connections.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) value: Value,
}

/// What a watch writes.
pub(crate) struct Lines {
    body: Incoming,
    rest: BytesMut,
}

impl Http {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build_http(), address }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, "", Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, "application/json", body).await
    }

    pub(crate) async fn patch(&self, path: &str, kind: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, &format!("application/{kind}"), body).await
    }

    pub(crate) async fn delete(&self, path: &str, body: Value) -> Reply {
        self.send(Method::DELETE, path, "application/json", body).await
    }

    async fn send(&self, method: Method, path: &str, content_type: &str, body: Value) -> Reply {
        let response = self.request(method, path, content_type, body).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("an answer").to_bytes();
        Reply { code, value: serde_json::from_slice(&bytes).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes))) }
    }

    /// Starts a watch.
    pub(crate) async fn watch(&self, path: &str) -> Lines {
        let response = self.request(Method::GET, path, "", Value::Null).await;
        assert_eq!(response.status(), 200, "{path}");
        Lines { body: response.into_body(), rest: BytesMut::new() }
    }

    async fn request(&self, method: Method, path: &str, content_type: &str, body: Value) -> Response<Incoming> {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address)).header("user-agent", "model/1");
        if !content_type.is_empty() {
            request = request.header("content-type", content_type);
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        self.client.request(request.body(Full::new(body)).unwrap()).await.unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }
}

impl Lines {
    /// The next line; none when the watch has ended, however. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end).freeze();
                self.rest.advance(1);
                return Some(line);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
