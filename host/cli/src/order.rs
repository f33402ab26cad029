//! `wharf reload`, `rollback`, `pause` and `resume`: orders to plugins of a running host. Owns what
//! is printed: as kubectl's rollout commands do, one line for each plugin.

use serde_json::json;
use wharf_runtime::admin::operate::{OrderRow, OrderWord};

use crate::args::{OrderArgs, PluginArgs, RollbackArgs};
use crate::exit;
use crate::host::{self, Host};
use crate::report::{CliError, print_data, print_error, render};

pub(crate) fn run(args: OrderArgs, order: OrderWord) -> Result<u8, CliError> {
    let host = Host::at(&args.host)?;
    let obeyed = crate::block_on(give_all(&host, &args, order))??;
    Ok(if obeyed.all { exit::OK } else { exit::NO })
}

pub(crate) fn rollback(args: RollbackArgs) -> Result<u8, CliError> {
    let PluginArgs { plugin, namespace, host: at } = args.which;
    let host = Host::at(&at)?;
    crate::block_on(give(&host, &plugin, namespace.as_deref(), OrderWord::Rollback, args.to_revision))??;
    Ok(exit::OK)
}

/// Who has obeyed.
pub(crate) struct Obeyed {
    /// These plugins, `NAMESPACE/NAME`.
    pub(crate) plugins: Vec<String>,
    /// Those were all that were meant; the others' errors have been printed.
    pub(crate) all: bool,
}

/// Gives an order to all plugins that are meant, and says what each has made of it.
///
/// # Errors
/// No host answers. Of several plugins one that refuses holds up no other.
pub(crate) async fn give_all(host: &Host, args: &OrderArgs, order: OrderWord) -> Result<Obeyed, CliError> {
    let namespace = args.namespace.as_deref();
    let named = if args.all { host::plugins(host, namespace).await? } else { args.plugins.clone() };
    let mut obeyed = Obeyed { plugins: Vec::new(), all: true };
    let mut refusals = Refusals::default();
    for plugin in &named {
        match give(host, plugin, namespace, order, None).await {
            Ok(plugin) => obeyed.plugins.push(plugin),
            Err(error) => {
                if refusals.are_new(&error) {
                    print_error(&error);
                }
                obeyed.all = false;
            }
        }
    }
    Ok(obeyed)
}

/// What was said: a host that stands by refuses all plugins in the same words.
#[derive(Default)]
struct Refusals(Vec<String>);

impl Refusals {
    /// True if this was not said yet.
    fn are_new(&mut self, error: &CliError) -> bool {
        let text = render(error);
        let new = !self.0.contains(&text);
        self.0.extend(new.then_some(text));
        new
    }
}

async fn give(host: &Host, plugin: &str, namespace: Option<&str>, order: OrderWord, revision: Option<u64>) -> Result<String, CliError> {
    let body = json!({ "plugin": plugin, "namespace": namespace, "order": order, "revision": revision });
    let row: OrderRow = host::read(&host.post("/v1/order", body).await?)?;
    print_data(&format!("plugin/{} {}\n", row.plugin, row.said))?;
    Ok(row.plugin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_refusal_is_said_once() {
        let mut refusals = Refusals::default();
        let standby = || CliError::new(exit::NO, "this host stands by").hint("ask the host that leads");
        assert!(refusals.are_new(&standby()));
        assert!(!refusals.are_new(&standby()));
        assert!(refusals.are_new(&CliError::new(exit::NO, "there is no plugin \"z\"")));
    }
}
