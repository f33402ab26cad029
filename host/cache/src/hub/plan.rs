//! Which informer is to serve which registration. Owns the rule; pure, and knows neither
//! informers nor registrations.
//!
//! A registration is served by the widest informer that is there for a reason: because
//! somebody asked for just that, or because namespaces are so many that one watch of the whole
//! cluster is cheaper. Where the server refuses to list the whole cluster, each namespace has
//! an informer of its own. The plan does not flap: a family of registrations that has been
//! widened stays wide until its last registration leaves or the server refuses, and what was
//! refused is not tried again for a while (see `family`).

use std::collections::HashSet;

use crate::spec::{InformerSpec, Scope};

/// What a registration asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) spec: &'a InformerSpec,
    /// Its selectors can be judged here, so that a wider informer can serve it.
    pub(crate) filterable: bool,
}

/// The wishes of one kind and content.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    specs: HashSet<&'a InformerSpec>,
    /// Namespaces of those that a wider informer can serve, and that are about more than one object.
    namespaces: HashSet<&'a str>,
    /// One watch of the whole cluster serves all.
    widened: bool,
    /// The server does not let the whole cluster be listed.
    refused: bool,
}

impl<'a> Wishes<'a> {
    pub(crate) fn new(all: impl IntoIterator<Item = Wish<'a>>, widened: bool, refused: bool) -> Self {
        let (mut specs, mut namespaces) = (HashSet::new(), HashSet::new());
        for wish in all {
            specs.insert(wish.spec);
            namespaces.extend(wish.spec.scope.namespace().filter(|_| wish.filterable && !wish.spec.names_one()));
        }
        Self { specs, namespaces, widened, refused }
    }

    /// Different namespaces that a wider informer could serve. More than a few are a reason to
    /// widen.
    pub(crate) fn namespaces(&self) -> usize {
        self.namespaces.len()
    }

    /// What is to serve a wish.
    pub(crate) fn serve(&self, wish: Wish<'_>) -> InformerSpec {
        let own = wish.spec;
        if !wish.filterable {
            return own.clone();
        }
        let widest = own.widest();
        let everywhere = InformerSpec { scope: Scope::All, ..own.clone() };
        let unselected = InformerSpec { scope: own.scope.clone(), ..widest.clone() };
        let there = |spec: &InformerSpec| self.specs.contains(spec);
        if !self.refused {
            if self.widened || there(&widest) {
                return widest;
            }
            if there(&everywhere) {
                return everywhere;
            }
        }
        if own.scope != Scope::All && there(&unselected) { unselected } else { own.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::Gvk;

    fn spec(scope: &str, labels: &str) -> InformerSpec {
        let scope = if scope == "*" { Scope::All } else { Scope::Namespace(scope.into()) };
        let mut spec = InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), scope);
        spec.label_selector = labels.into();
        spec
    }

    fn wish(spec: &InformerSpec) -> Wish<'_> {
        Wish { spec, filterable: true }
    }

    /// The widest informer that is there for a reason, and none that nobody asked for.
    #[test]
    fn who_is_served_by_what() {
        for (specs, own, widened, refused, want) in [
            (&["a", "b"][..], "a", false, false, "a"),
            (&["a", "*"], "a", false, false, "*"),
            (&["a", "*"], "a", false, true, "a"),
            (&["*"], "*", false, true, "*"),
            (&["a", "b"], "b", true, false, "*"),
            (&["a", "b"], "b", true, true, "b"),
            (&["a", "a/x=1"], "a/x=1", false, false, "a"),
            (&["*/x=1", "a/x=1"], "a/x=1", false, false, "*/x=1"),
            (&["*/x=1", "a/x=1"], "a/x=1", false, true, "a/x=1"),
            (&["*/x=1", "a/x=2"], "a/x=2", false, false, "a/x=2"),
            (&["*/x=1", "*"], "*/x=1", false, false, "*"),
            (&["*/x=1", "*"], "*/x=1", false, true, "*/x=1"),
            (&["a/x=1"], "a/x=1", false, false, "a/x=1"),
        ] {
            let read = |text: &str| text.split_once('/').map_or_else(|| spec(text, ""), |(scope, labels)| spec(scope, labels));
            let specs: Vec<_> = specs.iter().map(|text| read(text)).collect();
            let own = read(own);
            let wishes = Wishes::new(specs.iter().map(wish), widened, refused);
            assert_eq!(wishes.serve(wish(&own)), read(want), "{specs:?} {own:?} widened {widened} refused {refused}");
        }
    }

    /// One object in each of many namespaces does not make a watch of all objects worth its memory.
    #[test]
    fn single_objects_are_no_reason_to_widen() {
        let (mut one, all) = (spec("a", ""), spec("b", ""));
        one.field_selector = "metadata.name=x".into();
        let wishes = Wishes::new([wish(&one), wish(&all)], false, false);
        assert_eq!(wishes.namespaces(), 1);
        assert_eq!(wishes.serve(wish(&one)), one);
    }

    #[test]
    fn what_only_a_server_can_select_keeps_its_own_informer() {
        let (all, own) = (spec("*", ""), spec("a", ""));
        let wishes = Wishes::new([wish(&all), wish(&own)], true, false);
        assert_eq!(wishes.serve(Wish { spec: &own, filterable: false }), own);
        assert_eq!(wishes.namespaces(), 1);
    }
}
