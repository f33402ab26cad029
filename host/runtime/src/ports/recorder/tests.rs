//! What the recorder writes of what it takes, on a server that takes all or nothing.

use bytes::Bytes;
use http_body_util::Full;
use kube::client::Body;
use serde_json::Value;
use tower::{BoxError, service_fn};
use wharf_cache::{Informers, NoMetrics};

use super::*;
use crate::ports::api::Identity;

/// `Reason: note` of each Event that is made, and `folded` for each that grows.
type Written = mpsc::Receiver<String>;

struct Host {
    recorder: Recorder,
    api: Api,
    written: Written,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

/// A recorder, and what it sends to a server that takes everything.
fn host() -> Host {
    host_before(201, "")
}

/// ... to one that answers with this status and message.
fn host_before(status: u16, message: &'static str) -> Host {
    let (sender, written) = mpsc::channel(1000);
    let service = service_fn(move |request: http::Request<Body>| {
        let sender = sender.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body: Value = serde_json::from_slice(&http_body_util::BodyExt::collect(body).await?.to_bytes())?;
            let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
            let line = if parts.method == Method::PATCH { "folded".to_owned() } else { format!("{}: {}", text("reason"), text("note")) };
            sender.send(line).await?;
            let answer = serde_json::json!({"message": message}).to_string();
            Ok::<_, BoxError>(http::Response::builder().status(status).body(Full::new(Bytes::from(answer)))?)
        }
    });
    let client = kube::Client::new(service, "default");
    let informers = Informers::new(client.clone(), wharf_cache::Options::default(), Arc::new(NoMetrics));
    let stop = CancellationToken::new();
    let (recorder, task) = Recorder::start(Metrics::new(), "host-0".into(), stop.clone());
    Host { recorder, api: Api::new(client, informers, Identity::Host), written, stop, task }
}

fn event(api: &Api, warning: bool, reason: &str, note: &str) -> Record {
    Record {
        plugin: "team-a/guard".into(),
        api: api.clone(),
        manager: "wharf".into(),
        kind: Gvk::new("wharf.dev", "v1alpha1", "Plugin"),
        namespace: Some("team-a".into()),
        name: "guard".into(),
        uid: "u".into(),
        warning,
        reason: reason.into(),
        note: note.into(),
        state: true,
        refusals: None,
    }
}

async fn take(written: &mut Written, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(written.recv().await.unwrap());
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn the_last_state_is_told_if_late() {
    let Host { recorder, api, mut written, .. } = host();
    let start = Instant::now();
    for n in 0..40 {
        recorder.record(event(&api, false, "Serving", &format!("revision {n} serves")));
    }
    let lines = take(&mut written, 26).await;
    assert_eq!(lines[24], "Serving: revision 24 serves");
    assert_eq!(lines[25], "Serving: revision 39 serves (14 Events before it were left out)");
    let waited = start.elapsed();
    assert!((REFILL..REFILL + Duration::from_secs(1)).contains(&waited), "{waited:?}");
    tokio::time::sleep(10 * REFILL).await;
    assert!(written.try_recv().is_err(), "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_warning_is_not_held_back_by_what_is_normal() {
    let Host { recorder, api, mut written, .. } = host();
    for n in 0..40 {
        recorder.record(event(&api, false, "Serving", &n.to_string()));
    }
    recorder.record(event(&api, true, "RolledBack", "it was worse"));
    assert_eq!(take(&mut written, 26).await[25], "RolledBack: it was worse (15 Events before it were left out)");
    tokio::time::sleep(10 * REFILL).await;
    assert!(written.try_recv().is_err(), "what came before is no news any more");
}

#[tokio::test(start_paused = true)]
async fn an_ending_host_leaves_no_state_untold() {
    let Host { recorder, api, mut written, stop, .. } = host();
    for n in 0..27 {
        recorder.record(event(&api, true, "ConfigInvalid", &n.to_string()));
    }
    take(&mut written, 25).await;
    stop.cancel();
    assert_eq!(take(&mut written, 1).await, ["ConfigInvalid: 26 (1 Event before it was left out)"]);
}

#[tokio::test(start_paused = true)]
async fn a_plugins_own_flood_is_left_out_and_takes_no_place_of_its_state() {
    let Host { recorder, api, mut written, .. } = host();
    for n in 0..150 {
        recorder.record(Record { state: false, name: "x".into(), ..event(&api, false, "Seen", &n.to_string()) });
    }
    recorder.record(event(&api, true, "RolledBack", "it was worse"));
    assert_eq!(take(&mut written, 26).await[25], "RolledBack: it was worse");
    tokio::time::sleep(10 * REFILL).await;
    assert!(written.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn equal_events_are_one() {
    let Host { recorder, api, mut written, .. } = host();
    for _ in 0..3 {
        recorder.record(event(&api, false, "Serving", "a"));
    }
    assert_eq!(take(&mut written, 3).await, ["Serving: a", "folded", "folded"]);
}

#[tokio::test(start_paused = true)]
async fn it_is_known_whose_events_are_forbidden() {
    async fn asks(host: Host, refusals: &Arc<Refusals>) -> Option<(Reason, String)> {
        let record = Record { state: false, refusals: Some(Arc::clone(refusals)), ..event(&host.api, true, "Seen", "a") };
        host.recorder.record(record);
        host.stop.cancel();
        host.task.await.unwrap();
        refusals.newest()
    }
    let refusals = Arc::default();
    assert_eq!(asks(host_before(403, "it cannot create"), &refusals).await, Some((Reason::Forbidden, "it cannot create".to_owned())));
    assert_eq!(asks(host_before(503, "busy"), &refusals).await, Some((Reason::Forbidden, "it cannot create".to_owned())));
    assert_eq!(asks(host(), &refusals).await, None);
    assert_eq!(asks(host_before(403, "no: because it is being terminated"), &refusals).await, None);
}
