//! One client for one set of credentials: sockets, proxy, TLS, authentication, headers and
//! the request log. Owns the order of the layers: the log is next to the socket, so that it
//! shows what is really sent. TLS and authentication are kube's.

use std::time::Duration;

use anyhow::Context;
use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use tokio::time::timeout;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::proxy::Proxy;
use crate::telemetry::http::HttpLog;

/// As Go's dialer: a peer that is gone is noticed, a quiet one is not cut off.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A connection must stand after so long, with all that the proxy and TLS have to say: a peer that
/// accepts and says nothing would else hold a request for ever.
const STANDS: Duration = Duration::from_secs(15);

/// Makes a client; does not connect. Must be called in a tokio runtime.
///
/// # Errors
/// Certificates or keys that cannot be used.
pub(super) fn client(config: &kube::Config, proxy: Option<&Proxy>) -> anyhow::Result<kube::Client> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_nodelay(true);
    let Some(proxy) = proxy else { return over(tcp, config, None) };
    match proxy.uri.scheme_str() {
        Some("socks5" | "socks5h") => {
            let mut socks = SocksV5::new(proxy.uri.clone(), tcp);
            if let Some((user, password)) = &proxy.raw {
                socks = socks.with_auth(user.clone(), password.clone());
            }
            over(socks, config, Some(proxy))
        }
        Some("https") => {
            // The proxy's certificate is not the cluster's business: the system's authorities count.
            let plain = kube::Config::new(proxy.uri.clone());
            let tls = plain.rustls_https_connector_with_connector(tcp).context("TLS to the proxy")?;
            over(tunnel(tls, proxy), config, Some(proxy))
        }
        _ => over(tunnel(tcp, proxy), config, Some(proxy)),
    }
}

fn tunnel<C>(inner: C, proxy: &Proxy) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri.clone(), inner);
    match &proxy.basic {
        Some(basic) => tunnel.with_auth(basic.clone()),
        None => tunnel,
    }
}

fn over<C>(connector: C, config: &kube::Config, proxy: Option<&Proxy>) -> anyhow::Result<kube::Client>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let tls = config.rustls_https_connector_with_connector(connector).context("the certificates or the key for TLS")?;
    // A proxy's URL is without its user here.
    let proxy = proxy.map(|proxy| proxy.uri.to_string());
    let through = proxy.as_ref().map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
    let bounded = tower::service_fn(move |server: Uri| {
        let connect = tls.clone().oneshot(server.clone());
        let late = format!("no connection to {server}{through} within {} s", STANDS.as_secs());
        let proxy = proxy.clone();
        Box::pin(async move {
            let connected = timeout(STANDS, connect).await.map_err(|_| BoxError::from(late))?;
            connected.map_err(|source| match proxy {
                Some(proxy) => BoxError::from(NotThrough { server, proxy, source }),
                None => source,
            })
        })
    });
    let http: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(bounded);
    let mut config = config.clone();
    config.headers.push((USER_AGENT, HeaderValue::from_static(concat!("wharf/", env!("CARGO_PKG_VERSION")))));
    let logged = HttpLog.layer(tower::util::MapErr::new(http, BoxError::from));
    let named = config.extra_headers_layer().context("the headers for the identity")?.layer(logged);
    let base = config.base_uri_layer();
    let namespace = config.default_namespace.clone();
    Ok(match config.auth_layer().context("the credentials")? {
        Some(auth) => kube::Client::new(base.layer(auth.layer(named)), namespace),
        None => kube::Client::new(base.layer(named), namespace),
    })
}

/// What went wrong on the way through a proxy, which the errors below do not name.
#[derive(Debug, thiserror::Error)]
#[error("no connection to {server} through the proxy {proxy}")]
struct NotThrough {
    server: Uri,
    proxy: String,
    source: BoxError,
}

#[cfg(test)]
mod tests {
    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_proxy_that_refuses_is_named() {
        let _first = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let answers = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            client.read_u8().await.unwrap();
            client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.unwrap();
            let _gone = client.read(&mut [0; 1024]).await;
            // Dropped: the second attempt is refused.
        });
        let mut config = kube::Config::new("https://api.invalid:6443".parse().unwrap());
        config.accept_invalid_certs = true;
        let url = format!("http://u:s3cret@{proxy}");
        let chosen = super::super::proxy::choose(&config.cluster_url, Some(&url), &|_| None).unwrap();
        let client = client(&config, chosen.as_ref()).unwrap();
        for word in ["unsuccessful", "refused"] {
            let error = client.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap_err();
            let text = wharf_core::one_line(&error);
            assert!([&*proxy, "api.invalid:6443", word].iter().all(|word| text.contains(word)) && !text.contains("s3cret"), "{text}");
        }
        answers.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_proxy_that_accepts_and_says_nothing_is_named() {
        let _first = rustls::crypto::ring::default_provider().install_default();
        // The system takes connections to it; nobody ever answers.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("127.0.0.1:{}", silent.local_addr().unwrap().port());
        let mut config = kube::Config::new("https://api.invalid:6443".parse().unwrap());
        config.accept_invalid_certs = true;
        for scheme in ["http", "https", "socks5"] {
            let url = format!("{scheme}://u:s3cret@{proxy}");
            let chosen = super::super::proxy::choose(&config.cluster_url, Some(&url), &|_| None).unwrap();
            let client = client(&config, chosen.as_ref()).unwrap();
            let error = client.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap_err();
            let text = format!("{:#}", anyhow::Error::from(error));
            assert!(text.contains(&proxy) && text.contains("api.invalid:6443") && text.contains("within 15 s"), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
