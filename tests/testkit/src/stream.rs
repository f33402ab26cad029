//! A steady stream of writes in the background, and the balance at its end. Owns the
//! books of what was written, and the two words of the design: lost (a last state or an
//! end that was never handled) and doubled (the same state handled twice with nothing due).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::api::Target;
use crate::cluster::Cluster;
use crate::host::Call;

/// A stream never writes more than this, whatever becomes of the scenario.
const MOST: u64 = 50_000;

/// A stream of writes to ConfigMaps `stream-0`, `stream-1`, … of one namespace.
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    /// The namespace; it must be there.
    pub namespace: String,
    /// Number of objects, written in turn.
    pub objects: u64,
    /// Writes per second.
    pub per_second: u64,
    /// Every so many writes is a delete instead; 0: none.
    pub delete_every: u64,
    /// What every write has besides `data.value`, for example labels.
    pub manifest: Map<String, Value>,
}

/// A running stream.
pub struct Stream {
    stop: watch::Sender<bool>,
    written: watch::Receiver<u64>,
    task: JoinHandle<Result<Books>>,
}

/// What a stream has written.
#[derive(Debug, Default)]
pub struct Books {
    /// Final (uid, resourceVersion) by name.
    live: BTreeMap<String, (String, String)>,
    /// Uids that were deleted.
    gone: BTreeSet<String>,
    /// Writes and deletes.
    pub writes: u64,
}

impl Stream {
    /// Starts writing.
    pub fn start(cluster: Arc<Cluster>, options: StreamOptions) -> Self {
        let stop = watch::Sender::new(false);
        let (count, written) = watch::channel(0);
        let task = tokio::spawn(write(cluster, options, stop.subscribe(), count));
        Self { stop, written, task }
    }

    /// Waits until so many more writes were made.
    ///
    /// # Errors
    /// If the stream has failed, or takes longer than two minutes.
    pub async fn more(&mut self, writes: u64) -> Result<()> {
        let end = *self.written.borrow() + writes;
        let waiting = self.written.wait_for(|written| *written >= end);
        timeout(Duration::from_secs(120), waiting).await.context("the stream is too slow")?.context("the stream has failed")?;
        Ok(())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// That of the write that failed.
    pub async fn finish(self) -> Result<Books> {
        self.stop.send_replace(true);
        self.task.await.context("the stream broke off")?
    }
}

async fn write(cluster: Arc<Cluster>, options: StreamOptions, stop: watch::Receiver<bool>, count: watch::Sender<u64>) -> Result<Books> {
    ensure!(options.objects > 0 && options.per_second > 0, "a stream needs objects and a pace");
    let mut pace = interval(Duration::from_secs(1) / u32::try_from(options.per_second)?);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut books = Books::default();
    while !*stop.borrow() {
        pace.tick().await;
        ensure!(books.writes < MOST, "the stream was never stopped");
        let name = format!("stream-{}", books.writes % options.objects);
        books.writes += 1;
        let deletes = options.delete_every > 0 && books.writes.is_multiple_of(options.delete_every);
        match books.live.get(&name) {
            Some((uid, _)) if deletes => {
                let uid = uid.clone();
                ensure!(cluster.api().delete(&Target::config_map(&options.namespace, &name)).await?, "somebody else deleted {name}");
                books.live.remove(&name);
                books.gone.insert(uid);
            }
            _ => {
                let written = cluster.api().apply(&manifest(&options.namespace, &name, books.writes, &options.manifest)).await?;
                let field = |name| written.pointer(name).and_then(Value::as_str).map(str::to_owned).context("the answer is no object");
                books.live.insert(name, (field("/metadata/uid")?, field("/metadata/resourceVersion")?));
            }
        }
        count.send_replace(books.writes);
    }
    Ok(books)
}

fn manifest(namespace: &str, name: &str, value: u64, more: &Map<String, Value>) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let mut metadata = more.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let mut data = more.get("data").cloned().unwrap_or_else(|| json!({}));
    if let (Some(object), Some(metadata_fields), Some(data_fields)) =
        (object.as_object_mut(), metadata.as_object_mut(), data.as_object_mut())
    {
        metadata_fields.insert("namespace".into(), namespace.into());
        metadata_fields.insert("name".into(), name.into());
        data_fields.insert("value".into(), value.to_string().into());
        object.insert("metadata".into(), metadata);
        object.insert("data".into(), data);
    }
    object
}

impl Books {
    /// Compares the books with the calls of a plugin that was told of all the objects: one
    /// sentence for everything lost or doubled. The plugin must have come to rest.
    pub fn problems(&self, calls: &[Call]) -> Vec<String> {
        let calls: Vec<Handled> = calls.iter().map(Handled::of).collect();
        balance(self, &calls)
    }
}

