//! Where to go and as whom, worked out once from what was said and what lies around. Owns
//! the order of precedence: flags and settings over the kubeconfig, the kubeconfig over the
//! pod's own ServiceAccount. Holds names of files, never their contents.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use http::Uri;
use kube::config::AuthInfo;

use super::kubeconfig::{self, Chosen};
use super::proxy::{self, Proxy};
use crate::config::Way;

/// Where a pod finds its own account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The way to the cluster. What it names is read when a client is built (`credentials`).
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) server: Uri,
    pub(super) tls_server_name: Option<String>,
    pub(super) authority: Authority,
    pub(super) proxy: Option<Proxy>,
    /// `token_file` is moved out of it.
    pub(super) user: AuthInfo,
    pub(super) token_file: Option<PathBuf>,
    pub(super) namespace: String,
}

/// What the server's certificate is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Authority {
    /// The system's certificates.
    System,
    /// PEM in base64, from the kubeconfig.
    Data(String),
    /// A PEM file.
    File(PathBuf),
    /// Nothing: it is not checked.
    Unchecked,
}

impl Plan {
    /// Works the way out. Blocking; reads kubeconfig files and the pod's namespace.
    ///
    /// # Errors
    /// No server is named anywhere, or something that was named cannot be used.
    pub(super) fn of(way: &Way, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        Self::within(way, env, Path::new(ACCOUNT))
    }

    fn within(way: &Way, env: &dyn Fn(&str) -> Option<String>, account: &Path) -> anyhow::Result<Self> {
        let set = |name: &str| env(name).filter(|text| !text.is_empty());
        let chosen = kubeconfig::find(way.kubeconfig.as_deref(), way.context.as_deref(), env)?;
        let pod = set("KUBERNETES_SERVICE_HOST").zip(set("KUBERNETES_SERVICE_PORT"));
        let chosen = match (chosen, pod) {
            (Some(chosen), _) => chosen,
            (None, Some((host, port))) => in_pod(&host, &port, account),
            (None, None) if way.server.is_some() => Chosen::default(),
            (None, None) => {
                bail!("no API server is named: no --server, no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and this is no pod")
            }
        };
        Self::merge(way, chosen, env)
    }

    /// Puts what was said over what was found.
    fn merge(way: &Way, Chosen { mut cluster, mut user, namespace }: Chosen, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        if let Some(server) = &way.server {
            cluster.server = Some(server.clone());
            // The name in the certificate belongs to the other server.
            cluster.tls_server_name = None;
        }
        let text = cluster.server.as_deref().filter(|server| !server.is_empty()).context("the cluster in the kubeconfig has no server")?;
        let server: Uri = text.parse().with_context(|| format!("the server's URL {text:?} cannot be read"))?;
        if !matches!(server.scheme_str(), Some("http" | "https")) || server.host().is_none() {
            bail!("the server's URL {text:?} is neither http:// nor https://");
        }
        if way.token.is_some() || way.token_file.is_some() {
            // Another identity: nothing of the old one may go along, or the server would take that.
            user = AuthInfo {
                impersonate: user.impersonate,
                impersonate_uid: user.impersonate_uid,
                impersonate_groups: user.impersonate_groups,
                impersonate_user_extra: user.impersonate_user_extra,
                ..AuthInfo::default()
            };
        }
        let token_file = match &way.token {
            Some(token) => {
                user.token = Some(token.expose().to_owned().into());
                None
            }
            None => way.token_file.clone().or_else(|| user.token_file.take().map(PathBuf::from)),
        };
        user.token_file = None;
        if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
            exec.cluster = Some((&cluster).try_into().context("read the certificate authority for the exec plugin")?);
        }
        let authority = match (&way.certificate_authority, way.insecure_skip_tls_verify) {
            (_, true) => Authority::Unchecked,
            (Some(file), false) => Authority::File(file.clone()),
            (None, false) if cluster.insecure_skip_tls_verify == Some(true) => Authority::Unchecked,
            (None, false) => match (cluster.certificate_authority_data, cluster.certificate_authority) {
                (Some(data), _) if !data.is_empty() => Authority::Data(data),
                (_, Some(file)) if !file.is_empty() => Authority::File(file.into()),
                _ => Authority::System,
            },
        };
        let proxy = proxy::choose(&server, cluster.proxy_url.as_deref(), env)?;
        let tls_server_name = cluster.tls_server_name.filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        Ok(Self { server, tls_server_name, authority, proxy, user, token_file, namespace })
    }

    /// `HOST:PORT` of the server, for messages and metrics.
    pub(super) fn host(&self) -> String {
        self.server.authority().map(ToString::to_string).unwrap_or_default()
    }
}

