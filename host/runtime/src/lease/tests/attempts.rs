//! Single attempts: what is asked, and what the answer makes of it.

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, advance, sleep};

use super::super::machine::{Ask, Machine, Next, Now, Who};
use super::super::record::Lease;
use super::super::server::LeaseError;
use super::*;

fn now() -> Now {
    Now { at: Instant::now(), wall: Timestamp::from_second(1_800_000_000).unwrap() }
}

fn machine() -> Machine {
    let Candidate { identity, namespace, name, labels, timing, .. } = candidate("me");
    Machine::new(Who { identity, namespace, name, labels, timing })
}

fn lease(spec: &Value) -> Lease {
    let whole = json!({"metadata": {"name": "wharf", "resourceVersion": "7"}, "spec": spec});
    Lease(whole.as_object().unwrap().clone())
}

fn held_by(holder: &str, renewed: &str) -> Lease {
    lease(
        &json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3, "renewTime": renewed, "acquireTime": "then"}),
    )
}

/// What is written if the server has this.
fn written(machine: &mut Machine, there: Result<Lease, LeaseError>) -> Option<Lease> {
    assert_eq!(machine.begin(now()), Ask::Get);
    match machine.answer(there, now()) {
        Next::Ask(Ask::Create(lease) | Ask::Update(lease)) => {
            assert!(matches!(machine.answer(Ok(lease.clone()), now()), Next::Held { since } if since == Instant::now()));
            Some(lease)
        }
        Next::Others => None,
        other => panic!("{other:?}"),
    }
}

fn fields(lease: &Lease) -> (String, Option<Duration>, i64) {
    (lease.holder().to_owned(), lease.duration(), lease.transitions())
}

fn mine(transitions: i64) -> (String, Option<Duration>, i64) {
    ("me".to_owned(), Some(15 * SECOND), transitions)
}

#[tokio::test(start_paused = true)]
async fn cl1_acquires_where_there_is_no_lease() {
    let mut machine = machine();
    assert_eq!(machine.begin(now()), Ask::Get);
    let Next::Ask(Ask::Create(lease)) = machine.answer(Err(LeaseError::NotFound), now()) else { panic!("it is made") };
    assert_eq!(fields(&lease), mine(0));
    assert_eq!(lease.0["spec"]["acquireTime"], json!("2027-01-15T08:00:00.000000Z"));
    // Somebody else made it first.
    assert_eq!(machine.answer(Err(LeaseError::Conflict), now()), Next::Failed(LeaseError::Conflict));
}

#[tokio::test(start_paused = true)]
async fn cl1_acquires_a_lease_that_says_nothing() {
    for spec in [Value::Null, json!({})] {
        assert_eq!(fields(&written(&mut machine(), Ok(lease(&spec))).unwrap()), mine(1));
    }
}

#[tokio::test(start_paused = true)]
async fn cl1_acquires_a_lease_that_nobody_holds() {
    let unled = json!({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4});
    let mut machine = machine();
    assert_eq!(fields(&written(&mut machine, Ok(lease(&unled))).unwrap()), mine(5));
    assert_eq!(machine.before(), None, "nobody was driven out");
}

#[tokio::test(start_paused = true)]
async fn cl1_acquires_a_lease_that_was_not_renewed_for_its_duration() {
    let mut machine = machine();
    assert!(written(&mut machine, Ok(held_by("other", "a"))).is_none());
    advance(15 * SECOND).await;
    let taken = written(&mut machine, Ok(held_by("other", "a"))).unwrap();
    assert_eq!(fields(&taken), mine(4));
    assert_eq!(machine.before().as_deref(), Some("other"));
}

#[tokio::test(start_paused = true)]
async fn cl1_acquires_a_lease_that_was_given_back_just_now() {
    let mut machine = machine();
    assert!(written(&mut machine, Ok(held_by("other", "a"))).is_none());
    advance(SECOND).await;
    assert_eq!(fields(&written(&mut machine, Ok(held_by("", "b"))).unwrap()), mine(4));
}

/// Whatever the times in it say: its holder's clock may be years behind, or ahead.
#[tokio::test(start_paused = true)]
async fn cl1_leaves_a_lease_that_is_held() {
    let mut machine = machine();
    for renewed in ["1970-01-01T00:00:00.000000Z", "2200-01-01T00:00:00.000000Z", "nonsense"] {
        assert!(written(&mut machine, Ok(held_by("other", renewed))).is_none());
        advance(14 * SECOND).await;
    }
    assert_eq!(machine.holder().as_deref(), Some("other"));
    // Somebody labels it, and renews nothing.
    let mut labelled = held_by("other", "nonsense").0;
    labelled["metadata"] = json!({"resourceVersion": "8", "labels": {"a": "b"}});
    assert!(written(&mut machine, Ok(Lease(labelled.clone()))).is_none());
    advance(SECOND).await;
    assert!(written(&mut machine, Ok(Lease(labelled))).is_some());
}

