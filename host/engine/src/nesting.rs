//! How deep a component is nested. Owns the one look at a component that comes before its validation, whose reader goes down
//! the stack with each type in a type, and takes time that grows with the square of the components in one another. Never goes
//! down the stack itself; says nothing of whether a component is valid.

use wasmparser::{BinaryReader, BinaryReaderError, ComponentType, ComponentTypeDeclaration, ComponentTypeSectionReader, Parser, Payload};

/// Toolchains need three or four.
pub(crate) const MAX_DEPTH: usize = 100;

/// A type of components, and one of instances: a list of declarations follows.
const TYPES_WITH_DECLARATIONS: [u8; 2] = [0x41, 0x42];
/// A declaration that is a type.
const DECLARED_TYPE: u8 = 0x01;

/// Is it nested no deeper than it may be? Reads up to the place where it is.
pub(crate) fn bearable(wasm: &[u8]) -> Result<bool, BinaryReaderError> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::Version { .. } => depth = depth.saturating_add(1),
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentTypeSection(section) if !types_bearable(&section, wasm)? => return Ok(false),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Ok(false);
        }
    }
    Ok(true)
}

fn types_bearable(section: &ComponentTypeSectionReader<'_>, wasm: &[u8]) -> Result<bool, BinaryReaderError> {
    let range = section.range();
    let mut reader = BinaryReader::new(wasm.get(range.clone()).unwrap_or_default(), range.start);
    // How many are still to be read: types of the section, then declarations of each type that the next one is in.
    let mut left = vec![reader.read_var_u32()?];
    while let Some(last) = left.last_mut() {
        let Some(rest) = last.checked_sub(1) else {
            left.pop();
            continue;
        };
        *last = rest;
        if left.len() > 1 {
            if first(&reader)? != DECLARED_TYPE {
                reader.read::<ComponentTypeDeclaration<'_>>()?;
                continue;
            }
            reader.read_u8()?;
        }
        if TYPES_WITH_DECLARATIONS.contains(&first(&reader)?) {
            reader.read_u8()?;
            left.push(reader.read_var_u32()?);
            if left.len() > MAX_DEPTH {
                return Ok(false);
            }
        } else {
            reader.read::<ComponentType<'_>>()?;
        }
    }
    Ok(true)
}

fn first(reader: &BinaryReader<'_>) -> Result<u8, BinaryReaderError> {
    reader.clone().read_u8()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(section: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = wat::parse_str("(component)").unwrap();
        // Lengths of two bytes will do.
        bytes.extend([section, (content.len() & 0x7f) as u8 | 0x80, (content.len() >> 7) as u8]);
        bytes.extend(content);
        bytes
    }

    /// So many components in one another.
    fn components(depth: usize) -> Vec<u8> {
        (1..depth).fold(wat::parse_str("(component)").unwrap(), |inner, _| component(4, &inner))
    }

    /// A list of one type, which is a list of one type, and so on.
    fn types(kind: u8, depth: usize) -> Vec<u8> {
        let mut content = vec![1];
        content.extend([kind, 1, 1].repeat(depth - 2));
        content.extend([kind, 0]);
        component(7, &content)
    }

    #[test]
    fn what_is_as_deep_as_it_may_be_is_read() {
        assert!(bearable(&components(MAX_DEPTH)).unwrap() && !bearable(&components(MAX_DEPTH + 1)).unwrap());
        for kind in TYPES_WITH_DECLARATIONS {
            assert!(bearable(&types(kind, MAX_DEPTH)).unwrap() && !bearable(&types(kind, MAX_DEPTH + 1)).unwrap());
        }
    }

    #[test]
    fn all_sorts_of_declarations_are_read() {
        let text = r#"(component
            (type $t u32)
            (type (component
                (core type $m (module (import "a" "b" (func)) (export "c" (func))))
                (alias outer 1 $t (type $u))
                (type (instance (type (instance (export "r" (type (sub resource))))) (export "x" (func (param "p" $u)))))
                (import "i" (func (result string)))
                (export "e" (func))))
            (component (type (instance (export "f" (func))))))"#;
        assert!(bearable(&wat::parse_str(text).unwrap()).unwrap());
    }

    #[test]
    fn what_breaks_off_is_an_error() {
        let mut cut = wat::parse_str("(component (type (component (type (instance)))))").unwrap();
        cut.truncate(cut.len() - 2);
        assert!(bearable(&cut).is_err());
    }
}
