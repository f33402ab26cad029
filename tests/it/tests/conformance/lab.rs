//! Where cases are played: one engine, each component compiled once, one revision for each
//! case. Never decides what is right.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Description, Isolation, PluginName, read_description};
use wharf_core::{ClusterGrant, Delivery, Event, Grants, Gvk, Object, Strike, Verb};
use wharf_engine::{Artifact, Engine, EngineConfig, Ports, Revision, RevisionSpec};
use wharf_testkit::paths;

use super::case::{Call, Case, Step, Text, Told, Verdict};
use super::language::{Ending, Language};
use super::ports::Recorder;
use super::{case, check};

type Loaded = OnceCell<Result<Arc<Artifact>, String>>;

/// Memory may grow in the first of so many parts of a burst.
const PARTS: u32 = 4;

pub(crate) struct Lab {
    runtime: Runtime,
    engine: Engine,
    components: Mutex<HashMap<String, Arc<Loaded>>>,
}

impl Lab {
    pub(crate) fn new() -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let config = EngineConfig {
            instances: 64,
            threads: 2,
            cache_dir: Some(paths::target().join("conformance")),
            // Ten thousand calls in one instance is one of the cases.
            calls_per_instance: 20_000,
            ..EngineConfig::default()
        };
        Ok(Self { runtime, engine: Engine::new(config)?, components: Mutex::default() })
    }

    /// Plays a case.
    pub(crate) fn play(&self, language: &Language, component: &str, case: &Case) -> Result<()> {
        self.runtime.block_on(async {
            let ports = Arc::new(Recorder::new(case.level));
            let revision = self.revision(component, case, Arc::clone(&ports) as Arc<dyn Ports>).await?;
            let mut table = Table { language, isolation: case.isolation, revision, ports, reports: Vec::new() };
            for (at, step) in case.steps.iter().enumerate() {
                table.step(step).await.with_context(|| format!("step {}", at.saturating_add(1)))?;
            }
            Ok(())
        })
    }

    async fn revision(&self, component: &str, case: &Case, ports: Arc<dyn Ports>) -> Result<Arc<Revision>> {
        let cell = Arc::clone(self.components.lock().entry(component.to_owned()).or_default());
        let loaded = cell.get_or_init(|| async { self.load(component).await.map_err(|error| format!("{error:#}")) }).await;
        let artifact = loaded.as_ref().map_err(|text| anyhow::anyhow!("{text}"))?;
        let spec = RevisionSpec {
            name: PluginName { namespace: "team-a".into(), name: "conformance".into() },
            limits: case.limits,
            grants: grants(),
            config: case.config.to_string().into(),
            ports,
            isolation: case.isolation,
        };
        Ok(self.engine.prepare(Arc::clone(artifact), spec)?)
    }

    async fn load(&self, component: &str) -> Result<Arc<Artifact>> {
        let file = paths::guest(component)?;
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(self.engine.load(bytes.into()).await?)
    }
}

/// One case being played.
struct Table<'a> {
    language: &'a Language,
    isolation: Isolation,
    revision: Arc<Revision>,
    ports: Arc<Recorder>,
    reports: Vec<Value>,
}

