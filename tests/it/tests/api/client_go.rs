//! What client-go makes of a server: the program in `tests/cluster/informers`, which writes
//! protobuf, follows its own changes with two kinds of informers and elects a leader.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;
use tokio::time::timeout;
use wharf_testkit::paths;

use crate::server::Server;
use wharf_testkit::Kind;

const DEADLINE: Duration = Duration::from_secs(400);

/// Runs it on a server of that kind, with lists as streams and with lists as such, which is what
/// client-go falls back to. Answers the figures of both.
pub(crate) async fn run(kind: Kind) -> Result<String> {
    // etcd is no part of what is tested here, and the slowest one.
    let (objects, changes) = match kind {
        Kind::Real => ("2000", "1000"),
        Kind::Embedded => ("10000", "5000"),
    };
    let program = paths::cluster_tool("informers")?;
    let server = Server::start(kind).await?;
    let mut figures = String::new();
    for (namespace, streams) in [("streams", "true"), ("lists", "false")] {
        let mut command = Command::new(&program);
        command.arg("-kubeconfig").arg(&server.kubeconfig).args(["-namespace", namespace, "-objects", objects, "-changes", changes]);
        command.env("KUBE_FEATURE_WatchListClient", streams).kill_on_drop(true);
        let output = timeout(DEADLINE, command.output()).await.context("informers has no end")?.context("run informers")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "informers ended with {} in {namespace}:\n{said}{complaint}", output.status);
        figures.push_str(&format!("{namespace}: {said}"));
    }
    server.stop().await?;
    Ok(figures)
}
