use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};
use wharf_core::plugin::{API_VERSION, KIND, PluginName};
use wharf_core::{Gvk, Object, ObjectKey, Reason};
use wharf_engine::ApiError;

use super::document::{Transitions, document, holds};
use super::outlook::{Condition, Outlook};
use super::resources::Resources;
use super::told::Note;
use super::writer::{AT_ONCE, LOOK, SETTLE, SLOW, Writer};
use crate::clock::Clock;
use crate::dispatch::{DispatcherStats, InVain, Memory, Tripped};
use crate::plugins::progress::Step;
use crate::plugins::{Origin, PluginState, PluginStatus, Refusal};
use crate::telemetry::logging::capture;
use crate::telemetry::metrics::Metrics;

pub(super) fn plugin(state: PluginState, revision: &str) -> PluginStatus {
    let stats = DispatcherStats {
        queue: wharf_queue::Stats { depth: 2, waiting: 1, ..Default::default() },
        ledger_entries: 0,
        parked: 4,
        failing: 0,
        full: false,
        memory: Memory::default(),
        idle_instances: 0,
        used: wharf_engine::Used::default(),
        backlog_bytes: 0,
        calls: 10,
        failures: 5,
        in_vain: None,
        tripped: None,
        refused: None,
        synced: true,
    };
    PluginStatus {
        name: PluginName::new("team-a", "guard").unwrap(),
        state,
        revision: revision.into(),
        digest: if revision.is_empty() { String::new() } else { "sha256:abc".into() },
        origin: Origin::Resource { namespace: "team-a".into(), name: "guard".into() },
        generation: Some(3),
        since: Instant::now(),
        paused: false,
        suspended: false,
        lacks_account: None,
        step: None,
        trouble: None,
        subscriptions: Vec::new(),
        concurrency: 1,
        stats,
    }
}

pub(super) fn refused(reason: Reason) -> PluginState {
    PluginState::Refused(Refusal { reason, message: "no\nmore".into(), hint: "do".into() })
}

pub(super) fn serving() -> PluginStatus {
    plugin(PluginState::Serving, "2-abc")
}

fn all_failing() -> PluginStatus {
    let in_vain = Some(InVain { calls: 20, reason: "Trap".into() });
    PluginStatus { stats: DispatcherStats { in_vain, ..serving().stats }, ..serving() }
}

/// `Accepted`, `Ready`, `Progressing`, `Degraded` as `True/Reason`.
fn words(plugin: &PluginStatus) -> Vec<String> {
    Outlook::of(plugin).conditions.iter().map(|Condition { status, reason, .. }| format!("{status}/{reason}")).collect()
}

#[test]
fn conditions() {
    let second = Duration::from_secs(1);
    let gone = refused(Reason::ComponentNotFound);
    let table: [(PluginStatus, [&str; 4]); 19] = [
        (serving(), ["True/Accepted", "True/Serving", "False/Settled", "False/AsExpected"]),
        (plugin(PluginState::Starting, ""), ["Unknown/Starting", "False/Starting", "True/Starting", "False/NothingServes"]),
        (plugin(PluginState::Standby, ""), ["True/Accepted", "False/Standby", "False/Settled", "False/NothingServes"]),
        (plugin(gone.clone(), ""), ["False/ComponentNotFound", "False/ComponentNotFound", "False/Settled", "False/NothingServes"]),
        (plugin(gone, "1-abc"), ["False/ComponentNotFound", "True/Serving", "False/Settled", "True/ComponentNotFound"]),
        (plugin(refused(Reason::RolledBack), "1-abc"), ["False/RolledBack", "True/Serving", "False/Settled", "True/RolledBack"]),
        (plugin(PluginState::Suspended, "1-abc"), ["True/Accepted", "False/Suspended", "False/Settled", "False/AsExpected"]),
        (PluginStatus { paused: true, ..serving() }, ["True/Accepted", "False/Paused", "False/Settled", "False/AsExpected"]),
        (PluginStatus { suspended: true, ..serving() }, ["True/Accepted", "False/Suspended", "False/Settled", "False/AsExpected"]),
        (
            PluginStatus { step: Some((Step::Bake, Duration::ZERO)), ..serving() },
            ["True/Accepted", "True/Serving", "True/Baking", "False/AsExpected"],
        ),
        (
            PluginStatus { step: Some((Step::Sync, 2 * second)), ..serving() },
            ["True/Accepted", "True/Serving", "True/RollingOut", "False/AsExpected"],
        ),
        // A wish that is tried again every 30 s makes nothing flap.
        (
            PluginStatus { step: Some((Step::Read, second)), ..serving() },
            ["True/Accepted", "True/Serving", "False/Settled", "False/AsExpected"],
        ),
        (
            PluginStatus { trouble: Some((Reason::KindNotFound, "X".into())), ..serving() },
            ["True/Accepted", "True/Serving", "False/Settled", "True/KindNotFound"],
        ),
        // Nor does a connection that is cut for a moment.
        (
            PluginStatus { trouble: Some((Reason::ServerUnavailable, "X".into())), ..serving() },
            ["True/Accepted", "True/Serving", "False/Settled", "False/AsExpected"],
        ),
        (
            PluginStatus { stats: DispatcherStats { full: true, ..serving().stats }, ..serving() },
            ["True/Accepted", "True/Serving", "False/Settled", "True/TooManyFailures"],
        ),
        (
            PluginStatus { lacks_account: Some("worker".into()), ..all_failing() },
            ["True/Accepted", "True/Serving", "False/Settled", "True/ServiceAccountNotFound"],
        ),
        (
            PluginStatus { stats: DispatcherStats { refused: Some((Reason::Forbidden, "X".into())), ..serving().stats }, ..serving() },
            ["True/Accepted", "True/Serving", "False/Settled", "True/Forbidden"],
        ),
        (
            PluginStatus {
                stats: DispatcherStats { tripped: Some(Tripped { until: None, reason: Reason::Trap }), ..all_failing().stats },
                ..serving()
            },
            ["True/Accepted", "True/Serving", "False/Settled", "True/BreakerOpen"],
        ),
        (all_failing(), ["True/Accepted", "True/Serving", "False/Settled", "True/CallsFailing"]),
    ];
    for (plugin, want) in table {
        assert_eq!(words(&plugin), want, "{plugin:?}");
    }
}

