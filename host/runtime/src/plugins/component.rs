//! A plugin's component before it is loaded: where it is, in which state it was seen, and its
//! bytes. Owns the reading of a file or of an entry of a ConfigMap, within the host's limit; never
//! follows either of them, and never looks into a component.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use wharf_core::plugin::{ComponentRef, PluginDocument};
use wharf_core::{Gvk, Reason, ResourceKind};
use wharf_engine::ApiError;

use super::desired::Refusal;
use super::file::{self, Unread};
use crate::ports::api::{Api, Call};

/// Keys that a message names, at most.
const MAX_NAMED: usize = 10;

/// The component of a wish. It differs from another one whenever its bytes may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// A file.
    File {
        /// Where.
        path: PathBuf,
        /// Changes whenever the file was written (length, times, inode): a cheap hint that the
        /// bytes are worth reading again.
        fingerprint: u64,
    },
    /// An entry of a ConfigMap's `binaryData`.
    ConfigMap {
        /// Which ConfigMap.
        config_map: ConfigMapName,
        /// Which entry.
        key: Arc<str>,
        /// The state that the ConfigMap was seen in.
        seen: Seen,
    },
}

/// Namespace and name of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigMapName {
    /// The plugin's own.
    pub namespace: Arc<str>,
    /// In it.
    pub name: Arc<str>,
}

impl fmt::Display for ConfigMapName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigMap {}/{}", self.namespace, self.name)
    }
}

/// What is known of a ConfigMap without its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// Nothing yet: the answer is on its way.
    #[default]
    NotYet,
    /// It is not there.
    Missing,
    /// The host may not see it.
    Refused(Refusal),
    /// It is there; the text changes with every change of it.
    At(Arc<str>),
}

impl Component {
    /// The component of a document, whose files are below a folder. Asks the file system.
    ///
    /// # Errors
    /// `ComponentNotFound` if its file cannot be looked at.
    pub fn of(document: &PluginDocument, folder: &Path) -> Result<Self, Refusal> {
        match &document.component {
            ComponentRef::File(file) => Self::file(folder.join(file)),
            ComponentRef::ConfigMap { name, key } => Ok(Self::ConfigMap {
                config_map: ConfigMapName { namespace: Arc::clone(&document.name.namespace), name: Arc::clone(name) },
                key: Arc::clone(key),
                seen: Seen::NotYet,
            }),
        }
    }

    /// A file as it is now. Asks the file system.
    ///
    /// # Errors
    /// `ComponentNotFound` if it cannot be looked at.
    pub fn file(path: PathBuf) -> Result<Self, Refusal> {
        match fingerprint(&path) {
            Ok(fingerprint) => Ok(Self::File { path, fingerprint }),
            Err(error) => Err(not_found(format!("{}: {error}", path.display()))),
        }
    }

    /// Waits until it is known whether the component is there. A file was looked at already; of a
    /// ConfigMap nothing may be known yet, and then a newer wish will tell: this one has no end.
    ///
    /// # Errors
    /// `ComponentNotFound` if it is known not to be there, or why the host may not know.
    pub async fn known(&self) -> Result<(), Refusal> {
        match self {
            Self::File { .. } | Self::ConfigMap { seen: Seen::At(_), .. } => Ok(()),
            Self::ConfigMap { seen: Seen::NotYet, .. } => std::future::pending().await,
            Self::ConfigMap { seen: Seen::Refused(refusal), .. } => Err(refusal.clone()),
            Self::ConfigMap { config_map, seen: Seen::Missing, .. } => Err(missing(config_map)),
        }
    }

    /// The bytes, at most `max` of them, as they are now.
    ///
    /// # Errors
    /// `ComponentNotFound`, `ComponentTooLarge`, `ComponentInvalid`, or why the API server does not
    /// hand them out. Cancel safe.
    pub async fn bytes(&self, api: &Api, max: u64) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::File { path, .. } => read_file(path, max).await,
            Self::ConfigMap { config_map, key, .. } => {
                let path = Api::path(&config_maps(), Some(&config_map.namespace), Some(&config_map.name), None);
                let path = path.map_err(|error| refused(config_map, error))?;
                let call = Call { method: Method::GET, path, query: Vec::new(), body: None };
                let text = api.send(call).await.map_err(|error| refused(config_map, error))?;
                entry(config_map, key, &text, max)
            }
        }
    }
}

/// The kind of ConfigMaps, which every server has.
fn config_maps() -> ResourceKind {
    ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true }
}

async fn read_file(path: &Path, max: u64) -> Result<Vec<u8>, Refusal> {
    let file = path.to_owned();
    let read =
        tokio::task::spawn_blocking(move || file::read(&file, max)).await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
    read.map_err(|error| match error {
        Unread::TooLarge { size, max } => too_large(&path.display(), size, max),
        Unread::Failed(_) | Unread::Special => not_found(format!("{}: {error}", path.display())),
    })
}

