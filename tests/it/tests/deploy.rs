//! The manifests under deploy/, judged by a real API server: everything is applied with a
//! server-side dry run, so that unknown fields and wrong types are found.

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::{Cluster, paths};

#[tokio::test]
async fn kustomize_passes_a_server_side_dry_run() -> Result<()> {
    let cluster = Cluster::start().await?;
    // A dry run makes no namespaces, so those that the manifests live in are there before.
    for namespace in ["wharf-system", "team-a", "platform"] {
        cluster.kubectl(&["create", "namespace", namespace], None).await?;
    }
    let base = [
        "namespace/wharf-system",
        "deployment.apps/wharf",
        "serviceaccount/wharf",
        "customresourcedefinition.apiextensions.k8s.io/plugins.wharf.dev",
        "clusterrole.rbac.authorization.k8s.io/wharf-plugins",
    ];
    let standby = ["role.rbac.authorization.k8s.io/wharf-leader-election", "persistentvolumeclaim/wharf-checkpoint"];
    for (folder, own) in [
        ("deploy/kustomize/base", &["persistentvolumeclaim/wharf-data"][..]),
        ("deploy/kustomize/examples", &["persistentvolumeclaim/wharf-data"]),
        ("deploy/kustomize/standby", &standby),
    ] {
        let path = paths::root().join(folder);
        let path = path.to_str().context("the checkout's path is not UTF-8")?;
        let args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", path];
        let applied = cluster.kubectl(&args, None).await.with_context(|| format!("apply {folder}"))?;
        for object in base.iter().chain(own) {
            ensure!(applied.contains(object), "{folder}: {object} is missing in:\n{applied}");
        }
    }
    cluster.stop().await
}
