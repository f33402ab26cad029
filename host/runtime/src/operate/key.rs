//! A key as people write it: `KIND/NAMESPACE/NAME`, and shorter where that is clear. Owns the
//! forms and what they mean; asks nobody, so the names of kinds are handed in.

use std::sync::Arc;
use wharf_core::{Gvk, ObjectKey, TargetKey};

/// The forms, for hints.
pub(super) const FORMS: &str = "write KIND/NAMESPACE/NAME, KIND/NAME or NAMESPACE/NAME";
/// Longest key that is looked at, in bytes: two names and a kind with its group.
const MAX_KEY: usize = 1024;

/// A kind, and the words that mean it.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) gvk: Arc<Gvk>,
    /// In lower case: the kind and its plural, each alone and with the group; short names.
    pub(super) words: Vec<String>,
    /// Where its objects live; `None` if that is not known now.
    pub(super) namespaced: Option<bool>,
}

/// What a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// This key.
    Key(TargetKey),
    /// An object of a kind that is none of those that were handed in.
    OtherKind {
        /// The word.
        word: String,
        /// Namespace, if it is given, and name.
        key: ObjectKey,
    },
}

impl Kind {
    /// A kind by the words that follow from its name alone.
    pub(super) fn new(gvk: Arc<Gvk>) -> Self {
        let mut kind = Self { words: Vec::new(), namespaced: None, gvk };
        let name = kind.gvk.kind.to_lowercase();
        kind.also(&name);
        kind.also(&plural(&name));
        kind
    }

    /// Adds a word, alone and with the group.
    pub(super) fn also(&mut self, word: &str) {
        let word = word.to_lowercase();
        if !self.gvk.group.is_empty() {
            self.words.push(format!("{word}.{}", self.gvk.group));
            self.words.push(format!("{word}.{}.{}", self.gvk.version, self.gvk.group));
        }
        self.words.push(word);
    }

    fn key(&self, namespace: Option<&str>, name: &str) -> TargetKey {
        let namespace = namespace.filter(|_| self.namespaced != Some(false)).unwrap_or_default();
        TargetKey::object(Arc::clone(&self.gvk), ObjectKey::new(namespace, name))
    }
}

/// As Kubernetes guesses it.
fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with(['s', 'x', 'z']) || kind.ends_with("ch") || kind.ends_with("sh") => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

/// What a text means, given the kinds of a plugin and the namespace of objects that name none; `unknown` says why not all names of
/// these kinds are known, if that is so.
///
/// # Errors
/// Text and hint, when it is no key, could be several, or is of a kind that cannot be told now.
pub(super) fn read(text: &str, kinds: &[Kind], namespace: &str, unknown: Option<&str>) -> Result<Meant, (String, String)> {
    let parts: Vec<&str> = text.split('/').collect();
    if text.len() > MAX_KEY || parts.iter().any(|part| part.is_empty() || part.chars().any(|c| c.is_control() || c.is_whitespace())) {
        return Err((format!("{:?} is no key", excerpt(text)), FORMS.to_owned()));
    }
    let named = |word: &str| {
        let word = word.to_lowercase();
        kinds.iter().find(|kind| kind.words.contains(&word))
    };
    if let (Some(why), [word, ..]) = (unknown, parts.as_slice())
        && parts.len() > 1
        && named(word).is_none()
    {
        let hint = format!("write KIND/NAMESPACE/NAME with the name of the kind in full; those of the plugin are {}", list(kinds));
        return Err((format!("it cannot be told now what {word:?} is, since the server does not say its short names: {why}"), hint));
    }
    match parts.as_slice() {
        [name] => only(kinds, text).map(|kind| Meant::Key(kind.key(Some(namespace), name))),
        [first, name] => match (named(first), kinds) {
            (Some(kind), _) => Ok(Meant::Key(kind.key(Some(namespace), name))),
            (None, [only]) if only.namespaced != Some(false) => Ok(Meant::Key(only.key(Some(first), name))),
            // A word that is no name of a kind here: it is one elsewhere, or a namespace.
            (None, _) => Err((
                format!("{:?} could be of several kinds, and {first:?} is none of them", excerpt(text)),
                format!("{FORMS}; the plugin's kinds are {}", list(kinds)),
            )),
        },
        [word, namespace, name] => Ok(match named(word) {
            Some(kind) => Meant::Key(kind.key(Some(namespace), name)),
            None => Meant::OtherKind { word: (*word).to_owned(), key: ObjectKey::new(namespace, name) },
        }),
        _ => Err((format!("{:?} is no key", excerpt(text)), FORMS.to_owned())),
    }
}

