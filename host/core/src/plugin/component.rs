//! `spec.component`: where the component's bytes come from. Owns the reading of the reference;
//! never opens a file and never asks a server.

use super::document::ComponentRef;
use super::fields::{Node, Problems, Refused, excerpt};
use super::names::{MAX_SUBDOMAIN, SUBDOMAIN_HINT, is_config_map_key, is_subdomain};

/// The ways to name a component, of which a document uses one.
pub(super) const WAYS: [&str; 2] = ["file", "configMap"];
/// The fields of `configMap`.
pub(super) const CONFIG_MAP: [&str; 2] = ["name", "key"];
pub(super) const NOT_BUILT: [Refused; 1] =
    [Refused { field: "oci", hint: "put the component into a file or a ConfigMap, and write file or configMap" }];
/// The longest path, in bytes: that of the operating system.
pub(super) const MAX_PATH: usize = 4096;
/// The longest key of a ConfigMap, in bytes.
pub(super) const MAX_KEY: usize = MAX_SUBDOMAIN;

pub(super) const NO_WAY: &str = "component does not say where it is";
pub(super) const SEVERAL_WAYS: &str = "component says in several ways where it is";
pub(super) const WAYS_HINT: &str = "write one of file, configMap";
pub(super) const NO_FILE: &str = "is no file below the plugins folder";
pub(super) const FILE_HINT: &str = "write a relative path without ..";
pub(super) const KEY_HINT: &str = "letters, digits, '-', '_' and '.', at most 253, not beginning with ..";

pub(super) fn read(node: &Node<'_>, problems: &mut Problems) -> Option<ComponentRef> {
    let object = node.object(&WAYS, &NOT_BUILT, problems)?;
    let named = WAYS.iter().filter(|way| object.get(way).is_some()).count();
    // A way that is not built yet was named already; a missing one would be noise.
    let refused = NOT_BUILT.iter().any(|refused| object.get(refused.field).is_some());
    if named != 1 && !refused {
        problems.invalid(node.at(), if named == 0 { NO_WAY } else { SEVERAL_WAYS }, WAYS_HINT);
    }
    let from_file = object.get("file").and_then(|n| file(&n, problems));
    let from_config_map = object.get("configMap").and_then(|n| config_map(&n, problems));
    from_file.or(from_config_map)
}

fn file(node: &Node<'_>, problems: &mut Problems) -> Option<ComponentRef> {
    let text = node.text(problems)?;
    let inside = !text.is_empty()
        && text.len() <= MAX_PATH
        && !text.starts_with('/')
        && !text.contains('\0')
        && text.split('/').all(|part| part != "..");
    if !inside {
        problems.invalid(node.at(), format!("{} {NO_FILE}", excerpt(text)), FILE_HINT);
        return None;
    }
    Some(ComponentRef::File(text.to_owned()))
}

fn config_map(node: &Node<'_>, problems: &mut Problems) -> Option<ComponentRef> {
    let object = node.object(&CONFIG_MAP, &[], problems)?;
    let name = object.required("name", problems).and_then(|n| n.checked(is_subdomain, "name", SUBDOMAIN_HINT, problems));
    let key = object.required("key", problems).and_then(|n| n.checked(is_config_map_key, "key of a ConfigMap", KEY_HINT, problems));
    Some(ComponentRef::ConfigMap { name: name?.into(), key: key?.into() })
}
