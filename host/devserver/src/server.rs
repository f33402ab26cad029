//! The server as a whole: starts, tells how to reach it, stops. Several may run in one process.
//!
//! Owns the settings; what happens to a request is `http`'s.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::fault::Faults;
use crate::http::{
    Accounts, Authenticator, Authorizer, Certificates, Documents, Doorkeeper, Front, Listening, MASTERS, Metrics, listen, random_bytes,
    random_token,
};
use crate::store::StoreOptions;
use crate::verbs::{Api, ApiOptions};

/// The real server's limit of a request's body.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// Changes of a resource that watches can go back.
const HISTORY: usize = 4096;
/// Connections of one server at a time.
const CONNECTIONS: usize = 1024;

/// How connections are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all: on loopback only, and not for pages of a browser.
    Off,
    /// By a certificate authority that lives as long as the server.
    Memory,
    /// By an authority that is kept in this folder (`ca.crt`, `ca.key`), so that clients trust the server after a restart too.
    Folder(PathBuf),
}

/// Who somebody without a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anonymous {
    /// An administrator: kubectl sends no credentials over plain HTTP. Without TLS, on loopback only.
    Admin,
    /// `system:anonymous`; where everybody may do everything, [`Anonymous::Probes`].
    Allowed,
    /// `system:anonymous` on the paths of health and version; elsewhere nobody: 401.
    Probes,
    /// Nobody: 401.
    Refused,
}

/// Who may do what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody everything.
    AlwaysAllow,
    /// As Roles, ClusterRoles and their bindings say.
    Rbac,
}

/// A user who comes with a fixed token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// What stands behind `Bearer`.
    pub token: String,
    /// The name.
    pub user: String,
    /// The uid; may be empty.
    pub uid: String,
    /// `system:authenticated` is added.
    pub groups: Vec<String>,
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Token")
            .field("user", &self.user)
            .field("uid", &self.uid)
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it listens; port 0 takes a free one. Other addresses than loopback need TLS.
    pub address: SocketAddr,
    /// How connections are protected.
    pub tls: Tls,
    /// Further names and addresses for which the certificate is good, or by which a server without TLS lets itself be called.
    pub names: Vec<String>,
    /// The administrator's token; none: a random one.
    pub admin_token: Option<String>,
    /// Users with fixed tokens, beside the administrator.
    pub tokens: Vec<Token>,
    /// Who somebody without a token is.
    pub anonymous: Anonymous,
    /// Who may do what.
    pub authorization: Authorization,
    /// Faults, which tests may keep a hand on.
    pub faults: Arc<Faults>,
    /// Settings of the API behind.
    pub api: ApiOptions,
    /// Bytes of a request's body at most.
    pub body_limit: usize,
    /// Connections at a time at most.
    pub connections: usize,
}

impl ServerOptions {
    /// TLS with an authority in memory on a free port of loopback; who has a token may do everything, who has none may ask for health and
    /// version.
    pub fn new(api: ApiOptions) -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            tls: Tls::Memory,
            names: Vec::new(),
            admin_token: None,
            tokens: Vec::new(),
            anonymous: Anonymous::Allowed,
            authorization: Authorization::AlwaysAllow,
            faults: Faults::new(0),
            api,
            body_limit: BODY_LIMIT,
            connections: CONNECTIONS,
        }
    }

    /// Plain HTTP on a free port of loopback, where everybody is an administrator.
    pub fn plain(api: ApiOptions) -> Self {
        Self { tls: Tls::Off, anonymous: Anonymous::Admin, ..Self::new(api) }
    }
}

impl Default for ServerOptions {
    /// See [`ServerOptions::new`]; objects in memory, with the controllers that everybody counts on.
    fn default() -> Self {
        let store = StoreOptions { history: HISTORY, data: None, first_version: None };
        Self::new(ApiOptions { store, controllers: true })
    }
}

/// Starts servers.
#[derive(Debug)]
pub struct Server;

