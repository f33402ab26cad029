//! Kinds of the cluster, through the same connection, discovery and cache as a host's. Owns
//! the order of things: list, then changes, until a signal, a closed pipe or the server ends it.

use std::sync::Arc;

use wharf_core::Reason;
use wharf_runtime::app::StartError;
use wharf_runtime::config::Way;
use wharf_runtime::look::{Ask, CatalogError, Look, LookError, Seen, SeenType, ServedResource, ServerTable};
use wharf_runtime::telemetry::logging::{self, LogFormat};

use super::ask::{self, Mode, Wish};
use super::print::Printer;
use crate::args::LookArgs;
use crate::exit;
use crate::host::until_ended;
use crate::report::{CliError, print_error, warn, write};
use crate::run::{connection_hint, with_verbosity};

/// What is said on standard error unless `-v` asks for more.
const FILTER: &str = "warn";

pub(super) fn run(wish: Wish, look: &LookArgs) -> Result<u8, CliError> {
    logging::init(LogFormat::Text, &with_verbosity(FILTER, look.way.verbosity), 0)
        .map_err(|error| CliError::from_anyhow(exit::USAGE, error))?;
    let way = Way::resolve(look.way.clone().layer(), &|name| std::env::var(name).ok())
        .map_err(|error| CliError::from_anyhow(exit::USAGE, error))?;
    until_ended(show(&way, &wish, look))
}

async fn show(way: &Way, wish: &Wish, look: &LookArgs) -> Result<u8, CliError> {
    let cluster = Look::connect(way, Arc::new(warn)).await.map_err(no_connection)?;
    let catalog = cluster.catalog().await.map_err(no_catalog)?;
    let mut asks = Vec::new();
    for item in &wish.items {
        for resource in ask::resources(&catalog, &item.word, wish.mode)? {
            asks.push((resource, ask::ask(resource, item, look, cluster.namespace()), item.name.as_deref()));
        }
    }
    let code = match (wish.mode, asks.first()) {
        (Mode::Once, _) | (_, None) => once(&cluster, &asks, look).await,
        (Mode::Follow, Some((resource, ask, name))) => follow(&cluster, resource, ask, *name, look).await,
        (Mode::Raw, Some((resource, ask, _))) => raw(&cluster, resource, ask).await,
    };
    cluster.close().await;
    code
}

/// What was found for one kind.
struct Found<'c> {
    resource: &'c ServedResource,
    /// Rows in the server's columns, if only a table is wanted and the server has one.
    table: Option<ServerTable>,
    seen: Vec<Seen>,
}

impl Found<'_> {
    fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.table.as_ref().is_none_or(|table| table.rows.is_empty())
    }

    /// The same kind once more, by another name.
    fn add(&mut self, other: Self) {
        self.seen.extend(other.seen);
        match (&mut self.table, other.table) {
            (Some(table), Some(other)) => table.rows.extend(other.rows),
            (_, other) => self.table = self.table.take().or(other),
        }
    }
}

