//! May a component have what it imports? Owns the rule and the message that names every import
//! that is missing, with the form of the lines to add; never the linking itself.

use wharf_core::{Grants, Reason};

use crate::failure::LoadError;
use crate::host::wasi;
use crate::limits::clean;

/// Interfaces that every plugin may import.
const FREE: [&str; 5] = ["wharf:plugin/config", "wharf:plugin/event", "wharf:plugin/log", "wharf:plugin/system", "wharf:plugin/types"];
const CLUSTER: &str = "wharf:plugin/cluster";
/// Words that no document is accepted with: which kinds are meant an import does not say, and a grant of another one would open
/// the interface and let every call fail.
const CLUSTER_FORM: &str = "- cluster: {apiVersion: GROUP/VERSION, kind: KIND, verbs: [VERB], namespaces: [NAMESPACE]}";

/// So many imports of each sort are named, the others counted: `wharf inspect` shows all.
const MAX_NAMED: usize = 32;
/// So much of a name.
const MAX_NAME_BYTES: usize = 256;

/// Checks the imports of a component against the grants of a document.
///
/// # Errors
/// One error that names what is wrong. [`Reason::ImportUnknown`] if anything is not offered
/// at all, else [`Reason::GrantMissing`].
pub(crate) fn check(imports: &[String], grants: &Grants) -> Result<(), LoadError> {
    let mut unknown = Vec::new();
    let mut missing = Vec::new();
    for import in imports {
        let offer = offered(import);
        let import = clean(import, MAX_NAME_BYTES);
        match offer {
            Offer::Always => {}
            Offer::Cluster if !grants.cluster.is_empty() => {}
            Offer::Cluster => {
                missing.push(format!(
                    "{import}: any grant opens it, but each call needs one of its own; which kinds and verbs the plugin uses only its \
                     author says (README, plugin.yaml); add to spec.grants for each kind: {CLUSTER_FORM}"
                ));
            }
            Offer::Never(why) => unknown.push(format!("{import}: {why}")),
        }
    }
    let reason = match (unknown.is_empty(), missing.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => Reason::GrantMissing,
        (false, _) => Reason::ImportUnknown,
    };
    let mut message = String::new();
    for (title, lines) in [("not offered by this host", unknown), ("not granted", missing)] {
        if lines.is_empty() {
            continue;
        }
        if !message.is_empty() {
            message.push('\n');
        }
        let (named, others) = lines.split_at(lines.len().min(MAX_NAMED));
        message.push_str(&format!("the component imports what is {title}:\n  {}", named.join("\n  ")));
        if !others.is_empty() {
            message.push_str(&format!("\n  and {} more", others.len()));
        }
    }
    Err(LoadError::new(reason, message))
}

enum Offer {
    Always,
    Cluster,
    Never(&'static str),
}

fn offered(import: &str) -> Offer {
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    if interface.starts_with("wharf:plugin/") {
        return match (FREE.contains(&interface), interface == CLUSTER) {
            (false, false) => Offer::Never("wharf:plugin has no such interface, or this host is too old for it"),
            _ if !compatible(version, "0.1.") => Offer::Never("this host serves wharf:plugin@0.1"),
            (true, _) => Offer::Always,
            (false, true) => Offer::Cluster,
        };
    }
    if wasi::INTERFACES.contains(&interface) {
        return if compatible(version, "0.2.") { Offer::Always } else { Offer::Never("this host serves WASI 0.2") };
    }
    if interface.starts_with("wasi:http/") {
        return Offer::Never("guests have no network; the cluster is reached by wharf:plugin/cluster");
    }
    Offer::Never("unknown interface")
}

/// A release (no `-rc`) of a minor version.
fn compatible(version: &str, minor: &str) -> bool {
    version.strip_prefix(minor).is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::grant::Namespaces;
    use wharf_core::{ClusterGrant, Gvk, Verb};

    fn check(imports: &[&str], granted: bool) -> Result<(), LoadError> {
        let grant = ClusterGrant { kind: Gvk::new("", "v1", "ConfigMap"), verbs: vec![Verb::Get], namespaces: Namespaces::All };
        let grants = Grants { cluster: if granted { vec![grant] } else { Vec::new() } };
        super::check(&imports.iter().map(|i| (*i).to_owned()).collect::<Vec<_>>(), &grants)
    }

    #[test]
    fn what_is_offered() {
        for (import, reason) in [
            ("wharf:plugin/event@0.1.0", None),
            ("wharf:plugin/types@0.1.12", None),
            ("wharf:plugin/event@0.2.0", Some(Reason::ImportUnknown)),
            ("wharf:plugin/event@0.1.0-rc.1", Some(Reason::ImportUnknown)),
            ("wharf:plugin/event", Some(Reason::ImportUnknown)),
            ("wharf:plugin/pods@0.1.0", Some(Reason::ImportUnknown)),
            ("wharf:plugin/cluster@0.1.0", Some(Reason::GrantMissing)),
            ("wasi:cli/stdout@0.2.9", None),
            ("wasi:cli/stdout@0.3.0", Some(Reason::ImportUnknown)),
            ("wasi:http/outgoing-handler@0.2.0", Some(Reason::ImportUnknown)),
            ("wasi:keyvalue/store@0.2.0", Some(Reason::ImportUnknown)),
            ("frobnicate", Some(Reason::ImportUnknown)),
        ] {
            assert_eq!(check(&[import], false).err().map(|e| e.reason), reason, "{import}");
        }
        assert_eq!(check(&["wharf:plugin/cluster@0.1.0"], true), Ok(()));
    }

    #[test]
    fn one_error_names_everything() {
        let error = check(&["a:b/c@1.0.0", "wharf:plugin/log@0.1.0", "wharf:plugin/cluster@0.1.0", "d"], false).unwrap_err();
        assert_eq!(error.reason, Reason::ImportUnknown);
        for part in ["a:b/c@1.0.0", "wharf:plugin/cluster@0.1.0", "\n  d: ", "- cluster: {apiVersion: GROUP/VERSION"] {
            assert!(error.message.contains(part), "{part} in {}", error.message);
        }
        assert!(!error.message.contains("plugin/log"));
    }

    #[test]
    fn the_message_has_an_end() {
        let names: Vec<_> = (0..1000).map(|n| format!("part{n}-{}", "x".repeat(1000))).collect();
        let error = check(&names.iter().map(String::as_str).collect::<Vec<_>>(), false).unwrap_err();
        assert!(error.message.len() < 16 << 10 && error.message.ends_with("\n  and 968 more"), "{}", error.message);
    }
}
