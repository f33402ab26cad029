//! What is refused before anything runs.

use std::sync::Arc;

use wharf_core::Reason;
use wharf_engine::{BinaryKind, Engine, EngineConfig, LoadError, WASMTIME_VERSION, WIT_PACKAGE, inspect};

use crate::encode;
use crate::support::{Recorder, artifact, engine, limits, revision, spec};

async fn load(engine: &Engine, bytes: Vec<u8>) -> LoadError {
    engine.load(bytes.into()).await.unwrap_err()
}

#[tokio::test]
async fn bytes_that_are_no_component() {
    let engine = engine(2);
    let mut broken = encode::guest("ok").unwrap();
    broken.truncate(broken.len() / 2);
    for bytes in [b"\x7fELF garbage".to_vec(), Vec::new(), wat::parse_str("(module)").unwrap(), broken] {
        let error = load(&engine, bytes).await;
        assert_eq!(error.reason, Reason::ComponentInvalid, "{error}");
    }
    assert!(load(&engine, wat::parse_str("(module)").unwrap()).await.message.contains("core module"));
}

#[tokio::test]
async fn a_component_that_is_too_large() {
    let engine = Engine::new(EngineConfig { instances: 2, threads: 1, max_component_bytes: 100, ..EngineConfig::default() }).unwrap();
    assert_eq!(load(&engine, encode::guest("ok").unwrap()).await.reason, Reason::ComponentTooLarge);
}

#[tokio::test]
async fn imports_that_are_unknown_or_not_granted() {
    let engine = engine(2);
    let prepare = async |guest: &str| {
        let artifact = artifact(&engine, guest).await.unwrap();
        engine.prepare(artifact, spec(limits(), &Recorder::new())).unwrap_err()
    };
    let error = prepare("unknown-import").await;
    assert_eq!(error.reason, Reason::ImportUnknown);
    for part in ["acme:secrets/vault@1.2.0", "wasi:http/outgoing-handler@0.2.0", "wharf:plugin/cluster@0.1.0", "- cluster: {"] {
        assert!(error.message.contains(part), "{part} in {error}");
    }
    let error = prepare("cluster").await;
    assert_eq!(error.reason, Reason::GrantMissing);
    assert!(error.message.contains("wharf:plugin/cluster@0.1.0") && !error.message.contains("plugin/event"), "{error}");
}

#[tokio::test]
async fn worlds_that_are_wrong() {
    let engine = engine(2);
    let nothing = artifact(&engine, "wrong-world").await.unwrap();
    let error = engine.prepare(nothing, spec(limits(), &Recorder::new())).unwrap_err();
    assert_eq!(error.reason, Reason::WorldMismatch);
    assert!(error.message.contains("wharf:plugin/"), "{error}");
    let types = revision(&engine, "wrong-types").await;
    assert_eq!(types.validate_config().await.unwrap_err().reason, Reason::WorldMismatch);
    assert_eq!(types.describe().await.unwrap_err().reason, Reason::WorldMismatch);
}

#[tokio::test]
async fn one_artifact_for_the_same_bytes() {
    let engine = engine(2);
    let bytes = encode::guest("ok").unwrap();
    let (one, two) = tokio::join!(engine.load(bytes.clone().into()), engine.load(bytes.clone().into()));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(Arc::ptr_eq(&one, &two));
    assert_eq!(engine.stats().artifacts, 1);
    let inspection = inspect(&bytes).unwrap();
    assert_eq!((inspection.kind, inspection.initial_memory), (BinaryKind::Component, 65_536));
    assert_eq!((one.digest(), one.size()), (&*inspection.digest, bytes.len() as u64));
    assert_eq!((one.imports(), one.exports()), (&*inspection.imports, &*inspection.exports));
    assert!(one.imports().contains(&"wharf:plugin/event@0.1.0".to_owned()), "{:?}", one.imports());
    assert!(one.exports().contains(&"wharf:plugin/handler@0.1.0".to_owned()), "{:?}", one.exports());
    drop((one, two));
    assert_eq!(engine.stats().artifacts, 0);
}

#[test]
fn the_versions_that_are_named_are_the_versions_that_are_there() {
    let root = encode::root().unwrap();
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert!(lock.contains(&format!("name = \"wasmtime\"\nversion = \"{WASMTIME_VERSION}\"\n")));
    let worlds = std::fs::read_to_string(root.join("wit/worlds.wit")).unwrap();
    assert!(worlds.starts_with(&format!("package {WIT_PACKAGE};\n")));
}
