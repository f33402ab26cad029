//! What each step of a scenario does. Owns the doing and the checking; every check waits
//! for its condition instead of for a time.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::time::sleep;
use wharf_testkit::{Call, Line, Signal, Stream, StreamOptions, Target, paths, until};

use super::beside::Beside;
use super::expect::{difference, text};
use super::model::{
    ExpectCalls, ExpectMetric, ExpectObject, ExpectWatches, Fields, Mode, Reference, SignalName, Step, Swap, VerifyChurn, Wharf,
};
use super::run::{DEADLINE, Run, in_namespace};

impl Run {
    /// Takes one step.
    pub(super) async fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Apply(manifests) => self.apply(manifests).await,
            Step::Patch(patch) => self.cluster.api().patch(&self.target(&patch.object), &patch.to).await.map(drop),
            Step::Delete(object) => {
                ensure!(self.cluster.api().delete(&self.target(object)).await?, "{} is not there", object.name);
                Ok(())
            }
            Step::WritePlugin(plugin) => {
                let mark = self.host.log().len();
                self.put(plugin)?;
                self.folder.publish()?;
                self.decided(plugin, mark).await
            }
            Step::SwapPlugin(swap) => self.swap_plugin(swap).await,
            Step::BreakPlugin(plugin) => self.break_plugin(plugin).await,
            Step::RemovePlugin(plugin) => self.remove_plugin(plugin).await,
            Step::InstallCrd => self.install_crd().await,
            Step::ApplyPlugin(plugin) => self.apply_plugin(plugin).await,
            Step::DeletePlugin(plugin) => self.delete_plugin(plugin).await,
            Step::ApplyComponent(component) => self.apply_component(component).await,
            Step::CutWatch => {
                self.proxy.cut();
                Ok(())
            }
            Step::SlowApiServer(bytes_per_second) => {
                self.proxy.slow_down(*bytes_per_second);
                Ok(())
            }
            Step::RestoreWatch => {
                self.proxy.restore();
                Ok(())
            }
            Step::StopApiServer => self.cluster.stop_api_server().await,
            Step::StartApiServer => self.cluster.start_api_server().await,
            Step::Outage(length) => {
                sleep(Duration::from_secs(length.seconds)).await;
                Ok(())
            }
            Step::Busy(plugin) => self.busy(plugin).await,
            Step::Signal(SignalName::Term) => {
                self.host.signal(Signal::Term);
                Ok(())
            }
            Step::Signal(SignalName::Kill) => self.host.kill().await,
            Step::StartHost => self.start_host().await,
            Step::ExpectCalls(calls) => self.expect_calls(calls).await,
            Step::ExpectLog(fields) => {
                let wanted = |line: &Line| difference(fields, |name| line.text(name)).is_none();
                self.host.log().wait_for(&format!("a log line with {fields:?}"), 0, DEADLINE, wanted).await.map(drop)
            }
            Step::ExpectNoLog(fields) => self.expect_no_log(fields).await,
            Step::ExpectObject(object) => self.expect_object(object).await,
            Step::ExpectNoObject(object) => self.expect_no_object(object).await,
            Step::ExpectMetric(metric) => self.expect_metric(metric).await,
            Step::ExpectWatches(watches) => self.expect_watches(watches).await,
            Step::ExpectHealth(health) => {
                let host = &self.host;
                until(&format!("{} answers {}", health.path, health.code), DEADLINE, async || {
                    let (code, body) = host.health(&health.path).await?;
                    ensure!(code == health.code, "it answers {code}: {body}");
                    Ok(Some(()))
                })
                .await
            }
            Step::Wharf(command) => self.wharf(command).await,
            Step::WharfGoesOn(args) => {
                self.beside = Some(Beside::start(&self.host, args)?);
                Ok(())
            }
            Step::WharfSays(wanted) => self.beside.as_mut().context("no command of wharf goes on")?.says(wanted).await,
            Step::Kubectl(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).chain(["-n", &self.namespace]).collect();
                self.cluster.kubectl(&words, None).await.map(drop)
            }
            Step::ExpectExit(exit) => {
                let status = self.host.wait(Duration::from_secs(exit.within_seconds)).await?;
                ensure!(status.code() == Some(exit.code), "the host ended with {status}\n{}", self.host.log().tail());
                Ok(())
            }
            Step::Quiesce(plugins) => self.quiesce(plugins).await,
            Step::Churn(churn) => {
                ensure!(self.stream.is_none(), "there is a stream already");
                let options = StreamOptions {
                    namespace: self.namespace.clone(),
                    objects: churn.objects,
                    per_second: churn.per_second,
                    delete_every: churn.delete_every,
                    manifest: churn.manifest.clone(),
                };
                self.stream = Some(Stream::start(self.cluster.clone(), options));
                Ok(())
            }
            Step::Churned(writes) => self.stream.as_mut().context("there is no stream")?.more(*writes).await,
            Step::VerifyChurn(verify) => self.verify_churn(verify).await,
        }
    }

    fn target(&self, object: &Reference) -> Target {
        Target {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone().unwrap_or_else(|| self.namespace.clone()),
            name: object.name.clone(),
        }
    }

    async fn apply(&self, manifests: &[Value]) -> Result<()> {
        for manifest in manifests {
            let manifest = in_namespace(manifest, &self.namespace);
            let kind = text(manifest.get("kind").unwrap_or(&Value::Null));
            // A kind that was just defined is served a moment later.
            until(&format!("{kind} is applied"), DEADLINE, async || self.cluster.api().apply(&manifest).await.map(Some)).await?;
        }
        Ok(())
    }

    async fn swap_plugin(&mut self, swap: &Swap) -> Result<()> {
        let mark = self.host.log().len();
        let path = paths::guest(&swap.guest)?;
        self.folder.put(format!("{}.wasm", swap.plugin), std::fs::read(&path).with_context(|| format!("read {}", path.display()))?);
        self.folder.publish()?;
        if swap.offline { Ok(()) } else { self.serving(&self.plugin(&swap.plugin), mark).await }
    }

    async fn break_plugin(&mut self, plugin: &str) -> Result<()> {
        let mark = self.host.log().len();
        self.folder.put(format!("{plugin}.wasm"), b"\0asm this is no component".to_vec());
        self.folder.publish()?;
        let name = self.plugin(plugin);
        let refused = |line: &Line| line.is("message", "plugin revision refused") && line.is("plugin", &name);
        self.host.log().wait_for(&format!("{name} is refused"), mark, DEADLINE, refused).await.map(drop)
    }

    async fn remove_plugin(&mut self, plugin: &str) -> Result<()> {
        let mark = self.host.log().len();
        self.folder.remove(&format!("{plugin}.yaml"));
        self.folder.remove(&format!("{plugin}.wasm"));
        self.folder.publish()?;
        let name = self.plugin(plugin);
        self.forget(&name);
        let removed = |line: &Line| line.is("message", "plugin removed") && line.is("plugin", &name);
        self.host.log().wait_for(&format!("{name} is removed"), mark, DEADLINE, removed).await.map(drop)
    }

    async fn expect_calls(&mut self, expected: &ExpectCalls) -> Result<()> {
        let plugin = self.plugin(&expected.plugin);
        let namespace = expected.namespace.clone().unwrap_or_else(|| self.namespace.clone());
        if matches!(expected.mode, Mode::Only | Mode::Never) {
            self.quiesce(std::slice::from_ref(&expected.plugin)).await?;
        }
        let key = [plugin.clone(), namespace.clone(), expected.name.clone()];
        let used = self.used.get(&key).copied().unwrap_or_default();
        let of_key = |calls: &[Call]| -> Vec<Call> {
            let mine = calls.iter().filter(|call| call.text("namespace") == namespace && call.text("name") == expected.name);
            mine.skip(used).cloned().collect()
        };
        let count = expected.calls.len();
        let now_used = match expected.mode {
            Mode::Exact | Mode::Only => {
                let what = format!("{count} more calls of {plugin} for {namespace}/{}", expected.name);
                let calls = self
                    .host
                    .wait_calls(&what, &plugin, DEADLINE, |calls| Some(of_key(calls)).filter(|calls| calls.len() >= count))
                    .await?;
                for (index, (fields, call)) in expected.calls.iter().zip(&calls).enumerate() {
                    if let Some(difference) = difference(fields, |name| call.text(name)) {
                        bail!("call {} of {}: {difference}\nthe calls were:\n{}", index + 1, expected.name, history(&calls));
                    }
                }
                ensure!(expected.mode == Mode::Exact || calls.len() == count, "{count} calls were expected:\n{}", history(&calls));
                count
            }
            Mode::Contains => {
                let what = format!("calls of {plugin} for {namespace}/{} with {:?}", expected.name, expected.calls);
                let found = self.host.wait_calls(&what, &plugin, DEADLINE, |calls| subsequence(&of_key(calls), &expected.calls));
                found.await.with_context(|| format!("the calls were:\n{}", history(&of_key(&self.host.calls(&plugin)))))?
            }
            Mode::Never => {
                let calls = of_key(&self.host.calls(&plugin));
                for fields in &expected.calls {
                    let unwanted = calls.iter().find(|call| difference(fields, |name| call.text(name)).is_none());
                    ensure!(unwanted.is_none(), "there is a call with {fields:?}:\n{}", history(&calls));
                }
                0
            }
        };
        self.used.insert(key, used + now_used);
        Ok(())
    }

    async fn expect_no_log(&mut self, fields: &Fields) -> Result<()> {
        self.quiesce(&[]).await?;
        let lines = self.host.log().since(0);
        let unwanted = lines.iter().find(|line| difference(fields, |name| line.text(name)).is_none());
        ensure!(unwanted.is_none(), "there is such a line: {unwanted:?}");
        Ok(())
    }

    async fn expect_object(&self, expected: &ExpectObject) -> Result<()> {
        let namespace = expected.namespace.clone().unwrap_or_else(|| self.namespace.clone());
        let what = format!("{} {} with {:?}", expected.kind, expected.name.as_deref().unwrap_or("of any name"), expected.fields);
        let api = self.cluster.api();
        until(&what, DEADLINE, async || {
            let mut objects = api.list(&expected.api_version, &expected.kind, &namespace).await?;
            if let Some(name) = &expected.name {
                objects.retain(|object| object.pointer("/metadata/name").and_then(Value::as_str) == Some(name));
            }
            let differs = |object: &Value| difference(&expected.fields, |pointer| text(object.pointer(pointer).unwrap_or(&Value::Null)));
            if objects.iter().any(|object| differs(object).is_none()) {
                return Ok(Some(()));
            }
            bail!("{} objects, and: {}", objects.len(), objects.iter().filter_map(differs).next().unwrap_or_default())
        })
        .await
    }

    async fn expect_no_object(&self, object: &Reference) -> Result<()> {
        let target = self.target(object);
        until(&format!("{target:?} is gone"), DEADLINE, async || Ok(self.cluster.api().get(&target).await?.is_none().then_some(()))).await
    }

    async fn expect_metric(&self, expected: &ExpectMetric) -> Result<()> {
        let labels: Vec<_> = expected.labels.iter().map(|(label, value)| (label.clone(), value.clone())).collect();
        let host = &self.host;
        until(&format!("metric {} {labels:?}", expected.name), DEADLINE, async || {
            let Some(value) = host.metric(&expected.name, &labels).await? else { bail!("there is no such series") };
            let good = expected.equals.is_none_or(|want| (value - want).abs() < f64::EPSILON)
                && expected.at_least.is_none_or(|want| value >= want);
            ensure!(good, "it is {value}");
            Ok(Some(()))
        })
        .await
    }

    async fn wharf(&self, command: &Wharf) -> Result<()> {
        let host = &self.host;
        let line = format!("wharf {}", command.args.join(" "));
        let run = async || {
            let (code, out, err) = host.wharf(&command.args).await?;
            let all = format!("it ended with {code} and printed:\n{out}{err}");
            ensure!(code == command.code, "exit code {} was expected, but {all}", command.code);
            for (wanted, text) in [(&command.out, &out), (&command.err, &err)] {
                let missing = missing_in_order(text, wanted);
                ensure!(missing.is_none(), "{missing:?} is missing: {all}");
            }
            let unwanted = command.not.iter().find(|unwanted| out.contains(*unwanted));
            ensure!(unwanted.is_none(), "{unwanted:?} is there: {all}");
            Ok(Some(()))
        };
        if command.once { run().await.map(drop).context(line) } else { until(&line, DEADLINE, run).await }
    }

    async fn expect_watches(&self, expected: &ExpectWatches) -> Result<()> {
        let own = self.cluster.own_watches(&expected.group, &expected.resource);
        until(&format!("{} watches of {}", expected.count, expected.resource), DEADLINE, async || {
            let count = self.cluster.api().watches(&expected.group, &expected.resource).await?;
            ensure!(count == expected.count + own, "the API server counts {count}, of which {own} are its own");
            Ok(Some(()))
        })
        .await
    }

    async fn verify_churn(&mut self, verify: &VerifyChurn) -> Result<()> {
        let books = self.stream.take().context("there is no stream")?.finish().await?;
        self.quiesce(&verify.plugins).await?;
        for plugin in &verify.plugins {
            let calls = self.host.calls(&self.plugin(plugin));
            let problems = books.problems(&calls);
            let (writes, count) = (books.writes, calls.len());
            ensure!(problems.is_empty(), "{plugin}: after {writes} writes and {count} calls:\n  {}", problems.join("\n  "));
            let mut revisions: Vec<_> = calls.iter().map(|call| call.text("revision")).collect();
            revisions.sort_unstable();
            revisions.dedup();
            ensure!(revisions.len() >= verify.revisions, "{plugin}: only these revisions took part: {revisions:?}");
        }
        Ok(())
    }
}

