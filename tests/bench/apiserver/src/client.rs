//! A client that costs little: one connection, one request at a time, no parsing of answers.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A connection.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

/// The lines of a watch.
pub(crate) struct Lines {
    body: Incoming,
    rest: BytesMut,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_string() })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        let response = self.send(Method::GET, path, "", Bytes::new()).await?;
        whole(response).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Result<Bytes> {
        let response = self.send(Method::POST, path, "application/json", body).await?;
        whole(response).await
    }

    pub(crate) async fn put(&mut self, path: &str, body: Bytes) -> Result<Bytes> {
        let response = self.send(Method::PUT, path, "application/json", body).await?;
        whole(response).await
    }

    pub(crate) async fn merge(&mut self, path: &str, body: Bytes) -> Result<Bytes> {
        let response = self.send(Method::PATCH, path, "application/merge-patch+json", body).await?;
        whole(response).await
    }

    pub(crate) async fn apply(&mut self, path: &str, body: Bytes) -> Result<Bytes> {
        let response = self.send(Method::PATCH, path, "application/apply-patch+yaml", body).await?;
        whole(response).await
    }

    /// The connection serves nothing else any more.
    pub(crate) async fn watch(&mut self, path: &str) -> Result<Lines> {
        let response = self.send(Method::GET, path, "", Bytes::new()).await?;
        Ok(Lines { body: response.into_body(), rest: BytesMut::new() })
    }

    async fn send(&mut self, method: Method, path: &str, content_type: &str, body: Bytes) -> Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.host).header("user-agent", "bench/1");
        if !content_type.is_empty() {
            request = request.header("content-type", content_type);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(body))?).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        bail!("{path}: {status}: {}", String::from_utf8_lossy(&text))
    }
}

async fn whole(response: Response<Incoming>) -> Result<Bytes> {
    Ok(response.into_body().collect().await?.to_bytes())
}

impl Lines {
    pub(crate) async fn line(&mut self) -> Result<Bytes> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end).freeze();
                self.rest.advance(1);
                return Ok(line);
            }
            let frame = self.body.frame().await.context("the watch has ended")??;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