#[tokio::test(start_paused = true)]
async fn cl1_renews_its_own_lease() {
    let mut machine = machine();
    let own = written(&mut machine, Ok(held_by("me", "a"))).unwrap();
    assert_eq!(fields(&own), mine(3), "it changes no hands");
    assert_eq!(own.0["spec"]["acquireTime"], json!("then"));
    assert_eq!(machine.before(), None);
}

#[tokio::test(start_paused = true)]
async fn cl1_goes_by_the_duration_that_the_holder_has_promised() {
    for (promised, over) in [(json!(60), 60), (json!(1), 1), (json!(0), 15), (json!(-5), 15), (Value::Null, 15), (json!("x"), 15)] {
        let there = || lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": promised}));
        let mut machine = machine();
        assert!(written(&mut machine, Ok(there())).is_none());
        advance(over * SECOND - Duration::from_millis(1)).await;
        assert!(written(&mut machine, Ok(there())).is_none(), "{promised}");
        advance(Duration::from_millis(1)).await;
        assert!(written(&mut machine, Ok(there())).is_some(), "{promised}");
    }
}

#[tokio::test(start_paused = true)]
async fn cl2_a_leader_renews_without_a_look() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    assert_eq!(server.log(), ["get", "create"]);
    sleep(7 * SECOND).await;
    assert_eq!(server.log(), ["update", "update", "update"]);
    assert!(leader.metrics.encode().unwrap().contains(r#"leader_election_slowpath_total{name="wharf"} 0"#));
}

#[tokio::test(start_paused = true)]
async fn cl2_a_conflict_leads_back_to_a_look() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    // Somebody labels the lease, and its version is another one.
    let there = server.kept.lock().lease.clone().unwrap();
    server.put(&there.0.into());
    server.log();
    sleep(3 * SECOND).await;
    assert_eq!(server.log(), ["update", "get", "update"]);
    assert!(leader.tenure.may_deliver());
    let text = leader.metrics.encode().unwrap();
    assert!(text.contains(r#"leader_election_slowpath_total{name="wharf"} 1"#), "{text}");
}

/// It was deleted under the leader, which makes it anew; and if somebody else took it meanwhile, the
/// leader is none any more.
#[tokio::test(start_paused = true)]
async fn cl2_a_lease_that_is_gone_or_taken_is_seen_at_the_next_renewal() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    server.kept.lock().lease = None;
    sleep(3 * SECOND).await;
    assert!(leader.tenure.may_deliver());
    assert_eq!(server.spec("holderIdentity"), "me");
    server.put(&json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 15}}));
    let seen = Instant::now();
    leader.over().await;
    assert!(seen.elapsed() <= 2 * SECOND);
    leader.task.await.unwrap();
    assert_eq!(server.spec("holderIdentity"), "other");
}

#[tokio::test(start_paused = true)]
async fn cl7_labels_are_added_and_those_of_others_stay() {
    let server = Server::obliging();
    let spec = json!({"holderIdentity": "", "strategy": "OldestEmulationVersion", "preferredHolder": "x"});
    let more = json!({"finalizers": ["a/b"], "labels": {"team": "a", "app": "old"}});
    server.put(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": more, "spec": spec, "new": {"field": 1}}));
    let labels = [("app".to_owned(), "wharf".to_owned())].into();
    let leader = Running::start(&server, Candidate { labels, ..candidate("me") });
    leader.leads().await;
    sleep(5 * SECOND).await;
    leader.stopped().await;
    let lease = Value::from(server.kept.lock().lease.clone().unwrap().0);
    assert_eq!(lease["metadata"]["labels"], json!({"team": "a", "app": "wharf"}));
    assert_eq!((&lease["metadata"]["finalizers"], &lease["new"]), (&json!(["a/b"]), &json!({"field": 1})));
    assert_eq!((&lease["spec"]["strategy"], &lease["spec"]["preferredHolder"]), (&json!("OldestEmulationVersion"), &json!("x")));
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[tokio::test(start_paused = true)]
async fn cl7_a_lease_without_labels_or_metadata_does_no_harm() {
    for (there, wanted) in
        [(json!({"metadata": {"labels": null}}), json!({"app": "wharf"})), (json!({"metadata": null}), json!({"app": "wharf"}))]
    {
        let there = Lease(there.as_object().unwrap().clone());
        let labelled = there.clone().labelled(&[("app".to_owned(), "wharf".to_owned())].into());
        assert_eq!(labelled.0["metadata"]["labels"], wanted);
        assert_eq!(there.clone().labelled(&BTreeMap::new()), there, "nothing to add changes nothing");
    }
}