/// The account that the kubelet mounts.
fn in_pod(host: &str, port: &str, account: &Path) -> Chosen {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let file = |name: &str| Some(account.join(name).to_string_lossy().into_owned());
    let mut chosen = Chosen::default();
    chosen.cluster.server = Some(format!("https://{host}:{port}"));
    chosen.cluster.certificate_authority = file("ca.crt");
    chosen.user.token_file = file("token");
    // Not every pod has one; `default` is as good a guess as any then.
    chosen.namespace =
        std::fs::read_to_string(account.join("namespace")).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: c, cluster: {server: 'https://one:1', certificate-authority: ca.crt, tls-server-name: inner, proxy-url: 'http://proxy:3128'}}]\n\
        users: [{name: u, user: {client-certificate: c.crt, client-key: c.key, as: jane, tokenFile: old}}]\n\
        contexts: [{name: a, context: {cluster: c, user: u, namespace: team-a}}]\n";

    fn env<'e>(pairs: &'e [(&'e str, &'e str)]) -> impl Fn(&str) -> Option<String> + 'e {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn kubeconfig() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, KUBECONFIG).unwrap();
        (folder, file)
    }

    #[test]
    fn flags_win_over_the_kubeconfig() {
        let (folder, file) = kubeconfig();
        let way = Way { kubeconfig: Some(file), ..Way::default() };
        let plan = Plan::of(&way, &env(&[])).unwrap();
        assert_eq!((plan.server.to_string().as_str(), plan.tls_server_name.as_deref()), ("https://one:1/", Some("inner")));
        assert_eq!(plan.authority, Authority::File(folder.path().join("ca.crt")));
        assert_eq!((plan.token_file, plan.namespace.as_str()), (Some(folder.path().join("old")), "team-a"));
        assert!(plan.user.client_certificate.is_some() && plan.proxy.is_some());

        let token = Some("t0ken".to_owned().into());
        let server = Some("https://two:2".to_owned());
        let way = Way { server, token, certificate_authority: Some("/other".into()), ..way };
        let plan = Plan::of(&way, &env(&[])).unwrap();
        assert_eq!((plan.host().as_str(), plan.tls_server_name), ("two:2", None));
        assert_eq!((plan.authority, plan.token_file), (Authority::File("/other".into()), None));
        // Nothing of the other identity is left, but whom to act as.
        assert!(plan.user.client_certificate.is_none() && plan.user.client_key.is_none() && plan.user.token.is_some());
        assert_eq!(plan.user.impersonate.as_deref(), Some("jane"));

        let way = Way { insecure_skip_tls_verify: true, ..way };
        assert_eq!(Plan::of(&way, &env(&[])).unwrap().authority, Authority::Unchecked);
    }

    #[test]
    fn the_kubeconfig_wins_over_the_pod_and_flags_over_both() {
        let (_folder, file) = kubeconfig();
        let account = tempfile::tempdir().unwrap();
        std::fs::write(account.path().join("namespace"), "ours\n").unwrap();
        let pod = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
        let plan = Plan::within(&Way::default(), &env(&pod), account.path()).unwrap();
        assert_eq!((plan.server.to_string().as_str(), plan.namespace.as_str()), ("https://[fd00::1]:443/", "ours"));
        assert_eq!(plan.authority, Authority::File(account.path().join("ca.crt")));
        assert_eq!(plan.token_file, Some(account.path().join("token")));

        let way = Way { token_file: Some("/t".into()), ..Way::default() };
        assert_eq!(Plan::within(&way, &env(&pod), account.path()).unwrap().token_file, Some("/t".into()));
        let way = Way { kubeconfig: Some(file), ..Way::default() };
        assert_eq!(Plan::within(&way, &env(&pod), account.path()).unwrap().host(), "one:1");
    }

    #[test]
    fn a_server_alone_is_enough_and_nothing_is_not() {
        let way = Way { server: Some("http://127.0.0.1:8001".to_owned()), ..Way::default() };
        let plan = Plan::of(&way, &env(&[])).unwrap();
        assert_eq!((plan.host().as_str(), plan.authority, plan.namespace.as_str()), ("127.0.0.1:8001", Authority::System, "default"));
        let error = Plan::of(&Way::default(), &env(&[])).unwrap_err().to_string();
        assert!(error.contains("--server") && error.contains("KUBECONFIG"), "{error}");
        let way = Way { server: Some("one:1".to_owned()), ..Way::default() };
        assert!(Plan::of(&way, &env(&[])).is_err());
    }
}