/// A server that runs. It stops when this is dropped; [`Running::stop`] also waits for it.
pub struct Running {
    address: SocketAddr,
    token: String,
    ca_pem: Option<String>,
    api: Arc<Api>,
    faults: Arc<Faults>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Opens the API and listens, on the present tokio runtime. When it returns, clients are served. Nothing stays behind if it is dropped
    /// before, but the files of a new authority or store.
    ///
    /// # Errors
    /// An address that cannot be listened on, one outside of loopback without TLS, a folder or store that cannot be used.
    pub async fn start(options: ServerOptions) -> io::Result<Running> {
        let open = options.tls == Tls::Off || options.anonymous == Anonymous::Admin;
        if open && !options.address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "outside of loopback a server needs TLS, and nobody without a token may be an administrator",
            ));
        }
        // As kube-apiserver: where everybody may do everything, somebody without a token is not one of them.
        let anonymous = match (options.authorization, options.anonymous) {
            (Authorization::AlwaysAllow, Anonymous::Allowed) => Anonymous::Probes,
            (_, anonymous) => anonymous,
        };
        let folder = match &options.tls {
            Tls::Folder(folder) => Some(folder.as_path()),
            Tls::Off | Tls::Memory => None,
        };
        let certificates = match options.tls {
            Tls::Off => None,
            Tls::Memory | Tls::Folder(_) => Some(Certificates::make(folder, options.address.ip(), &options.names)?),
        };
        let unbound = |error: io::Error| io::Error::new(error.kind(), format!("listen on {}: {error}", options.address));
        let listener = TcpListener::bind(options.address).await.map_err(unbound)?;
        let address = listener.local_addr()?;
        let api = Api::open(options.api).await?;
        let token = options.admin_token.unwrap_or_else(random_token);
        let mut tokens = options.tokens;
        tokens.push(Token { token: token.clone(), user: "admin".to_owned(), uid: "admin".to_owned(), groups: vec![MASTERS.to_owned()] });
        let (stop, stopping) = watch::channel(false);
        let front = Arc::new(Front {
            api: Arc::clone(&api),
            faults: Arc::clone(&options.faults),
            doorkeeper: certificates.is_none().then(|| Doorkeeper::new(options.names)),
            authenticator: Authenticator::new(tokens, anonymous, Accounts::new(random_bytes())),
            authorizer: Authorizer::new(options.authorization, &api),
            documents: Documents::default(),
            metrics: Metrics::default(),
            body_limit: options.body_limit,
            address: address.to_string(),
            stopping,
        });
        let (ca_pem, tls) = certificates.map(|made| (made.ca_pem, TlsAcceptor::from(made.config))).unzip();
        let task = tokio::spawn(listen(Listening { listener, tls, front, connections: options.connections }));
        Ok(Running { address, token, ca_pem, api, faults: options.faults, stop, task })
    }
}

impl Running {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        let scheme = if self.ca_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The certificate of the authority that signed the server's; none without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The API behind, for what a test does without HTTP.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// The faults of this server.
    pub fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        let config = kubeconfig(&self.url(), self.ca_pem(), &self.token);
        // JSON is YAML too, should a value ever not be writable.
        serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
    }

    /// Ends watches and connections, lets running requests finish for up to five seconds, writes what is not on disk yet (the thread waits
    /// for the disk). Dropped before it is done, the server stops all the same, and the rest is written when the last request is over.
    ///
    /// # Errors
    /// What could not be written.
    pub async fn stop(self) -> io::Result<()> {
        // The task is gone when nobody hears it.
        let _ = self.stop.send(true);
        self.task.await.map_err(io::Error::other)?;
        self.api.store().flush()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Running").field("address", &self.address).finish_non_exhaustive()
    }
}

fn kubeconfig(url: &str, ca_pem: Option<&str>, token: &str) -> Value {
    let mut cluster = json!({"server": url});
    if let (Some(pem), Some(cluster)) = (ca_pem, cluster.as_object_mut()) {
        cluster.insert("certificate-authority-data".to_owned(), json!(STANDARD.encode(pem)));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "wharf", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "wharf", "context": {"cluster": "wharf", "user": "admin"}}],
        "current-context": "wharf",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::kubeconfig;

    #[test]
    fn a_kubeconfig_names_server_authority_and_token() {
        let config = kubeconfig("https://127.0.0.1:1", Some("PEM"), "t");
        assert_eq!(config["clusters"][0]["cluster"], json!({"server": "https://127.0.0.1:1", "certificate-authority-data": "UEVN"}));
        assert_eq!(config["users"][0]["user"], json!({"token": "t"}));
        let text = serde_saphyr::to_string(&config).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), config);
        assert_eq!(kubeconfig("http://127.0.0.1:1", None, "t")["clusters"][0]["cluster"], json!({"server": "http://127.0.0.1:1"}));
    }
}
