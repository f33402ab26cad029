//! What makes two revisions of a plugin the same, also for another host. Owns which parts of a
//! document count: all that a call may depend on. What it is subscribed to does not, since that is
//! compared object by object.

use sha2::{Digest, Sha256};
use wharf_core::plugin::PluginDocument;

/// A digest of the component and of how it is run; `digest` is the component's.
pub(super) fn identity(digest: &str, document: &PluginDocument) -> String {
    let PluginDocument { service_account, grants, limits, isolation, config, .. } = document;
    let mut hasher = Sha256::new();
    // Words of this version of wharf: another one may say it differently, and then the revision
    // counts as a new one.
    for part in [digest, config, &format!("{service_account:?} {grants:?} {limits:?} {isolation:?}")] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::plugin::Replay;

    #[test]
    fn what_a_call_may_depend_on_counts() {
        let document = PluginDocument::bare("guard", "guard.wasm").unwrap();
        let one = identity("sha256:a", &document);
        assert_eq!(one.len(), 64);
        assert_eq!(one, identity("sha256:a", &document.clone()));
        assert_eq!(one, identity("sha256:a", &PluginDocument { replay: Replay::None, subscribe: Some(Vec::new()), ..document.clone() }));
        for other in [
            PluginDocument { config: "{\"a\":1}".into(), ..document.clone() },
            PluginDocument { service_account: Some("guard".into()), ..document.clone() },
        ] {
            assert_ne!(one, identity("sha256:a", &other));
        }
        assert_ne!(one, identity("sha256:b", &document));
    }
}
