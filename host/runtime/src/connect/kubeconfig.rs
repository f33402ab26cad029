//! Kubeconfig files: which ones, merged how, and what one context of them says. Owns the
//! search; the files' form is kube's. Never opens the files that they name.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kube::config::{AuthInfo, Cluster, Kubeconfig};

use crate::config::Way;

/// What a context says.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) cluster: Cluster,
    pub(super) user: AuthInfo,
    pub(super) namespace: Option<String>,
}

/// Finds the kubeconfig and its context, as kubectl does: `file` alone, or the files that
/// KUBECONFIG lists, or `~/.kube/config`. Of listed files those that are not there are left out.
/// `None` if there is no file at all, or only files without clusters. A server that is named
/// elsewhere needs no context. Blocking.
///
/// # Errors
/// A file that cannot be read, or a context that is not there.
pub(super) fn find(way: &Way, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Option<Chosen>> {
    let (file, context) = (way.kubeconfig.as_deref(), way.context.as_deref());
    let (paths, asked) = match file {
        Some(file) => (vec![file.to_owned()], true),
        None => (listed(env), context.is_some()),
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in &paths {
        if file.is_none() && !path.exists() {
            continue;
        }
        let mut read = read(path)?;
        // An empty one says nothing, and must not hide that of a later file.
        read.current_context = read.current_context.filter(|name| !name.is_empty());
        merged = Some(match merged {
            Some(first) => first.merge(read).with_context(|| format!("merge the kubeconfig {}", path.display()))?,
            None => read,
        });
    }
    let names = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
    match merged {
        None if asked => bail!("there is no kubeconfig {names}, and a context was asked for"),
        None => Ok(None),
        Some(merged) if !asked && merged.clusters.is_empty() && merged.contexts.is_empty() => Ok(None),
        Some(merged) if way.server.is_some() && context.or(merged.current_context.as_deref()).is_none() => Ok(Some(Chosen::default())),
        Some(merged) => choose(&merged, context).with_context(|| format!("use the kubeconfig {names}")).map(Some),
    }
}

fn listed(env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(list) = env("KUBECONFIG").filter(|list| !list.is_empty()) {
        return std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
    }
    env("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".kube/config")).into_iter().collect()
}

fn read(path: &Path) -> anyhow::Result<Kubeconfig> {
    let failed = || format!("read the kubeconfig {}", path.display());
    match Kubeconfig::read_from(path) {
        // The parser's message quotes the file, in which tokens and keys are.
        Err(kube::config::KubeconfigError::Parse(_)) => Err(anyhow::anyhow!("it is no kubeconfig in YAML or JSON")).with_context(failed),
        read => read.with_context(failed),
    }
}

fn choose(kubeconfig: &Kubeconfig, context: Option<&str>) -> anyhow::Result<Chosen> {
    let Some(name) = context.or(kubeconfig.current_context.as_deref()) else {
        bail!("it has no current context; name one with --context: {}", names(kubeconfig.contexts.iter().map(|named| &named.name)));
    };
    let found = kubeconfig.contexts.iter().find(|named| named.name == name).and_then(|named| named.context.as_ref());
    let Some(context) = found else {
        bail!("it has no context {name:?}, but: {}", names(kubeconfig.contexts.iter().map(|named| &named.name)));
    };
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster).and_then(|named| named.cluster.clone());
    let Some(cluster) = cluster else {
        bail!("its context {name:?} names the cluster {:?}, which is not there", context.cluster);
    };
    let user = match context.user.as_deref().filter(|user| !user.is_empty()) {
        None => AuthInfo::default(),
        Some(user) => {
            let found = kubeconfig.auth_infos.iter().find(|named| named.name == user);
            found
                .with_context(|| format!("its context {name:?} names the user {user:?}, which is not there"))?
                .auth_info
                .clone()
                .unwrap_or_default()
        }
    };
    Ok(Chosen { cluster, user, namespace: context.namespace.clone().filter(|namespace| !namespace.is_empty()) })
}

/// Some names of a file for a message.
fn names<'n>(names: impl Iterator<Item = &'n String>) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<&str> = names.map(String::as_str).take(MOST + 1).collect();
    if shown.len() > MOST {
        shown.truncate(MOST);
        shown.push("…");
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: c, cluster: {server: 'https://one:1', certificate-authority: ca.crt}}]\n\
        users: [{name: u, user: {token: SECRET}}]\ncontexts: [{name: a, context: {cluster: c, user: u, namespace: team-a}}, {name: b, context: {cluster: gone}}]\n";
    const TWO: &str = "apiVersion: v1\nkind: Config\ncurrent-context: z\nclusters: [{name: d, cluster: {server: 'https://two:2'}}]\n\
        contexts: [{name: z, context: {cluster: d}}]\n";

    fn find(file: Option<&Path>, context: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Option<Chosen>> {
        super::find(&Way { kubeconfig: file.map(Path::to_owned), context: context.map(str::to_owned), ..Way::default() }, env)
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("one"), ONE).unwrap();
        std::fs::write(folder.path().join("two"), TWO).unwrap();
        folder
    }

    #[test]
    fn a_context_says_where_and_who() {
        let folder = folder();
        let chosen = find(Some(&folder.path().join("one")), None, &|_| None).unwrap().unwrap();
        assert_eq!(chosen.cluster.server.as_deref(), Some("https://one:1"));
        assert_eq!(chosen.namespace.as_deref(), Some("team-a"));
        assert!(chosen.user.token.is_some());
        // Paths are meant from the file's folder.
        assert_eq!(chosen.cluster.certificate_authority, Some(folder.path().join("ca.crt").display().to_string()));
    }

    #[test]
    fn listed_files_are_merged_and_may_be_missing() {
        let folder = folder();
        let list = ["none", "one", "two"].map(|name| folder.path().join(name).display().to_string()).join(":");
        let env = move |name: &str| (name == "KUBECONFIG").then(|| list.clone());
        assert_eq!(find(None, None, &env).unwrap().unwrap().cluster.server.as_deref(), Some("https://one:1"));
        assert_eq!(find(None, Some("z"), &env).unwrap().unwrap().cluster.server.as_deref(), Some("https://two:2"));
        // The first one that says something about the context counts.
        std::fs::write(folder.path().join("none"), "current-context: ''\n").unwrap();
        assert_eq!(find(None, None, &env).unwrap().unwrap().cluster.server.as_deref(), Some("https://one:1"));
        let nowhere = |name: &str| (name == "HOME").then(|| "/no/such/home".to_owned());
        assert!(find(None, None, &nowhere).unwrap().is_none());
        assert!(find(None, Some("a"), &nowhere).is_err());
    }

    #[test]
    fn mistakes_name_the_file_and_no_secret() {
        let folder = folder();
        let one = folder.path().join("one");
        let broken = folder.path().join("broken");
        std::fs::write(&broken, "users: [{name: u, user: {token: SECRET}}, {nam: [}").unwrap();
        for (file, context, word) in [
            (&one, Some("c"), "no context \"c\", but: a, b"),
            (&one, Some("b"), "cluster \"gone\""),
            (&broken, None, "no kubeconfig in YAML"),
            (&folder.path().join("none"), None, "none"),
        ] {
            let error = format!("{:#}", find(Some(file), context, &|_| None).unwrap_err());
            assert!(error.contains(word) && error.contains(&file.display().to_string()), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
