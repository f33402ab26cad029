//! The two servers that are asked the same: kube-apiserver with etcd, and `wharf apiserver`. Owns
//! who they know, and how each forgets its history.

use std::path::PathBuf;

use anyhow::Result;
use wharf_testkit::{Cluster, Kind};

/// A running server that knows an administrator and `bob`, who has no rights.
pub(crate) struct Server {
    /// For example `https://127.0.0.1:6443`.
    pub(crate) url: String,
    /// The certificate that the server is known by, as a PEM file.
    pub(crate) authority: PathBuf,
    /// The administrator's token.
    pub(crate) admin: String,
    /// The token of `bob`.
    pub(crate) bob: String,
    /// The administrator's kubeconfig file.
    pub(crate) kubeconfig: PathBuf,
    cluster: Cluster,
}

impl Server {
    /// Starts one and waits until it is ready. Must be called on a thread that lives as long as the server.
    pub(crate) async fn start(kind: Kind) -> Result<Self> {
        let cluster = Cluster::start_as(kind).await?;
        Ok(Self {
            url: format!("https://{}", cluster.address()),
            authority: cluster.certificate_authority(),
            admin: cluster.admin_token().to_owned(),
            bob: cluster.user_token().to_owned(),
            kubeconfig: cluster.kubeconfig(),
            cluster,
        })
    }

    /// Makes the server forget everything before now.
    pub(crate) async fn compact(&self) -> Result<()> {
        self.cluster.compact().await?;
        if self.cluster.kind() == Kind::Real {
            // Its cache still knows what etcd has forgotten.
            self.cluster.stop_api_server().await?;
            self.cluster.start_api_server().await?;
        }
        Ok(())
    }

    /// Stops it. That it does so in order is judged elsewhere, once: it must not hide what was found before.
    pub(crate) async fn end(self) {
        let _judged_by_client_go = self.stop().await;
    }

    /// Stops it in order.
    ///
    /// # Errors
    /// If it needed to be killed, or ended with another exit code than 0.
    pub(crate) async fn stop(self) -> Result<()> {
        self.cluster.stop().await
    }
}
