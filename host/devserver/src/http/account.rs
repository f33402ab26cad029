//! Tokens of service accounts: JWTs that clients can parse and that this server alone believes.
//!
//! Signed with a key that lives as long as the server. A token ends with its time or its account.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::identity::{AUTHENTICATED, Identity};
use crate::store::{Key, Stored};
use crate::verbs::Api;

/// What `iss` says, and the audience of a token for which none was asked.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

const PREFIX: &str = "system:serviceaccount:";
/// The block of SHA-256, by which HMAC pads its key.
const BLOCK: usize = 64;

/// Makes and reads tokens.
pub(crate) struct Accounts {
    key: [u8; 32],
}

/// What a token is asked to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claims<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) audiences: &'a [String],
    /// Seconds since the epoch.
    pub(crate) now: i64,
    pub(crate) expires: i64,
    /// Makes it differ from all others.
    pub(crate) id: &'a str,
}

impl Accounts {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    pub(crate) fn mint(&self, claims: Claims<'_>) -> String {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "typ": "JWT"}).to_string());
        let body = json!({
            "aud": claims.audiences,
            "exp": claims.expires,
            "iat": claims.now,
            "iss": ISSUER,
            "jti": claims.id,
            "kubernetes.io": {"namespace": claims.namespace, "serviceaccount": {"name": claims.name, "uid": claims.uid}},
            "nbf": claims.now,
            "sub": user_name(claims.namespace, claims.name),
        });
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(body.to_string()));
        let signature = URL_SAFE_NO_PAD.encode(hmac(&self.key, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The account of a token, if it is ours, still good, and its account still there.
    pub(crate) fn identity(&self, token: &str, api: &Api, now: i64) -> Option<Identity> {
        let (namespace, name, uid) = self.read(token, now)?;
        let account = find(api, &namespace, &name)?;
        (*account.uid == *uid).then(|| Identity::new(user_name(&namespace, &name), uid, groups(&namespace)))
    }

    /// Namespace, name and uid that a token of ours says.
    fn read(&self, token: &str, now: i64) -> Option<(String, String, String)> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        // Hashed again, so that the time of the comparison says nothing about the right signature.
        if Sha256::digest(hmac(&self.key, signed.as_bytes())) != Sha256::digest(signature) {
            return None;
        }
        let (_, body) = signed.split_once('.')?;
        let body: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        if body.get("exp")?.as_i64()? <= now || !body.get("aud")?.as_array()?.iter().any(|audience| audience == ISSUER) {
            return None;
        }
        Some((text("/kubernetes.io/namespace")?, text("/kubernetes.io/serviceaccount/name")?, text("/kubernetes.io/serviceaccount/uid")?))
    }
}

/// The account object.
pub(crate) fn find(api: &Api, namespace: &str, name: &str) -> Option<std::sync::Arc<Stored>> {
    let registry = api.registry();
    let resource = registry.find("", "v1", "serviceaccounts")?;
    api.store().get(&Key { storage: std::sync::Arc::clone(&resource.storage), namespace: namespace.into(), name: name.into() })
}

/// `system:serviceaccount:NAMESPACE:NAME`.
pub(crate) fn user_name(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// Namespace and name of a user that is a service account.
pub(crate) fn parse_user_name(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix(PREFIX)?.split_once(':').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
}

/// The groups of every account of a namespace.
pub(crate) fn groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}"), AUTHENTICATED.to_owned()]
}

/// HMAC-SHA256 (RFC 2104) with a key that fits into a block.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::{Accounts, Claims, ISSUER, hmac, parse_user_name};

    #[test]
    fn hmac_is_the_one_of_the_rfc() {
        // RFC 4231, test case 1: a key of 20 bytes, which HMAC fills up with zeros.
        let mut key = [0_u8; 32];
        key[..20].fill(0x0b);
        let hex: String = hmac(&key, b"Hi There").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn believes_its_own_tokens_only() {
        let accounts = Accounts::new([7; 32]);
        let audiences = [ISSUER.to_owned()];
        let claims = Claims { namespace: "ns", name: "sa", uid: "u", audiences: &audiences, now: 100, expires: 200, id: "1" };
        let token = accounts.mint(claims);
        assert_eq!(token.split('.').count(), 3);
        assert_eq!(accounts.read(&token, 150), Some(("ns".to_owned(), "sa".to_owned(), "u".to_owned())));
        assert_eq!(accounts.read(&token, 200), None, "expired");
        assert_eq!(Accounts::new([8; 32]).read(&token, 150), None, "another server's");
        assert_eq!(accounts.read(&accounts.mint(Claims { audiences: &["vault".to_owned()], ..claims }), 150), None, "for somebody else");
        let (signed, _) = token.rsplit_once('.').unwrap();
        for wrong in [format!("{signed}."), signed.to_owned(), String::new(), "a.b.c".to_owned(), format!("{token}x")] {
            assert_eq!(accounts.read(&wrong, 150), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_accounts() {
        assert_eq!(parse_user_name("system:serviceaccount:a:b"), Some(("a", "b")));
        assert_eq!(parse_user_name("system:serviceaccount:a:"), None);
        assert_eq!(parse_user_name("bob"), None);
    }
}
