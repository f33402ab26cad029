//! Who asks: bearer tokens and anonymity. Knows nothing of what anybody may do.

use std::collections::{BTreeMap, HashMap};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::account::Accounts;
use super::path::Path;
use crate::server::{Anonymous, Token};
use crate::status::Status;
use crate::verbs::Api;

pub(crate) const MASTERS: &str = "system:masters";
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
}

/// A user and what authentication adds beyond names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: User,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    pub(crate) fn new(name: impl Into<String>, uid: impl Into<String>, groups: Vec<String>) -> Self {
        Self { user: User { name: name.into(), uid: uid.into(), groups }, extra: BTreeMap::new() }
    }

    /// Nobody in particular.
    pub(crate) fn anonymous() -> Self {
        Self::new(ANONYMOUS, "", vec![UNAUTHENTICATED.to_owned()])
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.user.groups.iter().any(|known| known == group)
    }

    /// As reviews show it: empty parts are left out.
    pub(crate) fn to_json(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".to_owned(), json!(self.user.name));
        if !self.user.uid.is_empty() {
            info.insert("uid".to_owned(), json!(self.user.uid));
        }
        if !self.user.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.user.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// The tokens that a server knows.
pub(crate) struct Authenticator {
    /// By the hash of the token, so that a look-up takes no time that tells how much of a token was right.
    tokens: HashMap<[u8; 32], Identity>,
    anonymous: Anonymous,
    accounts: Accounts,
}

impl Authenticator {
    pub(crate) fn new(tokens: Vec<Token>, anonymous: Anonymous, accounts: Accounts) -> Self {
        let tokens = tokens.into_iter().map(|token| (hash(&token.token), token.into_identity())).collect();
        Self { tokens, anonymous, accounts }
    }

    /// The tokens of service accounts.
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Who sent a request with these headers for this path.
    ///
    /// # Errors
    /// 401 for a token that nobody has, and without a token where nobody may be anonymous.
    pub(crate) fn of_request(&self, headers: &HeaderMap, path: &Path, api: &Api, now: i64) -> Result<Identity, Status> {
        let unauthorized = || Status::new(401, "Unauthorized", "Unauthorized");
        let Some(header) = headers.get(AUTHORIZATION) else { return self.without_token(path).ok_or_else(unauthorized) };
        let header = header.to_str().map_err(|_| unauthorized())?;
        match header.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
                self.of_token(token.trim(), api, now).ok_or_else(unauthorized)
            }
            // Other schemes are nobody's credentials here: as if nothing had been sent.
            _ => self.without_token(path).ok_or_else(unauthorized),
        }
    }

    /// Whose token it is.
    pub(crate) fn of_token(&self, token: &str, api: &Api, now: i64) -> Option<Identity> {
        self.tokens.get(&hash(token)).cloned().or_else(|| self.accounts.identity(token, api, now))
    }

    fn without_token(&self, path: &Path) -> Option<Identity> {
        match self.anonymous {
            Anonymous::Admin => Some(Identity::new("admin", "", vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()])),
            Anonymous::Allowed => Some(Identity::anonymous()),
            Anonymous::Probes if matches!(path, Path::Health { .. } | Path::Version) => Some(Identity::anonymous()),
            Anonymous::Probes | Anonymous::Refused => None,
        }
    }
}

impl Token {
    fn into_identity(self) -> Identity {
        let mut groups = self.groups;
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Identity::new(self.user, self.uid, groups)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