async fn once(cluster: &Look, asks: &[(&ServedResource, Ask, Option<&str>)], look: &LookArgs) -> Result<u8, CliError> {
    let mut code = exit::OK;
    let mut all: Vec<Found<'_>> = Vec::new();
    let tabular = Printer::new(look, false).tabular();
    for (resource, ask, name) in asks {
        let found = match find(cluster, resource, ask, tabular).await {
            Ok(found) => found,
            // Alone it is the whole answer; of several it must not hide the others.
            Err(error) if asks.len() == 1 => return Err(failed("list", resource, ask, error)),
            Err(error) => {
                code = exit::NO;
                print_error(&failed("list", resource, ask, error));
                continue;
            }
        };
        if let (Some(name), true) = (name, found.is_empty()) {
            code = exit::NO;
            print_error(&not_found(resource, ask, name));
        }
        match all.iter_mut().find(|other| other.resource == *resource) {
            Some(before) => before.add(found),
            None => all.push(found),
        }
    }
    let several = asks.iter().any(|(resource, ..)| asks.first().is_some_and(|(first, ..)| first != resource));
    let printer = Printer::new(look, several);
    let named = asks.iter().any(|(.., name)| name.is_some());
    let nothing = all.iter().all(Found::is_empty);
    if all.is_empty() && !asks.is_empty() {
        // Nothing was answered, so nothing can be said to be empty.
        return Ok(code);
    }
    if tabular || (nothing && named) {
        if nothing && !named {
            say_empty(asks.first().map(|(_, ask, _)| ask));
        }
        let table = |found: &Found<'_>| match &found.table {
            Some(table) => printer.server_table(found.resource, table),
            None => printer.table(found.resource, &found.seen),
        };
        let tables: Vec<String> = all.iter().filter(|found| !found.is_empty()).map(table).collect();
        write(tables.join("\n")).await?;
    } else {
        let all: Vec<_> = all.into_iter().map(|found| (found.resource, found.seen)).collect();
        write(printer.list(&all, named && asks.len() == 1)?).await?;
    }
    Ok(code)
}

/// Asks for a table where that is enough, else goes through the cache.
async fn find<'c>(cluster: &Look, resource: &'c ServedResource, ask: &Ask, tabular: bool) -> Result<Found<'c>, LookError> {
    if tabular && let Some(table) = cluster.table(ask).await? {
        return Ok(Found { resource, table: Some(table), seen: Vec::new() });
    }
    let mut view = cluster.open(ask, false);
    view.settle().await?;
    let seen = view.objects().into_iter().map(|object| Seen { seen: SeenType::Added, object }).collect();
    Ok(Found { resource, table: None, seen })
}

async fn follow(cluster: &Look, resource: &ServedResource, ask: &Ask, name: Option<&str>, look: &LookArgs) -> Result<u8, CliError> {
    let mut view = cluster.open(ask, true);
    view.settle().await.map_err(|error| failed("list", resource, ask, error))?;
    let mut first = view.first();
    if let (Some(name), true, false) = (name, first.is_empty(), look.watch_only) {
        return Err(not_found(resource, ask, name));
    }
    if look.watch_only {
        first.clear();
    }
    let printer = Printer::new(look, false);
    let mut head = first.is_empty();
    let (mut table, text) = printer.open_table(resource, &first);
    let mut open = if printer.tabular() {
        write(text).await?
    } else {
        let documents = first.iter().map(|seen| printer.document(resource, seen)).collect::<Result<String, _>>()?;
        write(documents).await?
    };
    drop(first);
    while open {
        let seen = view.next().await.map_err(|error| failed("watch", resource, ask, error))?;
        let text = if printer.tabular() {
            printer.table_row(&mut table, &mut head, resource, &seen)
        } else {
            printer.document(resource, &seen)?
        };
        open = write(text).await?;
    }
    Ok(exit::OK)
}

async fn raw(cluster: &Look, resource: &ServedResource, ask: &Ask) -> Result<u8, CliError> {
    let mut watch = cluster.raw(ask).await.map_err(|error| failed("watch", resource, ask, error))?;
    while let Some(chunk) = watch.chunk().await.map_err(|error| failed("watch", resource, ask, error))? {
        if !write(chunk).await? {
            break;
        }
    }
    Ok(exit::OK)
}

