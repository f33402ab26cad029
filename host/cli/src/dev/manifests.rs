//! `wharf dev --manifests`: the objects of a folder's YAML files are in the API server, as long as they are in the files. Owns what
//! belongs to which file; applying is the API server's own server-side apply.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::RecursiveMode;
use serde_json::Value;
use wharf_devserver::{Api, ObjectName};

use super::changes::Changes;
use crate::exit;
use crate::report::{self, CliError};

/// Who the fields belong to.
const MANAGER: &str = "wharf-dev";
/// Editors write several files for one save.
const QUIET: Duration = Duration::from_millis(50);
const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 16 << 20;

/// A folder that is followed.
pub(super) struct Manifests {
    folder: PathBuf,
    api: Arc<Api>,
    changes: Changes,
    files: BTreeMap<PathBuf, Known>,
}

/// What is known of a file.
#[derive(Default)]
struct Known {
    text: String,
    /// What came of it and is in the server.
    objects: BTreeSet<ObjectName>,
    /// Why something of it was refused. It is tried again, since a definition may come from elsewhere.
    refused: Vec<String>,
    /// That was told.
    told: bool,
}

impl Manifests {
    /// Starts to look at a folder; nothing is applied yet.
    ///
    /// # Errors
    /// If it is no folder.
    pub(super) fn new(folder: &Path, api: Arc<Api>) -> Result<Self, CliError> {
        if !folder.is_dir() {
            return Err(CliError::new(exit::USAGE, format!("--manifests: {} is no folder", folder.display())));
        }
        let mut changes = Changes::new("manifests");
        changes.watch(folder, RecursiveMode::Recursive);
        Ok(Self { folder: folder.to_owned(), api, changes, files: BTreeMap::new() })
    }

    /// Brings the server in step with the files, for ever.
    pub(super) async fn follow(mut self) {
        loop {
            self.changes.next(QUIET).await;
            self.look().await;
        }
    }

    /// Brings the server in step with the files once. What goes wrong is told, once for each text.
    pub(super) async fn look(&mut self) {
        let mut present = BTreeMap::new();
        read(&self.folder, &mut present);
        let mut left = BTreeSet::new();
        self.files.retain(|path, known| {
            let stays = present.contains_key(path);
            if !stays {
                left.append(&mut known.objects);
            }
            stays
        });
        // A definition may be in a file that comes later than its objects: what was refused is tried once more after all others.
        for _ in 0..2 {
            for (path, text) in &present {
                if self.files.get(path).is_none_or(|known| known.text != *text || !known.refused.is_empty()) {
                    self.apply(path, text, &mut left).await;
                }
            }
        }
        // At the end: what moved to another file is no delete.
        self.delete(left).await;
        for (path, known) in self.files.iter_mut().filter(|(_, known)| !known.told) {
            for refused in &known.refused {
                report::warn(&format!("{}: {refused}", path.display()));
            }
            known.told = true;
        }
    }

    /// Applies what a file says; what is not in it any more goes to `left`.
    async fn apply(&mut self, path: &Path, text: &str, left: &mut BTreeSet<ObjectName>) {
        let before = self.files.remove(path).unwrap_or_default();
        let mut known = Known { text: text.to_owned(), ..Known::default() };
        match documents(text) {
            Ok(documents) => {
                for document in documents {
                    match self.api.apply(MANAGER, document).await {
                        Ok(applied) => drop(known.objects.insert(applied.name)),
                        Err(status) => known.refused.push(status.message),
                    }
                }
            }
            Err(error) => known.refused.push(error),
        }
        let gone = before.objects.difference(&known.objects).cloned();
        if known.refused.is_empty() {
            left.extend(gone);
        } else {
            // What could not be read or applied now may still be meant.
            let meant: Vec<ObjectName> = gone.collect();
            known.objects.extend(meant);
        }
        known.told = before.told && before.text == text && before.refused == known.refused;
        self.files.insert(path.to_owned(), known);
    }

    async fn delete(&self, objects: BTreeSet<ObjectName>) {
        for object in objects {
            let elsewhere = self.files.values().any(|known| known.objects.contains(&object));
            if !elsewhere && let Err(status) = self.api.delete_object(&object).await {
                report::warn(&format!("{object}: {}", status.message));
            }
        }
    }
}

/// The YAML files of a folder and those in it, hidden ones left out.
fn read(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') || files.len() >= MAX_FILES {
            continue;
        }
        let kind = entry.file_type();
        if kind.is_ok_and(|kind| kind.is_dir()) {
            read(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
            && entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES)
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            files.insert(path, text);
        }
    }
}

/// The objects of a text; a List is its items.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    let mut objects = Vec::new();
    for document in all {
        match document {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").and_then(Value::as_str) == Some("List") => {
                let items = list.remove("items").and_then(|items| if let Value::Array(items) = items { Some(items) } else { None });
                objects.extend(items.unwrap_or_default());
            }
            other => objects.push(other),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_text() {
        let kinds = |text: &str| -> Result<Vec<String>, String> {
            Ok(documents(text)?.iter().map(|one| one["kind"].as_str().unwrap_or_default().to_owned()).collect())
        };
        assert_eq!(kinds("kind: A\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n").unwrap(), ["A", "B", "C"]);
        assert_eq!(kinds("").unwrap(), Vec::<String>::new());
        assert!(kinds("a: [").is_err());
    }
}