impl Table<'_> {
    async fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Call(call) => {
                let report = self.revision.call(delivery(call)?).await;
                let (lines, asked) = self.ports.take();
                check::ending(&report.result, &call.want).with_context(|| format!("lines: {lines:?}"))?;
                let reported = check::lines(lines, call, &self.reports)?;
                self.reports.extend(reported);
                check::asked(asked, call)
            }
            Step::Burst(call, times) => self.burst(call, *times).await,
            Step::Validate(verdict) => self.validate(verdict).await,
            Step::Describe(told) => self.describe(told).await,
        }
    }

    /// Calls that each report the counter in the guest's memory: one more than in the call
    /// before in the same instance, else 1.
    async fn burst(&self, call: &Call, times: u32) -> Result<()> {
        let (mut last, mut warm, mut peak) = (0, 0, 0);
        for number in 1..=times {
            let report = self.revision.call(delivery(call)?).await;
            let (lines, _) = self.ports.take();
            let context = || format!("call {number} of {times}");
            check::ending(&report.result, &call.want).with_context(context)?;
            let count = check::lines(lines, call, &[]).with_context(context)?;
            let count = count.as_ref().and_then(Value::as_u64).with_context(context)?;
            let want = if report.reused { last + 1 } else { 1 };
            ensure!(count == want, "call {number} of {times} counted {count}, wanted {want} (in a reused instance: {})", report.reused);
            last = count;
            let memory = if number <= times / PARTS { &mut warm } else { &mut peak };
            *memory = report.peak_memory.max(*memory);
        }
        let want = if self.isolation == Isolation::Reuse { u64::from(times) } else { 1 };
        ensure!(last == want, "the last instance served {last} of {times} calls, wanted {want}");
        // Without a collector a call takes what the one before it took: one page, and what it leaves would add up to more.
        let slack = if self.language.traits.collected { (warm / 4).max(1 << 20) } else { 64 << 10 };
        ensure!(peak <= warm + slack, "memory grew from {warm} to {peak} bytes in {times} calls, more than by {slack}");
        Ok(())
    }

    async fn validate(&self, verdict: &Verdict) -> Result<()> {
        let said = self.revision.validate_config().await;
        // What an SDK logs before it gives up is its own affair.
        self.ports.take();
        let good = match (verdict, &said) {
            (Verdict::Good, Ok(Ok(()))) => true,
            (Verdict::Wrong(want), Ok(Err(errors))) => {
                want.len() == errors.len() && want.iter().all(|want| errors.iter().any(|error| error == want))
            }
            (Verdict::Mentions(word), Ok(Err(errors))) => errors.iter().any(|error| error.contains(word)),
            (Verdict::Crash(text), Ok(Err(errors))) => {
                self.language.traits.panic == Ending::Caught && errors.iter().any(|error| error.contains(text))
            }
            (Verdict::Crash(text), Err(strike)) => self.language.traits.panic != Ending::Caught && strike.message.contains(text),
            _ => false,
        };
        ensure!(good, "validate-config said {said:?}");
        Ok(())
    }

    async fn describe(&self, told: &Told) -> Result<()> {
        let said = self.revision.describe().await;
        self.ports.take();
        match (told, said) {
            (Told::Itself, Ok(text)) => self.described(&text),
            (Told::LabelGuard, Ok(text)) => guard_described(&text),
            (Told::Crash(want), Err(Strike { message, .. })) if check::says(&Text::has(want), &message) => Ok(()),
            (_, said) => bail!("describe said {said:?}"),
        }
    }

    fn described(&self, text: &str) -> Result<()> {
        let Description { name, version, reasons, subscribe, .. } =
            read_description(text).map_err(|problems| anyhow::anyhow!("{problems:?} in {text}"))?;
        ensure!((name, version.as_str()) == (self.language.component(), "0.1.0"), "{text}");
        let sdk =
            ["ConfigInvalid", "ObjectInvalid", "GrantMissing", "Forbidden", "Conflict", "ServerUnavailable", "ApiError", "HandlerError"];
        for reason in ["Custom", "UnknownCommand"].iter().chain(&sdk) {
            ensure!(reasons.iter().any(|listed| **listed == **reason), "{reason} is not listed: {text}");
        }
        let [main] = subscribe.as_slice() else { bail!("not one subscription: {text}") };
        ensure!(&*main.name == "main" && main.kind == Some(Gvk::new("", "v1", "ConfigMap")), "{text}");
        ensure!(main.events.as_ref().is_none_or(|events| Event::ALL.iter().all(|event| events.contains(event))), "not all events: {text}");
        Ok(())
    }
}

/// label-guard is one plugin: its language does not show, but in the memory that it asks for.
fn guard_described(text: &str) -> Result<()> {
    let Description { name, version, subscribe, .. } =
        read_description(text).map_err(|problems| anyhow::anyhow!("{problems:?} in {text}"))?;
    ensure!((&*name, version.as_str()) == ("label-guard", "0.1.0"), "{text}");
    let [main] = subscribe.as_slice() else { bail!("not one subscription: {text}") };
    ensure!(&*main.name == "main" && main.kind == Some(Gvk::new("", "v1", "ConfigMap")), "{text}");
    let events = main.events.as_ref().with_context(|| format!("no events: {text}"))?;
    ensure!(Event::ALL.iter().all(|event| events.contains(event) == (*event != Event::Delete)), "other events: {text}");
    Ok(())
}

/// ConfigMaps and Events in team-a, and nothing else.
fn grants() -> Grants {
    let grant = |kind, verbs: &[Verb], namespaces: &[&str]| ClusterGrant {
        kind,
        verbs: verbs.to_vec(),
        namespaces: Namespaces::Some(namespaces.iter().map(|name| (*name).into()).collect()),
    };
    let namespaces = ["team-a", "empty"].into_iter().chain(super::ports::ERRORS).collect::<Vec<_>>();
    let maps = grant(Gvk::new("", "v1", "ConfigMap"), &Verb::ALL, &namespaces);
    let events = grant(Gvk::new("events.k8s.io", "v1", "Event"), &[Verb::Create], &["team-a"]);
    Grants { cluster: vec![maps, events] }
}

fn delivery(call: &Call) -> Result<Delivery> {
    let kind = Arc::new(call.kind.clone());
    let parse = |text: &Option<String>| text.as_ref().map(|text| Object::parse(text, &kind).map(Arc::new)).transpose();
    let (current, previous) = (parse(&call.current)?, parse(&call.previous)?);
    let bare = format!(r#"{{"metadata":{}}}"#, case::METADATA);
    let known =
        current.as_deref().or(previous.as_deref()).map_or_else(|| Object::parse(&bare, &kind), |o| Object::parse(o.json(), &kind))?;
    Ok(Delivery {
        event: call.event,
        key: known.key().clone(),
        uid: Arc::clone(known.uid()),
        kind,
        subscription: "main".into(),
        removal: call.removal,
        final_state_unknown: call.final_state_unknown,
        cause: call.cause,
        attempt: call.attempt,
        queued: call.queued,
        current,
        previous,
    })
}
