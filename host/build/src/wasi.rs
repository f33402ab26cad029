//! WASI taken out of a Rust guest. The compiler's standard library imports a dozen interfaces
//! of WASI even if nothing calls them. Here those imports are led to one small module inside
//! the component, which answers "nothing there", so that the component needs the contract and
//! nothing else. Owns that module and the way there.

use std::convert::Infallible;
use std::fmt::Write as _;

use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{ImportSection, Module};
use wasmparser::{CustomSectionReader, FuncType, Import, ImportSectionReader, Parser, Payload, TypeRef, ValType};

use crate::error::BuildError;

/// The name that the imports get, and that the encoder links the stub by.
pub(crate) const STUB: &str = "wasi-stub";

/// A module without WASI, and the stub that it imports instead.
pub(crate) struct Stubbed {
    pub(crate) module: Vec<u8>,
    pub(crate) stub: Vec<u8>,
}

/// Leads all imports of WASI 0.2 to a stub; `None` where there are none.
///
/// # Errors
/// For a module that cannot be read.
pub(crate) fn stub(module: &[u8]) -> Result<Option<Stubbed>, BuildError> {
    let functions = wasi_imports(module)?;
    if functions.is_empty() {
        return Ok(None);
    }
    let mut without = Module::new();
    Rename.parse_core_module(&mut without, Parser::new(0), module).map_err(|e| unreadable(&e))?;
    let stub = wat::parse_str(text(&functions)).map_err(|e| BuildError::Encode { why: format!("the WASI stub: {e}") })?;
    Ok(Some(Stubbed { module: without.finish(), stub }))
}

/// A function of WASI that a module imports.
struct Imported {
    module: String,
    name: String,
    signature: FuncType,
}

impl Imported {
    /// Its name in the stub.
    fn key(&self) -> String {
        key(&self.module, &self.name)
    }
}

fn is_wasi(module: &str) -> bool {
    module.starts_with("wasi:")
}

fn key(module: &str, name: &str) -> String {
    format!("{module}#{name}")
}

