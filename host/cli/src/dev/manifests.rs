//! `wharf dev --manifests`: the objects of a folder's YAML files are in the API server, as long as they are in the files. Owns what
//! belongs to which file; applying is the API server's own server-side apply.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::RecursiveMode;
use serde_json::Value;
use wharf_devserver::{Api, ObjectName};

use super::changes::Changes;
use super::folder::{self, Content, Seen};
use crate::exit;
use crate::report::{self, CliError};

/// Who the fields belong to.
const MANAGER: &str = "wharf-dev";
/// A file is read when nothing has been written to it for so long.
const QUIET: Duration = Duration::from_millis(100);
/// Looks after a change until all files are quiet. Those that are not then are read after the next change.
const MAX_LOOKS: usize = 20;

const EMPTY: &str = "the file is empty (remove it to delete its objects)";

/// A folder that is followed.
pub(super) struct Manifests {
    folder: PathBuf,
    api: Arc<Api>,
    changes: Changes,
    /// At the last look.
    seen: Seen,
    files: BTreeMap<PathBuf, Known>,
    /// What is in no file that was read. It goes when nothing is being written any more: it may have moved to such a file.
    left: BTreeSet<ObjectName>,
    /// Why files and folders cannot be read, as it was told.
    told: BTreeMap<PathBuf, String>,
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
        Ok(Self {
            folder: folder.to_owned(),
            api,
            changes,
            seen: Seen::default(),
            files: BTreeMap::new(),
            left: BTreeSet::new(),
            told: BTreeMap::new(),
        })
    }

    /// Brings the server in step with the files, for ever.
    pub(super) async fn follow(mut self) {
        loop {
            self.changes.next(QUIET).await;
            // A folder that went and came is watched anew.
            self.changes.watch(&self.folder, RecursiveMode::Recursive);
            self.settle().await;
        }
    }

    /// Looks until nothing is being written any more.
    pub(super) async fn settle(&mut self) {
        for _ in 0..MAX_LOOKS {
            if self.look().await {
                return;
            }
            tokio::time::sleep(QUIET).await;
        }
    }

    /// Brings the server in step with the files that are as they were at the last look, and says whether all are. What goes wrong is told,
    /// once for each text; it changes nothing of what is in the server.
    async fn look(&mut self) -> bool {
        let mut seen = Seen::of(&self.folder);
        let mut texts = BTreeMap::new();
        let mut settled = true;
        for (path, stamp) in seen.files.clone() {
            if !seen.is_settled(&path, &self.seen) {
                settled = false;
                continue;
            }
            match folder::read(&path, stamp) {
                Ok(Content::Text(text)) => drop(texts.insert(path, text)),
                Ok(Content::Empty) if self.files.get(&path).is_some_and(|known| !known.objects.is_empty()) => {
                    drop(seen.failed.insert(path, EMPTY.to_owned()));
                }
                Ok(Content::Empty) => {}
                Ok(Content::Unsettled) => settled = false,
                // It went since; the next look sees that.
                Err(error) if error.kind() == ErrorKind::NotFound => settled = false,
                Err(error) => drop(seen.failed.insert(path, error.to_string())),
            }
        }
        for (path, known) in std::mem::take(&mut self.files) {
            if !seen.is_gone(&path) {
                self.files.insert(path, known);
            } else if seen.is_settled(&path, &self.seen) {
                self.left.extend(known.objects);
            } else {
                settled = false;
                self.files.insert(path, known);
            }
        }
        // A definition may be in a file that comes later than its objects: what was refused is tried once more after all others.
        for _ in 0..2 {
            for (path, text) in &texts {
                if self.files.get(path).is_none_or(|known| known.text != *text || !known.refused.is_empty()) {
                    self.apply(path, text).await;
                }
            }
        }
        if settled {
            self.delete().await;
        }
        for (path, known) in self.files.iter_mut().filter(|(_, known)| !known.told) {
            for refused in &known.refused {
                report::warn(&format!("{}: {refused}", path.display()));
            }
            known.told = true;
        }
        for (path, why) in seen.failed.iter().filter(|(path, why)| self.told.get(*path) != Some(*why)) {
            report::warn(&format!("{}: {why}: what it had stays", path.display()));
        }
        self.told.clone_from(&seen.failed);
        self.seen = seen;
        settled
    }

    /// Applies what a file says; what is not in it any more is left.
    async fn apply(&mut self, path: &Path, text: &str) {
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
            self.left.extend(gone);
        } else {
            // What could not be read or applied now may still be meant.
            let meant: Vec<ObjectName> = gone.collect();
            known.objects.extend(meant);
        }
        known.told = before.told && before.text == text && before.refused == known.refused;
        self.files.insert(path.to_owned(), known);
    }

    /// Deletes what is left, but for what moved to another file.
    async fn delete(&mut self) {
        for object in std::mem::take(&mut self.left) {
            let elsewhere = self.files.values().any(|known| known.objects.contains(&object));
            if !elsewhere && let Err(status) = self.api.delete_object(&object).await {
                report::warn(&format!("{object}: {}", status.message));
            }
        }
    }
}

