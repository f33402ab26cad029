//! The rules of ConfigMaps and Secrets: keys, size, what a Secret of a type must hold, and those that were made immutable.
//!
//! Owns no other kind.

use serde_json::{Value, json};

use super::check::{self, Causes, invalid_all, unchanged};
use super::names;
use crate::json::Read;
use crate::status::Cause;

/// Bytes of all values of a ConfigMap or a Secret.
const MAX_DATA: usize = 1024 * 1024;
const IMMUTABLE_SET: &str = "field is immutable when `immutable` is set";

pub(super) fn config_map(object: &Value, out: &mut Causes) {
    let mut size = 0;
    for list in ["data", "binaryData"] {
        for (key, value) in object.entries(list) {
            let field = format!("{list}[{key}]");
            invalid_all(&field, &json!(key), names::config_key(key), out);
            if list == "binaryData" && object.at("data").has(key) {
                out.push(Cause::invalid(field, &json!(key), "duplicate of key present in data"));
            }
            let length = value.as_str().unwrap_or_default().len();
            size += if list == "data" { length } else { decoded(length) };
        }
    }
    if size > MAX_DATA {
        out.push(Cause::too_long("", &format!("may not be more than {MAX_DATA} bytes")));
    }
}

pub(super) fn config_map_update(new: &Value, old: &Value, out: &mut Causes) {
    frozen(new, old, &["data", "binaryData"], out);
}

pub(super) fn secret(object: &Value, out: &mut Causes) {
    /// Type, keys that must be there.
    const TYPES: [(&str, &[&str]); 4] = [
        ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
        ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
        ("kubernetes.io/dockercfg", &[".dockercfg"]),
        ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ];
    let mut size = 0;
    for (key, value) in object.entries("data") {
        invalid_all(&format!("data[{key}]"), &json!(key), names::config_key(key), out);
        size += decoded(value.as_str().unwrap_or_default().len());
    }
    if size > MAX_DATA {
        out.push(Cause::too_long("data", &format!("may not be more than {MAX_DATA} bytes")));
    }
    let (kind, data) = (object.text("type"), object.at("data"));
    for key in TYPES.iter().filter(|(name, _)| *name == kind).flat_map(|(_, keys)| keys.iter()) {
        if !data.has(key) {
            out.push(Cause::required(format!("data[{key}]"), ""));
        }
    }
    if kind == "kubernetes.io/basic-auth" && !data.has("username") && !data.has("password") {
        out.push(Cause::required("data[username]", ""));
        out.push(Cause::required("data[password]", ""));
    }
    const ACCOUNT: &str = "kubernetes.io/service-account.name";
    if kind == "kubernetes.io/service-account-token" && object.path(&["metadata", "annotations"]).text(ACCOUNT).is_empty() {
        out.push(Cause::required(format!("metadata.annotations[{ACCOUNT}]"), ""));
    }
}

pub(super) fn secret_update(new: &Value, old: &Value, out: &mut Causes) {
    unchanged(new, old, &["type"], "", out);
    frozen(new, old, &["data"], out);
}

/// Nothing of an object that was made immutable changes, and it stays so.
fn frozen(new: &Value, old: &Value, names: &[&str], out: &mut Causes) {
    if !old.flag("immutable") {
        return;
    }
    if !new.flag("immutable") {
        out.push(Cause::forbidden("immutable", IMMUTABLE_SET));
    }
    for name in names.iter().filter(|name| !check::same(new.at(name), old.at(name))) {
        out.push(Cause::forbidden(*name, IMMUTABLE_SET));
    }
}

/// About how many bytes so many characters of base64 are.
fn decoded(length: usize) -> usize {
    length / 4 * 3
}
