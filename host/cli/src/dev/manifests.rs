//! `wharf dev --manifests`: the objects of a folder's YAML files are in the API server, as long as they are in the files. Owns what
//! belongs to which file; applying is the API server's own server-side apply.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::RecursiveMode;
use serde_json::Value;
use wharf_devserver::{Api, Applied, ObjectName};

use super::changes::Changes;
use super::document::{about, documents};
use super::folder::{self, Content, Seen};
use crate::exit;
use crate::report::{self, CliError};

/// Who the fields belong to.
const MANAGER: &str = "wharf-dev";
/// A file is read when nothing has been written to it for so long.
const QUIET: Duration = Duration::from_millis(100);
/// Looks after a change until all files are quiet. Those that are not then are read after the next change.
const MAX_LOOKS: usize = 20;

/// Changes of one look that are told one by one.
const MOST_LINES: usize = 20;

const EMPTY: &str = "the file is empty (remove it to delete its objects)";

/// A folder that is followed.
pub(super) struct Manifests {
    folder: PathBuf,
    api: Arc<Api>,
    changes: Changes,
    /// At the last look.
    seen: Seen,
    files: BTreeMap<PathBuf, Known>,
    /// By which file an object is as it is.
    winners: BTreeMap<ObjectName, PathBuf>,
    /// What is in several files, as it was told.
    doubled: BTreeSet<ObjectName>,
    /// What was done at this look.
    done: Vec<Done>,
    /// What is in no file that was read. It goes when nothing is being written any more: it may have moved to such a file.
    left: BTreeSet<ObjectName>,
    /// Why files and folders cannot be read, as it was told.
    told: BTreeMap<PathBuf, String>,
}

/// What is known of a file.
#[derive(Default)]
struct Known {
    text: String,
    /// What came of it and is in the server, by its place.
    applied: BTreeMap<String, ObjectName>,
    /// What came of an earlier text, as long as something of this one is refused: it may still be meant.
    meant: BTreeSet<ObjectName>,
    /// Why something of it was refused. It is tried again, since a definition may come from elsewhere.
    refused: Vec<String>,
    /// That was told.
    told: bool,
}

impl Known {
    fn objects(&self) -> impl Iterator<Item = &ObjectName> {
        self.applied.values().chain(&self.meant)
    }
}

/// A change in the server: by which file (none: it is in no file any more), of what, and what.
type Done = (Option<PathBuf>, ObjectName, &'static str);

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
            winners: BTreeMap::new(),
            doubled: BTreeSet::new(),
            done: Vec::new(),
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
                Ok(Content::Empty) if self.files.get(&path).is_some_and(|known| known.objects().next().is_some()) => {
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
                self.left.extend(known.objects().cloned());
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
            self.tell_doubled();
        }
        tell(&std::mem::take(&mut self.done));
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

    /// Applies what a file says, as far as it is not yet; what is not in it any more is left.
    async fn apply(&mut self, path: &Path, text: &str) {
        let before = self.files.remove(path).unwrap_or_default();
        let again = before.text == text;
        let mut known = Known { text: text.to_owned(), ..Known::default() };
        if again {
            known.applied.clone_from(&before.applied);
        }
        match documents(text) {
            Ok(documents) => {
                for (place, document) in documents {
                    if known.applied.contains_key(&place) {
                        continue;
                    }
                    let about = about(&place, &document);
                    match self.put(path, document).await {
                        Ok(name) => drop(known.applied.insert(place, name)),
                        Err(why) => known.refused.push(format!("{about}: {why}")),
                    }
                }
            }
            Err(error) => known.refused.push(error),
        }
        let now: BTreeSet<&ObjectName> = known.applied.values().collect();
        let gone: Vec<ObjectName> = before.objects().filter(|object| !now.contains(object)).cloned().collect();
        if known.refused.is_empty() {
            self.left.extend(gone);
        } else {
            // What could not be read or applied now may still be meant.
            known.meant.extend(gone);
        }
        known.told = before.told && again && before.refused == known.refused;
        self.files.insert(path.to_owned(), known);
    }

    /// Applies one object of a file.
    async fn put(&mut self, path: &Path, document: Value) -> Result<ObjectName, String> {
        let Applied { name, created, changed } = self.api.apply(MANAGER, document).await.map_err(|status| status.message)?;
        if changed {
            let what = if created { "created" } else { "configured" };
            self.done.push((Some(path.to_owned()), name.clone(), what));
        }
        self.winners.insert(name.clone(), path.to_owned());
        Ok(name)
    }

    /// Deletes what is left. What is in another file too becomes what that one says.
    async fn delete(&mut self) {
        let left = std::mem::take(&mut self.left);
        let mut places: BTreeMap<ObjectName, Vec<PathBuf>> = BTreeMap::new();
        for (path, known) in &self.files {
            for object in known.objects().filter(|object| left.contains(*object)) {
                places.entry(object.clone()).or_default().push(path.clone());
            }
        }
        for object in left {
            let elsewhere = places.remove(&object).unwrap_or_default();
            let winner = self.winners.get(&object);
            match elsewhere.last() {
                Some(_) if winner.is_some_and(|winner| elsewhere.contains(winner)) => {}
                Some(path) => self.put_again(path, &object).await,
                None => match self.api.delete_object(&object).await {
                    Ok(()) => {
                        self.winners.remove(&object);
                        self.done.push((None, object, "deleted"));
                    }
                    Err(status) => report::warn(&format!("{object}: {}", status.message)),
                },
            }
        }
    }

    /// Applies what a file says of one object.
    async fn put_again(&mut self, path: &Path, object: &ObjectName) {
        let Some(known) = self.files.get(path) else { return };
        let Some(place) = known.applied.iter().find(|(_, one)| *one == object).map(|(place, _)| place) else { return };
        let document = documents(&known.text).into_iter().flatten().find(|(there, _)| there == place);
        if let Some((_, document)) = document
            && let Err(why) = self.put(path, document).await
        {
            report::warn(&format!("{}: {object}: {why}", path.display()));
        }
    }

    /// Tells once what is in several files, and which of them counts.
    fn tell_doubled(&mut self) {
        let doubled = self.doubled();
        let new: Vec<_> = doubled.iter().filter(|(object, _)| !self.doubled.contains(*object)).collect();
        for (object, files) in new.iter().take(MOST_LINES) {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let winner = self.winners.get(*object).map(|file| file.display().to_string()).unwrap_or_default();
            report::warn(&format!("{object} is in {}: what {winner} says counts", files.join(" and ")));
        }
        if new.len() > MOST_LINES {
            report::warn(&format!("{} more objects are in several files", new.len().saturating_sub(MOST_LINES)));
        }
        self.doubled = doubled.into_keys().collect();
    }

    /// What is in several files, and in which.
    fn doubled(&self) -> BTreeMap<ObjectName, BTreeSet<PathBuf>> {
        let mut places: BTreeMap<ObjectName, BTreeSet<PathBuf>> = BTreeMap::new();
        for (path, known) in &self.files {
            for object in known.applied.values() {
                places.entry(object.clone()).or_default().insert(path.clone());
            }
        }
        places.retain(|_, files| files.len() > 1);
        places
    }
}

