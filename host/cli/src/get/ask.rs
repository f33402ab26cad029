//! What `get` and `watch` are asked for, checked as far as it can be without a server.

use wharf_runtime::look::{Ask, Catalog, LookupError, ServedResource};

use crate::args::LookArgs;
use crate::exit;
use crate::report::CliError;

/// How long to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    Once,
    /// The list, then each change.
    Follow,
    /// The watch as it is sent.
    Raw,
}

/// One kind, and names of it; none means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) word: String,
    pub(super) name: Option<String>,
}

/// What is wished for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) items: Vec<Item>,
    pub(super) mode: Mode,
}

impl Wish {
    /// Reads `KIND[,KIND…] [NAME…]` or `KIND/NAME…`.
    ///
    /// # Errors
    /// Usage: what does not go together.
    pub(super) fn new(what: &str, names: &[String], mode: Mode, look: &LookArgs) -> Result<Self, CliError> {
        let items = items(what, names)?;
        let usage = |message: &str, hint: &str| Err(CliError::new(exit::USAGE, message).hint(hint));
        if look.show_managed_fields {
            return usage("managedFields are not shown: the cache never keeps them", "use `kubectl get --show-managed-fields`");
        }
        // An empty one is none, as in kubectl.
        if let Some(bad) = look.namespace.as_ref().filter(|namespace| !namespace.is_empty() && !is_name(namespace)) {
            return usage(&format!("{bad:?} is no name of a namespace"), "");
        }
        let named = items.iter().any(|item| item.name.is_some());
        if named && (look.selector.is_some() || look.field_selector.is_some()) {
            return usage("names and selectors cannot be used together", "");
        }
        if named && look.all_namespaces {
            return usage("an object of a name is looked for in one namespace, not in all", "use --field-selector metadata.name=NAME");
        }
        if mode != Mode::Once && items.len() > 1 {
            return usage("only one kind, and one name of it, can be watched at a time", "");
        }
        if mode == Mode::Raw && (look.watch_only || look.output_watch_events || look.output.is_some()) {
            return usage("--raw shows what the server sends, and nothing else", "leave -o, --watch-only and --output-watch-events out");
        }
        if look.raw && mode == Mode::Once {
            return usage("--raw is for --watch", "");
        }
        if look.output_watch_events && mode == Mode::Once {
            return usage("--output-watch-events is for --watch", "");
        }
        Ok(Self { items, mode })
    }
}

/// Reads the words; the same kind twice is asked for once.
fn items(what: &str, names: &[String]) -> Result<Vec<Item>, CliError> {
    let usage = |message: &str, hint: &str| Err(CliError::new(exit::USAGE, message).hint(hint));
    let items: Vec<Item> = if what.contains('/') {
        let pairs = std::iter::once(what).chain(names.iter().map(String::as_str)).map(|pair| pair.split_once('/'));
        let item = |(word, name): (&str, &str)| Item { word: word.to_owned(), name: Some(name.to_owned()) };
        match pairs.collect::<Option<Vec<_>>>() {
            Some(pairs) => pairs.into_iter().map(item).collect(),
            None => return usage("KIND/NAME and single words cannot be mixed", "write KIND NAME…, or KIND/NAME…"),
        }
    } else {
        let mut words: Vec<&str> = Vec::new();
        for word in what.split(',') {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let item = |word: &str, name: Option<&String>| Item { word: word.to_owned(), name: name.cloned() };
        words
            .into_iter()
            .flat_map(|word| match names {
                [] => vec![item(word, None)],
                names => names.iter().map(|name| item(word, Some(name))).collect(),
            })
            .collect()
    };
    if items.iter().any(|item| item.word.is_empty()) {
        return usage(&format!("a kind in {what:?} is empty"), "write KIND[,KIND…] NAME…, or KIND/NAME…");
    }
    if items.iter().any(|item| item.name.as_deref().is_some_and(|name| !is_name(name))) {
        return usage("a name is empty, or has characters that no name has", "write KIND NAME…, or KIND/NAME…");
    }
    Ok(items)
}

/// May this be the name of an object or a namespace? They stand in paths.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text != "."
        && text != ".."
        && !text.chars().any(|c| matches!(c, '/' | '%' | ',' | '=' | '!') || c.is_whitespace() || c.is_control())
}

