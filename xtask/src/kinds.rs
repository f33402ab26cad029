//! `cargo xtask kinds`: writes the embedded API server's table of Kubernetes' own kinds and the samples of its tests, from a
//! real API server and the Go types of the same version. Owns the order of things; what is written is tests/cluster/kinds'.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use wharf_testkit::Cluster;

use crate::cluster;
use crate::step::{run, step};

/// Builds the cluster's tools if they are missing, starts a cluster, and writes the files.
///
/// # Errors
/// If the cluster does not come up, Go is missing, or a file cannot be written.
pub(crate) fn write(root: &Path) -> Result<()> {
    cluster::build(root)?;
    let devserver = root.join("host").join("devserver");
    let (data, samples) = (devserver.join("data"), devserver.join("src").join("schema").join("fixtures"));
    for folder in [&data, &samples] {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let cluster = Cluster::start().await?;
        let written = step("write the table of Kubernetes' kinds", || {
            let mut command = Command::new("go");
            command.current_dir(root.join("tests").join("cluster"));
            command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -buildvcs=false");
            command.args(["run", "./kinds", "-server", &format!("https://{}", cluster.address()), "-token", cluster.admin_token()]);
            command.arg("-ca").arg(cluster.certificate_authority());
            command.arg("-table").arg(data.join("kubernetes.txt")).arg("-samples").arg(&samples);
            run(&mut command)
        });
        cluster.stop().await?;
        written
    })
}
