//! Where to go and as whom, worked out once from what was said and what lies around. Owns
//! the order of precedence: flags and settings over the kubeconfig, the kubeconfig over the
//! pod's own ServiceAccount. Holds names of files, never their contents.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use http::Uri;
use kube::config::{AuthInfo, Cluster};

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
        let chosen = kubeconfig::find(way, env)?;
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
    fn merge(way: &Way, Chosen { mut cluster, user, namespace }: Chosen, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        if let Some(server) = &way.server {
            cluster.server = Some(server.clone());
            // The name in the certificate belongs to the other server.
            cluster.tls_server_name = None;
        }
        let server = server_of(&cluster)?;
        let authority = authority_of(way, &mut cluster)?;
        let (mut user, token_file) = user_of(way, user, &server)?;
        // After everything that was said: the plugin must make credentials for the server that gets them.
        if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
            exec.cluster = Some((&cluster).try_into().context("read the certificate authority for the exec plugin")?);
        }
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

fn server_of(cluster: &Cluster) -> anyhow::Result<Uri> {
    let text = cluster.server.as_deref().filter(|server| !server.is_empty()).context("the cluster in the kubeconfig has no server")?;
    if text.contains('@') {
        // A user in a URL comes with a password: the value is not shown.
        bail!("the server's URL has a user in it; write https://HOST:PORT, and the credentials to the kubeconfig's user");
    }
    let server: Uri = text.parse().with_context(|| format!("the server's URL {text:?} cannot be read"))?;
    if !matches!(server.scheme_str(), Some("http" | "https")) || server.host().is_none() {
        bail!("the server's URL {text:?} is neither http:// nor https://");
    }
    Ok(server)
}

/// What the server's certificate is checked against; leaves in the cluster what really counts.
/// What was said wins as a whole over the kubeconfig, as in client-go.
fn authority_of(way: &Way, cluster: &mut Cluster) -> anyhow::Result<Authority> {
    let unchecked = way.insecure_skip_tls_verify;
    match (&way.certificate_authority, unchecked) {
        (Some(file), true) => bail!(
            "the authority {} is named (--certificate-authority, WHARF_CERTIFICATE_AUTHORITY or certificateAuthority), and nothing is to be checked \
             (--insecure-skip-tls-verify, WHARF_INSECURE_SKIP_TLS_VERIFY or insecureSkipTlsVerify); leave one of the two out",
            file.display()
        ),
        (None, false) => {}
        (file, _) => {
            cluster.insecure_skip_tls_verify = unchecked.then_some(true);
            cluster.certificate_authority_data = None;
            cluster.certificate_authority = file.as_ref().map(|file| file.to_string_lossy().into_owned());
        }
    }
    // An empty text is none; kube would read a file of that name.
    let named = |text: &mut Option<String>| *text = text.take().filter(|text| !text.is_empty());
    named(&mut cluster.certificate_authority_data);
    named(&mut cluster.certificate_authority);
    let unchecked = cluster.insecure_skip_tls_verify == Some(true);
    Ok(match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (None, None) if unchecked => Authority::Unchecked,
        (None, None) => Authority::System,
        (data, _) if unchecked => {
            let name = if data.is_some() { "certificate-authority-data" } else { "certificate-authority" };
            bail!("the cluster in the kubeconfig has both {name} and insecure-skip-tls-verify: true; take one of the two out")
        }
        (Some(data), _) => Authority::Data(data.clone()),
        (None, Some(file)) => Authority::File(file.into()),
    })
}