#[test]
fn a_refusal_is_told_in_full_once_and_cut() {
    let outlook = Outlook::of(&plugin(refused(Reason::ConfigInvalid), "1-abc"));
    let messages: Vec<&str> = outlook.conditions.iter().map(|condition| condition.message.as_str()).collect();
    assert_eq!(messages, ["no\nmore\nhint: do", "revision 1-abc serves", "", "revision 1-abc serves, and not what is wished: no; more"]);
    let long = Refusal::new(Reason::DocumentInvalid, "ä".repeat(40_000));
    let outlook = Outlook::unreadable(&long);
    assert_eq!((outlook.conditions[0].message.len(), outlook.conditions[1].message.len()), (32_768, 1024));
    assert_eq!((outlook.generation, outlook.conditions[1].reason), (None, "DocumentInvalid"));
}

#[test]
fn what_fails_without_end_is_told_with_what_to_do() {
    let [.., degraded] = Outlook::of(&all_failing()).conditions;
    let want = "at least 20 calls in a row have failed, the last of them with Trap; `wharf get failures team-a/guard` shows them";
    assert_eq!(degraded.message, want);
}

#[test]
fn the_status_of_a_plugin() {
    let outlook = Outlook::of(&serving());
    let times = Transitions::default().turned(&outlook.conditions, "then");
    let written = document(&ObjectKey::new("team-a", "guard"), "u", &outlook, &times, "host-0", "now");
    assert_eq!(written["metadata"], json!({"namespace": "team-a", "name": "guard", "uid": "u"}));
    let status = &written["status"];
    assert_eq!((&status["observedGeneration"], &status["revision"], &status["digest"]), (&json!(3), &json!("2-abc"), &json!("sha256:abc")));
    let own = json!({
        "name": "host-0", "revision": "2-abc", "calls": 10, "failures": 5, "parked": 4, "waiting": 3, "lastUpdateTime": "now",
    });
    assert_eq!(status["replicas"], json!([own]));
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "Serving", "message": "revision 2-abc serves", "observedGeneration": 3,
        "lastTransitionTime": "then",
    });
    assert_eq!(status["conditions"][1], ready);
    assert!(holds(status, &outlook, "host-0"));
    for (pointer, other) in
        [("/revision", json!("9")), ("/conditions/1/status", json!("False")), ("/replicas", json!([])), ("/conditions", json!(null))]
    {
        let mut changed = status.clone();
        *changed.pointer_mut(pointer).unwrap() = other;
        assert!(!holds(&changed, &outlook, "host-0"), "{pointer}");
    }
    let mut more = status.clone();
    more["conditions"].as_array_mut().unwrap().insert(0, json!({"type": "Audited", "status": "True"}));
    assert!(holds(&more, &outlook, "host-0"), "what others add is theirs");
    // Nothing serves: neither field is there.
    let nothing = document(&ObjectKey::new("a", "b"), "u", &Outlook::of(&plugin(PluginState::Starting, "")), &times, "h", "now");
    assert!(nothing["status"].get("revision").is_none() && nothing["status"]["replicas"][0].get("revision").is_none());
}

