//! Hosts that elect a leader: one leads, the next stands by. Owns the ways in which a leader goes (killed, asked to stop,
//! frozen) and what must be true of both hosts then; what was lost or doubled says `judge`.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wharf_testkit::{Host, Line, Signal, paths, until};

use crate::books::Books;
use crate::judge::{Told, lost, wrong};
use crate::lab::{DEADLINE, Lab};
use crate::pass;
use crate::run::{all_lines, quiet};

/// Short, and long enough that a busy machine renews in time.
const TIMES: [&str; 6] =
    ["--leader-elect-lease-duration", "9s", "--leader-elect-renew-deadline", "6s", "--leader-elect-retry-period", "1s"];

/// The hosts of one test, and all that they have told.
struct Scene {
    lab: Lab,
    plugin: String,
    config: String,
    books: Books,
    told: Told,
    hosts: usize,
}

impl Scene {
    async fn new(name: &str) -> Result<Self> {
        let lab = Lab::new().await?;
        let (namespace, plugin) = lab.plugin(name).await?;
        let folder = lab.data().join("shared");
        let text = format!(
            "apiVersion: config.wharf.dev/v1alpha1\nkind: HostConfiguration\ncheckpoint: {{directory: {}}}\nleaderElection: {{leaseNamespace: default}}\n",
            folder.display()
        );
        let config = lab.file("host.yaml", &text)?;
        Ok(Self { books: Books::new(7, &namespace), lab, plugin, config, told: Told::default(), hosts: 0 })
    }

    /// A host that runs for the lease, with a data folder of its own.
    fn host(&mut self) -> Result<Host> {
        self.host_with(&[])
    }

    /// The same with more flags.
    fn host_with(&mut self, more: &[&str]) -> Result<Host> {
        self.hosts += 1;
        let mut args = vec!["--config", &self.config, "--leader-elect"];
        args.extend(TIMES.iter().chain(more));
        self.lab.start_in(&format!("data/{}", self.hosts), &args)
    }

    /// What kubectl says in the namespace of the test.
    async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.lab.cluster.kubectl(&[&["--namespace", "told"], args].concat(), None).await
    }

    /// One that stands by: ready, with all loaded, and nothing called.
    async fn standby(&mut self) -> Result<Host> {
        let host = self.host()?;
        host.ready().await?;
        let standing = until("the plugin to stand by", DEADLINE, async || {
            let rows = host.get("plugins").await?;
            let row = rows.get(0).cloned().unwrap_or_default();
            Ok((row.get("state").and_then(Value::as_str) == Some("Standby")).then_some(row))
        });
        let row = standing.await?;
        let message = row.get("message").and_then(Value::as_str).unwrap_or_default();
        ensure!(message.ends_with(" leads") && !message.starts_with("no host"), "it says who leads: {row}");
        ensure!(row.get("reason").is_some_and(|reason| reason == "AnotherHostLeads"), "and that nothing is wrong: {row}");
        for path in ["/readyz", "/healthz/leader-election"] {
            ensure!(host.health(path).await?.0 == 200, "{path}: {:?}", host.health(path).await?);
        }
        let name = [("name".to_owned(), "wharf".to_owned())];
        ensure!(host.metric("leader_election_master_status", &name).await? == Some(0.0), "the metric says that it leads");
        ensure!(host.calls(&self.plugin).is_empty(), "a standby calls nothing");
        Ok(host)
    }

    async fn write(&mut self, times: u64) -> Result<()> {
        for _ in 0..times {
            self.books.write(&self.lab).await?;
            pass(Duration::from_millis(self.books.below(30))).await;
        }
        Ok(())
    }

    /// A host has told everything that is to be told.
    async fn told_all(&self, host: &Host) -> Result<()> {
        until("every last state and every end", DEADLINE, async || {
            let left = lost(&self.told.with(&host.log().since(0), &self.plugin), &self.books);
            ensure!(left.is_empty(), "{}", left.join("\n"));
            Ok(Some(()))
        })
        .await?;
        quiet(host, &self.plugin).await
    }

    /// Nothing that a host told was wrong.
    fn judge(&self, host: &Host) -> Result<()> {
        let told = self.told.with(&host.log().since(0), &self.plugin);
        let problems = wrong(&told);
        ensure!(problems.is_empty(), "{}\n\n{told}", problems.join("\n"));
        Ok(())
    }
}

