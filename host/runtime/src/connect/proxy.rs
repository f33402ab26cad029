//! Which proxy stands between this process and the API server. Owns the rules, which are
//! kubectl's: the kubeconfig's `proxy-url` always counts; else HTTPS_PROXY for https URLs and
//! HTTP_PROXY for http ones, less NO_PROXY, and never for this machine itself.

use std::fmt;
use std::net::IpAddr;

use anyhow::{Context, bail};
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

/// A proxy, and who we are for it.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) uri: Uri,
    /// `Proxy-Authorization` for http and https proxies.
    pub(super) basic: Option<HeaderValue>,
    /// User and password for socks5.
    pub(super) raw: Option<(String, String)>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("uri", &self.uri).finish_non_exhaustive()
    }
}

/// The proxy for a server, if there is one.
///
/// # Errors
/// A proxy that was named and cannot be used. The value, in which a password may be, is not shown.
pub(super) fn choose(server: &Uri, proxy_url: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Option<Proxy>> {
    if let Some(url) = proxy_url.filter(|url| !url.is_empty()) {
        return read(server, url).context("the kubeconfig's proxy-url").map(Some);
    }
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
        return Ok(None);
    }
    let first = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, env(name).filter(|text| !text.is_empty())?)));
    let https = server.scheme_str() == Some("https");
    let Some((name, url)) = first(if https { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] }) else {
        return Ok(None);
    };
    let none = first(["NO_PROXY", "no_proxy"]).map(|(_, list)| list).unwrap_or_default();
    if excepted(server, host, &none) { Ok(None) } else { read(server, &url).context(name).map(Some) }
}

fn read(server: &Uri, url: &str) -> anyhow::Result<Proxy> {
    let Some(found) = Matcher::builder().all(url.to_owned()).build().intercept(server) else {
        bail!("the proxy's URL cannot be read; write http://HOST:PORT");
    };
    let uri = found.uri().clone();
    if !matches!(uri.scheme_str(), Some("http" | "https" | "socks5" | "socks5h")) {
        bail!("the proxy speaks neither http, https nor socks5");
    }
    let raw = found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned()));
    Ok(Proxy { uri, basic: found.basic_auth().cloned(), raw })
}

/// Does NO_PROXY name the server? Entries are names (with all below them), addresses, networks
/// or `*`; an entry with a port counts for that port only.
fn excepted(server: &Uri, host: &str, list: &str) -> bool {
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("https") { 443 } else { 80 });
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let (name, only) = match entry.rsplit_once(':') {
            // More than one colon without brackets is an IPv6 address.
            Some((name, digits)) if !name.contains(':') || name.ends_with(']') => (name, digits.parse::<u16>().ok()),
            _ => (entry, None),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').trim_start_matches("*.").trim_start_matches('.');
        only.is_none_or(|only| only == port) && matches_host(name, host)
    })
}

fn matches_host(entry: &str, host: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return match entry.split_once('/') {
            Some((network, bits)) => {
                network.parse().ok().zip(bits.parse().ok()).is_some_and(|(network, bits)| in_network(ip, network, bits))
            }
            None => entry.parse() == Ok(ip),
        };
    }
    let (entry, host) = (entry.to_ascii_lowercase(), host.to_ascii_lowercase());
    host.strip_suffix(&entry).is_some_and(|before| before.is_empty() || before.ends_with('.')) && !entry.is_empty()
}

fn in_network(ip: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (ip, network, width) = match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => (u128::from(ip.to_bits()), u128::from(network.to_bits()), 32),
        (IpAddr::V6(ip), IpAddr::V6(network)) => (ip.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    // A shift by all bits of the type is none of its kind: /0 holds everything.
    bits <= width && (ip ^ network).checked_shr(width - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, proxy_url: Option<&str>, env: &[(&str, &str)]) -> anyhow::Result<Option<String>> {
        let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Ok(choose(&server.parse().unwrap(), proxy_url, &env)?.map(|proxy| proxy.uri.to_string()))
    }

    #[test]
    fn the_environment_by_scheme() {
        let env = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "p:2")];
        assert_eq!(chosen("https://api:6443", None, &env).unwrap().as_deref(), Some("http://s:1/"));
        assert_eq!(chosen("http://api:80", None, &env).unwrap().as_deref(), Some("http://p:2/"));
        assert_eq!(chosen("https://api", None, &[("https_proxy", "socks5://s:3")]).unwrap().as_deref(), Some("socks5://s:3/"));
        assert_eq!(chosen("https://api", None, &[("HTTPS_PROXY", ""), ("HTTP_PROXY", "p:2")]).unwrap(), None);
        for here in ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443"] {
            assert_eq!(chosen(here, None, &env).unwrap(), None, "{here}");
        }
    }

    #[test]
    fn the_kubeconfig_always_counts() {
        let env = [("HTTPS_PROXY", "http://s:1"), ("NO_PROXY", "*")];
        assert_eq!(chosen("https://127.0.0.1:6443", Some("http://k:1"), &env).unwrap().as_deref(), Some("http://k:1/"));
        assert_eq!(chosen("https://api", Some(""), &env).unwrap(), None);
    }

    #[test]
    fn exceptions() {
        for (server, list, want) in [
            ("https://api.example.com", "example.com", true),
            ("https://api.example.com", ".example.com", true),
            ("https://api.example.com", "*.example.com", true),
            ("https://api.example.com", "ple.com", false),
            ("https://api.example.com", "other, API.example.com ,", true),
            ("https://api.example.com:6443", "api.example.com:6443", true),
            ("https://api.example.com:6443", "api.example.com:443", false),
            ("https://10.1.2.3", "10.0.0.0/8", true),
            ("https://10.1.2.3", "11.0.0.0/8", false),
            ("https://10.1.2.3", "10.1.2.3", true),
            ("https://10.1.2.3", "0.0.0.0/0", true),
            ("https://10.1.2.3", "10.1.2.3/33", false),
            ("https://[fd00::1]:443", "fd00::/16", true),
            ("https://[fd00::1]:443", "[fd00::1]:443", true),
            ("https://[fd00::1]:443", "::/0", true),
            ("https://api", "*", true),
            ("https://api", "", false),
        ] {
            let env = [("HTTPS_PROXY", "http://s:1"), ("NO_PROXY", list)];
            assert_eq!(chosen(server, None, &env).unwrap().is_none(), want, "{server} {list}");
        }
    }

    #[test]
    fn users_are_decoded_and_never_shown() {
        let url = "http://us%40er:pa%3Ass@proxy:3128";
        let proxy = choose(&"https://api".parse().unwrap(), Some(url), &|_| None).unwrap().unwrap();
        // us@er:pa:ss
        assert_eq!(proxy.basic.as_ref().unwrap(), "Basic dXNAZXI6cGE6c3M=");
        assert!(!format!("{proxy:?}").contains("ss"), "{proxy:?}");
        assert_eq!(proxy.uri.to_string(), "http://proxy:3128/");
        let error = format!("{:#}", chosen("https://api", Some("ftp://user:hidden@x"), &[]).unwrap_err());
        assert!(error.contains("proxy-url") && !error.contains("hidden"), "{error}");
    }
}
