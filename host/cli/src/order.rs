//! `wharf reload`, `rollback`, `pause` and `resume`: orders to a plugin of a running host. Owns what
//! is printed: as kubectl's rollout commands do, one line.

use serde_json::json;
use wharf_runtime::admin::operate::{OrderRow, OrderWord};

use crate::args::{OrderArgs, RollbackArgs};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data};

pub(crate) fn run(args: OrderArgs, order: OrderWord) -> Result<u8, CliError> {
    give(args, order, None)
}

pub(crate) fn rollback(args: RollbackArgs) -> Result<u8, CliError> {
    give(args.order, OrderWord::Rollback, args.to_revision)
}

fn give(args: OrderArgs, order: OrderWord, revision: Option<u64>) -> Result<u8, CliError> {
    let OrderArgs { plugin, namespace, host: at } = args;
    let body = json!({ "plugin": plugin, "namespace": namespace, "order": order, "revision": revision });
    let row: OrderRow = host::read(&host::post(&at, "/v1/order", body)?)?;
    print_data(&format!("plugin/{} {}\n", row.plugin, row.said))?;
    Ok(exit::OK)
}
