//! From a plan to a client: reads tokens, certificates and what exec plugins answer, and
//! remembers what was read. Owns what counts as a change of it. Secrets are never in errors.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use super::exec;
use super::plan::{Authority, Plan};
use super::stack;

/// Longer files are no tokens and no certificates, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A client and what it was made of.
pub(super) struct Opened {
    pub(super) client: kube::Client,
    pub(super) seen: Seen,
    /// When the credentials end, if they say so.
    pub(super) valid_until: Option<Timestamp>,
}

/// Why there is no client.
pub(super) enum OpenError {
    /// What is named cannot be used.
    Unusable(anyhow::Error),
    /// Whoever makes the credentials has none just now: an exec plugin fails, a token file is not there or
    /// half written. The next attempt may find some.
    NotNow(anyhow::Error),
}

impl OpenError {
    /// The error, for those who go on in either case.
    pub(super) fn into_inner(self) -> anyhow::Error {
        match self {
            Self::Unusable(error) | Self::NotNow(error) => error,
        }
    }
}

impl From<anyhow::Error> for OpenError {
    fn from(error: anyhow::Error) -> Self {
        Self::Unusable(error)
    }
}

/// Files with a digest of what was in them; `None` where one could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(Vec<(PathBuf, Option<[u8; 32]>)>);

impl Seen {
    /// Looks at the same files again.
    pub(super) async fn again(&self) -> Self {
        let mut seen = Vec::with_capacity(self.0.len());
        for (path, _) in &self.0 {
            let digest = read(path).await.ok().map(|bytes| Sha256::digest(&bytes).into());
            seen.push((path.clone(), digest));
        }
        Self(seen)
    }

    /// The first file that differs.
    pub(super) fn changed<'s>(&'s self, now: &Self) -> Option<&'s Path> {
        self.0.iter().zip(&now.0).find(|(then, now)| then != now).map(|((path, _), _)| path.as_path())
    }

    /// Reads a file and keeps what it was.
    async fn read(&mut self, path: &Path) -> anyhow::Result<Vec<u8>> {
        let bytes = read(path).await;
        self.0.push((path.to_owned(), bytes.as_ref().ok().map(|bytes| Sha256::digest(bytes).into())));
        bytes
    }
}

impl Plan {
    /// Are there credentials that somebody makes anew when asked?
    pub(super) fn renewable(&self) -> bool {
        self.user.exec.is_some()
    }

    /// Reads everything that the plan names, runs its exec plugin if it has one, and makes a client. Does not connect.
    /// Not cancel safe in one respect: an exec plugin that runs is ended.
    ///
    /// # Errors
    /// Something cannot be read, or is not what it should be.
    pub(super) async fn open(&self) -> Result<Opened, OpenError> {
        let mut seen = Seen::default();
        let mut config = kube::Config::new(self.server.clone());
        config.default_namespace.clone_from(&self.namespace);
        config.tls_server_name.clone_from(&self.tls_server_name);
        config.auth_info = self.user.clone();
        match &self.authority {
            Authority::System => {}
            Authority::Unchecked => config.accept_invalid_certs = true,
            Authority::Data(data) => {
                let pem = decode(data).context("the kubeconfig's certificate-authority-data")?;
                config.root_cert = Some(certificates(&pem).context("the kubeconfig's certificate-authority-data")?);
            }
            Authority::File(path) => {
                let what = || format!("the certificate authority {}", path.display());
                config.root_cert = Some(certificates(&seen.read(path).await.with_context(what)?).with_context(what)?);
            }
        }
        for file in [&self.user.client_certificate, &self.user.client_key].into_iter().flatten() {
            seen.read(Path::new(file)).await.with_context(|| format!("the client's certificate or key {file}"))?;
        }
        if let Some(path) = &self.token_file {
            let what = || format!("the token file {}", path.display());
            let read = seen.read(path).await.and_then(|bytes| token(&bytes)).with_context(what);
            config.auth_info.token = Some(read.map_err(OpenError::NotNow)?.into());
        }
        let valid_until = self.ask_plugin(&mut config).await.map_err(OpenError::NotNow)?;
        let client = stack::client(&config, self.proxy.as_ref())?;
        Ok(Opened { client, seen, valid_until })
    }

