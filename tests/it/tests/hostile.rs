//! A guest that breaks as a program of a language does, with the language's own runtime in it: what a panic, an abort, an
//! allocation without end and a recursion without end of Rust are called. The other hostile guests are in
//! `host/engine/tests/it/hostile`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Cause, ClusterGrant, Delivery, Event, Grants, Gvk, Object, Outcome, Reason, Removal, Verb};
use wharf_engine::{Engine, EngineConfig, NoPorts, RevisionSpec};
use wharf_testkit::paths;

fn delivery(script: &str) -> Result<Delivery> {
    let kind = Arc::new(Gvk::new("", "v1", "ConfigMap"));
    let text = format!(r#"{{"metadata":{{"name":"n","namespace":"ns","uid":"u"}},"data":{{"do":"{script}"}}}}"#);
    let current = Arc::new(Object::parse(&text, &kind)?);
    Ok(Delivery {
        event: Event::Add,
        key: current.key().clone(),
        uid: Arc::clone(current.uid()),
        kind,
        subscription: "main".into(),
        removal: Removal::None,
        final_state_unknown: false,
        cause: Cause::Watch,
        attempt: 1,
        queued: Duration::ZERO,
        current: Some(current),
        previous: None,
    })
}

#[tokio::test]
async fn a_program_breaks_in_its_own_ways() -> Result<()> {
    let engine = Engine::new(EngineConfig { instances: 2, threads: 1, ..EngineConfig::default() })?;
    let artifact = engine.load(std::fs::read(paths::guest("probe")?)?.into()).await?;
    let reads = ClusterGrant { kind: Gvk::new("", "v1", "ConfigMap"), verbs: vec![Verb::Get], namespaces: Namespaces::All };
    let spec = RevisionSpec {
        name: PluginName { namespace: "team-a".into(), name: "probe".into() },
        limits: Limits { deadline: Duration::from_secs(60), cpu: Duration::from_secs(1), ..Limits::default() },
        grants: Grants { cluster: vec![reads] },
        config: "{}".into(),
        ports: Arc::new(NoPorts),
        isolation: Isolation::Reuse,
    };
    let probe = engine.prepare(artifact, spec)?;
    for (script, reason, said) in [
        ("panic", Reason::Trap, "asked for"),
        ("trap", Reason::Trap, "unreachable"),
        ("bomb", Reason::MemoryExceeded, "67108864 are allowed"),
        ("recurse", Reason::StackOverflow, "one_deeper"),
        ("loop", Reason::CpuExceeded, "processor time"),
    ] {
        for _ in 0..2 {
            let strike = probe.call(delivery(script)?).await.result.err().context(script)?;
            assert!(strike.reason == reason && strike.message.contains(said), "{script}: {strike:?}");
            assert_eq!(probe.call(delivery("done")?).await.result, Ok(Ok(Outcome::Done)), "after {script}");
        }
    }
    Ok(())
}
