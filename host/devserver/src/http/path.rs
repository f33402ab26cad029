//! What a path names: a document of the server, or a resource by group, version, namespace, plural, name and subresource.
//!
//! Pure. Does not know which groups or resources are served.

use super::percent;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    /// `/`.
    Index,
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`, and single checks below them.
    Health { which: &'static str, check: Option<String> },
    /// `/metrics`.
    Metrics,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiIndex,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/apps/v1`: what stands after `/openapi/v3/`.
    OpenApi(String),
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/G`.
    Group(String),
    /// `/api/v1`, `/apis/G/V`.
    Resources { group: String, version: String },
    /// Below a group's version.
    Resource(Target),
    /// `/wharf/faults`.
    Faults,
    /// Nothing that is known.
    Unknown,
}

/// A resource, its objects, one of them, or a part of that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Target {
    /// Empty for core.
    pub(crate) group: String,
    pub(crate) version: String,
    /// Whether the path has the old prefix `watch/`.
    pub(crate) watch: bool,
    /// For a namespace itself: its name, as authorization sees it.
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// Whether more follows after the subresource, which nothing here serves.
    pub(crate) beyond: bool,
}

/// Reads a raw path (percent-encoded, without the query).
pub(crate) fn parse(raw: &str) -> Path {
    let Some(rest) = raw.strip_prefix('/') else { return Path::Unknown };
    // A collection may be written with a slash at the end.
    let rest = match rest {
        "" => return Path::Index,
        rest => rest.strip_suffix('/').unwrap_or(rest),
    };
    let mut parts = Vec::new();
    for part in rest.split('/') {
        match percent::decode(part) {
            Some(part) if is_segment(&part) => parts.push(part),
            _ => return Path::Unknown,
        }
    }
    let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["version"] => Path::Version,
        ["healthz", check @ ..] => health("healthz", check),
        ["livez", check @ ..] => health("livez", check),
        ["readyz", check @ ..] => health("readyz", check),
        ["metrics"] => Path::Metrics,
        ["openapi", "v2"] => Path::OpenApiV2,
        ["openapi", "v3"] => Path::OpenApiIndex,
        ["openapi", "v3", rest @ ..] => Path::OpenApi(rest.join("/")),
        ["wharf", "faults"] => Path::Faults,
        ["api"] => Path::CoreVersions,
        ["api", version] => Path::Resources { group: String::new(), version: (*version).to_owned() },
        ["api", version, rest @ ..] => target("", version, rest),
        ["apis"] => Path::Groups,
        ["apis", group] => Path::Group((*group).to_owned()),
        ["apis", group, version] => Path::Resources { group: (*group).to_owned(), version: (*version).to_owned() },
        ["apis", group, version, rest @ ..] => target(group, version, rest),
        _ => Path::Unknown,
    }
}

/// Empty segments and those that walk through the tree name nothing, and no name holds a slash.
fn is_segment(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains('/')
}

fn health(which: &'static str, check: &[&str]) -> Path {
    match check {
        [] => Path::Health { which, check: None },
        [check] => Path::Health { which, check: Some((*check).to_owned()) },
        _ => Path::Unknown,
    }
}

fn target(group: &str, version: &str, parts: &[&str]) -> Path {
    let mut target = Target { group: group.to_owned(), version: version.to_owned(), ..Target::default() };
    let mut parts = parts;
    if let ["watch", rest @ ..] = parts
        && !rest.is_empty()
    {
        target.watch = true;
        parts = rest;
    }
    // A namespace's own parts; everything else behind a namespace is a resource in it.
    match parts {
        ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize", ..] => {
            target.namespace = Some((*namespace).to_owned())
        }
        ["namespaces", namespace, rest @ ..] => {
            target.namespace = Some((*namespace).to_owned());
            parts = rest;
        }
        _ => {}
    }
    let mut parts = parts.iter().map(|part| (*part).to_owned());
    target.plural = parts.next().unwrap_or_default();
    target.name = parts.next();
    target.subresource = parts.next();
    target.beyond = parts.next().is_some();
    Path::Resource(target)
}

#[cfg(test)]
mod tests {
    use super::{Path, Target, parse};

    #[derive(Default)]
    struct Want<'a> {
        group: &'a str,
        version: &'a str,
        watch: bool,
        namespace: &'a str,
        plural: &'a str,
        name: &'a str,
        subresource: &'a str,
        beyond: bool,
    }

    fn some(text: &str) -> Option<String> {
        (!text.is_empty()).then(|| text.to_owned())
    }

    #[test]
    fn finds_resources() {
        let core = Want { version: "v1", ..Want::default() };
        let apps = Want { group: "apps", version: "v1", plural: "deployments", ..Want::default() };
        let table = [
            ("/api/v1/pods", Want { plural: "pods", ..core }),
            ("/api/v1/pods/", Want { plural: "pods", ..core }),
            ("/api/v1/nodes/n", Want { plural: "nodes", name: "n", ..core }),
            ("/api/v1/nodes/n/status", Want { plural: "nodes", name: "n", subresource: "status", ..core }),
            ("/api/v1/namespaces", Want { plural: "namespaces", ..core }),
            ("/api/v1/namespaces/a", Want { plural: "namespaces", namespace: "a", name: "a", ..core }),
            ("/api/v1/namespaces/a/status", Want { plural: "namespaces", namespace: "a", name: "a", subresource: "status", ..core }),
            ("/api/v1/namespaces/a/finalize", Want { plural: "namespaces", namespace: "a", name: "a", subresource: "finalize", ..core }),
            ("/api/v1/namespaces/a/pods", Want { plural: "pods", namespace: "a", ..core }),
            ("/api/v1/namespaces/a/pods/p/log", Want { plural: "pods", namespace: "a", name: "p", subresource: "log", ..core }),
            (
                "/api/v1/namespaces/a/pods/p/proxy/x",
                Want { plural: "pods", namespace: "a", name: "p", subresource: "proxy", beyond: true, ..core },
            ),
            ("/api/v1/watch/namespaces/a/pods", Want { watch: true, plural: "pods", namespace: "a", ..core }),
            ("/api/v1/watch/pods", Want { watch: true, plural: "pods", ..core }),
            ("/api/v1/watch/namespaces/a/pods/p", Want { watch: true, plural: "pods", namespace: "a", name: "p", ..core }),
            ("/api/v1/watch", Want { plural: "watch", ..core }),
            ("/apis/apps/v1/namespaces/a/deployments/d/scale", Want { namespace: "a", name: "d", subresource: "scale", ..apps }),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax",
                Want { group: "rbac.authorization.k8s.io", version: "v1", plural: "clusterroles", name: "system:x", ..Want::default() },
            ),
        ];
        for (path, want) in table {
            let want = Path::Resource(Target {
                group: want.group.to_owned(),
                version: want.version.to_owned(),
                watch: want.watch,
                namespace: some(want.namespace),
                plural: want.plural.to_owned(),
                name: some(want.name),
                subresource: some(want.subresource),
                beyond: want.beyond,
            });
            assert_eq!(parse(path), want, "{path}");
        }
    }

    #[test]
    fn finds_documents() {
        let resources = |group: &str, version: &str| Path::Resources { group: group.to_owned(), version: version.to_owned() };
        for (path, want) in [
            ("/", Path::Index),
            ("/version", Path::Version),
            ("/version/", Path::Version),
            ("/healthz", Path::Health { which: "healthz", check: None }),
            ("/readyz/ping", Path::Health { which: "readyz", check: Some("ping".to_owned()) }),
            ("/metrics", Path::Metrics),
            ("/openapi/v2", Path::OpenApiV2),
            ("/openapi/v3", Path::OpenApiIndex),
            ("/openapi/v3/apis/apps/v1", Path::OpenApi("apis/apps/v1".to_owned())),
            ("/api", Path::CoreVersions),
            ("/apis", Path::Groups),
            ("/apis/apps", Path::Group("apps".to_owned())),
            ("/api/v1", resources("", "v1")),
            ("/apis/apps/v1/", resources("apps", "v1")),
            ("/wharf/faults", Path::Faults),
        ] {
            assert_eq!(parse(path), want, "{path}");
        }
    }

    #[test]
    fn refuses_what_names_nothing() {
        for path in [
            "",
            "*",
            "//",
            "/api//v1",
            "/api/v1/../x",
            "/api/v1/namespaces/%2e%2e/pods",
            "/api/v1/pods/a%2Fb",
            "/api/v1/pods/%ff",
            "/nope",
            "/healthz/a/b",
        ] {
            assert_eq!(parse(path), Path::Unknown, "{path}");
        }
    }
}
