//! Impersonation: the headers that make a request count as somebody else's, and what the sender must be allowed for that.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::account;
use super::authorize::{Attributes, Authorizer, refusal};
use super::identity::{ANONYMOUS, AUTHENTICATED, Identity, User};
use super::percent;
use crate::status::Status;

const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// Whom a request wants to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Reads the headers; none if nobody is to be impersonated.
///
/// # Errors
/// 400 for parts of a user without the user.
pub(crate) fn wish(headers: &HeaderMap) -> Result<Option<Wish>, Status> {
    let all = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    };
    let first = |name: &str| all(name).into_iter().next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        // Names of headers arrive in lower case; keys may be percent-encoded.
        if let (Some(key), Ok(value)) = (name.as_str().strip_prefix(EXTRA), value.to_str()) {
            extra.entry(percent::decode(key).unwrap_or_else(|| key.to_owned())).or_default().push(value.to_owned());
        }
    }
    let wish = Wish { name: first("impersonate-user"), uid: first("impersonate-uid"), groups: all("impersonate-group"), extra };
    if !wish.name.is_empty() {
        return Ok(Some(wish));
    }
    if wish.uid.is_empty() && wish.groups.is_empty() && wish.extra.is_empty() {
        return Ok(None);
    }
    Err(Status::bad_request("requested groups, uid or extra fields of a user without impersonating a user"))
}

impl Wish {
    /// The user that the request counts as from now on.
    ///
    /// # Errors
    /// 403 if `sender` may not impersonate a part of it.
    pub(crate) fn grant(self, sender: &User, authorizer: &Authorizer) -> Result<Identity, Status> {
        let account = account::parse_user_name(&self.name);
        let ask = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            let attributes = Attributes { verb: "impersonate", group, resource, subresource, namespace, name, path: "" };
            if authorizer.allows(sender, attributes) { Ok(()) } else { Err(refusal(sender, attributes)) }
        };
        match account {
            Some((namespace, name)) => ask("", "serviceaccounts", "", namespace, name)?,
            None => ask("", "users", "", "", &self.name)?,
        }
        for group in &self.groups {
            ask("", "groups", "", "", group)?;
        }
        for (key, values) in &self.extra {
            for value in values {
                ask(AUTHENTICATION_GROUP, "userextras", key, "", value)?;
            }
        }
        if !self.uid.is_empty() {
            ask(AUTHENTICATION_GROUP, "uids", "", "", &self.uid)?;
        }
        let mut groups = match account {
            Some((namespace, _)) if self.groups.is_empty() => account::groups(namespace),
            _ => self.groups,
        };
        let open = self.name == ANONYMOUS || groups.iter().any(|group| group == AUTHENTICATED);
        if !open {
            groups.push(AUTHENTICATED.to_owned());
        }
        Ok(Identity { user: User { name: self.name, uid: self.uid, groups }, extra: self.extra })
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::wish;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn reads_headers() {
        assert_eq!(wish(&headers(&[("accept", "x")])), Ok(None));
        let all = headers(&[
            ("Impersonate-User", "bob"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Extra-acme.com%2Fscope", "x"),
            ("Impersonate-Extra-acme.com%2Fscope", "y"),
        ]);
        let wish = wish(&all).unwrap().unwrap();
        assert_eq!((wish.name.as_str(), wish.uid.as_str()), ("bob", "7"));
        assert_eq!(wish.groups, ["a", "b"]);
        assert_eq!(wish.extra.into_iter().collect::<Vec<_>>(), [("acme.com/scope".to_owned(), vec!["x".to_owned(), "y".to_owned()])]);
    }

    #[test]
    fn parts_need_a_user() {
        for lines in [[("Impersonate-Group", "a")], [("Impersonate-Uid", "a")], [("Impersonate-Extra-x", "a")]] {
            assert_eq!(wish(&headers(&lines)).unwrap_err().code, 400, "{lines:?}");
        }
    }
}