fn only<'k>(kinds: &'k [Kind], text: &str) -> Result<&'k Kind, (String, String)> {
    match kinds {
        [kind] => Ok(kind),
        [] => Err((format!("{text:?} could be of any kind: the plugin is subscribed to none now"), FORMS.to_owned())),
        _ => Err((format!("{text:?} could be of several kinds"), format!("{FORMS}; the plugin's kinds are {}", list(kinds)))),
    }
}

fn list(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| kind.gvk.kind.to_string()).collect::<Vec<_>>().join(", ")
}

fn excerpt(text: &str) -> &str {
    text.get(..text.floor_char_boundary(80)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<Kind> {
        let make = |api: &str, name: &str, plural: &str, short: &str, namespaced| {
            let mut kind = Kind::new(Arc::new(Gvk::from_api_version(api, name)));
            kind.also(plural);
            kind.also(short);
            kind.namespaced = Some(namespaced);
            kind
        };
        vec![
            make("v1", "ConfigMap", "configmaps", "cm", true),
            make("apps/v1", "Deployment", "deployments", "deploy", true),
            make("v1", "Node", "nodes", "no", false),
        ]
    }

    fn reads(text: &str, kinds: &[Kind]) -> String {
        match read(text, kinds, "team-a", None) {
            Ok(Meant::Key(key)) => key.to_string(),
            Ok(Meant::OtherKind { word, key }) => format!("other {word} {key}"),
            Err((error, hint)) => format!("{error}; {hint}"),
        }
    }

    #[test]
    fn all_forms() {
        let all = kinds();
        for (text, want) in [
            ("ConfigMap/team-b/x", "ConfigMap team-b/x"),
            ("cm/team-b/x", "ConfigMap team-b/x"),
            ("configmaps/x", "ConfigMap team-a/x"),
            ("deploy/x", "Deployment team-a/x"),
            ("deployments.apps/team-b/x", "Deployment team-b/x"),
            ("Deployment.v1.apps/x", "Deployment team-a/x"),
            ("node/n1", "Node n1"),
            ("nodes/team-b/n1", "Node n1"),
            ("pods/team-b/x", "other pods team-b/x"),
        ] {
            assert_eq!(reads(text, &all), want, "{text}");
        }
        let one = all.get(..1).unwrap();
        assert_eq!(reads("x", one), "ConfigMap team-a/x");
        assert_eq!(reads("team-b/x", one), "ConfigMap team-b/x");
        assert_eq!(reads("cm/x", one), "ConfigMap team-a/x");
    }

    #[test]
    fn without_a_server_full_names_are_enough_and_others_are_not_guessed() {
        let kinds = [Kind::new(Arc::new(Gvk::from_api_version("networking.k8s.io/v1", "NetworkPolicy")))];
        let read = |text: &str| read(text, &kinds, "team-a", Some("connection refused"));
        for text in ["NetworkPolicy/team-a/x", "networkpolicies/x", "networkpolicies.networking.k8s.io/x", "x"] {
            assert!(matches!(read(text), Ok(Meant::Key(_))), "{text}");
        }
        for text in ["netpol/team-a/x", "netpol/x"] {
            let (error, hint) = read(text).unwrap_err();
            assert!(
                error.contains("\"netpol\"") && error.contains("connection refused") && hint.contains("NetworkPolicy"),
                "{error}; {hint}"
            );
        }
    }

    #[test]
    fn what_is_no_key_or_could_be_several_is_refused_with_the_forms() {
        let all = kinds();
        for text in ["", "/", "cm/", "a/b/c/d", "cm/a b", "cm/\u{1b}[31m", &"x".repeat(2000)] {
            let said = reads(text, &all);
            assert!(said.contains("is no key") && said.contains("KIND/NAMESPACE/NAME") && said.len() < 400, "{text:?}: {said}");
        }
        for text in ["x", "team-b/x"] {
            let said = reads(text, &all);
            assert!(said.contains("several kinds") && said.contains("ConfigMap, Deployment, Node"), "{said}");
        }
        assert!(reads("x", &[]).contains("subscribed to none"));
    }
}
