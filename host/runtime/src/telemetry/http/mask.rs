//! What the request log never shows: credentials in headers, tokens and passwords in bodies,
//! and everything that a Secret holds. Owns which names those are. Works on the beginning of
//! a body as well as on a whole one, so JSON is scanned, not parsed.

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};

const MASKED: &str = "<masked>";
/// Deeper bodies are not shown from there on.
const MAX_DEPTH: usize = 128;

/// Members whose values are secrets wherever they stand, in lower case: those of TokenReview,
/// TokenRequest, kubeconfigs, and of the usual OAuth answers; and what `kubectl apply` notes down,
/// which may be a Secret in a body that does not say so.
const ALWAYS: [&str; 11] = [
    "token",
    "password",
    "client-key-data",
    "clientkeydata",
    "access_token",
    "id_token",
    "refresh_token",
    "client_secret",
    "clientsecret",
    "private_key",
    "kubectl.kubernetes.io/last-applied-configuration",
];
/// Members of a Secret: its contents.
const OF_SECRETS: [&str; 2] = ["data", "stringdata"];

/// All headers on one line: `name: value, name: value`.
pub(super) fn headers(headers: &HeaderMap) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {}", header(name, value))).collect::<Vec<_>>().join(", ")
}

/// A header's value; of credentials the scheme alone.
pub(super) fn header(name: &HeaderName, value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    // The bearer token of a WebSocket is one of its protocols.
    let secret = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE].contains(name) || name == "sec-websocket-protocol";
    if !secret && !value.is_sensitive() {
        return text.into_owned();
    }
    match text.split_once(' ').filter(|_| *name == AUTHORIZATION || *name == PROXY_AUTHORIZATION) {
        Some((scheme, _)) => format!("{scheme} {MASKED}"),
        None => MASKED.to_owned(),
    }
}

/// Does a path lead to Secrets?
pub(super) fn leads_to_secrets(path: &str) -> bool {
    path.split('/').any(|part| part.eq_ignore_ascii_case("secrets"))
}

/// The text with secret values replaced. `secrets`: all objects in it are Secrets. The text may
/// end anywhere.
pub(super) fn json(text: &str, secrets: bool) -> String {
    let secrets = secrets || text.contains("\"Secret\"") || text.contains("\"SecretList\"");
    Scanner { rest: text, out: String::with_capacity(text.len()), stack: Vec::new(), secrets }.run()
}

/// A value that is not closed yet.
struct Open {
    object: bool,
    /// The next string is a member's name.
    name_next: bool,
    /// All values in it are secret.
    masked: bool,
    /// The value that comes next is secret.
    next_masked: bool,
}

struct Scanner<'t> {
    rest: &'t str,
    out: String,
    stack: Vec<Open>,
    secrets: bool,
}

impl<'t> Scanner<'t> {
    fn run(mut self) -> String {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '{' | '[' => {
                    if self.stack.len() == MAX_DEPTH {
                        self.out.push('…');
                        break;
                    }
                    let masked = self.masked();
                    self.stack.push(Open { object: c == '{', name_next: c == '{', masked, next_masked: masked });
                    self.copy(1);
                }
                '}' | ']' => {
                    self.stack.pop();
                    self.copy(1);
                }
                ',' => {
                    if let Some(open) = self.stack.last_mut() {
                        open.name_next = open.object;
                        open.next_masked = open.masked;
                    }
                    self.copy(1);
                }
                ':' | ' ' | '\t' | '\r' | '\n' => self.copy(1),
                '"' => self.string(),
                _ => self.scalar(),
            }
        }
        self.out
    }

    fn masked(&self) -> bool {
        self.stack.last().is_some_and(|open| open.next_masked)
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn copy(&mut self, bytes: usize) {
        let taken = self.take(bytes);
        self.out.push_str(taken);
    }

    fn string(&mut self) {
        let mut escaped = false;
        let end = self.rest.bytes().enumerate().skip(1).find_map(|(i, byte)| match byte {
            _ if std::mem::take(&mut escaped) => None,
            b'\\' => {
                escaped = true;
                None
            }
            b'"' => Some(i + 1),
            _ => None,
        });
        let quoted = self.take(end.unwrap_or(self.rest.len()));
        let masked = self.masked();
        let secrets = self.secrets;
        match self.stack.last_mut().filter(|open| open.name_next) {
            Some(open) => {
                open.name_next = false;
                open.next_masked = open.masked || is_secret(quoted, secrets);
                self.out.push_str(quoted);
            }
            None if masked => self.out.push_str(&format!("\"{MASKED}\"")),
            None => self.out.push_str(quoted),
        }
    }

    /// A number, a word, or something that is no JSON.
    fn scalar(&mut self) {
        let end = self.rest.find([',', '}', ']', ' ', '\n', '\t', '\r', ':', '"', '{', '[']).unwrap_or(self.rest.len());
        let masked = self.masked();
        let taken = self.take(end.max(1));
        self.out.push_str(if masked { "\"<masked>\"" } else { taken });
    }
}