/// The first of the texts that does not come after those before it.
pub(super) fn missing_in_order<'w>(mut text: &str, wanted: &'w [String]) -> Option<&'w str> {
    wanted.iter().find_map(|wanted| match text.split_once(wanted.as_str()) {
        Some((_, rest)) => {
            text = rest;
            None
        }
        None => Some(wanted.as_str()),
    })
}

/// How many calls are used up when all the wanted ones were found in order.
fn subsequence(calls: &[Call], wanted: &[Fields]) -> Option<usize> {
    let mut rest = calls.iter().enumerate();
    let mut used = 0;
    for fields in wanted {
        let (index, _) = rest.find(|(_, call)| difference(fields, |name| call.text(name)).is_none())?;
        used = index + 1;
    }
    Some(used)
}

/// Calls as lines, for messages.
fn history(calls: &[Call]) -> String {
    const FIELDS: [&str; 13] = [
        "event",
        "outcome",
        "reason",
        "cause",
        "attempt",
        "removal",
        "final_state_unknown",
        "resource_version",
        "uid",
        "value",
        "previous",
        "tag",
        "detail",
    ];
    let line = |call: &Call| {
        let fields: Vec<_> = FIELDS.iter().map(|name| (name, call.text(name))).filter(|(_, value)| !value.is_empty()).collect();
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    calls.iter().map(|call| format!("  {}", line(call))).collect::<Vec<_>>().join("\n")
}