/// The objects of a text; a List is its items.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let all = wharf_devserver::yaml::documents(text)?;
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
    use std::fs::{self, File};

    use serde_json::json;
    use wharf_devserver::{ApiOptions, StoreOptions};

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

    /// A folder that is followed, of an API server without a socket.
    async fn followed(folder: &Path) -> Manifests {
        let store = StoreOptions { history: 100, data: None, first_version: None };
        let api = Api::open(ApiOptions { store, controllers: false }).await.unwrap();
        Manifests::new(folder, api).unwrap()
    }

    /// Is it in the server? Asking leaves it there.
    async fn is_there(manifests: &Manifests, name: &str) -> bool {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        !manifests.api.apply("somebody", object).await.unwrap().created
    }

    fn config_map(name: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("manifests");
        let (file, moved) = (folder.join("in/a.yaml"), home.path().join("moved"));
        fs::create_dir_all(folder.join("in")).unwrap();
        fs::write(&file, config_map("a")).unwrap();
        let mut manifests = followed(&folder).await;
        manifests.settle().await;
        assert!(is_there(&manifests, "a").await);

        for bytes in [&b""[..], b"a: \xff", b"a: ["] {
            fs::write(&file, bytes).unwrap();
            manifests.settle().await;
            assert!(is_there(&manifests, "a").await, "{bytes:?}");
        }
        File::create(&file).unwrap().set_len(17 << 20).unwrap();
        manifests.settle().await;
        assert!(is_there(&manifests, "a").await, "too large");
        fs::rename(&folder, &moved).unwrap();
        manifests.settle().await;
        assert!(is_there(&manifests, "a").await, "no folder");
        assert!(manifests.told.contains_key(&folder));

        fs::rename(&moved, &folder).unwrap();
        fs::write(&file, "# nothing any more\n").unwrap();
        manifests.settle().await;
        assert!(!is_there(&manifests, "a").await, "it is not in the file any more");
        fs::write(&file, config_map("b")).unwrap();
        manifests.settle().await;
        assert!(is_there(&manifests, "b").await);
        fs::remove_file(&file).unwrap();
        manifests.settle().await;
        assert!(!is_there(&manifests, "b").await, "the file is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_goes_while_a_file_is_written() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from.yaml"), home.path().join("to.yaml"));
        fs::write(&from, config_map("a")).unwrap();
        let mut manifests = followed(home.path()).await;
        manifests.settle().await;
        fs::rename(&from, &to).unwrap();
        assert!(!manifests.look().await);
        fs::write(&to, format!("# moved\n{}", config_map("a"))).unwrap();
        assert!(!manifests.look().await, "one is gone, and the other is being written");
        assert!(is_there(&manifests, "a").await);
        assert!(manifests.look().await);
        assert!(is_there(&manifests, "a").await, "it has only moved");
    }

    #[test]
    fn many_documents() {
        assert_eq!(documents(&format!("{}---\n", config_map("a")).repeat(1500)).unwrap().len(), 1500);
        let mode = documents("kind: Pod\nmode: 0644\nquick: yes\n").unwrap();
        assert_eq!(mode, [json!({"kind": "Pod", "mode": 420, "quick": true})]);
    }
}
