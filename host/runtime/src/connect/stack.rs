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
use tower::{BoxError, Layer, Service};

use super::proxy::Proxy;
use crate::telemetry::http::HttpLog;

/// As Go's dialer: a peer that is gone is noticed, a quiet one is not cut off.
const KEEPALIVE: Duration = Duration::from_secs(30);

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
    let Some(proxy) = proxy else { return over(tcp, config) };
    match proxy.uri.scheme_str() {
        Some("socks5" | "socks5h") => {
            let mut socks = SocksV5::new(proxy.uri.clone(), tcp);
            if let Some((user, password)) = &proxy.raw {
                socks = socks.with_auth(user.clone(), password.clone());
            }
            over(socks, config)
        }
        Some("https") => {
            // The proxy's certificate is not the cluster's business: the system's authorities count.
            let plain = kube::Config::new(proxy.uri.clone());
            let tls = plain.rustls_https_connector_with_connector(tcp).context("TLS to the proxy")?;
            over(tunnel(tls, proxy), config)
        }
        _ => over(tunnel(tcp, proxy), config),
    }
}

fn tunnel<C>(inner: C, proxy: &Proxy) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri.clone(), inner);
    match &proxy.basic {
        Some(basic) => tunnel.with_auth(basic.clone()),
        None => tunnel,
    }
}

fn over<C>(connector: C, config: &kube::Config) -> anyhow::Result<kube::Client>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let tls = config.rustls_https_connector_with_connector(connector).context("the certificates or the key for TLS")?;
    let http: hyper_util::client::legacy::Client<_, Body> = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(tls);
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
