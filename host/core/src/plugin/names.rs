//! What Kubernetes accepts as names. Owns the rules as plain predicates; what to tell the
//! user about a wrong one is the reader's.

/// What a DNS-1123 label is, for people.
pub(super) const LABEL_HINT: &str = "lower case letters, digits and '-', at most 63, beginning and ending with a letter or digit";

/// What a DNS-1123 subdomain is, for people.
pub(super) const SUBDOMAIN_HINT: &str = "lower case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit";

/// The longest DNS-1123 label, in bytes.
pub(super) const MAX_LABEL: usize = 63;
/// The longest DNS-1123 subdomain, in bytes.
pub(super) const MAX_SUBDOMAIN: usize = 253;
/// The longest kind, in bytes.
pub(super) const MAX_KIND: usize = 63;

/// A DNS-1123 label: lower case letters, digits and `-`, at most 63 bytes.
pub(super) fn is_label(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.len() <= MAX_LABEL
        && edge(text.chars().next())
        && edge(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A DNS-1123 subdomain: labels joined by dots, at most 253 bytes.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_label)
}

/// `version` or `group/version`.
pub(super) fn is_api_version(text: &str) -> bool {
    match text.split_once('/') {
        Some((group, version)) => is_subdomain(group) && is_label(version),
        None => is_label(text),
    }
}

/// An upper case letter, then letters and digits, at most `max` bytes.
pub(super) fn is_camel_case(text: &str, max: usize) -> bool {
    text.len() <= max && text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// The key of a label or an annotation: a name of at most 63 letters, digits, `-`, `_` and `.`, that
/// may have a DNS-1123 subdomain and a slash before it.
pub(super) fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    prefix.is_none_or(is_subdomain)
        && name.len() <= 63
        && edge(name.chars().next())
        && edge(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The key of a ConfigMap: letters, digits, `-`, `_` and `.`, at most 253 bytes, and no name of a
/// folder.
pub(super) fn is_config_map_key(text: &str) -> bool {
    (1..=MAX_SUBDOMAIN).contains(&text.len())
        && text != "."
        && !text.starts_with("..")
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains() {
        for (text, label, subdomain) in [
            ("a", true, true),
            ("team-a", true, true),
            ("0", true, true),
            ("a.b", false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("A", false, false),
            ("a_b", false, false),
            ("é", false, false),
        ] {
            assert_eq!((is_label(text), is_subdomain(text)), (label, subdomain), "{text}");
        }
        assert!(is_label(&"a".repeat(63)) && !is_label(&"a".repeat(64)));
        assert!(!is_subdomain(&["a"; 127].join(".").repeat(2)));
    }

    #[test]
    fn keys_of_labels() {
        for (text, want) in [
            ("app", true),
            ("App_1.x", true),
            ("app.kubernetes.io/instance", true),
            ("", false),
            ("a/", false),
            ("/a", false),
            ("a/b/c", false),
            ("-a", false),
            ("A.io/b", false),
        ] {
            assert_eq!(is_label_key(text), want, "{text}");
        }
        assert!(!is_label_key(&"a".repeat(64)));
    }

    #[test]
    fn keys_of_config_maps() {
        for (text, want) in
            [("a", true), (".a", true), ("A_b-c.wasm", true), ("", false), (".", false), ("..", false), ("..a", false), ("a/b", false)]
        {
            assert_eq!(is_config_map_key(text), want, "{text}");
        }
        assert!(!is_config_map_key(&"a".repeat(254)));
    }

    #[test]
    fn versions_and_kinds() {
        for (text, want) in
            [("v1", true), ("apps/v1", true), ("g.io/v1beta1", true), ("", false), ("/v1", false), ("a/", false), ("a/b/c", false)]
        {
            assert_eq!(is_api_version(text), want, "{text}");
        }
        for (text, want) in
            [("ConfigMap", true), ("X", true), ("configMap", false), ("Config-Map", false), ("", false), ("ConfigMaps", false)]
        {
            assert_eq!(is_camel_case(text, 9), want, "{text}");
        }
    }
}