async fn leads(host: &Host) -> Result<()> {
    host.log().wait_for("it leads", 0, DEADLINE, |line| line.is("message", "this host leads")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_takes_over_from_a_leader_that_was_killed() -> Result<()> {
    let mut scene = Scene::new("killed").await?;
    let mut first = scene.host()?;
    leads(&first).await?;
    scene.write(20).await?;
    scene.told_all(&first).await?;
    let second = scene.standby().await?;
    // In the middle of work.
    scene.write(15).await?;
    first.kill().await?;
    scene.told.killed(&all_lines(&first).await, &scene.plugin);
    scene.write(10).await?;
    leads(&second).await?;
    scene.write(10).await?;
    scene.told_all(&second).await?;
    scene.judge(&second)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_asked_to_stop_gives_the_lease_back() -> Result<()> {
    let mut scene = Scene::new("stopped").await?;
    let mut leader = scene.host()?;
    leads(&leader).await?;
    // As a rolling update does it: the next one is ready, then the last one goes.
    for _ in 0..3 {
        let next = scene.standby().await?;
        scene.write(15).await?;
        ensure!(leader.terminate(DEADLINE).await? == Some(0), "it stops in order");
        let lines = all_lines(&leader).await;
        ensure!(lines.iter().any(|line| line.is("message", "lease given back")), "{}", leader.log().tail());
        scene.told.killed(&lines, &scene.plugin);
        scene.write(5).await?;
        leads(&next).await?;
        let line = next.log().wait_for("it leads", 0, DEADLINE, |line| line.is("message", "this host leads")).await?;
        ensure!(line.text("after").is_empty(), "it did not have to wait until the lease ran out");
        leader = next;
    }
    scene.write(10).await?;
    scene.told_all(&leader).await?;
    scene.judge(&leader)?;
    ensure!(leader.terminate(DEADLINE).await? == Some(0), "it stops in order");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_frozen_calls_nothing_any_more() -> Result<()> {
    let mut scene = Scene::new("frozen").await?;
    let mut first = scene.host()?;
    leads(&first).await?;
    scene.write(20).await?;
    scene.told_all(&first).await?;
    let mut second = scene.standby().await?;
    first.signal(Signal::Stop);
    scene.told.killed(&first.log().since(0), &scene.plugin);
    scene.write(20).await?;
    leads(&second).await?;
    scene.told_all(&second).await?;
    let taken = |line: &Line| line.is("message", "checkpoint taken over from a leader that has not ended");
    ensure!(second.log().since(0).iter().any(|line| taken(line)), "it did not go on where the frozen one was: {}", second.log().tail());
    let frozen = first.log().len();
    first.signal(Signal::Continue);
    let status = first.wait(DEADLINE).await?;
    let rest = all_lines(&first).await.split_off(frozen);
    ensure!(!rest.iter().any(|line| line.is("message", "guest call finished")), "it called: {}", first.log().tail());
    ensure!(status.code() == Some(75), "it ends with {status}: {}", first.log().tail());
    ensure!(rest.iter().any(|line| line.is("reason", "LeaseLost")), "it says why: {}", first.log().tail());
    // The other one goes on, and what it writes down is in the file that its successor finds.
    scene.write(10).await?;
    scene.told_all(&second).await?;
    ensure!(second.terminate(DEADLINE).await? == Some(0), "it stops in order");
    scene.told.killed(&all_lines(&second).await, &scene.plugin);
    let third = scene.host()?;
    leads(&third).await?;
    scene.write(5).await?;
    scene.told_all(&third).await?;
    scene.judge(&third)
}

/// A host that takes part in no election has the file; who is elected all the same ends, and says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_of_a_host_without_an_election_is_left_alone() -> Result<()> {
    let mut scene = Scene::new("alone").await?;
    let alone = scene.lab.start_in("data/alone", &["--config", &scene.config])?;
    alone.ready().await?;
    let mut elected = scene.host()?;
    let status = elected.wait(DEADLINE).await?;
    ensure!(status.code() == Some(78), "it ends with {status}: {}", elected.log().tail());
    let lines = all_lines(&elected).await;
    ensure!(lines.iter().any(|line| line.text("message").contains("elect a leader by the same lease")), "{}", elected.log().tail());
    ensure!(elected.calls(&scene.plugin).is_empty(), "it called a plugin");
    scene.write(3).await?;
    scene.told_all(&alone).await
}

/// The status of a resource is the leader's to write: after a takeover the next one tells what becomes of it, and
/// names itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_leader_tells_what_becomes_of_a_resource() -> Result<()> {
    const ARGS: [&str; 2] = ["--cluster-plugins=true", "--plugin-namespaces=told"];
    let mut scene = Scene::new("told").await?;
    let crd = paths::root().join("deploy/kustomize/base/crd.yaml");
    scene.kubectl(&["apply", "--server-side", "-f", &crd.display().to_string()]).await?;
    scene.kubectl(&["wait", "crd/plugins.wharf.dev", "--for=condition=Established", "--timeout=60s"]).await?;
    let document = json!({
        "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "resource", "namespace": "told"},
        "spec": {"component": {"file": "probe.wasm"}, "grants": [{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}]},
    });
    for name in ["resource", "steady", "gone"] {
        let mut document = document.clone();
        *document.pointer_mut("/metadata/name").context("no name")? = json!(name);
        scene.lab.cluster.api().apply(&document).await?;
    }
    let mut first = scene.host_with(&ARGS)?;
    leads(&first).await?;
    scene.kubectl(&["wait", "plg/resource", "plg/steady", "plg/gone", "--for=condition=Ready", "--timeout=120s"]).await?;
    let times = ["get", "plg/steady", "-o=jsonpath={.status.conditions[*].lastTransitionTime}"];
    let since = scene.kubectl(&times).await?;
    let kept = scene.lab.data().join("shared/revisions");
    let book = |name: &str| kept.join(format!("told.{name}.json"));
    ensure!(book("gone").exists() && book("steady").exists(), "revisions are kept");
    let leader = scene.kubectl(&["get", "plg/resource", "-o=jsonpath={.status.replicas[*].name}"]).await?;
    let second = scene.host_with(&ARGS)?;
    second.ready().await?;
    // Orders are for the leader, and outlive it.
    let pause = |plugin: &str| ["pause", plugin].map(str::to_owned).to_vec();
    let (code, _, error) = second.wharf(&pause("told/resource")).await?;
    ensure!(code == 1 && error.contains("this host stands by") && error.contains(" leads"), "{code} {error}");
    // So is the question why; and what all plugins refuse alike is said once.
    for line in [&["explain", "told/probe", "cm/x"][..], &["retry", "told/probe", "cm/x"], &["drain", "--all"]] {
        let (code, _, said) = second.wharf(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).await?;
        ensure!(code == 1 && said == error, "{line:?}: {code} {said}, and not {error}");
    }
    let (_, page, _) = second.wharf(&["describe", "plugin", "told/probe"].map(str::to_owned)).await?;
    let shows = |word: &str| page.lines().any(|line| line.starts_with(word) && !line.ends_with("<none>"));
    ensure!(shows("Digest:") && shows("Subscriptions:") && page.contains("\nSynced:         yes\n"), "it is ready to take over: {page}");
    ensure!(!page.contains("Rollout:") && !page.contains("Hint:"), "nothing is under way or wrong: {page}");
    let (code, said, error) = first.wharf(&pause("told/probe")).await?;
    ensure!(code == 0, "{said}{error}");
    first.kill().await?;
    // While nobody leads.
    scene.kubectl(&["delete", "plg/gone"]).await?;
    scene.kubectl(&["patch", "plg/resource", "--type=merge", "-p", r#"{"spec":{"suspend":true}}"#]).await?;
    leads(&second).await?;
    scene.kubectl(&["wait", "plg/resource", "--for=jsonpath={.status.conditions[1].reason}=Suspended", "--timeout=120s"]).await?;
    let rows = second.get("plugins").await?;
    let paused = rows.as_array().into_iter().flatten().find(|row| row.get("name").is_some_and(|name| name == "probe"));
    ensure!(paused.and_then(|row| row.get("state")).is_some_and(|state| state == "Paused"), "it is paused still: {rows}");
    let status = scene.kubectl(&["get", "plg/resource", "-o=jsonpath={.status.observedGeneration} {.status.replicas[*].name}"]).await?;
    let (generation, next) = status.trim().split_once(' ').context("no replica")?;
    ensure!(generation == "2" && !next.contains(' '), "one host tells of the second generation: {status}");
    ensure!(!leader.trim().is_empty(), "the first leader has named itself");
    // What served before and serves again has not changed.
    until("the steady one to serve", DEADLINE, async || {
        let rows = second.get("plugins").await?;
        let steady = rows.as_array().into_iter().flatten().find(|row| row.get("name").is_some_and(|name| name == "steady"));
        Ok(steady.is_some_and(|row| row.get("state").is_some_and(|state| state == "Serving")).then_some(()))
    })
    .await?;
    let until_now = scene.kubectl(&times).await?;
    ensure!(until_now == since, "a takeover is no transition: {since}, and now {until_now}");
    until("nothing to be kept of what went while nobody led", DEADLINE, async || Ok((!book("gone").exists()).then_some(()))).await?;
    ensure!(book("steady").exists(), "what serves is kept");
    Ok(())
}
