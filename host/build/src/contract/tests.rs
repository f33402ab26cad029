use std::fs;

use super::*;
use crate::encode::{self, Plan};

/// A core module with everything that the world asks for.
fn module(exports: &str, imports: &str) -> Vec<u8> {
    let text = format!(
        r#"(module {imports}
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        {exports})"#
    );
    wat::parse_str(text).unwrap()
}

/// The exports of a plugin that do nothing, with the types that the canonical ABI gives them.
fn exports(version: &str) -> String {
    let mut text = String::new();
    let (resolve, world) = controller().unwrap();
    for name in exported_functions(&resolve, world) {
        let (params, result) = if name.ends_with("describe") {
            ("", "i32")
        } else if name.ends_with("validate-config") {
            ("i32 i32", "i32")
        } else {
            ("i32", "i32")
        };
        let name = name.replace("@0.1.0", version);
        text.push_str(&format!("(func (export \"{name}\") (param {params}) (result {result}) unreachable)\n"));
    }
    text
}

fn refused(result: Result<impl Sized, BuildError>) -> (Reason, String, String) {
    match result.err().unwrap() {
        error @ BuildError::Contract { .. } => (error.reason().unwrap(), error.to_string(), error.hint()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_files_are_those_of_the_contract() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let mut there: Vec<String> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| name.ends_with(".wit"));
    there.sort();
    assert_eq!(there, FILES.map(|(name, _)| name));
    assert_eq!(version().unwrap(), "0.1.0");
}

#[test]
fn the_smallest_world_is_made() {
    for cluster in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        write_world(folder.path(), cluster).unwrap();
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(folder.path()).unwrap();
        let world = resolve.select_world(&[package], Some(GENERATED_WORLD)).unwrap();
        let names = interfaces(&resolve, world);
        assert_eq!(names.contains("wharf:plugin/cluster@0.1.0"), cluster, "{names:?}");
        assert!(names.contains("wharf:plugin/handler@0.1.0"), "{names:?}");
    }
}

#[test]
fn a_whole_plugin_becomes_a_component() {
    let plan = Plan { embed_world: true, ..Plan::default() };
    let component = encode::component(&module(&exports("@0.1.0"), ""), &plan).unwrap();
    check_component(&component, "fix").unwrap();
}

#[test]
fn every_missing_export_is_named() {
    let exports = exports("@0.1.0").replace("#update", "#updated").replace("#describe", "#described");
    let (reason, text, hint) = refused(check_module(&module(&exports, ""), "call the macro"));
    assert_eq!((reason, hint.as_str()), (Reason::WorldMismatch, "call the macro"));
    assert!(text.ends_with("wharf:plugin/setup@0.1.0.describe, wharf:plugin/handler@0.1.0.update"), "{text}");
}

#[test]
fn another_version_of_the_contract_is_named() {
    let (reason, text, hint) = refused(check_module(&module(&exports("@0.2.0"), ""), "fix"));
    assert_eq!(reason, Reason::WorldMismatch);
    assert!(text.contains("another contract than wharf:plugin@0.1.0: wharf:plugin/handler@0.2.0"), "{text}");
    assert!(hint.contains("SDK"), "{hint}");
}

#[test]
fn another_world_is_named() {
    for (imports, name, hint) in [
        (r#"(import "wasi2:http/client@0.2.0" "get" (func))"#, "wasi2:http/client@0.2.0", "wharf:plugin"),
        (r#"(import "env" "curl_easy_init" (func))"#, "env", "declared but defined nowhere"),
    ] {
        let (reason, text, fix) = refused(check_module(&module(&exports("@0.1.0"), imports), "fix"));
        assert_eq!(reason, Reason::ImportUnknown);
        assert!(text.contains(name) && fix.contains(hint), "{text} {fix}");
    }
    let other = wat::parse_str(r#"(component (import "a:b/c@1.0.0" (instance)))"#).unwrap();
    let (reason, text, _) = refused(check_component(&other, "fix"));
    assert!(reason == Reason::ImportUnknown && text.contains("a:b/c@1.0.0"), "{text}");
}

#[test]
fn only_components_pass() {
    let (reason, text, _) = refused(check_component(&module("", ""), "fix"));
    assert!(reason == Reason::ComponentInvalid && text.contains("a core module, not a component"), "{text}");
    let (reason, text, _) = refused(check_component(b"junk", "fix"));
    assert!(reason == Reason::ComponentInvalid && text.contains("no WebAssembly component"), "{text}");
    let (reason, _, _) = refused(check_module(b"junk", "fix"));
    assert_eq!(reason, Reason::ComponentInvalid);
    let (reason, text, hint) = refused(check_component(&wat::parse_str("(component)").unwrap(), "fix"));
    assert!(
        reason == Reason::WorldMismatch && hint == "fix" && text.contains("wharf:plugin/handler@0.1.0, wharf:plugin/setup@0.1.0"),
        "{text}"
    );
}

#[test]
fn types_are_compared_too() {
    let text = r#"(component
        (instance $empty)
        (export "wharf:plugin/setup@0.1.0" (instance $empty))
        (export "wharf:plugin/handler@0.1.0" (instance $empty)))"#;
    let (reason, text, _) = refused(check_component(&wat::parse_str(text).unwrap(), "fix"));
    assert_eq!(reason, Reason::WorldMismatch);
    assert!(text.contains("other types than the contract's"), "{text}");
}