/// Who we are for this server, and the file with the token.
fn user_of(way: &Way, mut user: AuthInfo, server: &Uri) -> anyhow::Result<(AuthInfo, Option<PathBuf>)> {
    let said = way.token.is_some() || way.token_file.is_some();
    let plain = server.scheme_str() == Some("http");
    if said && plain {
        bail!("a token is named (--token or --token-file), but {server} is no https:// server: everybody on the way could read it");
    }
    if said || plain {
        // Another identity: nothing of the old one may go along, or the server would take that. And
        // without TLS nobody is shown credentials, as in client-go.
        user = AuthInfo {
            impersonate: user.impersonate,
            impersonate_uid: user.impersonate_uid,
            impersonate_groups: user.impersonate_groups,
            impersonate_user_extra: user.impersonate_user_extra,
            ..AuthInfo::default()
        };
    }
    if let Some(provider) = &user.auth_provider {
        let instead = match provider.name.as_str() {
            "gcp" => "gke-gcloud-auth-plugin",
            "azure" => "kubelogin",
            _ => "an exec plugin",
        };
        bail!("the kubeconfig's user has the auth-provider {:?}, a form that is not known any more; use {instead} (exec)", provider.name);
    }
    let token_file = match &way.token {
        Some(token) => {
            user.token = Some(token.expose().to_owned().into());
            None
        }
        None => way.token_file.clone().or_else(|| user.token_file.take().map(PathBuf::from)),
    };
    user.token_file = None;
    Ok((user, token_file))
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

        let way = Way { insecure_skip_tls_verify: true, certificate_authority: None, ..way };
        assert_eq!(Plan::of(&way, &env(&[])).unwrap().authority, Authority::Unchecked, "over the kubeconfig's authority");
    }

    /// A plan for a kubeconfig with these fields of its cluster and its user.
    fn planned(way: &Way, cluster: &str, user: &str) -> anyhow::Result<Plan> {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\ncontexts: [{{name: a, context: {{cluster: c, user: u}}}}]\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        Plan::of(&Way { kubeconfig: Some(file), ..way.clone() }, &env(&[]))
    }

    #[test]
    fn without_tls_no_credentials_go_along() {
        let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, interactiveMode: Never}";
        for user in ["token: t", "tokenFile: t", "username: u, password: p", exec, "auth-provider: {name: gcp}", "client-certificate: c"] {
            let user = format!("{user}, as: jane");
            let plan = planned(&Way::default(), "server: 'http://one:1'", &user).unwrap();
            let only = AuthInfo { impersonate: Some("jane".to_owned()), ..AuthInfo::default() };
            assert_eq!(format!("{:?} {:?}", plan.user, plan.token_file), format!("{only:?} None"), "{user}");
        }
        // Nor does the pod's token.
        let pod = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("KUBERNETES_SERVICE_PORT", "443")];
        let way = Way { server: Some("http://one:1".to_owned()), ..Way::default() };
        assert_eq!(Plan::of(&way, &env(&pod)).unwrap().token_file, None);
        // What was asked for by name is not left out in silence.
        let token = Way { token: Some("t0ken".to_owned().into()), ..way.clone() };
        let file = Way { token_file: Some("/t0ken".into()), ..way };
        for way in [token, file] {
            let error = Plan::of(&way, &env(&[])).unwrap_err().to_string();
            assert!(error.contains("--token") && error.contains("http://one:1") && !error.contains("t0ken"), "{error}");
        }
    }

    #[test]
    fn a_user_in_the_servers_url_is_refused_and_not_shown() {
        for server in ["https://us3r:s3cret@one:1", "s3cret@one:1", "https://one:1/@s3cret"] {
            let error = format!("{:#}", planned(&Way::default(), &format!("server: '{server}'"), "").unwrap_err());
            assert!(error.contains("https://HOST:PORT") && !error.contains("s3cret") && !error.contains("us3r"), "{error}");
        }
    }

    #[test]
    fn auth_providers_are_refused_with_what_to_use() {
        for (name, instead) in [("gcp", "gke-gcloud-auth-plugin"), ("azure", "kubelogin"), ("oidc", "exec plugin")] {
            let user = format!("auth-provider: {{name: {name}, config: {{cmd-path: /no/such, access-token: s3cret}}}}");
            let error = planned(&Way::default(), "server: 'https://one:1'", &user).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(instead) && !error.contains("s3cret"), "{error}");
            // Another identity needs none.
            let way = Way { token: Some("t".to_owned().into()), ..Way::default() };
            assert!(planned(&way, "server: 'https://one:1'", &user).is_ok());
        }
    }

    #[test]
    fn an_authority_that_is_not_looked_at_is_refused() {
        for field in ["certificate-authority-data", "certificate-authority"] {
            let cluster = format!("server: 'https://one:1', {field}: YQ==, insecure-skip-tls-verify: true");
            let error = planned(&Way::default(), &cluster, "").unwrap_err().to_string();
            assert!(error.contains("kubeconfig") && error.contains(&format!("{field} and insecure-skip-tls-verify")), "{error}");
            // What was said wins over both.
            let way = Way { certificate_authority: Some("/ca".into()), ..Way::default() };
            assert_eq!(planned(&way, &cluster, "").unwrap().authority, Authority::File("/ca".into()));
            let way = Way { insecure_skip_tls_verify: true, ..Way::default() };
            assert_eq!(planned(&way, &cluster, "").unwrap().authority, Authority::Unchecked);
        }
        let both = Way { certificate_authority: Some("/ca".into()), insecure_skip_tls_verify: true, ..Way::default() };
        let error = planned(&both, "server: 'https://one:1'", "").unwrap_err().to_string();
        assert!(["/ca", "--certificate-authority", "--insecure-skip-tls-verify"].iter().all(|word| error.contains(word)), "{error}");
        let cluster = "server: 'https://one:1', certificate-authority-data: '', insecure-skip-tls-verify: true";
        assert_eq!(planned(&Way::default(), cluster, "").unwrap().authority, Authority::Unchecked);
    }

    #[test]
    fn an_exec_plugin_is_told_of_the_server_that_counts() {
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca");
        std::fs::write(&ca, "PEM").unwrap();
        let way = Way { server: Some("https://two:2".to_owned()), certificate_authority: Some(ca), ..Way::default() };
        let cluster = "server: 'https://one:1', tls-server-name: inner, insecure-skip-tls-verify: true";
        let user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, interactiveMode: Never, provideClusterInfo: true}";
        let told = planned(&way, cluster, user).unwrap().user.exec.unwrap().cluster.unwrap();
        assert_eq!((told.server.as_deref(), told.tls_server_name, told.insecure_skip_tls_verify), (Some("https://two:2"), None, None));
        assert_eq!(told.certificate_authority_data.as_deref(), Some("PEM\n".as_bytes()));
    }

    #[test]
    fn a_server_that_is_named_needs_no_current_context() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, KUBECONFIG.replace("current-context: a", "current-context: ''")).unwrap();
        let way = Way { kubeconfig: Some(file), token: Some("t".to_owned().into()), ..Way::default() };
        assert!(format!("{:#}", Plan::of(&way, &env(&[])).unwrap_err()).contains("--context: a"));
        let way = Way { server: Some("https://two:2".to_owned()), ..way };
        let plan = Plan::of(&way, &env(&[])).unwrap();
        assert_eq!((plan.host().as_str(), plan.authority, plan.namespace.as_str()), ("two:2", Authority::System, "default"));
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
