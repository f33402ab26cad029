//! `wharf get` and `wharf watch`: what was asked for, and of whom. Words of a host go to
//! `host` (`rows`, `failures`, `failed_calls` and `revisions` have the columns, `follow` the changes), everything else is a kind of the
//! cluster: `ask` says what, `cluster` gets it, `print` writes it.

mod ask;
mod cluster;
mod failed_calls;
mod failures;
mod follow;
mod host;
mod print;
mod revisions;
mod rows;

use crate::args::{GetArgs, HistoryArgs, Output, WatchArgs};
use crate::exit;
use crate::report::CliError;
use ask::{Mode, Wish};
use host::{HostAsk, What};

pub(crate) fn get(args: GetArgs) -> Result<u8, CliError> {
    let watch = args.watch || args.look.watch_only;
    let Some((what, names)) = host::wish(&args.what, &args.names) else {
        let mode = match (watch, args.look.raw) {
            (false, _) => Mode::Once,
            (true, false) => Mode::Follow,
            (true, true) => Mode::Raw,
        };
        return cluster::run(Wish::new(&args.what, &args.names, mode, &args.look)?, &args.look);
    };
    refuse_for_host(&args, watch)?;
    let namespace = args.look.namespace.clone().filter(|namespace| !namespace.is_empty() && !args.look.all_namespaces);
    let ask = HostAsk { what, names, namespace };
    if watch { host::watch(&ask, &args.look, &args.host) } else { host::once(&ask, args.look.output(), &args.host) }
}

pub(crate) fn history(args: HistoryArgs) -> Result<u8, CliError> {
    let HistoryArgs { plugin, namespace, output, host } = args;
    let ask = HostAsk { what: What::Revisions, names: plugin.into_iter().collect(), namespace };
    host::once(&ask, output.unwrap_or(Output::Table), &host)
}

pub(crate) fn watch(args: WatchArgs) -> Result<u8, CliError> {
    let names: Vec<String> = args.name.into_iter().collect();
    let mode = if args.look.raw { Mode::Raw } else { Mode::Follow };
    cluster::run(Wish::new(&args.kind, &names, mode, &args.look)?, &args.look)
}

/// A path with what it is asked of: one plugin, those of a namespace, or all.
fn question(path: &str, names: &[String], namespace: Option<&str>) -> Result<String, CliError> {
    let plugin = match names {
        [] => None,
        [plugin] => Some(plugin.as_str()),
        _ => {
            let error = "they are shown of one plugin, or of all";
            return Err(CliError::new(exit::USAGE, error).hint("name one plugin, or none"));
        }
    };
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    let (mut path, mut sign) = (path.to_owned(), '?');
    for (name, value) in [("plugin", plugin), ("namespace", namespace)] {
        let Some(value) = value else { continue };
        if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/')) {
            return Err(CliError::new(exit::USAGE, format!("{value:?} is no name of a {name}")).hint("names have letters, digits, - and ."));
        }
        path.push(sign);
        path.push_str(&format!("{name}={value}"));
        sign = '&';
    }
    Ok(path)
}

/// A host has no selectors, and sends no watch.
fn refuse_for_host(args: &GetArgs, watch: bool) -> Result<(), CliError> {
    let look = &args.look;
    let given = [(look.raw, "--raw"), (look.selector.is_some(), "--selector"), (look.field_selector.is_some(), "--field-selector")];
    if look.output_watch_events && !watch {
        return Err(CliError::new(exit::USAGE, "--output-watch-events is for --watch"));
    }
    let Some((_, flag)) = given.iter().find(|(given, _)| *given) else { return Ok(()) };
    let what = args.what.split_once('/').map_or(&*args.what, |(what, _)| what);
    let hint = format!("a kind of that name is reached by its full name, for example `wharf get {what}.GROUP`");
    Err(CliError::new(exit::USAGE, format!("{flag} is for kinds of the cluster, and {what:?} is one of a host")).hint(hint))
}
