//! The server's own certificate authority and the certificate it serves with: made in memory, or the authority kept in a folder.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::random;

const CA_CERTIFICATE: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
/// Days for which the certificate of the server is good; a new one is made at every start.
const SERVER_DAYS: i64 = 365;
/// Days for which the authority is good.
const CA_DAYS: i64 = 3650;

/// What TLS needs.
pub(crate) struct Certificates {
    /// The authority's certificate, for clients.
    pub(crate) ca_pem: String,
    pub(crate) config: Arc<ServerConfig>,
}

impl Certificates {
    /// Makes a certificate for these addresses and names, signed by the authority in `folder` or by a new one.
    ///
    /// # Errors
    /// A folder that cannot be used, or a key in it that is none.
    pub(crate) fn make(folder: Option<&Path>, address: IpAddr, names: &[String]) -> io::Result<Self> {
        let (ca_pem, issuer) = match folder {
            Some(folder) => kept(folder)?,
            None => {
                let (pem, key) = new_authority()?;
                (pem, authority(key)?)
            }
        };
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = server(address, names)?.signed_by(&key, &issuer).map_err(io::Error::other)?;
        Ok(Self { ca_pem, config: Arc::new(config(&certificate, &key)?) })
    }
}

/// The authority of a folder; made there if there is none.
fn kept(folder: &Path) -> io::Result<(String, Issuer<'static, KeyPair>)> {
    let (certificate, key) = (folder.join(CA_CERTIFICATE), folder.join(CA_KEY));
    if certificate.exists() && key.exists() {
        let key = KeyPair::from_pem(&std::fs::read_to_string(key)?).map_err(io::Error::other)?;
        return Ok((std::fs::read_to_string(certificate)?, authority(key)?));
    }
    std::fs::create_dir_all(folder)?;
    let (pem, pair) = new_authority()?;
    write_private(&key, &pair.serialize_pem())?;
    std::fs::write(certificate, &pem)?;
    Ok((pem, authority(pair)?))
}

fn new_authority() -> io::Result<(String, KeyPair)> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let certificate = authority_params()?.self_signed(&key).map_err(io::Error::other)?;
    Ok((certificate.pem(), key))
}

/// What signs: its name and key are those of the authority's certificate, whenever that was made.
fn authority(key: KeyPair) -> io::Result<Issuer<'static, KeyPair>> {
    Ok(Issuer::new(authority_params()?, key))
}

fn authority_params() -> io::Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::<String>::new()).map_err(io::Error::other)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "wharf development API server");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    valid(&mut params, CA_DAYS);
    Ok(params)
}

fn server(address: IpAddr, names: &[String]) -> io::Result<CertificateParams> {
    let known = [
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut all: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
    for name in std::iter::once(address.to_string()).chain(names.iter().cloned()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let mut params = CertificateParams::new(all).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, SERVER_DAYS);
    Ok(params)
}

/// From yesterday, so that a clock that is a little behind does no harm.
fn valid(params: &mut CertificateParams, days: i64) {
    let day = |offset: i64| {
        let time = Timestamp::now().saturating_add(SignedDuration::from_hours(24_i64.saturating_mul(offset)));
        let date = time.unwrap_or_default().to_zoned(TimeZone::UTC).date();
        rcgen::date_time_ymd(i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = day(-1);
    params.not_after = day(days);
}

fn config(certificate: &Certificate, key: &KeyPair) -> io::Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // Its own provider: a process may hold several servers and may have installed none.
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Replaces the file by one for its owner only, whoever may read what lies there now.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(random::uuid());
    let written = write_new(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // What is told is why it could not be written.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;

    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::Certificates;

    #[test]
    fn a_folder_keeps_the_authority() {
        let folder = tempfile::tempdir().unwrap();
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = Certificates::make(Some(folder.path()), address, &[]).unwrap();
        let again = Certificates::make(Some(folder.path()), address, &["my.host".to_owned()]).unwrap();
        assert_eq!(first.ca_pem, again.ca_pem);
        assert_ne!(Certificates::make(None, address, &[]).unwrap().ca_pem, first.ca_pem);
        std::fs::write(folder.path().join("ca.key"), "no key").unwrap();
        assert!(Certificates::make(Some(folder.path()), address, &[]).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_key_is_its_owners_only() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("ca.key");
        std::fs::write(&key, "left by somebody").unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        Certificates::make(Some(folder.path()), IpAddr::V4(Ipv4Addr::LOCALHOST), &[]).unwrap();
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "ca.crt and ca.key");
    }
}
