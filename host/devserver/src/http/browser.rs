//! Plain HTTP without credentials, and the browser on the same machine: a page of anybody's may send requests to loopback, and a name that
//! is pointed there makes the server one of the page's own. Owns which requests are nobody's but a program's.

use std::net::IpAddr;

use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;

use crate::status::Status;

/// Lets in who names the server by an address of loopback, or by one of these names, and no other site's page.
pub(crate) struct Doorkeeper {
    names: Vec<String>,
}

impl Doorkeeper {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self { names }
    }

    /// # Errors
    /// 403 for a request that a page may have sent.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Status> {
        let refuse = |why: &str| Err(Status::new(403, "Forbidden", format!("forbidden: without TLS {why}")));
        let hosts: Vec<&str> = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default()).collect();
        if !hosts.iter().all(|host| self.is_own(host)) {
            return refuse("the server is reached by its address or by localhost only");
        }
        // Clients that are no browsers send none, and the server has no pages.
        let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|origin| hosts.contains(&origin));
        if !headers.get_all(ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(own)) {
            return refuse("no page of another site may send requests");
        }
        Ok(())
    }

    fn is_own(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::Doorkeeper;

    #[test]
    fn pages_stay_outside() {
        let keeper = Doorkeeper::new(vec!["dev.test".to_owned()]);
        for (host, origin, admitted) in [
            ("127.0.0.1:6443", None, true),
            ("127.1.2.3", None, true),
            ("[::1]:6443", None, true),
            ("LocalHost:6443", None, true),
            ("dev.test:1", None, true),
            ("evil.example", None, false),
            ("evil.example:6443", None, false),
            ("localhost.evil.example", None, false),
            ("127.0.0.1.evil.example", None, false),
            ("10.0.0.1:6443", None, false),
            ("", None, false),
            ("localhost:6443", Some("http://localhost:6443"), true),
            ("localhost:6443", Some("http://localhost:3000"), false),
            ("localhost:6443", Some("https://localhost:6443"), false),
            ("localhost:6443", Some("https://evil.example"), false),
            ("localhost:6443", Some("null"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert("origin", HeaderValue::from_static(origin));
            }
            assert_eq!(keeper.admit(&headers).map_err(|status| status.code), if admitted { Ok(()) } else { Err(403) }, "{host} {origin:?}");
        }
        assert!(keeper.admit(&HeaderMap::new()).is_ok());
    }
}