/// A line for each change; of many, how many.
fn tell(done: &[Done]) {
    for line in lines(done) {
        tracing::info!(target: "wharf::dev", plugin = "manifests", "{line}");
    }
}

fn lines(done: &[Done]) -> Vec<String> {
    if done.len() > MOST_LINES {
        let of = |wanted: &str| match done.iter().filter(|(_, _, what)| *what == wanted).count() {
            0 => None,
            count => Some(format!("{count} {wanted}")),
        };
        let sums: Vec<String> = ["created", "configured", "deleted"].into_iter().filter_map(of).collect();
        return vec![sums.join(", ")];
    }
    let line = |(path, object, what): &Done| match path {
        Some(path) => format!("{}  {object} {what}", path.display()),
        None => format!("{object} {what}"),
    };
    done.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use serde_json::json;
    use wharf_devserver::{ApiOptions, StoreOptions};

    use super::*;

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

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.yaml");
        let texts = [
            config_map("fine"),
            config_map("Bad_Name"),
            "apiVersion: v1\nmetadata: {name: a, namespace: team}\n".to_owned(),
            "kind: ConfigMap\nmetadata: {name: a}\n".to_owned(),
            "kind: List\nitems: [{apiVersion: v1, kind: Nope, metadata: {name: a}}]\n".to_owned(),
        ];
        fs::write(&file, texts.join("---\n")).unwrap();
        let mut manifests = followed(home.path()).await;
        manifests.settle().await;
        let refused = &manifests.files[&file].refused;
        for (told, (begin, end)) in refused.iter().zip([
            ("document 2 ConfigMap Bad_Name: ", ""),
            ("document 3 team/a: ", "Object 'Kind' is missing"),
            ("document 4 ConfigMap a: ", "Object 'apiVersion' is missing"),
            ("document 5, item 1, Nope a: ", "no matches for kind \"Nope\" in version \"v1\""),
        ]) {
            assert!(told.starts_with(begin) && told.ends_with(end), "{told}");
        }
        assert_eq!(refused.len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.yaml");
        let mut manifests = followed(home.path()).await;
        let looked = async |manifests: &mut Manifests, text: &str| {
            fs::write(&file, text).unwrap();
            manifests.apply(&file, text).await;
            manifests.delete().await;
            lines(&std::mem::take(&mut manifests.done))
        };
        let told = |what: &str| vec![format!("{}  ConfigMap default/a {what}", file.display())];
        assert_eq!(looked(&mut manifests, &config_map("a")).await, told("created"));
        assert_eq!(looked(&mut manifests, &format!("# same\n{}", config_map("a"))).await, Vec::<String>::new());
        assert_eq!(looked(&mut manifests, &format!("{}data: {{k: v}}\n", config_map("a"))).await, told("configured"));
        assert_eq!(looked(&mut manifests, "# none\n").await, ["ConfigMap default/a deleted"]);
        let many: Vec<String> = (0..21).map(|number| config_map(&format!("m{number}"))).collect();
        assert_eq!(looked(&mut manifests, &many.join("---\n")).await, ["21 created"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_in_two_files() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = (home.path().join("a.yaml"), home.path().join("b.yaml"));
        let says = |value: &str| format!("{}data: {{k: {value}}}\n", config_map("a"));
        fs::write(&first, says("first")).unwrap();
        fs::write(&second, says("second")).unwrap();
        let mut manifests = followed(home.path()).await;
        manifests.settle().await;
        assert_eq!(manifests.doubled().into_values().collect::<Vec<_>>(), [BTreeSet::from([first.clone(), second.clone()])]);
        assert_eq!((manifests.doubled.len(), manifests.winners.values().collect::<Vec<_>>()), (1, vec![&second]));
        // Applying what is there changes nothing.
        let is = async |manifests: &Manifests, value: &str| {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}});
            !manifests.api.apply(MANAGER, object).await.unwrap().changed
        };
        assert!(is(&manifests, "second").await);
        fs::remove_file(&second).unwrap();
        manifests.settle().await;
        assert!(is(&manifests, "first").await, "what the other says");
        assert!(manifests.doubled.is_empty());
        fs::remove_file(&first).unwrap();
        manifests.settle().await;
        assert!(!is_there(&manifests, "a").await);
    }
}
