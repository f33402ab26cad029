//! What some bytes are, without compiling them. Owns the validation and the lists of imports
//! and exports; never decides which imports are granted (that is `imports`).

use sha2::{Digest, Sha256};
use wasmparser::{Encoding, MemoryType, Parser, Payload, Validator, WasmFeatures};
use wharf_core::Reason;

use crate::failure::LoadError;
use crate::limits::{MAX_TEXT_BYTES, clean};
use crate::nesting;

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryKind {
    /// A WebAssembly component.
    Component,
    /// A core module: what compilers make before it is turned into a component.
    CoreModule,
    /// Something else.
    Other,
}

/// What `wharf inspect` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Component, core module or neither.
    pub kind: BinaryKind,
    /// `sha256:` and the digest of the bytes in hex.
    pub digest: String,
    /// Number of bytes.
    pub size: u64,
    /// Names of the imports, in their order; of a component only.
    pub imports: Vec<String>,
    /// Names of the exports, in their order; of a component only.
    pub exports: Vec<String>,
    /// Bytes of memory that an instance has before it runs: the sum over all memories that
    /// the component's modules define.
    pub initial_memory: u64,
}

/// Looks at the bytes of a file. Validates a component completely; costs a few milliseconds
/// per megabyte and is best done on a blocking thread.
///
/// # Errors
/// [`Reason::ComponentInvalid`] for a component that is broken or uses features of
/// WebAssembly that the host has switched off.
pub fn inspect(wasm: &[u8]) -> Result<Inspection, LoadError> {
    let mut inspection = of(wasm, digest(wasm));
    if inspection.kind == BinaryKind::Component {
        if !nesting::bearable(wasm).map_err(|e| invalid(&e))? {
            let message =
                format!("the component is nested deeper than {}: components, or types of them, in one another", nesting::MAX_DEPTH);
            return Err(LoadError::new(Reason::ComponentInvalid, message));
        }
        Validator::new_with_features(features()).validate_all(wasm).map_err(|e| invalid(&e))?;
        read(wasm, &mut inspection).map_err(|e| invalid(&e))?;
    }
    Ok(inspection)
}

/// Like [`inspect`], for bytes that must be a component.
pub(crate) fn inspect_component(wasm: &[u8]) -> Result<Inspection, LoadError> {
    must_be_component(wasm)?;
    inspect(wasm)
}

/// Looks at the first bytes only.
pub(crate) fn must_be_component(wasm: &[u8]) -> Result<(), LoadError> {
    let what = match kind_of(wasm) {
        BinaryKind::Component => return Ok(()),
        BinaryKind::CoreModule => "a WebAssembly core module, not a component",
        BinaryKind::Other if wasm.is_empty() => "an empty file",
        BinaryKind::Other => "no WebAssembly at all",
    };
    Err(LoadError::new(Reason::ComponentInvalid, format!("this is {what}")))
}

/// The same of a component that is known to be valid, because it was compiled: nothing is checked again.
pub(crate) fn inspect_known(wasm: &[u8], digest: &str) -> Result<Inspection, LoadError> {
    let mut inspection = of(wasm, digest.to_owned());
    read(wasm, &mut inspection).map_err(|e| invalid(&e))?;
    Ok(inspection)
}

fn of(wasm: &[u8], digest: String) -> Inspection {
    let size = wasm.len() as u64;
    Inspection { kind: kind_of(wasm), digest, size, imports: Vec::new(), exports: Vec::new(), initial_memory: 0 }
}

fn kind_of(wasm: &[u8]) -> BinaryKind {
    if Parser::is_component(wasm) {
        BinaryKind::Component
    } else if Parser::is_core_wasm(wasm) {
        BinaryKind::CoreModule
    } else {
        BinaryKind::Other
    }
}

/// The name of a component's bytes: `sha256:` and the digest in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(bytes))
}

/// The features that the engine's own settings allow.
fn features() -> WasmFeatures {
    WasmFeatures::default()
        - WasmFeatures::MEMORY64
        - WasmFeatures::RELAXED_SIMD
        - WasmFeatures::EXCEPTIONS
        - WasmFeatures::GC
        - WasmFeatures::FUNCTION_REFERENCES
        - WasmFeatures::THREADS
        - WasmFeatures::CM_ASYNC
}

fn invalid(error: &wasmparser::BinaryReaderError) -> LoadError {
    LoadError::new(Reason::ComponentInvalid, clean(&format!("the component is not valid: {error}"), MAX_TEXT_BYTES))
}

/// Fills in what the sections say. Imports and exports of nested components and of core
/// modules are wiring inside the component and none of its own.
fn read(wasm: &[u8], inspection: &mut Inspection) -> Result<(), wasmparser::BinaryReaderError> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::Version { encoding: Encoding::Module | Encoding::Component, .. } => depth = depth.saturating_add(1),
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    inspection.imports.push(clean(import?.name.name, MAX_TEXT_BYTES));
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    inspection.exports.push(clean(export?.name.name, MAX_TEXT_BYTES));
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    inspection.initial_memory = inspection.initial_memory.saturating_add(bytes_of(&memory?));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn bytes_of(memory: &MemoryType) -> u64 {
    memory.initial.saturating_mul(1 << memory.page_size_log2.unwrap_or(16).min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_bytes_are() {
        for (bytes, kind) in [
            (wat::parse_str("(component)").unwrap(), BinaryKind::Component),
            (wat::parse_str("(module)").unwrap(), BinaryKind::CoreModule),
            (b"#!/bin/sh".to_vec(), BinaryKind::Other),
            (Vec::new(), BinaryKind::Other),
        ] {
            let inspection = inspect(&bytes).unwrap();
            assert_eq!((inspection.kind, inspection.size), (kind, bytes.len() as u64));
            assert_eq!(inspect_component(&bytes).is_ok(), kind == BinaryKind::Component);
        }
    }

    #[test]
    fn only_the_outermost_names_count() {
        let text = r#"(component
            (import "a:b/c@0.1.0" (instance))
            (component (import "inner" (func)) (core module (memory 5)))
            (core module (memory 2) (export "m" (memory 0)))
            (instance $i)
            (export "d:e/f" (instance $i)))"#;
        let inspection = inspect(&wat::parse_str(text).unwrap()).unwrap();
        assert_eq!(inspection.imports, ["a:b/c@0.1.0"]);
        assert_eq!(inspection.exports, ["d:e/f"]);
        assert_eq!(inspection.initial_memory, 7 << 16);
    }

    #[test]
    fn refuses_broken_components_and_features_that_are_off() {
        let mut cut = wat::parse_str("(component (core module (func nop)))").unwrap();
        cut.truncate(cut.len() - 3);
        let wide = wat::parse_str("(component (core module (memory i64 1)))").unwrap();
        for bytes in [cut, wide] {
            assert_eq!(inspect(&bytes).unwrap_err().reason, Reason::ComponentInvalid);
        }
    }
}
