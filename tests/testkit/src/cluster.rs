//! A Kubernetes API in a temporary folder on free ports of 127.0.0.1, with RBAC: etcd and kube-apiserver, or wharf's own API server.
//! Owns their flags, readiness and end. Beside kube-apiserver no controller manager runs: namespaces stay Terminating and nothing is
//! garbage collected.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::api::Api;
use crate::credentials;
use crate::paths;
use crate::ports::free_port;
use crate::process::{Process, Signal};
use crate::scratch::scratch;
use crate::wait::until;

const READY: Duration = Duration::from_secs(60);
const USER: &str = "bob";
const LOG: &str = "apiserver.log";
const CLIENT_AUTHORITY: &str = "client-ca.crt";
const GRACE: Duration = Duration::from_secs(10);

/// Which API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// etcd and kube-apiserver, built by `cargo xtask cluster`.
    Real,
    /// `wharf apiserver`.
    Embedded,
}

impl Kind {
    /// Both, the one that decides first.
    pub const ALL: [Self; 2] = [Self::Real, Self::Embedded];

    /// How tests are named after it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Embedded => "embedded",
        }
    }

    /// The certificate of the authority that clients trust, beside its key.
    fn authority(self, folder: &Path) -> PathBuf {
        folder.join("certs").join(match self {
            Self::Real => "apiserver.crt",
            Self::Embedded => "ca.crt",
        })
    }
}

/// A running cluster. Dropping it kills its processes and removes the folder.
pub struct Cluster {
    api: Api,
    kind: Kind,
    api_server: Mutex<Option<Process>>,
    etcd: Option<Process>,
    ports: Ports,
    token: String,
    user_token: String,
    // Last: the processes above must be gone before their folder goes.
    folder: TempDir,
}

#[derive(Clone, Copy)]
struct Ports {
    etcd: u16,
    peer: u16,
    api: u16,
}

impl Cluster {
    /// Starts a real cluster and waits until it is ready, which takes a few seconds.
    ///
    /// # Errors
    /// If the tools were not built, or the servers do not come up.
    pub async fn start() -> Result<Self> {
        Self::start_as(Kind::Real).await
    }

