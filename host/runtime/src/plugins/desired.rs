//! What a source of plugins says there should be. Owns the words between sources and the
//! registry, and the rule that two sources cannot both have a plugin; reads and runs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wharf_core::Reason;
use wharf_core::plugin::{PluginDocument, PluginName};

use super::component::Component;

/// Where a wish stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A document in a file, or a component without a document.
    File(PathBuf),
    /// A custom resource.
    Resource {
        /// Its namespace.
        namespace: Arc<str>,
        /// Its name, which may be none that a plugin can have.
        name: Arc<str>,
    },
}

impl fmt::Display for Origin {
    /// Prints the path, or `Plugin resource team-a/guard`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Resource { namespace, name } => write!(f, "Plugin resource {namespace}/{name}"),
        }
    }
}

/// What a source has of one plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Where it stands.
    pub origin: Origin,
    /// `metadata.generation` of a custom resource: a status that speaks of this wish says so.
    pub generation: Option<u64>,
    /// What is wished for, or why that cannot be said. What serves goes on then.
    pub desired: Result<Desired, Refusal>,
}

/// One plugin as a source wishes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// What the operator wrote.
    pub document: Arc<PluginDocument>,
    /// The component, as it was when the source looked.
    pub component: Component,
}

/// Why a wish cannot be met. What serves goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The machine name.
    pub reason: Reason,
    /// What is wrong, with every mistake, a line each.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl Refusal {
    /// A refusal with the reason's own hint.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), hint: reason.hint().to_owned() }
    }

    /// The same with a better one.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}

/// How much of what it has a source has told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Nothing: it has not looked yet.
    #[default]
    Nothing,
    /// What it may see. The rest it was never shown: a plugin that is not there may exist.
    Part,
    /// All that there is, but a kind of resource is missing: what it had may come back.
    Missing,
    /// All.
    Whole,
}

/// All that a source wishes at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// How much that is.
    pub extent: Extent,
    /// By name. A plugin that is not there is removed; one with a refusal keeps what serves.
    pub plugins: BTreeMap<PluginName, Wish>,
    /// Where not even a plugin's name could be read. Plugins that came from there are kept.
    pub unreadable: BTreeMap<Origin, Refusal>,
}

impl Wishes {
    /// Adds a plugin. The same name twice is refused, whichever came first: nobody could tell
    /// which of the two is meant.
    pub fn add(&mut self, name: PluginName, wish: Wish) {
        let wish = match self.plugins.remove(&name) {
            None => wish,
            Some(first) => {
                let message = format!("plugin {name} is defined in {} and in {}", first.origin, wish.origin);
                // A resource has a status that can tell of it.
                let Wish { origin, generation, .. } = if matches!(first.origin, Origin::Resource { .. }) { first } else { wish };
                Wish { origin, generation, desired: Err(Refusal::new(Reason::DuplicatePlugin, message)) }
            }
        };
        self.plugins.insert(name, wish);
    }

    /// All that some sources wish, as one set.
    pub fn merged(sources: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self { extent: Extent::Whole, ..Self::default() };
        for Self { extent, plugins, unreadable } in sources {
            all.extent = all.extent.min(extent);
            all.unreadable.extend(unreadable);
            for (name, wish) in plugins {
                all.add(name, wish);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(origin: Origin, generation: Option<u64>) -> Wish {
        Wish { origin, generation, desired: Err(Refusal::new(Reason::ComponentNotFound, "a.wasm")) }
    }

    fn source(extent: Extent, wishes: impl IntoIterator<Item = (&'static str, Wish)>) -> Wishes {
        let plugins = wishes.into_iter().map(|(name, wish)| (PluginName::new("team-a", name).unwrap(), wish)).collect();
        Wishes { extent, plugins, unreadable: BTreeMap::new() }
    }

    #[test]
    fn one_name_from_two_sources_is_refused_with_both() {
        let file = wish(Origin::File("/plugins/guard.yaml".into()), None);
        let resource = wish(Origin::Resource { namespace: "team-a".into(), name: "guard".into() }, Some(3));
        let sources =
            [source(Extent::Whole, [("guard", file.clone()), ("other", file)]), source(Extent::Part, [("guard", resource.clone())])];
        for sources in [sources.clone(), [sources[1].clone(), sources[0].clone()]] {
            let merged = Wishes::merged(sources);
            assert_eq!((merged.extent, merged.plugins.len()), (Extent::Part, 2));
            let both = &merged.plugins[&PluginName::new("team-a", "guard").unwrap()];
            assert_eq!((&both.origin, both.generation), (&resource.origin, Some(3)), "its status can tell");
            let refusal = both.desired.as_ref().unwrap_err();
            assert_eq!(refusal.reason, Reason::DuplicatePlugin);
            for part in ["team-a/guard is defined in", "/plugins/guard.yaml", "Plugin resource team-a/guard"] {
                assert!(refusal.message.contains(part), "{refusal}");
            }
        }
    }

    #[test]
    fn a_set_is_whole_when_every_source_is() {
        let of = |extents: &[Extent]| Wishes::merged(extents.iter().map(|extent| source(*extent, []))).extent;
        assert_eq!(of(&[Extent::Whole, Extent::Whole]), Extent::Whole);
        assert_eq!(of(&[Extent::Whole, Extent::Part]), Extent::Part);
        assert_eq!(of(&[Extent::Nothing, Extent::Part]), Extent::Nothing);
    }
}
