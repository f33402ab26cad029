//! Verbs in the words of authorization, audit and metrics, and which verb a method on a path is.

use http::Method;

use super::path::Target;
use crate::verbs::Verb;

/// As rules of roles name it.
pub(crate) fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::List => "list",
        Verb::Watch => "watch",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch => "patch",
        Verb::Delete => "delete",
        Verb::DeleteCollection => "deletecollection",
    }
}

/// The verb of a request on a resource; `watch` tells what the query says. `None` for a method that no resource has.
pub(crate) fn verb(method: &Method, target: &Target, watch: bool) -> Option<Verb> {
    let named = target.name.is_some();
    Some(match *method {
        Method::GET if target.watch => Verb::Watch,
        Method::GET if named => Verb::Get,
        Method::GET if watch => Verb::Watch,
        Method::GET => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => return None,
    })
}

/// Whether the verb can be meant for what the path names: objects are made in a collection, changed by name.
pub(crate) fn fits(verb: Verb, target: &Target) -> bool {
    match verb {
        Verb::Create => target.name.is_none() || target.subresource.is_some(),
        Verb::Update | Verb::Patch => target.name.is_some(),
        Verb::Watch => target.subresource.is_none(),
        _ => true,
    }
}

/// The object that a field selector names, as authorization by name sees a list of one object.
pub(crate) fn selected_name(field_selector: &str) -> Option<&str> {
    field_selector.split(',').find_map(|term| {
        let value = term.trim().strip_prefix("metadata.name=")?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (!value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{fits, selected_name, verb};
    use crate::http::path::{Path, Target, parse};
    use crate::verbs::Verb;

    fn target(path: &str) -> Target {
        match parse(path) {
            Path::Resource(target) => target,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn methods_become_verbs() {
        let (all, one, part) = ("/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/p", "/api/v1/namespaces/a/pods/p/binding");
        for (method, path, watch, want) in [
            (Method::GET, all, false, Some((Verb::List, true))),
            (Method::GET, all, true, Some((Verb::Watch, true))),
            (Method::GET, one, false, Some((Verb::Get, true))),
            (Method::GET, one, true, Some((Verb::Get, true))),
            (Method::GET, "/api/v1/watch/namespaces/a/pods/p", false, Some((Verb::Watch, true))),
            (Method::GET, "/api/v1/watch/pods", false, Some((Verb::Watch, true))),
            (Method::POST, all, false, Some((Verb::Create, true))),
            (Method::POST, one, false, Some((Verb::Create, false))),
            (Method::POST, part, false, Some((Verb::Create, true))),
            (Method::PUT, one, false, Some((Verb::Update, true))),
            (Method::PUT, all, false, Some((Verb::Update, false))),
            (Method::PATCH, all, false, Some((Verb::Patch, false))),
            (Method::DELETE, one, false, Some((Verb::Delete, true))),
            (Method::DELETE, all, false, Some((Verb::DeleteCollection, true))),
            (Method::HEAD, all, false, None),
            (Method::OPTIONS, one, false, None),
        ] {
            let target = target(path);
            assert_eq!(verb(&method, &target, watch).map(|verb| (verb, fits(verb, &target))), want, "{method} {path}");
        }
    }

    #[test]
    fn a_selector_may_name_one_object() {
        for (selector, want) in [
            ("metadata.name=a", Some("a")),
            ("metadata.name==a", Some("a")),
            ("spec.x=1,metadata.name=a", Some("a")),
            ("metadata.name!=a", None),
            ("metadata.name=", None),
            ("", None),
        ] {
            assert_eq!(selected_name(selector), want, "{selector}");
        }
    }
}