fn wasi_imports(module: &[u8]) -> Result<Vec<Imported>, BuildError> {
    let mut types = Vec::new();
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(|e| unreadable(&e))? {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    types.push(ty.map_err(|e| unreadable(&e))?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(|e| unreadable(&e))?;
                    let TypeRef::Func(index) = import.ty else { continue };
                    let signature = usize::try_from(index).ok().and_then(|index| types.get(index));
                    if let (true, Some(signature)) = (is_wasi(import.module), signature) {
                        let signature = signature.clone();
                        found.push(Imported { module: import.module.to_owned(), name: import.name.to_owned(), signature });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn unreadable(error: &dyn std::error::Error) -> BuildError {
    BuildError::Encode { why: format!("the module cannot be read: {error}") }
}

/// Copies a module with other names for the imports of WASI, and without what its libraries
/// say about WASI for the encoder.
struct Rename;

impl Reencode for Rename {
    type Error = Infallible;

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<(), ReencodeError<Infallible>> {
        for import in section.into_imports() {
            let Import { module, name, ty } = import?;
            let ty = self.entity_type(ty)?;
            if is_wasi(module) {
                imports.import(STUB, &key(module, name), ty);
            } else {
                imports.import(module, name, ty);
            }
        }
        Ok(())
    }

    fn parse_custom_section(&mut self, module: &mut Module, section: CustomSectionReader<'_>) -> Result<(), ReencodeError<Infallible>> {
        let name = section.name();
        if name.starts_with("component-type") && (name.contains(":wasi:") || name.contains("wasi_libc")) {
            return Ok(());
        }
        utils::parse_custom_section(self, module, section)
    }
}

/// The stub as text: its functions work on the memory of the guest.
fn text(functions: &[Imported]) -> String {
    let mut text = "(module\n(import \"env\" \"memory\" (memory 0))\n".to_owned();
    for function in functions {
        let (params, results) = (words(function.signature.params()), words(function.signature.results()));
        // Where the result does not fit into a value, the last parameter points to it.
        let pointer = function.signature.params().len().saturating_sub(1);
        let _infallible =
            writeln!(text, "(func (export {:?}) (param {params}) (result {results}) {})", function.key(), body(&function.name, pointer));
    }
    text.push(')');
    text
}

fn words(types: &[ValType]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Nobody is there: no environment, no arguments, no files, no terminal; what is written is
/// swallowed. The seed of hash maps is constant, as a plugin's answers should be. What cannot
/// be answered (time, sleep, files) traps: it would be wrong in silence otherwise.
fn body(name: &str, pointer: usize) -> String {
    let zeros =
        |words: u32| (0..words).map(|word| format!("(i32.store offset={} (local.get {pointer}) (i32.const 0))", 4 * word)).collect();
    match name {
        _ if name.starts_with("[resource-drop]") || name.ends_with(".block") => String::new(),
        "get-environment" | "get-arguments" | "get-directories" => zeros(2),
        "get-terminal-stdin" | "get-terminal-stdout" | "get-terminal-stderr" => zeros(1),
        "[method]output-stream.check-write" => {
            format!("{}(i32.store offset=8 (local.get {pointer}) (i32.const 65536))", zeros(4))
        }
        "[method]output-stream.write" | "[method]output-stream.blocking-flush" | "[method]output-stream.blocking-write-and-flush" => {
            zeros(1)
        }
        "get-stdin" | "get-stdout" | "get-stderr" | "[method]output-stream.subscribe" => "(i32.const 0)".to_owned(),
        "insecure-seed" => format!(
            "(i64.store (local.get {pointer}) (i64.const 88172645463325252))(i64.store offset=8 (local.get {pointer}) (i64.const 1181783497276652981))"
        ),
        _ => "unreachable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = r#"(module
        (type $seed (func (param i32)))
        (import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32)))
        (import "wasi:random/insecure-seed@0.2.6" "insecure-seed" (func $seed (type $seed)))
        (import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))
        (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $out (result i32)))
        (memory (export "memory") 1)
        (@custom "component-type:wasi:cli" "x")
        (@custom "component-type:mine" "y"))"#;

    fn names(module: &[u8]) -> (Vec<String>, Vec<String>) {
        let (mut imports, mut sections) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload.unwrap() {
                Payload::ImportSection(s) => {
                    imports.extend(s.into_imports().map(|i| i.unwrap()).map(|i| format!("{} {}", i.module, i.name)));
                }
                Payload::CustomSection(s) => sections.push(s.name().to_owned()),
                _ => {}
            }
        }
        (imports, sections)
    }

    #[test]
    fn every_import_of_wasi_goes_to_the_stub() {
        let stubbed = stub(&wat::parse_str(GUEST).unwrap()).unwrap().unwrap();
        let (imports, sections) = names(&stubbed.module);
        assert_eq!(
            imports,
            [
                "wharf:plugin/log@0.1.0 emit",
                "wasi-stub wasi:random/insecure-seed@0.2.6#insecure-seed",
                "wasi-stub wasi:cli/exit@0.2.6#exit",
                "wasi-stub wasi:cli/stdout@0.2.6#get-stdout",
            ]
        );
        assert_eq!(sections, ["component-type:mine", "name"]);
        for bytes in [&stubbed.module, &stubbed.stub] {
            wasmparser::Validator::new().validate_all(bytes).unwrap();
        }
        assert_eq!(names(&stubbed.stub).0, ["env memory"]);
    }

    #[test]
    fn without_wasi_there_is_nothing_to_do() {
        let module = wat::parse_str(r#"(module (import "wharf:plugin/log@0.1.0" "emit" (func (param i32))))"#).unwrap();
        assert!(stub(&module).unwrap().is_none());
        assert!(stub(b"\0asm\x01\0\0\0\xff").is_err());
    }
}