#[test]
fn a_time_changes_with_its_status_only() {
    let times = Transitions::default().turned(&Outlook::of(&serving()).conditions, "1");
    let outlook = Outlook::of(&plugin(refused(Reason::ConfigInvalid), "2-abc"));
    let turned = times.turned(&outlook.conditions, "2");
    let written = document(&ObjectKey::new("a", "b"), "u", &outlook, &turned, "h", "2");
    let of = |written: &Value| -> Vec<Value> {
        written["status"]["conditions"].as_array().unwrap().iter().map(|condition| condition["lastTransitionTime"].clone()).collect()
    };
    assert_eq!(of(&written), ["2", "1", "1", "2"]);
    // The next host reads them, and another reason or message is no transition.
    let read = Transitions::read(&written["status"]);
    assert_eq!(read, turned);
    let outlook = Outlook::of(&plugin(refused(Reason::CompileFailed), "2-abc"));
    let again = document(&ObjectKey::new("a", "b"), "u", &outlook, &read.turned(&outlook.conditions, "3"), "h", "3");
    assert_eq!(of(&again), ["2", "1", "1", "2"]);
}

/// A server: what it has, what it answers, and what it was asked.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<ObjectKey, Arc<Object>>,
    /// `None` never comes.
    answers: VecDeque<Option<ApiError>>,
    version: u64,
    writes: Vec<(ObjectKey, Value)>,
    notes: Vec<String>,
}

impl Server {
    fn put(&self, key: &ObjectKey, uid: &str, status: &Value) -> String {
        self.put_with(key, uid, status, &json!({}))
    }

    fn put_with(&self, key: &ObjectKey, uid: &str, status: &Value, more: &Value) -> String {
        let mut state = self.0.lock();
        state.version += 1;
        let version = state.version.to_string();
        let mut metadata = json!({"namespace": key.namespace, "name": key.name, "uid": uid, "resourceVersion": version});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = json!({"apiVersion": API_VERSION, "kind": KIND, "spec": {}, "status": status, "metadata": metadata});
        let object = Object::parse(&text.to_string(), &Gvk::from_api_version(API_VERSION, KIND)).unwrap();
        state.objects.insert(key.clone(), Arc::new(object));
        version
    }

    fn fail(&self, answers: impl IntoIterator<Item = ApiError>) {
        self.0.lock().answers.extend(answers.into_iter().map(Some));
    }

    fn writes(&self) -> Vec<(ObjectKey, Value)> {
        std::mem::take(&mut self.0.lock().writes)
    }
}

#[async_trait]
impl Resources for Server {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.0.lock().objects.get(key).cloned()
    }

    fn ending(&self) -> Vec<Arc<Object>> {
        self.0.lock().objects.values().filter(|object| object.deleting()).cloned().collect()
    }

    async fn write(&self, key: &ObjectKey, document: &Value) -> Result<String, ApiError> {
        let answer = {
            let mut state = self.0.lock();
            state.writes.push((key.clone(), document.clone()));
            state.answers.pop_front()
        };
        match answer {
            Some(Some(error)) => Err(error),
            Some(None) => std::future::pending().await,
            None => Ok(self.put(key, document["metadata"]["uid"].as_str().unwrap(), &document["status"])),
        }
    }

    fn tell(&self, _: &Object, note: &Note) {
        self.0.lock().notes.push(note.reason.clone());
    }
}

fn key() -> ObjectKey {
    ObjectKey::new("team-a", "guard")
}

fn one(plugin: &PluginStatus) -> BTreeMap<ObjectKey, Outlook> {
    [(key(), Outlook::of(plugin))].into()
}

fn calls(calls: u64) -> PluginStatus {
    PluginStatus { stats: DispatcherStats { calls, ..serving().stats }, ..serving() }
}

fn host() -> (Server, Writer<Server>, Arc<Metrics>) {
    let (server, metrics) = (Server::default(), Metrics::new());
    let writer = Writer::new(server.clone(), "host-0".into(), Clock::start(), Arc::clone(&metrics));
    (server, writer, metrics)
}

