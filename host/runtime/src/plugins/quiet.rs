//! A source that changes often is not read after each change. Owns how long one waits; knows no
//! source.

use std::time::Duration;

use tokio::sync::Notify;

/// Changes are collected until it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(20);
/// ... but at most for so long.
const LATEST: Duration = Duration::from_millis(500);

/// Waits until nothing has changed for a moment. Cancel safe.
pub(super) async fn quiet(changed: &Notify) {
    let latest = tokio::time::sleep(LATEST);
    tokio::pin!(latest);
    loop {
        tokio::select! {
            () = &mut latest => return,
            () = tokio::time::sleep(QUIET) => return,
            () = changed.notified() => {}
        }
    }
}
