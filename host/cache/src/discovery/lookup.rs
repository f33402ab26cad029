//! From a word to resources: plural, singular or short name, kind or category, with or without
//! group and version. Owns kubectl's rules for that, and which names are close to a wrong one.

use std::cmp::Reverse;

use super::catalog::{Catalog, ServedResource};

/// Names shown for a word that is not known.
const SHOWN: usize = 5;

/// Why a word means no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Nothing has that name.
    #[error("the server has no kind {word:?}")]
    Unknown {
        /// What was asked for.
        word: String,
        /// Full names that are close, the closest first; at most five.
        close: Vec<String>,
    },
    /// Several groups have it, and none of them is built in.
    #[error("{word:?} is the name of several kinds")]
    Ambiguous {
        /// What was asked for.
        word: String,
        /// Their full names.
        candidates: Vec<String>,
    },
}

impl Catalog {
    /// The resources of a word, in any letter case: one, or several for a category. As in kubectl
    /// `deploy`, `Deployment`, `deployments.apps` and `deployments.v1.apps` are one resource; a name
    /// in several groups means that of the first built-in group, in the preferred version.
    ///
    /// # Errors
    /// Unknown words, and names that only several groups have that are not built in (where
    /// kubectl silently takes the first).
    pub fn find(&self, word: &str) -> Result<Vec<&ServedResource>, LookupError> {
        let wanted = word.to_lowercase();
        let (name, rest) = wanted.split_once('.').unwrap_or((&wanted, ""));
        let in_group = |resource: &ServedResource| {
            let (group, version) = (&*resource.kind.gvk.group, &*resource.kind.gvk.version);
            let (head, tail) = rest.split_once('.').unwrap_or((rest, ""));
            !wanted.contains('.') || (rest == group && !group.is_empty()) || (head == version && tail == group)
        };
        let matching = |rule: &dyn Fn(&ServedResource) -> bool| -> Vec<&ServedResource> {
            self.resources.iter().filter(|resource| in_group(resource) && rule(resource)).collect()
        };
        let named = matching(&|resource| is_named(resource, name));
        let found = if named.is_empty() { matching(&|resource| resource.short_names.iter().any(|short| &**short == name)) } else { named };
        if found.is_empty() {
            let category = self.category(&wanted);
            return if category.is_empty() { Err(self.unknown(word, name)) } else { Ok(category) };
        }
        let Some(best) = found.iter().find(|resource| built_in(&resource.kind.gvk.group)).or(found.first()) else { return Ok(Vec::new()) };
        let mut candidates: Vec<String> = found.iter().map(|resource| resource.full_name()).collect();
        candidates.dedup();
        if candidates.len() > 1 && !built_in(&best.kind.gvk.group) {
            return Err(LookupError::Ambiguous { word: word.to_owned(), candidates });
        }
        Ok(vec![best])
    }

    /// What is in a category and can be listed, each in its preferred version.
    fn category(&self, name: &str) -> Vec<&ServedResource> {
        let mut found: Vec<&ServedResource> = Vec::new();
        for resource in self.resources.iter().filter(|resource| resource.can("list")) {
            let known = || found.iter().any(|other| other.full_name() == resource.full_name());
            if resource.categories.iter().any(|category| &**category == name) && !known() {
                found.push(resource);
            }
        }
        found
    }

    fn unknown(&self, word: &str, name: &str) -> LookupError {
        let mut near: Vec<(Reverse<usize>, String)> = self
            .resources
            .iter()
            .map(|resource| {
                let names =
                    [&*resource.kind.plural, &*resource.singular].into_iter().chain(resource.short_names.iter().map(|short| &**short));
                (Reverse(names.map(|known| likeness(name, known)).max().unwrap_or_default()), resource.full_name())
            })
            .filter(|(Reverse(likeness), _)| *likeness > 50)
            .collect();
        near.sort();
        near.dedup_by(|a, b| a.1 == b.1);
        LookupError::Unknown { word: word.to_owned(), close: near.into_iter().map(|(_, name)| name).take(SHOWN).collect() }
    }
}

fn is_named(resource: &ServedResource, name: &str) -> bool {
    *resource.kind.plural == *name || resource.singular.to_lowercase() == name || resource.kind.gvk.kind.to_lowercase() == name
}

