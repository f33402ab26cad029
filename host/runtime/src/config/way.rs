//! Which API server, and as whom: the part of the settings that all commands share which
//! speak to a cluster. Owns what may be written; what follows from it is worked out in
//! `connect`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wharf_core::plugin::fields::{Node, Problems, excerpt};

use super::host::not_empty;
use super::layers::Layers;
use super::settings::Layer;

/// A text that is never printed, not even by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The text, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<masked>")
    }
}

/// What was said about the way to the cluster. What is not said comes from the kubeconfig,
/// or from the pod's own ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The kubeconfig; `None`: where kubectl would look.
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; `None`: its current one.
    pub context: Option<String>,
    /// `http://` or `https://` URL of the API server.
    pub server: Option<String>,
    /// Bearer token; before `token_file`.
    pub token: Option<Secret>,
    /// File with a bearer token.
    pub token_file: Option<PathBuf>,
    /// PEM file that the server's certificate is checked against.
    pub certificate_authority: Option<PathBuf>,
    /// Do not check the server's certificate.
    pub insecure_skip_tls_verify: bool,
}

impl Way {
    /// The way alone, for commands that are no host: flags, then environment, then the file
    /// that `WHARF_CONFIG` names. Other settings are not looked at. Blocking.
    ///
    /// # Errors
    /// A [`ConfigError`](super::ConfigError) with all mistakes of all layers.
    pub fn resolve(flags: Layer, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let file = env(super::CONFIG_ENV).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut layers = Layers::new(flags, env, file);
        let way = pick(&mut layers);
        layers.finish()?;
        // Without a problem there is a way: this cannot happen.
        way.ok_or_else(|| anyhow::anyhow!("the way to the cluster is incomplete"))
    }
}

/// Reads what the layers say; `None` where something is wrong.
pub(super) fn pick(layers: &mut Layers<'_>) -> Option<Way> {
    let path = |node: &Node<'_>, problems: &mut Problems| not_empty(node, problems).map(PathBuf::from);
    let kubeconfig = layers.pick("kubeconfig", path);
    let context = layers.pick("context", |n, p| not_empty(n, p).map(str::to_owned));
    let server = layers.pick("server", server_url);
    let token = layers.token();
    let token_file = layers.pick("tokenFile", path);
    let certificate_authority = layers.pick("certificateAuthority", path);
    let insecure = layers.pick("insecureSkipTlsVerify", |n, p| n.flag(p));
    Some(Way { kubeconfig, context, server, token, token_file, certificate_authority, insecure_skip_tls_verify: insecure? })
}

/// `http://host[:port][/path]` or `https://...`, without a user.
fn server_url(node: &Node<'_>, problems: &mut Problems) -> Option<String> {
    let text = node.text(problems)?;
    let good = text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.query().is_none()
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    });
    if !good {
        // A user in a URL comes with a password.
        let shown = if text.contains('@') { "the value".to_owned() } else { excerpt(text) };
        problems.invalid(node.at(), format!("{shown} is no URL of a server"), "write https://HOST:PORT");
    }
    good.then(|| text.to_owned())
}