#[tokio::test(start_paused = true)]
async fn what_changes_is_written_and_counts_are_not_written_often() {
    let (server, mut writer, _) = host();
    writer.look(one(&serving())).await;
    assert!(server.writes().is_empty(), "there is no resource yet");
    server.put(&key(), "u", &json!({}));
    writer.look(one(&serving())).await;
    writer.look(one(&serving())).await;
    assert_eq!(server.writes().len(), 1);
    writer.look(one(&plugin(refused(Reason::ConfigInvalid), "2-abc"))).await;
    writer.look(one(&serving())).await;
    assert_eq!(server.writes().len(), 2, "a change is written at once");
    for n in 0..60 {
        advance(LOOK).await;
        writer.look(one(&calls(100 + n))).await;
    }
    let written: Vec<_> = server.writes().iter().map(|(_, written)| written["status"]["replicas"][0]["calls"].clone()).collect();
    assert_eq!(written, [129, 159]);
    assert_eq!(server.0.lock().notes, ["Serving", "ConfigInvalid", "Serving"]);
}

#[tokio::test(start_paused = true)]
async fn what_others_overwrite_is_put_right_but_no_war_is_waged() {
    let (server, mut writer, _) = host();
    server.put(&key(), "u", &json!({}));
    writer.look(one(&serving())).await;
    server.writes();
    for n in 0..60 {
        // Somebody who insists.
        server.put(&key(), "u", &json!({"revision": "mine"}));
        advance(LOOK).await;
        writer.look(one(&serving())).await;
        assert_eq!(server.writes().len(), usize::from(n % 30 == 0), "{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_waits_for_its_finalizers_does_not_say_that_it_serves() {
    let (server, mut writer, _) = host();
    server.put(&key(), "u", &json!({}));
    writer.look(one(&serving())).await;
    let (_, written) = server.writes().remove(0);
    let ending = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y", "x/z"], "generation": 4});
    server.put_with(&key(), "u", &written["status"], &ending);
    // The plugin may be there for a moment still, and is gone then.
    writer.look(one(&serving())).await;
    let (_, written) = server.writes().remove(0);
    let status = &written["status"];
    assert_eq!((status.get("revision"), &status["replicas"], &status["observedGeneration"]), (None, &json!([]), &json!(4)));
    let words = |n: usize| ["status", "reason", "message"].map(|field| status["conditions"][n][field].as_str().unwrap());
    assert_eq!(words(0), ["False", "Terminating", "it is being deleted, which waits for x/y, x/z"]);
    assert_eq!((words(1), words(3)), (words(0), ["False", "NothingServes", ""]));
    server.put_with(&key(), "u", status, &ending);
    writer.look(BTreeMap::new()).await;
    assert!(server.writes().is_empty(), "it is said once");
    assert_eq!(server.0.lock().notes, ["Serving"]);
}

#[tokio::test(start_paused = true)]
async fn a_restart_changes_no_time() {
    let (server, mut writer, _) = host();
    server.put(&key(), "u", &json!({}));
    let outlook = Outlook::of(&serving());
    let before = Transitions::default().turned(&outlook.conditions, "2020-01-01T00:00:00Z");
    let status = document(&key(), "u", &outlook, &before, "host-9", "x")["status"].clone();
    server.put(&key(), "u", &status);
    writer.look(one(&plugin(PluginState::Starting, ""))).await;
    assert!(server.writes().is_empty(), "what the last host wrote stays until something is known");
    // So it is after a takeover: this host leads, and its plugins are about to notice.
    writer.look(one(&plugin(PluginState::Standby, ""))).await;
    assert!(server.writes().is_empty(), "nor does it stand by any more");
    writer.look(one(&serving())).await;
    let (_, written) = server.writes().remove(0);
    assert_eq!(written["status"]["conditions"], status["conditions"]);
    assert!(server.0.lock().notes.is_empty());
    // What was good is about to stand in for what is refused.
    let (server, mut writer, _) = host();
    let refused = refused(Reason::RolledBack);
    let outlook = Outlook::of(&plugin(refused.clone(), "1-abc"));
    let before = Transitions::default().turned(&outlook.conditions, "2020-01-01T00:00:00Z");
    server.put(&key(), "u", &document(&key(), "u", &outlook, &before, "host-9", "x")["status"]);
    let step = Some((Step::Compile, Duration::ZERO));
    writer.look(one(&PluginStatus { step, ..plugin(refused.clone(), "") })).await;
    assert!(server.writes().is_empty());
    writer.look(one(&plugin(refused, "1-abc"))).await;
    assert_eq!(server.writes()[0].1["status"]["conditions"][1]["lastTransitionTime"], "2020-01-01T00:00:00Z");
    // A plugin that does not start is one that does not serve.
    let (server, mut writer, _) = host();
    server.put(&key(), "u", &status);
    writer.look(one(&plugin(PluginState::Starting, ""))).await;
    advance(SETTLE).await;
    writer.look(one(&plugin(PluginState::Starting, ""))).await;
    assert_eq!(server.writes()[0].1["status"]["conditions"][1]["reason"], "Starting");
    // Another resource of the same name begins anew.
    server.put(&key(), "other", &json!({}));
    writer.look(one(&serving())).await;
    let (_, written) = server.writes().remove(0);
    assert_eq!(written["metadata"]["uid"], "other");
    assert_ne!(written["status"]["conditions"][1]["lastTransitionTime"], "2020-01-01T00:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_later_and_later() {
    let (server, mut writer, metrics) = host();
    server.put(&key(), "u", &json!({}));
    let unavailable = || ApiError::Unavailable("503".into());
    server.fail([unavailable(), ApiError::Conflict("409".into()), ApiError::Throttled(Duration::from_secs(20)), unavailable()]);
    let (mut at, start) = (Vec::new(), Instant::now());
    for _ in 0..60 {
        writer.look(one(&serving())).await;
        if !server.writes().is_empty() {
            at.push(start.elapsed().as_secs());
        }
        advance(LOOK).await;
    }
    assert_eq!(at.len(), 5, "{at:?}");
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, least) in gaps.iter().zip([1, 2, 20, 8]) {
        assert!((least..=least + least / 10 + 1).contains(gap), "{gaps:?}");
    }
    let text = metrics.encode().unwrap();
    for line in [r#"{result="ok"} 1"#, r#"{result="conflict"} 1"#, r#"{result="failed"} 3"#] {
        assert!(text.contains(&format!("wharf_status_writes_total{line}")), "{text}");
    }
}

#[test]
fn a_lack_of_rights_is_said_once_and_tried_each_minute() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (server, mut writer, _) = runtime.block_on(async { host() });
    let keys = [key(), ObjectKey::new("team-b", "guard")];
    let outlooks: BTreeMap<_, _> = keys.iter().map(|key| (key.clone(), Outlook::of(&serving()))).collect();
    keys.iter().for_each(|key| drop(server.put(key, "u", &json!({}))));
    server.fail((0..6).map(|_| ApiError::Forbidden("no".into())));
    let lines = capture(|| {
        runtime.block_on(async {
            for _ in 0..200 {
                writer.look(outlooks.clone()).await;
                advance(LOOK).await;
            }
        });
    });
    assert_eq!(server.writes().len(), 8);
    let said: Vec<_> = lines.iter().filter(|line| line["message"] == "status not written").collect();
    assert_eq!((said.len(), &said[0]["reason"]), (1, &json!("Forbidden")));
    assert!(said[0]["hint"].as_str().unwrap().contains("wharf rbac --cluster-plugins"), "{}", said[0]);
}

#[tokio::test(start_paused = true)]
async fn many_are_written_in_turns_and_a_server_that_hangs_holds_up_none_for_ever() {
    let (server, mut writer, _) = host();
    let keys: Vec<ObjectKey> = (0..50).map(|n| ObjectKey::new("team-a", &format!("p{n:02}"))).collect();
    let outlooks: BTreeMap<_, _> = keys.iter().map(|key| (key.clone(), Outlook::of(&serving()))).collect();
    keys.iter().for_each(|key| drop(server.put(key, "u", &json!({}))));
    server.0.lock().answers.extend([None, None]);
    let start = Instant::now();
    let mut written = Vec::new();
    for _ in 0..4 {
        writer.look(outlooks.clone()).await;
        let writes = server.writes();
        assert!(writes.len() <= AT_ONCE);
        written.extend(writes.into_iter().map(|(key, _)| key));
        advance(LOOK + SLOW / 10).await;
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(written.len(), 52, "two were not answered and were tried again");
    written.sort();
    written.dedup();
    assert_eq!(written, keys);
    // What is gone is forgotten, and so is one that the server says is gone.
    writer.look(BTreeMap::new()).await;
    server.fail([ApiError::NotFound]);
    for _ in 0..10 {
        writer.look(one_of(&keys[0])).await;
        advance(LOOK).await;
    }
    assert_eq!(server.writes().len(), 1);
}

fn one_of(key: &ObjectKey) -> BTreeMap<ObjectKey, Outlook> {
    [(key.clone(), Outlook::of(&serving()))].into()
}
