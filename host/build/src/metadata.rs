//! What a component says of its origin: the standard sections of WebAssembly for a name, a
//! version, a revision and the tools. Owns writing and reading them; whoever reads them must
//! know that anybody can write anything there.

use wasm_encoder::{ComponentSection as _, CustomSection};
use wasm_metadata::{AddMetadata, AddMetadataField};
use wasmparser::{BinaryReaderError, ComponentName, Encoding, KnownCustom, Parser, Payload};

use crate::error::BuildError;

/// The sections for which the standard gives a text each.
const VERSION: &str = "version";
const REVISION: &str = "revision";

/// Characters of one text, and texts of one kind, that are read.
const MAX_TEXT: usize = 256;
const MAX_ENTRIES: usize = 32;

/// A tool, language or SDK and its version.
pub type Named = (String, String);

/// Where a component comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The plugin's name.
    pub name: Option<String>,
    /// The plugin's version.
    pub version: Option<String>,
    /// The commit of its source, with `-dirty` where the source differs from it.
    pub revision: Option<String>,
    /// What it is written in.
    pub languages: Vec<Named>,
    /// What it was built on: the language's SDK, and the contract.
    pub sdks: Vec<Named>,
    /// What made it.
    pub tools: Vec<Named>,
}

/// Adds the sections to a component.
pub(crate) fn write(component: &[u8], metadata: &Metadata) -> Result<Vec<u8>, BuildError> {
    let mut add = AddMetadata::default();
    if let Some(name) = &metadata.name {
        add.name = AddMetadataField::Set(name.clone());
    }
    add.language.clone_from(&metadata.languages);
    add.sdk.clone_from(&metadata.sdks);
    add.processed_by.clone_from(&metadata.tools);
    let mut bytes = add.to_wasm(component).map_err(|e| BuildError::Encode { why: format!("{e:#}") })?;
    for (name, text) in [(VERSION, &metadata.version), (REVISION, &metadata.revision)] {
        if let Some(text) = text {
            append(&mut bytes, name, text);
        }
    }
    Ok(bytes)
}

/// Adds the version of a plugin whose manifest has none, once it is known.
pub(crate) fn add_version(component: &mut Vec<u8>, version: &str) {
    append(component, VERSION, version);
}

fn append(component: &mut Vec<u8>, name: &str, text: &str) {
    CustomSection { name: name.into(), data: text.as_bytes().into() }.append_to_component(component);
}

/// Reads the sections of a component, cut and cleaned for a terminal. What cannot be read is
/// left out: these sections are for people, and nothing depends on them.
pub fn read(component: &[u8]) -> Metadata {
    let mut metadata = Metadata::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::Version { encoding: Encoding::Module | Encoding::Component, .. }) => depth = depth.saturating_add(1),
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section)) if depth == 1 => {
                // A section that cannot be read is as if it were not there.
                let _unreadable = read_section(&section, &mut metadata);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    metadata
}

fn read_section(section: &wasmparser::CustomSectionReader<'_>, metadata: &mut Metadata) -> Result<(), BinaryReaderError> {
    let text = || Some(clean(&String::from_utf8_lossy(section.data())));
    match section.as_known() {
        KnownCustom::ComponentName(names) => {
            for name in names {
                if let ComponentName::Component { name, .. } = name? {
                    metadata.name = Some(clean(name));
                }
            }
        }
        KnownCustom::Producers(fields) => {
            for field in fields {
                let field = field?;
                let list = match field.name {
                    "language" => &mut metadata.languages,
                    "sdk" => &mut metadata.sdks,
                    "processed-by" => &mut metadata.tools,
                    _ => continue,
                };
                for value in field.values.into_iter().take(MAX_ENTRIES) {
                    let value = value?;
                    list.push((clean(value.name), clean(value.version)));
                }
            }
        }
        _ if section.name() == VERSION => metadata.version = text(),
        _ if section.name() == REVISION => metadata.revision = text(),
        _ => {}
    }
    Ok(())
}

/// Without what a terminal would act upon, and of bounded length.
fn clean(text: &str) -> String {
    text.chars().take(MAX_TEXT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> Vec<u8> {
        wat::parse_str("(component (core module (memory 1)))").unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let pair = |a: &str, b: &str| vec![(a.to_owned(), b.to_owned())];
        let metadata = Metadata {
            name: Some("label-guard".to_owned()),
            version: Some("0.1.0".to_owned()),
            revision: Some("abc-dirty".to_owned()),
            languages: pair("Rust", "1.95.0"),
            sdks: pair("wharf-sdk", "0.1.0"),
            tools: pair("wharf", "0.1.0"),
        };
        let bytes = write(&component(), &metadata).unwrap();
        assert_eq!(read(&bytes), metadata);
        wasmparser::Validator::new().validate_all(&bytes).unwrap();
        assert_eq!(read(&component()), Metadata::default());
    }

    #[test]
    fn hostile_sections_are_cut_and_cleaned() {
        let mut bytes = component();
        let long = format!("\x1b[31m{}", "x".repeat(10_000));
        CustomSection { name: "version".into(), data: long.as_bytes().into() }.append_to_component(&mut bytes);
        CustomSection { name: "producers".into(), data: (&[0xff, 0xff][..]).into() }.append_to_component(&mut bytes);
        let version = read(&bytes).version.unwrap();
        assert!(version.len() == MAX_TEXT && version.starts_with(" [31mx"), "{version}");
        assert_eq!(read(b"no wasm"), Metadata::default());
    }
}