/// Is the member of this (quoted) name secret? A name that cannot be read is.
fn is_secret(quoted: &str, secrets: bool) -> bool {
    let Ok(name) = serde_json::from_str::<String>(quoted) else { return true };
    let name = name.to_ascii_lowercase();
    ALWAYS.contains(&name.as_str()) || (secrets && OF_SECRETS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_in_headers() {
        for (name, value, want) in [
            ("authorization", "Bearer abc", "Bearer <masked>"),
            ("authorization", "abc", "<masked>"),
            ("proxy-authorization", "Basic abc", "Basic <masked>"),
            ("cookie", "a=b; c=d", "<masked>"),
            ("set-cookie", "a=b", "<masked>"),
            ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.abc", "<masked>"),
            ("accept", "application/json", "application/json"),
        ] {
            assert_eq!(header(&HeaderName::from_static(name), &HeaderValue::from_static(value)), want, "{name}");
        }
        let mut sensitive = HeaderValue::from_static("abc");
        sensitive.set_sensitive(true);
        assert_eq!(header(&HeaderName::from_static("x-own"), &sensitive), "<masked>");
    }

    #[test]
    fn tokens_and_secrets_in_bodies() {
        for (text, secrets, want) in [
            (r#"{"kind":"TokenReview","spec":{"token":"abc"}}"#, false, r#"{"kind":"TokenReview","spec":{"token":"<masked>"}}"#),
            (
                r#"{"kind":"TokenRequest","status":{"expirationTimestamp":"t","token":"abc"#,
                false,
                r#"{"kind":"TokenRequest","status":{"expirationTimestamp":"t","token":"<masked>""#,
            ),
            (
                r#"{"data":{"a":"b","c":[1,{"d":"e"}]},"x":"y"}"#,
                true,
                r#"{"data":{"a":"<masked>","c":["<masked>",{"d":"<masked>"}]},"x":"y"}"#,
            ),
            (r#"{"data":{"a":"b"}}"#, false, r#"{"data":{"a":"b"}}"#),
            (
                r#"{"kind":"Secret","stringData":{"a":"b\"c"},"metadata":{"name":"n"}}"#,
                false,
                r#"{"kind":"Secret","stringData":{"a":"<masked>"},"metadata":{"name":"n"}}"#,
            ),
            (
                r#"{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":1}","a":"b"}}}"#,
                false,
                r#"{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"<masked>","a":"b"}}}"#,
            ),
            (r#"{"t\u006fken":"abc"}"#, false, r#"{"t\u006fken":"<masked>"}"#),
            (r#"{"items":[{"data":null},{"data":{"k":"v"}}]}"#, true, r#"{"items":[{"data":"<masked>"},{"data":{"k":"<masked>"}}]}"#),
            ("{\"a\": \"b\",\n \"password\" : 5 }", false, "{\"a\": \"b\",\n \"password\" : \"<masked>\" }"),
        ] {
            assert_eq!(json(text, secrets), want);
        }
        assert!(leads_to_secrets("/api/v1/namespaces/a/secrets/x") && !leads_to_secrets("/api/v1/configmaps"));
    }

    proptest! {
        /// Wherever a body is cut, a secret's text does not come through.
        #[test]
        fn no_prefix_shows_a_secret(cut in 0..200_usize) {
            let text = r#"{"kind":"SecretList","items":[{"metadata":{"name":"n"},"data":{"k":"HIDDEN","l":"HIDDEN"},"stringData":{"m":"HIDDEN"}}],"token":"HIDDEN"}"#;
            let shown = json(text.get(..cut.min(text.len())).unwrap(), true);
            prop_assert!(!shown.contains("HID"), "{}", shown);
        }

        #[test]
        fn junk_never_panics_and_plain_text_is_kept(text in "[\\{\\}\\[\\]\":,a-zäö0-9\\\\ ]{0,60}") {
            let _shown = json(&text, true);
            if !text.contains("token") && !text.contains('\\') && text.matches('{').count() < 50 {
                prop_assert_eq!(json(&text, false), text);
            }
        }
    }
}
