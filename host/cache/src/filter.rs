//! Which objects of an informer belong to a registration. Owns the match by namespace and
//! selectors, and what a change looks like through it; never asks a server, so it exists only
//! for selectors that can be judged from an object alone.

use wharf_core::{Object, ObjectKey, Selector};

use crate::change::Change;
use crate::spec::{InformerSpec, Scope};

/// A scope and selectors, ready to match.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    scope: Scope,
    labels: Selector,
    fields: Selector,
}

impl Filter {
    /// The filter that selects from a wider informer what `spec` asks the server for; `None` if
    /// only a server can judge its selectors (fields other than name and namespace).
    pub(crate) fn of(spec: &InformerSpec) -> Option<Self> {
        let labels = Selector::parse(&spec.label_selector).ok()?;
        let fields = Selector::parse(&spec.field_selector).ok()?;
        let judged = fields.keys().all(|key| matches!(key, "metadata.name" | "metadata.namespace"));
        judged.then(|| Self { scope: spec.scope.clone(), labels, fields })
    }

    /// The one namespace that is let through, if it is only one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.scope.namespace()
    }

    /// Is a key within the scope? Objects outside of namespaces are within every one: for such
    /// a kind a namespace has no effect.
    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        match (&self.scope, &key.namespace) {
            (Scope::All, _) | (_, None) => true,
            (Scope::Namespace(scope), Some(namespace)) => scope == namespace,
        }
    }

    /// Does it let everything of its scope through?
    pub(crate) fn is_plain(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Is the object let through?
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.covers(object.key()) && self.selects(object)
    }

    /// The change as it looks through this filter, as client-go's `FilteringResourceEventHandler`
    /// shows it: an object that begins to match is an addition, one that ceases to match is a
    /// removal with the last state that did. `None` if neither side matches. The key must be
    /// covered.
    pub(crate) fn apply<'a>(&self, change: &Change<'a>) -> Option<Change<'a>> {
        if self.is_plain() {
            return Some(*change);
        }
        let old = change.old.filter(|object| self.selects(object));
        let new = change.new.filter(|object| self.selects(object));
        match (old, new) {
            (None, None) => None,
            (Some(old), None) if change.new.is_some() => {
                Some(Change { old: Some(old), new, final_state: Some(old), final_known: false, ..*change })
            }
            _ => Some(Change { old, new, ..*change }),
        }
    }

    fn selects(&self, object: &Object) -> bool {
        object.matches_fields(&self.fields) && object.matches_labels(&self.labels)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::change::ChangeCause;
    use wharf_core::Gvk;

    fn spec(scope: Scope, labels: &str, fields: &str) -> InformerSpec {
        let mut spec = InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), scope);
        spec.label_selector = labels.into();
        spec.field_selector = fields.into();
        spec
    }

    fn object(namespace: &str, name: &str, team: &str) -> Arc<Object> {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"namespace":"{namespace}","name":"{name}","labels":{{"team":"{team}"}}}}}}"#
        );
        Arc::new(Object::parse(&text, &Gvk::new("", "v1", "ConfigMap")).unwrap())
    }

    #[test]
    fn only_what_an_object_tells_is_filtered_here() {
        assert!(Filter::of(&spec(Scope::All, "a in (b)", "metadata.name=x")).is_some());
        assert!(Filter::of(&spec(Scope::All, "", "status.phase=Running")).is_none());
        assert!(Filter::of(&spec(Scope::All, "a in (", "")).is_none());
    }

    /// CI16: the four cases of an update, and the removals.
    #[test]
    fn ci16_changes_through_a_filter() {
        let filter = Filter::of(&spec(Scope::All, "team=a", "")).unwrap();
        let (a1, a2, b) = (object("n", "x", "a"), object("n", "x", "a"), object("n", "x", "b"));
        let key = a1.key().clone();
        let change = |old, new, final_state: Option<&'static Arc<Object>>| Change {
            key: Box::leak(Box::new(key.clone())),
            old,
            new,
            final_state,
            final_known: true,
            slot: None,
            cause: ChangeCause::Watch,
            sequence: 1,
        };
        let (a1, a2, b): (&'static _, &'static _, &'static _) = (Box::leak(Box::new(a1)), Box::leak(Box::new(a2)), Box::leak(Box::new(b)));
        let seen = |old, new, last| filter.apply(&change(old, new, last)).map(|c| (c.old.is_some(), c.new.is_some()));
        assert_eq!(seen(Some(a1), Some(a2), None), Some((true, true)), "update");
        assert_eq!(seen(Some(b), Some(a2), None), Some((false, true)), "starts to match: add");
        assert_eq!(seen(Some(a1), Some(b), None), Some((true, false)), "ceases to match: removal");
        assert_eq!(seen(Some(b), Some(b), None), None, "never matched");
        assert_eq!(seen(None, Some(a1), None), Some((false, true)));
        assert_eq!(seen(None, Some(b), None), None);
        assert_eq!(seen(Some(a1), None, Some(a2)), Some((true, false)));
        assert_eq!(seen(Some(b), None, Some(b)), None);
        let unmatched = filter.apply(&change(Some(a1), Some(b), None)).unwrap();
        assert!(Arc::ptr_eq(unmatched.final_state.unwrap(), a1) && !unmatched.final_known);
        let gone = filter.apply(&change(Some(a1), None, Some(a2))).unwrap();
        assert!(Arc::ptr_eq(gone.final_state.unwrap(), a2) && gone.final_known);
    }

    #[test]
    fn a_namespace_lets_its_own_through_and_what_has_none() {
        let filter = Filter::of(&spec(Scope::Namespace("a".into()), "", "")).unwrap();
        assert!(filter.matches(&object("a", "x", "t")) && !filter.matches(&object("b", "x", "t")));
        assert!(filter.covers(&ObjectKey::new("", "node")));
        assert!(filter.is_plain());
    }
}