    /// Starts a cluster of this kind and waits until it is ready.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_as(kind: Kind) -> Result<Self> {
        const TRIES: u32 = 3;
        let mut tried = 0;
        loop {
            tried += 1;
            match Self::try_start(kind).await {
                // Somebody may have taken a port between our look and the server's bind.
                Err(error) if tried < TRIES && format!("{error:#}").contains("address already in use") => {}
                result => return result,
            }
        }
    }

    async fn try_start(kind: Kind) -> Result<Self> {
        let folder = scratch("cluster")?;
        let (token, user_token) = (credentials::token()?, credentials::token()?);
        let ports = Ports { etcd: free_port()?, peer: free_port()?, api: free_port()? };
        write_private(&folder.path().join("sa.key"), &credentials::signing_key()?)?;
        let tokens = format!("{token},admin,admin-uid,\"system:masters\"\n{user_token},{USER},{USER}-uid\n");
        write_private(&folder.path().join("tokens.csv"), &tokens)?;
        let etcd = if kind == Kind::Real { Some(start_etcd(folder.path(), ports)?) } else { None };
        let mut api_server = start_api_server(kind, folder.path(), ports, &[])?;
        // The API server makes its certificate early, long before it is ready.
        // The key is written after it: before that, the certificate may be a file without a word.
        let key = kind.authority(folder.path()).with_extension("key");
        until("the API server's certificate", READY, async || {
            alive(&mut api_server, folder.path())?;
            Ok(key.exists().then_some(()))
        })
        .await?;
        let kubeconfig = folder.path().join("kubeconfig");
        write_kubeconfig(kind, folder.path(), &kubeconfig, ports.api, &token)?;
        let (api, api_server) = (Api::new(&kubeconfig).await?, Mutex::new(Some(api_server)));
        let cluster = Self { api, kind, api_server, etcd, ports, token, user_token, folder };
        cluster.ready().await?;
        Ok(cluster)
    }

    /// The administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Where the certificate authority of users may lie, as PEM; it counts from the API server's next start on.
    pub fn client_authority(&self) -> PathBuf {
        self.folder.path().join(CLIENT_AUTHORITY)
    }

    /// The certificate of the API server, which is its own authority.
    pub fn certificate_authority(&self) -> PathBuf {
        self.kind.authority(self.folder.path())
    }

    /// The administrator's token.
    pub fn admin_token(&self) -> &str {
        &self.token
    }

    /// The token of a user named `bob` who has no rights.
    pub fn user_token(&self) -> &str {
        &self.user_token
    }

    /// Writes a kubeconfig that reaches the API server through another port of 127.0.0.1,
    /// for example a [`crate::Proxy`]'s.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn kubeconfig_through(&self, address: SocketAddr, file: &Path) -> Result<()> {
        write_kubeconfig(self.kind, self.folder.path(), file, address.port(), &self.token)
    }

    /// The same for another user, by the user's token.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn kubeconfig_as(&self, token: &str, address: SocketAddr, file: &Path) -> Result<()> {
        write_kubeconfig(self.kind, self.folder.path(), file, address.port(), token)
    }

    /// A token of a service account, valid for an hour.
    ///
    /// # Errors
    /// If there is no such account.
    pub async fn token(&self, namespace: &str, service_account: &str) -> Result<String> {
        let token = self.kubectl(&["create", "token", service_account, "--namespace", namespace], None).await?;
        Ok(token.trim().to_owned())
    }

    /// Where the API server listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.api).into()
    }

    /// Requests with all rights.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Stops the API server; etcd keeps running and the data stays.
    ///
    /// # Errors
    /// If it cannot be stopped.
    pub async fn stop_api_server(&self) -> Result<()> {
        if let Some(mut process) = self.api_server.lock().await.take() {
            process.stop(GRACE).await?;
        }
        Ok(())
    }

    /// Number of the API server's process, if it runs.
    pub async fn api_server_id(&self) -> Option<i32> {
        self.api_server.lock().await.as_ref().map(Process::id)
    }

    /// Kills the API server: connections end without a word. etcd keeps running.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub async fn kill_api_server(&self) -> Result<()> {
        if let Some(mut process) = self.api_server.lock().await.take() {
            process.signal(Signal::Kill);
            process.wait(GRACE).await?;
        }
        Ok(())
    }

    /// Starts the API server again, with the same port and certificate, and waits until
    /// it is ready.
    ///
    /// # Errors
    /// If it runs already or does not come up.
    pub async fn start_api_server(&self) -> Result<()> {
        self.start_api_server_with(&[]).await
    }

    /// The same with more flags, for example `--watch-cache-sizes=configmaps#0`: then watches
    /// are served from etcd, and end with etcd's history.
    ///
    /// # Errors
    /// As [`Self::start_api_server`].
    pub async fn start_api_server_with(&self, flags: &[&str]) -> Result<()> {
        {
            let mut api_server = self.api_server.lock().await;
            ensure!(api_server.is_none(), "the API server runs already");
            *api_server = Some(start_api_server(self.kind, self.folder.path(), self.ports, flags)?);
        }
        self.ready().await
    }

    /// Watches that the API server has of a resource by itself: kube-apiserver follows two ConfigMaps for who may authenticate.
    pub fn own_watches(&self, group: &str, resource: &str) -> u64 {
        if self.kind == Kind::Real && group.is_empty() && resource == "configmaps" { 2 } else { 0 }
    }

    /// Which API server it has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Makes etcd, or wharf's own server, forget everything before now, and returns the revision up to which it did.
    ///
    /// # Errors
    /// Whatever etcd or the server says.
    pub async fn compact(&self) -> Result<u64> {
        if self.kind == Kind::Embedded {
            return self.api.compact().await;
        }
        let answer = self.etcd("/v3/kv/range", &json!({"key": "AA=="})).await?;
        // 64-bit numbers are strings in etcd's JSON.
        let revision = answer.pointer("/header/revision").and_then(Value::as_str).context("etcd names no revision")?;
        let done = self.etcd("/v3/kv/compaction", &json!({"revision": revision, "physical": true})).await;
        // Somebody else may have been faster, and further.
        if let Err(error) = done
            && !format!("{error:#}").contains("required revision has been compacted")
        {
            return Err(error);
        }
        revision.parse().with_context(|| format!("read etcd's revision {revision:?}"))
    }

    /// Runs kubectl as administrator and returns what it printed.
    ///
    /// # Errors
    /// If it fails; the text has what it said.
    pub async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> Result<String> {
        let mut command = Command::new(paths::cluster_tool("kubectl")?);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(args);
        // Its discovery cache must not be shared with other clusters, nor lie in a home.
        command.arg("--cache-dir").arg(self.folder.path().join("kubectl"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("start kubectl")?;
        let mut input = child.stdin.take().context("kubectl has no input")?;
        input.write_all(stdin.unwrap_or_default().as_bytes()).await.context("write to kubectl")?;
        drop(input);
        let output = child.wait_with_output().await.context("wait for kubectl")?;
        if !output.status.success() {
            bail!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Stops both servers in order.
    ///
    /// # Errors
    /// If one cannot be stopped.
    pub async fn stop(mut self) -> Result<()> {
        self.stop_api_server().await?;
        if let Some(etcd) = &mut self.etcd {
            etcd.stop(GRACE).await?;
        }
        Ok(())
    }

    /// One request to etcd's JSON gateway.
    async fn etcd(&self, path: &str, body: &Value) -> Result<Value> {
        let server = format!("http://127.0.0.1:{}", self.ports.etcd);
        let client = Client::try_from(Config::new(server.parse().context("make etcd's address")?))?;
        let request = Request::post(path).header("Content-Type", "application/json").body(body.to_string().into_bytes())?;
        client.request(request).await.with_context(|| format!("ask etcd: POST {path}"))
    }

    async fn ready(&self) -> Result<()> {
        until("the API server's readiness", READY, async || {
            if let Some(process) = self.api_server.lock().await.as_mut() {
                alive(process, self.folder.path())?;
            }
            self.api.raw("/readyz").await?;
            // Ready is said a moment before the namespace that everybody uses is there.
            self.api.raw("/api/v1/namespaces/default").await?;
            Ok(Some(()))
        })
        .await
    }
}

fn start_etcd(folder: &Path, ports: Ports) -> Result<Process> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.peer);
    let args = [
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // Nothing here has to survive a crash of the machine.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    let log = log_file(folder, "etcd.log")?;
    Process::spawn(&paths::cluster_tool("server")?, args, log.try_clone()?.into(), log.into())
}

fn start_api_server(kind: Kind, folder: &Path, ports: Ports, flags: &[&str]) -> Result<Process> {
    match kind {
        Kind::Real => start_kube_apiserver(folder, ports, flags),
        Kind::Embedded => start_embedded(folder, ports, flags),
    }
}

fn start_embedded(folder: &Path, ports: Ports, flags: &[&str]) -> Result<Process> {
    let mut args = vec![
        "apiserver".to_owned(),
        format!("--bind=127.0.0.1:{}", ports.api),
        format!("--cert-dir={}", folder.join("certs").display()),
        format!("--token-file={}", folder.join("tokens.csv").display()),
        format!("--data={}", folder.join("objects").display()),
        "--authorization=rbac".to_owned(),
        // Small numbers, as a real one has: tests name versions that are in the future.
        "--first-version=100".to_owned(),
        format!("--kubeconfig={}", folder.join("apiserver.kubeconfig").display()),
    ];
    args.extend(flags.iter().copied().map(str::to_owned));
    let log = log_file(folder, LOG)?;
    Process::spawn(&paths::wharf()?, args, log.try_clone()?.into(), log.into())
}

fn start_kube_apiserver(folder: &Path, ports: Ports, flags: &[&str]) -> Result<Process> {
    let key = folder.join("sa.key");
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.api),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", folder.join("certs").display()),
        format!("--token-auth-file={}", folder.join("tokens.csv").display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // There is no controller manager that would make the default service accounts.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        // Else it would wait for a minute for clients to end their watches before it stops.
        "--shutdown-watch-termination-grace-period=1s".to_owned(),
    ];
    // A test that wants users with certificates puts this file there before the server starts again.
    let client_authority = folder.join(CLIENT_AUTHORITY);
    if client_authority.exists() {
        args.push(format!("--client-ca-file={}", client_authority.display()));
    }
    args.extend(flags.iter().copied().map(str::to_owned));
    let log = log_file(folder, LOG)?;
    Process::spawn(&paths::cluster_tool("kube-apiserver")?, args, log.try_clone()?.into(), log.into())
}

/// Fails with the end of the server's log if it has ended.
fn alive(api_server: &mut Process, folder: &Path) -> Result<()> {
    let Some(status) = api_server.exited()? else { return Ok(()) };
    let log = fs::read_to_string(folder.join(LOG)).context("read the API server's log")?;
    let lines: Vec<_> = log.lines().rev().take(5).collect();
    bail!("the API server ended ({status}): {}", lines.join(" | "))
}

fn log_file(folder: &Path, name: &str) -> Result<File> {
    File::options().create(true).append(true).open(folder.join(name)).with_context(|| format!("make {name}"))
}

fn write_kubeconfig(kind: Kind, folder: &Path, file: &Path, port: u16, token: &str) -> Result<()> {
    let certificate = kind.authority(folder);
    let text = format!(
        "apiVersion: v1
kind: Config
clusters: [{{name: wharf, cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: '{}'}}}}]
users: [{{name: admin, user: {{token: '{token}'}}}}]
contexts: [{{name: wharf, context: {{cluster: wharf, user: admin}}}}]
current-context: wharf
",
        certificate.display()
    );
    write_private(file, &text)
}

fn write_private(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).with_context(|| format!("protect {}", file.display()))
}