/// The resources of a word, with what has to be said if there are none.
///
/// # Errors
/// No such kind, several, or one that cannot be looked at so.
pub(super) fn resources<'c>(catalog: &'c Catalog, word: &str, mode: Mode) -> Result<Vec<&'c ServedResource>, CliError> {
    let found = catalog.find(word).map_err(|error| {
        let hint = match &error {
            LookupError::Unknown { close, .. } if !close.is_empty() => format!("did you mean {}?", close.join(", ")),
            LookupError::Unknown { .. } if !catalog.failures.is_empty() => {
                let groups: Vec<&str> = catalog.failures.iter().map(|failure| &*failure.group_version).collect();
                format!("the server does not say what is in: {}", groups.join(", "))
            }
            LookupError::Unknown { .. } => "`kubectl api-resources` lists the kinds of a server".to_owned(),
            LookupError::Ambiguous { candidates, .. } => format!("write one of: {}", candidates.join(", ")),
        };
        CliError::new(exit::NO, error.to_string()).hint(hint)
    })?;
    let verb = if mode == Mode::Once { "list" } else { "watch" };
    if let Some(resource) = found.iter().find(|resource| !resource.can(verb)) {
        return Err(CliError::new(exit::NO, format!("{} cannot be {}ed: the server has no such verb for it", resource.full_name(), verb)));
    }
    if mode != Mode::Once && found.len() > 1 {
        let names: Vec<String> = found.iter().map(|resource| resource.full_name()).collect();
        return Err(
            CliError::new(exit::USAGE, format!("{word:?} is several kinds, and one can be watched at a time")).hint(names.join(", "))
        );
    }
    Ok(found)
}

/// The question for one resource and one item.
pub(super) fn ask(resource: &ServedResource, item: &Item, look: &LookArgs, default_namespace: &str) -> Ask {
    let given = look.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let namespace = (!look.all_namespaces && resource.kind.namespaced).then(|| given.unwrap_or(default_namespace).to_owned());
    let field_selector = match &item.name {
        Some(name) => format!("metadata.name={name}"),
        None => look.field_selector.clone().unwrap_or_default(),
    };
    Ask { kind: resource.kind.clone(), namespace, label_selector: look.selector.clone().unwrap_or_default(), field_selector }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use wharf_core::{Gvk, ResourceKind};

    use super::*;
    use crate::args::{Cli, Command};

    fn wish(line: &[&str], mode: Mode) -> Result<Vec<String>, String> {
        let cli = Cli::try_parse_from(["wharf", "get"].iter().chain(line)).unwrap();
        let Command::Get(args) = cli.command else { panic!("not get") };
        let wish = Wish::new(&args.what, &args.names, mode, &args.look).map_err(|error| error.message)?;
        Ok(wish.items.iter().map(|item| format!("{}/{}", item.word, item.name.as_deref().unwrap_or("*"))).collect())
    }

    #[test]
    fn kinds_and_names() {
        for (line, want) in [
            (vec!["pods"], vec!["pods/*"]),
            (vec!["pods,cm"], vec!["pods/*", "cm/*"]),
            (vec!["pods,cm,pods"], vec!["pods/*", "cm/*"]),
            (vec!["pods", "-n", ""], vec!["pods/*"]),
            (vec!["pods", "-A", "-n", "a"], vec!["pods/*"]),
            (vec!["pods", "a", "b"], vec!["pods/a", "pods/b"]),
            (vec!["pod/a", "cm/b"], vec!["pod/a", "cm/b"]),
        ] {
            assert_eq!(wish(&line, Mode::Once).unwrap(), want);
        }
        assert!(wish(&["pod/a", "b"], Mode::Once).is_err());
        assert!(wish(&["pods", "a/../b"], Mode::Once).is_err());
        for what in [",", "cm,", "", "/x", "cm/"] {
            assert!(wish(&[what], Mode::Once).unwrap_err().contains("empty"), "{what:?}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        for (line, mode, word) in [
            (vec!["pods", "--show-managed-fields"], Mode::Once, "managedFields"),
            (vec!["pods", "a", "-l", "x"], Mode::Once, "selectors"),
            (vec!["pods", "a", "-A"], Mode::Once, "one namespace"),
            (vec!["pods,cm"], Mode::Follow, "one kind"),
            (vec!["pods", "--output-watch-events"], Mode::Once, "--watch"),
            (vec!["pods", "--raw"], Mode::Once, "--raw is for --watch"),
            (vec!["pods", "--raw", "--watch-only"], Mode::Raw, "--raw"),
            (vec!["pods", "--raw", "-o", "table"], Mode::Raw, "--raw"),
            (vec!["pods", "-n", "../x"], Mode::Once, "namespace"),
        ] {
            let error = wish(&line, mode).unwrap_err();
            assert!(error.contains(word), "{line:?}: {error}");
        }
    }

    #[test]
    fn all_namespaces_win_and_an_empty_one_is_that_of_the_context() {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "Pod"), plural: "pods".into(), namespaced: true };
        let pods = ServedResource { kind, singular: "pod".into(), short_names: Vec::new(), categories: Vec::new(), verbs: Vec::new() };
        for (line, want) in [(&["-n", "a"][..], Some("a")), (&["-n", ""], Some("here")), (&[], Some("here")), (&["-A", "-n", "a"], None)] {
            let cli = Cli::try_parse_from(["wharf", "get", "pods"].iter().chain(line)).unwrap();
            let Command::Get(args) = cli.command else { panic!("not get") };
            let item = Item { word: "pods".to_owned(), name: None };
            assert_eq!(ask(&pods, &item, &args.look, "here").namespace.as_deref(), want, "{line:?}");
        }
    }
}
