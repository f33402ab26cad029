//! The `continue` token of a page: where the next one begins, and at which version all pages are read.
//!
//! Owns the token's form, the real server's (opaque to clients, but it comes back from them: anything is answered).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::status::Status;
use crate::store::Stored;

const FORM: &str = "meta.k8s.io/v1";

/// Go on at the latest state.
const LATEST: i64 = -1;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    version: i64,
    /// As in `start` of the token: the names up to which everything was seen, separated by slashes, then a NUL if the last is included.
    start: String,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    /// The token for what comes after `last`; `across` namespaces its place is namespace and name.
    pub(crate) fn after(last: &Stored, across: bool, version: u64) -> Self {
        let start = if across { format!("{}/{}\0", last.namespace, last.name) } else { format!("/{}\0", last.name) };
        Self { version: i64::try_from(version).unwrap_or(LATEST), start }
    }

    /// The version of all pages; none to go on at the latest state.
    pub(crate) fn version(&self) -> Option<u64> {
        u64::try_from(self.version).ok()
    }

    /// The same place at the latest state.
    fn at_latest(&self) -> Self {
        Self { version: LATEST, start: self.start.clone() }
    }

    /// Whether an object is on this page or a later one.
    pub(crate) fn precedes(&self, object: &Stored) -> bool {
        let start = self.start.trim_start_matches('/');
        let (start, seen) = start.strip_suffix('\0').map_or((start, false), |start| (start, true));
        let order = match start.split_once('/') {
            Some((namespace, name)) => (&*object.namespace, &*object.name).cmp(&(namespace, name)),
            None => (*object.name).cmp(start),
        };
        if seen { order.is_gt() } else { order.is_ge() }
    }

    pub(crate) fn encode(&self) -> String {
        let wire = Wire { v: FORM.to_owned(), rv: self.version, start: self.start.clone() };
        // Strings and a number always have a JSON form.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).unwrap_or_default())
    }

    /// Reads a token.
    ///
    /// # Errors
    /// 400 for what is none.
    pub(crate) fn decode(text: &str) -> Result<Self, Status> {
        let bad = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid{why}"));
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| bad(&format!(": {error}")))?;
        let wire: Wire = serde_json::from_slice(&bytes).map_err(|error| bad(&format!(": {error}")))?;
        if wire.v != FORM {
            return Err(bad(&format!(": server does not recognize this encoded version {}", wire.v)));
        }
        if wire.rv == 0 {
            return Err(bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if wire.start.is_empty() {
            return Err(bad(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        if wire.start.trim_start_matches('/').split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(bad(&format!(": {}", wire.start)));
        }
        Ok(Self { version: wire.rv, start: wire.start })
    }

    /// 410: the token's version has left the history. With one that goes on at the latest state.
    pub(crate) fn expired(&self) -> Status {
        let mut status = Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the \
             continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with \
             the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the \
             first chunk was returned and now may show up in the list.",
        );
        status.continue_token = Some(self.at_latest().encode());
        status
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::store::Key;

    fn object(namespace: &str, name: &str) -> Stored {
        Stored::new(&Key { storage: "x".into(), namespace: namespace.into(), name: name.into() }, json!({}), 1)
    }

    #[test]
    fn a_token_has_the_real_servers_form() {
        let token = Token::after(&object("n", "c1"), false, 523);
        let decoded = URL_SAFE_NO_PAD.decode(token.encode()).unwrap();
        assert_eq!(String::from_utf8(decoded).unwrap(), r#"{"v":"meta.k8s.io/v1","rv":523,"start":"/c1\u0000"}"#);
        assert_eq!(Token::decode(&token.encode()).unwrap(), token);
        assert_eq!(token.version(), Some(523));
        let latest = token.at_latest();
        assert_eq!((Token::decode(&latest.encode()).unwrap().version(), &latest.start), (None, &token.start));
    }

    #[test]
    fn a_token_tells_what_comes_after() {
        let one = Token::after(&object("n", "b"), false, 1);
        let across = Token::after(&object("n", "b"), true, 1);
        let from = Token { version: 1, start: "b".to_owned() };
        for (namespace, name, expected) in [
            ("n", "a", (false, false, false)),
            ("n", "b", (false, false, true)),
            ("n", "b-", (true, true, true)),
            ("m", "c", (true, false, true)),
            ("o", "a", (false, true, false)),
        ] {
            let object = object(namespace, name);
            assert_eq!((one.precedes(&object), across.precedes(&object), from.precedes(&object)), expected, "{namespace}/{name}");
        }
    }

    #[test]
    fn what_is_no_token_is_a_bad_request() {
        let wire = |json: &str| URL_SAFE_NO_PAD.encode(json);
        for text in [
            "zzzz".to_owned(),
            "%".to_owned(),
            wire("[]"),
            wire("{}"),
            wire(r#"{"v":"v2","rv":1,"start":"a"}"#),
            wire(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
            wire(r#"{"v":"meta.k8s.io/v1","rv":1,"start":""}"#),
            wire(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}"#),
            wire(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/"}"#),
            wire(r#"{"v":"meta.k8s.io/v1","rv":"1","start":"a"}"#),
        ] {
            let status = Token::decode(&text).unwrap_err();
            assert_eq!((status.code, status.reason), (400, "BadRequest"), "{text}");
            assert!(status.message.starts_with("invalid continue token: continue key is not valid"), "{}", status.message);
        }
    }
}