fn say_empty(ask: Option<&Ask>) {
    let text = match ask.and_then(|ask| ask.namespace.as_deref()) {
        Some(namespace) => format!("No resources found in {namespace} namespace.\n"),
        None => "No resources found\n".to_owned(),
    };
    // Talk; if standard error is closed nobody is there to be told.
    let _closed = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

fn not_found(resource: &ServedResource, ask: &Ask, name: &str) -> CliError {
    let place = ask.namespace.as_ref().map(|namespace| format!(" in namespace {namespace:?}")).unwrap_or_default();
    CliError::new(exit::NO, format!("{} {name:?} not found{place}", resource.full_name()))
}

fn no_connection(error: StartError) -> CliError {
    let hint = connection_hint(&error);
    let error = match error {
        StartError::Config(error) | StartError::Unusable(error) => error,
        other => other.into(),
    };
    CliError::from_anyhow(exit::NO, error).hint(hint)
}

fn no_catalog(error: CatalogError) -> CliError {
    let source = Some(error.message.to_string().into());
    let (message, hint) = if error.foreign {
        (
            format!("what answers there is no Kubernetes API ({})", error.reason),
            "check the URL of the server: its port and path, and whether it begins with https://",
        )
    } else {
        (
            format!("the server does not say which kinds it has ({})", error.reason),
            if error.reason == Reason::Unauthorized {
                Reason::Unauthorized.hint()
            } else {
                "check --kubeconfig, --context, --token and --server; -v 8 shows the requests"
            },
        )
    };
    CliError { source, ..CliError::new(exit::NO, message) }.hint(hint)
}

fn failed(verb: &str, resource: &ServedResource, ask: &Ask, error: LookError) -> CliError {
    let name = resource.full_name();
    let selectors = !ask.label_selector.is_empty() || !ask.field_selector.is_empty();
    let (message, hint) = match &error {
        LookError::Unauthorized(_) => {
            (format!("the server does not accept the credentials ({})", Reason::Unauthorized), Reason::Unauthorized.hint())
        }
        LookError::Forbidden(_) => (
            format!("the server refuses to {verb} {name} ({})", Reason::Forbidden),
            "the cache needs the rights list and watch; or ask as somebody else: --context, --token",
        ),
        LookError::Refused(_) => (format!("{name} cannot be {verb}ed so"), if selectors { "check the selectors" } else { "" }),
        LookError::Gone(_) => (
            format!("the server does not serve {name} any more ({})", Reason::KindNotFound),
            "ask again when the kind is there; `kubectl api-resources` lists those of the server",
        ),
        LookError::Unavailable(_) => (format!("the server does not answer when asked to {verb} {name}"), "-v 6 shows the requests"),
        LookError::Behind(_) => (format!("the {verb} of {name} was given up"), "read faster, or narrow it by -n or -l"),
    };
    CliError { source: Some(Box::new(error)), ..CliError::new(exit::NO, message) }.hint(hint)
}

#[cfg(test)]
mod tests {
    use wharf_core::{Gvk, ResourceKind};

    use super::*;

    #[test]
    fn hints_fit_what_was_asked() {
        let kind = ResourceKind { gvk: Gvk::new("ex.com", "v1", "Widget"), plural: "widgets".into(), namespaced: true };
        let resource = ServedResource {
            kind: kind.clone(),
            singular: "widget".into(),
            short_names: Vec::new(),
            categories: Vec::new(),
            verbs: Vec::new(),
        };
        let plain = Ask { kind, namespace: None, label_selector: String::new(), field_selector: String::new() };
        let narrow = Ask { label_selector: "a==b==c".to_owned(), ..plain.clone() };
        for (ask, error, message, hint) in [
            (&plain, LookError::Refused("400".into()), "widgets.ex.com cannot be watched so", ""),
            (&narrow, LookError::Refused("400".into()), "widgets.ex.com cannot be watched so", "selectors"),
            (&plain, LookError::Gone("gone".into()), "does not serve widgets.ex.com any more (KindNotFound)", "when the kind is there"),
            (&plain, LookError::Unauthorized("401".into()), "(Unauthorized)", "token"),
            (&plain, LookError::Forbidden("403".into()), "(Forbidden)", "rights list and watch"),
        ] {
            let said = failed("watch", &resource, ask, error);
            assert!(said.message.contains(message) && said.hint.contains(hint), "{said:?}");
            assert_eq!(said.hint.is_empty(), hint.is_empty(), "{said:?}");
        }
    }
}