    /// An exec plugin is asked where there is no other credential, as client-go does.
    async fn ask_plugin(&self, config: &mut kube::Config) -> anyhow::Result<Option<Timestamp>> {
        let info = &mut config.auth_info;
        let Some(plugin) = info.exec.take().filter(|_| info.token.is_none() && info.username.is_none()) else { return Ok(None) };
        let credential = exec::ask(&plugin).await?;
        if let Some(token) = credential.token {
            info.token = Some(token.expose().to_owned().into());
        }
        if let Some((certificate, key)) = credential.certificate {
            (info.client_certificate, info.client_key) = (None, None);
            info.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
            info.client_key_data = Some(BASE64_STANDARD.encode(key.expose()).into());
        }
        Ok(credential.valid_until)
    }
}

async fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).await?;
    ensure!(bytes.len() as u64 <= MAX_FILE, "it has more than {MAX_FILE} bytes");
    Ok(bytes)
}

fn decode(data: &str) -> anyhow::Result<Vec<u8>> {
    let data: String = data.split_whitespace().collect();
    BASE64_STANDARD.decode(data).map_err(|_| anyhow::anyhow!("it is no base64"))
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        all.push(certificate.map_err(|error| anyhow::anyhow!("it is no PEM: {error}"))?.to_vec());
    }
    ensure!(!all.is_empty(), "there is no certificate in it");
    Ok(all)
}

/// The token in a file; a newline behind it is not part of it.
fn token(bytes: &[u8]) -> anyhow::Result<String> {
    let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
        bail!("there is no token in it");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Way;

    /// Its key was thrown away.
    const CA: &str = "-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUIpjuJa9IXnJVPTOM3VTUD7ZcXKIwCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUd2hhcmYgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTMwMDMyNjE5
WhgPMjEyNjExMDYwMzI2MTlaMB8xHTAbBgNVBAMMFHdoYXJmIHRlc3QgYXV0aG9y
aXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE93gnAUEFly7vPP7yylDeFjCA
ValXfmMQOvrDWy3H419AFNxD/jpDn8z8fuPu/LVIIIkhGH6NENGXVcSFtpVA1KNT
MFEwHQYDVR0OBBYEFBgtNONjjJmKPklbPl4i9HX4NCHRMB8GA1UdIwQYMBaAFBgt
NONjjJmKPklbPl4i9HX4NCHRMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID
RwAwRAIgEbJHnhFMrxPrT2TymeVgykr7hzJj/1pvzfbOQcZfuzoCIFrnP+lT6PyQ
5aex/aGTX2OuavC4gB3J8hNeOd2aHpSB
-----END CERTIFICATE-----
";

    fn plan(folder: &Path) -> Plan {
        let way = Way {
            server: Some("https://one:1".to_owned()),
            certificate_authority: Some(folder.join("ca")),
            token_file: Some(folder.join("token")),
            ..Way::default()
        };
        Plan::of(&way, &|_| None).unwrap()
    }

    #[tokio::test]
    async fn changes_are_seen_by_content() {
        let _first = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca"), CA).unwrap();
        std::fs::write(folder.path().join("token"), "abc\n").unwrap();
        let opened = plan(folder.path()).open().await.map_err(OpenError::into_inner).unwrap();
        assert_eq!(opened.seen.changed(&opened.seen.again().await), None);
        // Written anew with the same content: nothing has changed.
        std::fs::write(folder.path().join("token"), "abc\n").unwrap();
        assert_eq!(opened.seen.changed(&opened.seen.again().await), None);
        std::fs::write(folder.path().join("token"), "abd\n").unwrap();
        assert_eq!(opened.seen.changed(&opened.seen.again().await), Some(folder.path().join("token").as_path()));
        std::fs::remove_file(folder.path().join("ca")).unwrap();
        assert_eq!(opened.seen.changed(&opened.seen.again().await), Some(folder.path().join("ca").as_path()));
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_named_but_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        for (ca, token, words) in [
            ("", "t", ["certificate authority", "no certificate"]),
            ("-----BEGIN CERTIFICATE-----\nMII", "t", ["certificate authority", "PEM"]),
            (CA, " \n", ["token file", "no token"]),
            (CA, "hidden words", ["token file", "no token"]),
        ] {
            std::fs::write(folder.path().join("ca"), ca).unwrap();
            std::fs::write(folder.path().join("token"), token).unwrap();
            let error = plan(folder.path()).open().await.err().unwrap();
            assert_eq!(matches!(error, OpenError::NotNow(_)), words.contains(&"token file"), "tokens come and go");
            let error = format!("{:#}", error.into_inner());
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains("hidden"), "{error}");
        }
    }
}
