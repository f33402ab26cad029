//! `wharf drain`: pauses plugins, and waits until none of their calls is in flight. Owns the waiting and
//! what is said of what is left; pausing is `order`'s, so that `wharf resume` undoes it.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_runtime::admin::operate::OrderWord;
use wharf_runtime::admin::rows::QueueRow;

use crate::args::DrainArgs;
use crate::exit;
use crate::host::{self, Host};
use crate::order;
use crate::report::{CliError, print_data};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: DrainArgs) -> Result<u8, CliError> {
    let host = Host::at(&args.order.host)?;
    host::until_ended(drain(&host, &args))
}

async fn drain(host: &Host, args: &DrainArgs) -> Result<u8, CliError> {
    let began = Instant::now();
    let obeyed = order::give_all(host, &args.order, OrderWord::Pause).await?;
    let mut left = obeyed.plugins;
    loop {
        let queues: Vec<QueueRow> = host::read(&host.get("/v1/queues").await?)?;
        let (drained, busy) = look(&queues, left);
        drained.iter().try_for_each(|line| print_data(line))?;
        if busy.is_empty() {
            return Ok(if obeyed.all { exit::OK } else { exit::NO });
        }
        if !args.timeout.is_zero() && began.elapsed() >= args.timeout {
            return Err(in_flight(&queues, &busy));
        }
        left = busy;
        sleep(LOOK).await;
    }
}

/// What is said of those that have nothing in flight, and the others.
fn look(queues: &[QueueRow], plugins: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (mut drained, mut busy) = (Vec::new(), Vec::new());
    for plugin in plugins {
        match queues.iter().find(|row| row.plugin == plugin) {
            Some(row) if row.processing > 0 => busy.push(plugin),
            Some(row) => drained.push(match row.ready + row.waiting {
                0 => format!("plugin/{plugin} drained\n"),
                keys => format!("plugin/{plugin} drained; {} until it is resumed\n", some(keys, "key waits", "keys wait")),
            }),
            // A plugin that is gone is called for nothing.
            None => drained.push(format!("plugin/{plugin} is gone\n")),
        }
    }
    (drained, busy)
}

fn in_flight(queues: &[QueueRow], busy: &[String]) -> CliError {
    let rows = queues.iter().filter(|row| busy.contains(&row.plugin));
    let lines = rows.map(|row| {
        let calls = some(row.processing, "call is", "calls are");
        format!("{}: {calls} still in flight, the longest for {:.1}s", row.plugin, row.longest_running_seconds)
    });
    CliError::new(exit::NO, lines.collect::<Vec<_>>().join("\n"))
        .hint("the plugins stay paused and the calls go on: `wharf drain` once more waits for them, `wharf resume` undoes it")
}

fn some(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_said() {
        let row = |plugin: &str, ready, processing| QueueRow {
            plugin: plugin.into(),
            ready,
            processing,
            longest_running_seconds: 1.26,
            ..QueueRow::default()
        };
        let queues = [row("a/busy", 3, 2), row("a/idle", 0, 0), row("a/waits", 1, 0)];
        let plugins = ["a/busy", "a/idle", "a/waits", "a/gone"].map(str::to_owned).to_vec();
        let (drained, busy) = look(&queues, plugins);
        let lines = ["plugin/a/idle drained\n", "plugin/a/waits drained; 1 key waits until it is resumed\n", "plugin/a/gone is gone\n"];
        assert_eq!((drained, busy.as_slice()), (lines.map(str::to_owned).to_vec(), &["a/busy".to_owned()][..]));
        assert_eq!(in_flight(&queues, &busy).message, "a/busy: 2 calls are still in flight, the longest for 1.3s");
    }
}