/// What a balance needs to know of a call.
#[derive(Clone, Debug, Default)]
struct Handled {
    event: String,
    uid: String,
    resource_version: String,
    cause: String,
    outcome: String,
}

impl Handled {
    fn of(call: &Call) -> Self {
        let [event, uid, resource_version, cause, outcome] =
            ["event", "uid", "resource_version", "cause", "outcome"].map(|field| call.text(field));
        Self { event, uid, resource_version, cause, outcome }
    }

    fn succeeded(&self) -> bool {
        matches!(self.outcome.as_str(), "done" | "requeue-after")
    }

    fn ends_delete(&self) -> bool {
        self.event == "delete" && matches!(self.outcome.as_str(), "done" | "permanent")
    }

    /// Was something due, so that the same state is rightly handled again?
    fn was_due(&self) -> bool {
        matches!(self.cause.as_str(), "reload" | "requeue" | "retry")
    }
}

/// Compares the books with the calls: one sentence for everything lost or doubled.
fn balance(books: &Books, calls: &[Handled]) -> Vec<String> {
    let mut problems = Vec::new();
    let handled = |uid: &str, version: &str| {
        calls.iter().any(|call| call.event != "delete" && call.succeeded() && call.uid == uid && call.resource_version == version)
    };
    for (name, (uid, version)) in &books.live {
        if !handled(uid, version) {
            problems.push(format!("lost: {name} (uid {uid}) was never handled at resourceVersion {version}"));
        }
    }
    for uid in &books.gone {
        let known = calls.iter().any(|call| call.event != "delete" && call.uid == *uid);
        let ends = calls.iter().filter(|call| call.uid == *uid && call.ends_delete()).count();
        if known && ends == 0 {
            problems.push(format!("lost: no delete ended for uid {uid}"));
        }
        if ends > 1 {
            problems.push(format!("doubled: {ends} deletes ended for uid {uid}"));
        }
    }
    let mut times: HashMap<(&str, &str), u32> = HashMap::new();
    for call in calls.iter().filter(|call| call.event != "delete" && call.succeeded() && !call.was_due()) {
        let count = times.entry((&call.uid, &call.resource_version)).or_default();
        *count += 1;
        if *count == 2 {
            problems.push(format!("doubled: uid {} at resourceVersion {} was handled twice", call.uid, call.resource_version));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(event: &str, uid: &str, version: &str, cause: &str, outcome: &str) -> Handled {
        Handled { event: event.into(), uid: uid.into(), resource_version: version.into(), cause: cause.into(), outcome: outcome.into() }
    }

    fn books() -> Books {
        let live = BTreeMap::from([("a".to_owned(), ("u1".to_owned(), "5".to_owned()))]);
        Books { live, gone: BTreeSet::from(["u0".to_owned()]), writes: 4 }
    }

    #[test]
    fn a_clean_history_balances() {
        let calls = [
            call("add", "u0", "1", "watch", "done"),
            call("delete", "u0", "2", "watch", "done"),
            call("add", "u1", "3", "watch", "retry"),
            call("add", "u1", "5", "retry", "done"),
            call("update", "u1", "5", "reload", "done"),
        ];
        assert_eq!(balance(&books(), &calls), Vec::<String>::new());
    }

    #[test]
    fn lost_and_doubled_are_found() {
        let calls =
            [call("add", "u0", "1", "watch", "done"), call("update", "u0", "1", "watch", "done"), call("add", "u1", "5", "watch", "retry")];
        let problems = balance(&books(), &calls);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].starts_with("lost: a") && problems[1].starts_with("lost: no delete") && problems[2].starts_with("doubled"));
    }

    #[test]
    fn two_ends_are_doubled_and_the_unknown_needs_none() {
        let done = call("add", "u1", "5", "watch", "done");
        assert_eq!(balance(&books(), std::slice::from_ref(&done)).len(), 0);
        let end = call("delete", "u0", "2", "watch", "done");
        assert_eq!(balance(&books(), &[done, end.clone(), end]).len(), 1);
    }

    #[test]
    fn manifests_keep_what_is_given() {
        let more = json!({"metadata": {"labels": {"a": "b"}}, "data": {"do": "done"}});
        let object = manifest("ns", "x", 7, more.as_object().unwrap());
        assert_eq!(object.pointer("/metadata/labels/a"), Some(&json!("b")));
        assert_eq!(object.pointer("/data/value"), Some(&json!("7")));
        assert_eq!(object.pointer("/metadata/name"), Some(&json!("x")));
    }
}
