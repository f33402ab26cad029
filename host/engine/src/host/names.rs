//! Are these names names? Owns the checks of everything a guest passes that ends up in a URL:
//! a name with a slash in it would reach another object than the one that the grant was
//! checked for.

use wharf_core::Gvk;

use crate::ports::ApiError;

/// A kind: group, version and name of a type.
pub(crate) fn kind(kind: &Gvk) -> Result<(), ApiError> {
    let word = |text: &str| !text.is_empty() && text.len() <= 63 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let group = kind.group.is_empty() || dns(&kind.group, 253, true);
    if group && word(&kind.version) && word(&kind.kind) {
        return Ok(());
    }
    Err(ApiError::Invalid("group, version or kind is not a name".to_owned()))
}

/// A namespace.
pub(crate) fn namespace(text: &str) -> Result<(), ApiError> {
    if dns(text, 63, false) { Ok(()) } else { Err(ApiError::Invalid("the namespace is not a name".to_owned())) }
}

/// The name of an object. Kubernetes lets some kinds have more than DNS names (a colon in a
/// role's name), so the rule is that of a path segment.
pub(crate) fn name(text: &str) -> Result<(), ApiError> {
    let good = !text.is_empty()
        && text.len() <= 253
        && !matches!(text, "." | "..")
        && text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '/' | '%' | '\\' | '?' | '#'));
    if good { Ok(()) } else { Err(ApiError::Invalid("the object's name is not a name".to_owned())) }
}

fn dns(text: &str, max: usize, dots: bool) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty()
        && text.len() <= max
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-'))
        && (dots || !text.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_names() {
        for (text, good) in [
            ("a", true),
            ("a.b-c", true),
            ("system:node:x", true),
            ("x/../../secrets/s", false),
            ("..", false),
            (".", false),
            ("a%2fb", false),
            ("a?b", false),
            ("a b", false),
            ("é", false),
            ("", false),
        ] {
            assert_eq!(name(text).is_ok(), good, "{text}");
        }
        for (text, good) in
            [("team-a", true), ("a.b", false), ("", false), ("-a", false), ("A", false), ("a/b", false), (&*"a".repeat(64), false)]
        {
            assert_eq!(namespace(text).is_ok(), good, "{text}");
        }
        for (group, version, name, good) in [
            ("", "v1", "Pod", true),
            ("apps", "v1beta1", "Deployment", true),
            ("a..b", "v1", "X", false),
            ("a/b", "v1", "X", false),
            ("", "v1/x", "X", false),
            ("", "", "X", false),
            ("", "v1", "", false),
        ] {
            assert_eq!(kind(&Gvk::new(group, version, name)).is_ok(), good, "{group} {version} {name}");
        }
    }
}
