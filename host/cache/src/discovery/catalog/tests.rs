//! Discovery documents of all forms, and servers that fail in part.

use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::options::Options;

/// A server that answers these paths, `(path, code, body)`, and 404 for all others.
fn source(answers: &'static [(&'static str, u16, &'static str)]) -> Source {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        let found = answers.iter().find(|(path, ..)| *path == request.uri().path());
        let (_, code, body) = found.copied().unwrap_or(("", 404, "{}"));
        Ok::<_, std::io::Error>(Response::builder().status(code).body(Body::from(body.as_bytes().to_vec())).unwrap())
    });
    Source::new(kube::Client::new(service, "default"), &Options::default())
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.resources.iter().map(|resource| format!("{} {}", resource.kind.gvk.api_version(), resource.kind.plural)).collect()
}

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":["list","watch"],
     "shortNames":["po"],"categories":["all"],"subresources":[{"subresource":"status","responseKind":{"kind":"Pod"},"verbs":["get"]}]},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"","verbs":["list"]}]}]}]}"#;
const APPS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[
    {"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","verbs":["list"]}]},
    {"version":"v1beta1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","verbs":["list"]}]}]},
    {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#;

#[tokio::test]
async fn cdi1_aggregated_discovery_is_two_requests() {
    let catalog = Catalog::read(&source(&[("/api", 200, CORE), ("/apis", 200, APPS)])).await.unwrap();
    assert_eq!(names(&catalog), ["v1 pods", "v1 nodes", "apps/v1 deployments", "apps/v1beta1 deployments"]);
    let [pods, nodes] = [0, 1].map(|i| &catalog.resources[i]);
    assert_eq!((&*pods.singular, &*pods.short_names[0], &*pods.categories[0], pods.kind.namespaced), ("pod", "po", "all", true));
    assert_eq!((&*nodes.singular, nodes.kind.namespaced, nodes.can("list"), nodes.can("watch")), ("node", false, true, false));
    // A group whose server does not answer is named, and hides nothing.
    assert_eq!(catalog.failures.iter().map(|failure| &*failure.group_version).collect::<Vec<_>>(), ["metrics.k8s.io/v1"]);
}

const LEGACY_GROUPS: &str = r#"{"kind":"APIGroupList","groups":[
    {"name":"apps","versions":[{"groupVersion":"apps/v1beta1","version":"v1beta1"},{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
    {"name":"broken.io","versions":[{"version":"v1"}]},{"name":"gone.io","versions":[{"version":"v1"}]},{"name":"../evil","versions":[{"version":"v1"}]}]}"#;
const LEGACY_APPS: &str = r#"{"kind":"APIResourceList","resources":[{"name":"deployments","singularName":"","namespaced":true,"kind":"Deployment","verbs":["list"],"shortNames":["deploy"]},
    {"name":"deployments/scale","singularName":"","namespaced":true,"kind":"Scale","verbs":["get"]}]}"#;

#[tokio::test]
async fn cdi1_legacy_discovery_goes_group_by_group_and_tolerates_failures() {
    let server = source(&[
        ("/api", 200, r#"{"kind":"APIVersions","versions":["v1"]}"#),
        ("/api/v1", 200, r#"{"resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list"]}]}"#),
        ("/apis", 200, LEGACY_GROUPS),
        ("/apis/apps/v1", 200, LEGACY_APPS),
        ("/apis/apps/v1beta1", 200, LEGACY_APPS),
        ("/apis/broken.io/v1", 503, "{}"),
    ]);
    let catalog = Catalog::read(&server).await.unwrap();
    assert_eq!(names(&catalog), ["v1 pods", "apps/v1 deployments", "apps/v1beta1 deployments"]);
    assert_eq!(&*catalog.resources[1].singular, "deployment");
    assert_eq!(catalog.failures.iter().map(|failure| &*failure.group_version).collect::<Vec<_>>(), ["broken.io/v1"]);
}

#[tokio::test]
async fn cdi1_one_root_may_be_old_or_missing_or_broken() {
    let mixed = source(&[("/api", 200, CORE), ("/apis", 200, LEGACY_GROUPS), ("/apis/apps/v1", 200, LEGACY_APPS)]);
    assert_eq!(names(&Catalog::read(&mixed).await.unwrap()), ["v1 pods", "v1 nodes", "apps/v1 deployments"]);
    // A server without the core group, as some aggregated ones are.
    let catalog = Catalog::read(&source(&[("/apis", 200, APPS)])).await.unwrap();
    assert_eq!((catalog.resources.len(), catalog.failures.len()), (2, 1));
    let catalog = Catalog::read(&source(&[("/api", 200, CORE), ("/apis", 500, "{}")])).await.unwrap();
    assert_eq!((catalog.resources.len(), &*catalog.failures[0].group_version), (2, "/apis"));
    for (code, body, reason) in [(401, "{}", Reason::Unauthorized), (403, "{}", Reason::Forbidden), (503, "{}", Reason::ServerUnavailable)]
    {
        let answers: &'static [_] = Box::leak(Box::new([("/api", code, body), ("/apis", code, body)]));
        let error = Catalog::read(&source(answers)).await.unwrap_err();
        assert_eq!((error.reason, error.foreign), (reason, false), "{code}");
    }
    for (code, body) in [(400, "Client sent an HTTP request to an HTTPS server."), (200, "<html>"), (404, "not here")] {
        let answers: &'static [_] = Box::leak(Box::new([("/api", code, body), ("/apis", code, body)]));
        let error = Catalog::read(&source(answers)).await.unwrap_err();
        assert_eq!((error.reason, error.foreign), (Reason::ServerUnavailable, true), "{code}");
    }
}