/// Groups of Kubernetes itself: those without a dot, and those below k8s.io.
fn built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// How alike two words are, 0 to 100: the share of pairs of neighbouring letters that they have
/// in common (Dice). Bounded by the words' lengths, which discovery bounds.
fn likeness(a: &str, b: &str) -> usize {
    let pairs = |word: &str| -> Vec<(char, char)> {
        let letters: Vec<char> = word.chars().take(64).collect();
        letters.iter().copied().zip(letters.iter().copied().skip(1)).collect()
    };
    let (a, mut b) = (pairs(a), pairs(b));
    let all = a.len() + b.len();
    let common = a
        .iter()
        .filter(|pair| {
            b.iter().position(|other| other == *pair).is_some_and(|at| {
                b.swap_remove(at);
                true
            })
        })
        .count();
    (200 * common).checked_div(all).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wharf_core::{Gvk, ResourceKind};

    use super::*;

    fn resource(api_version: &str, kind: &str, plural: &str, short: &str, category: &str) -> ServedResource {
        let words = |word: &str| word.split(',').filter(|word| !word.is_empty()).map(Arc::from).collect::<Vec<_>>();
        let kind = ResourceKind { gvk: Gvk::from_api_version(api_version, kind), plural: plural.into(), namespaced: true };
        let singular = kind.gvk.kind.to_lowercase().into();
        ServedResource { kind, singular, short_names: words(short), categories: words(category), verbs: words("list,watch") }
    }

    fn catalog() -> Catalog {
        let resources = vec![
            resource("v1", "Pod", "pods", "po", "all"),
            resource("v1", "ConfigMap", "configmaps", "cm", ""),
            resource("v1", "Event", "events", "ev", ""),
            resource("events.k8s.io/v1", "Event", "events", "ev", ""),
            resource("apps/v1", "Deployment", "deployments", "deploy", "all"),
            resource("apps/v1beta1", "Deployment", "deployments", "deploy", "all"),
            resource("wharf.dev/v1alpha1", "Plugin", "plugins", "", ""),
            resource("a.example.com/v1", "Widget", "widgets", "w", ""),
            resource("b.example.com/v1", "Widget", "widgets", "cm", ""),
        ];
        Catalog { resources, failures: Vec::new() }
    }

    #[test]
    fn cdi3_names_short_names_kinds_groups_and_versions() {
        let catalog = catalog();
        for (word, want) in [
            ("pods", "v1 Pod"),
            ("pod", "v1 Pod"),
            ("PO", "v1 Pod"),
            ("ConfigMap", "v1 ConfigMap"),
            // A short name of a later group does not hide that of an earlier one.
            ("cm", "v1 ConfigMap"),
            ("pods.v1", "v1 Pod"),
            ("pods.v1.", "v1 Pod"),
            ("deploy", "apps/v1 Deployment"),
            ("deploy.apps", "apps/v1 Deployment"),
            ("deploy.v1.apps", "apps/v1 Deployment"),
            ("deployments.v1beta1.apps", "apps/v1beta1 Deployment"),
            ("Deployment.apps", "apps/v1 Deployment"),
            ("events", "v1 Event"),
            ("events.events.k8s.io", "events.k8s.io/v1 Event"),
            ("plugins.wharf.dev", "wharf.dev/v1alpha1 Plugin"),
            ("widgets.b.example.com", "b.example.com/v1 Widget"),
            ("widget.v1.a.example.com", "a.example.com/v1 Widget"),
        ] {
            let found = catalog.find(word).unwrap();
            assert_eq!(found.iter().map(|resource| resource.kind.gvk.to_string()).collect::<Vec<_>>(), [want], "{word}");
        }
    }

    #[test]
    fn cdi3_categories_are_several_kinds_in_their_preferred_version() {
        let catalog = catalog();
        let all: Vec<String> = catalog.find("all").unwrap().iter().map(|resource| resource.kind.gvk.to_string()).collect();
        assert_eq!(all, ["v1 Pod", "apps/v1 Deployment"]);
    }

    #[test]
    fn what_is_unknown_or_ambiguous_says_what_there_is() {
        let catalog = catalog();
        for (word, close) in [
            ("podz", "pods"),
            ("deploymnts", "deployments.apps"),
            ("configmap2", "configmaps"),
            ("plugin.example.com", "plugins.wharf.dev"),
        ] {
            match catalog.find(word) {
                Err(LookupError::Unknown { close: names, .. }) => assert_eq!(names.first().map(String::as_str), Some(close), "{word}"),
                other => panic!("{word}: {other:?}"),
            }
        }
        assert_eq!(catalog.find("zzz"), Err(LookupError::Unknown { word: "zzz".to_owned(), close: Vec::new() }));
        assert!(catalog.find("").is_err() && catalog.find("pods.apps").is_err() && catalog.find(".").is_err());
        let candidates = vec!["widgets.a.example.com".to_owned(), "widgets.b.example.com".to_owned()];
        assert_eq!(catalog.find("widgets"), Err(LookupError::Ambiguous { word: "widgets".to_owned(), candidates }));
    }
}