/// One entry of a ConfigMap's JSON text.
fn entry(config_map: &ConfigMapName, key: &str, text: &str, max: u64) -> Result<Vec<u8>, Refusal> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct ConfigMap {
        binary_data: BTreeMap<String, String>,
        data: BTreeMap<String, IgnoredAny>,
    }
    let read: ConfigMap = serde_json::from_str(text)
        .map_err(|error| Refusal::new(Reason::Undecodable, format!("{config_map}: the API server's answer cannot be read: {error}")))?;
    let Some(encoded) = read.binary_data.get(key) else {
        let message = format!("{config_map}: no {key} in its binaryData, {}", named(&read.binary_data));
        let refusal = not_found(message);
        if read.data.contains_key(key) {
            let hint =
                "it is in data, which is for text: write it with `kubectl create configmap --from-file`, which puts bytes into binaryData";
            return Err(refusal.hint(hint));
        }
        return Err(refusal);
    };
    // Three bytes for four characters, but for the padding.
    let size = (encoded.len() as u64 / 4).saturating_mul(3);
    if size.saturating_sub(2) > max {
        return Err(too_large(&format_args!("{config_map}, {key}"), size, max));
    }
    STANDARD.decode(encoded).map_err(|error| Refusal::new(Reason::ComponentInvalid, format!("{config_map}, {key}: no base64: {error}")))
}

fn named(entries: &BTreeMap<String, String>) -> String {
    if entries.is_empty() {
        return "which is empty".to_owned();
    }
    let names: Vec<&str> = entries.keys().take(MAX_NAMED).map(String::as_str).collect();
    let more = if entries.len() > MAX_NAMED { ", …" } else { "" };
    format!("only {}{more}", names.join(", "))
}

fn missing(config_map: &ConfigMapName) -> Refusal {
    not_found(format!("{config_map}: there is none"))
}

fn refused(config_map: &ConfigMapName, error: ApiError) -> Refusal {
    let reason = match &error {
        ApiError::NotFound => return missing(config_map),
        ApiError::Forbidden(_) => Reason::Forbidden,
        ApiError::TooLarge => Reason::ComponentTooLarge,
        _ => Reason::ServerUnavailable,
    };
    Refusal::new(reason, format!("{config_map}: {error}"))
}

fn not_found(message: String) -> Refusal {
    Refusal::new(Reason::ComponentNotFound, message)
}

fn too_large(what: &dyn fmt::Display, size: u64, max: u64) -> Refusal {
    Refusal::new(Reason::ComponentTooLarge, format!("{what}: {size} bytes, more than the {max} that the host accepts"))
}

fn fingerprint(path: &Path) -> std::io::Result<u64> {
    let meta = std::fs::metadata(path)?;
    let mut hasher = DefaultHasher::new();
    (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec(), meta.ino(), meta.dev()).hash(&mut hasher);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guard() -> ConfigMapName {
        ConfigMapName { namespace: "team-a".into(), name: "guard".into() }
    }

    fn read(config_map: &serde_json::Value, max: u64) -> Result<Vec<u8>, (Reason, String)> {
        entry(&guard(), "a.wasm", &config_map.to_string(), max).map_err(|refusal| (refusal.reason, refusal.message))
    }

    #[test]
    fn an_entry_is_read_within_the_limit() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"\0asm"] {
            let config_map = json!({"binaryData": {"a.wasm": STANDARD.encode(bytes)}});
            assert_eq!(read(&config_map, bytes.len() as u64).unwrap(), bytes);
        }
        let config_map = json!({"binaryData": {"a.wasm": STANDARD.encode([0; 100])}});
        let (reason, message) = read(&config_map, 50).unwrap_err();
        assert_eq!(reason, Reason::ComponentTooLarge);
        assert!(message.starts_with("ConfigMap team-a/guard, a.wasm: 102 bytes, more than the 50"), "{message}");
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        for (config_map, want) in [
            (json!({}), "ConfigMap team-a/guard: no a.wasm in its binaryData, which is empty"),
            (json!({"binaryData": {"b": "", "c": ""}}), "ConfigMap team-a/guard: no a.wasm in its binaryData, only b, c"),
        ] {
            assert_eq!(read(&config_map, 9), Err((Reason::ComponentNotFound, want.to_owned())));
        }
        let many: BTreeMap<String, &str> = (0..30).map(|i| (format!("k{i:02}"), "")).collect();
        let (_, message) = read(&json!({"binaryData": many}), 9).unwrap_err();
        assert!(message.ends_with("only k00, k01, k02, k03, k04, k05, k06, k07, k08, k09, …"), "{message}");
        let text = json!({"data": {"a.wasm": "x"}}).to_string();
        assert!(entry(&guard(), "a.wasm", &text, 9).unwrap_err().hint.contains("--from-file"));
    }

    #[test]
    fn junk_is_refused() {
        assert_eq!(read(&json!({"binaryData": {"a.wasm": "???"}}), 9).unwrap_err().0, Reason::ComponentInvalid);
        assert_eq!(read(&json!({"binaryData": []}), 9).unwrap_err().0, Reason::Undecodable);
    }

    #[tokio::test]
    async fn what_was_seen_decides() {
        let of = |seen| Component::ConfigMap { config_map: guard(), key: "a.wasm".into(), seen };
        assert_eq!(of(Seen::At("1".into())).known().await, Ok(()));
        assert_eq!(of(Seen::Missing).known().await.unwrap_err().message, "ConfigMap team-a/guard: there is none");
        let forbidden = Refusal::new(Reason::Forbidden, "no");
        assert_eq!(of(Seen::Refused(forbidden.clone())).known().await, Err(forbidden));
        let not_yet = of(Seen::NotYet);
        let mut waiting = std::pin::pin!(not_yet.known());
        assert!(futures::poll!(&mut waiting).is_pending());
    }
}
