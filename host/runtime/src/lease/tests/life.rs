//! The life of a candidate: what it gives back, what it says, what it says of itself when nobody
//! answers.

use tokio::time::{Instant, sleep};

use super::*;

fn phases(told: &[Leadership]) -> Vec<&'static str> {
    let word = |now: &Leadership| match now.phase {
        Phase::Waiting => "waiting",
        Phase::Leading { .. } => "leading",
        Phase::Over => "over",
    };
    let mut words: Vec<&str> = told.iter().map(word).collect();
    words.dedup();
    words
}

fn leaders(told: &[Leadership]) -> Vec<String> {
    let mut leaders: Vec<String> = told.iter().map(|now| now.leader.as_deref().unwrap_or("-").to_owned()).collect();
    leaders.dedup();
    leaders
}

#[tokio::test(start_paused = true)]
async fn cl3_a_lease_is_given_back_after_a_look() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    server.log();
    let told = leader.stopped().await;
    assert_eq!(server.log(), ["get", "update"]);
    assert_eq!((server.spec("holderIdentity"), server.spec("leaseDurationSeconds")), (json!(""), json!(1)));
    assert_eq!(server.spec("leaseTransitions"), 0, "giving back is no transition");
    assert_eq!(phases(&told), ["waiting", "leading", "over"]);
    // The next one need not wait.
    let (next, begun) = (Running::start(&server, candidate("next")), Instant::now());
    next.leads().await;
    assert!(begun.elapsed() < SECOND);
    assert_eq!(server.spec("leaseTransitions"), 1);
}

#[tokio::test(start_paused = true)]
async fn cl3_nobody_leads_when_the_lease_is_given_back() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    let tenure = leader.tenure.clone();
    server.script(move |what| {
        assert!(!tenure.may_deliver() && !tenure.may_act(), "at {what} it still acts");
        How::default()
    });
    leader.stopped().await;
    assert_eq!(server.spec("holderIdentity"), "");
}

#[tokio::test(start_paused = true)]
async fn cl3_a_conflict_while_giving_back_is_tried_again() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    server.log();
    let (mut left, kept) = (3, Arc::clone(&server.kept));
    server.script(move |what| {
        if what == "update" && left > 0 {
            left -= 1;
            // Somebody touches it between look and write.
            let mut kept = kept.lock();
            let lease = kept.lease.clone().unwrap();
            kept.put(lease.0);
        }
        How::default()
    });
    leader.stopped().await;
    assert_eq!(server.log(), ["get", "update", "get", "update", "get", "update", "get", "update"]);
    assert_eq!(server.spec("holderIdentity"), "");
}

/// For ever touched by somebody else, it is left to run out.
#[tokio::test(start_paused = true)]
async fn cl3_giving_back_has_an_end() {
    for hangs in [false, true] {
        let server = Server::obliging();
        let leader = Running::start(&server, candidate("me"));
        leader.leads().await;
        server.script(move |what| match (what, hangs) {
            ("update", false) => How { refused: Some(LeaseError::Conflict), ..How::default() },
            (_, true) => How::lost(),
            _ => How::default(),
        });
        let begun = Instant::now();
        leader.stopped().await;
        assert!(begun.elapsed() <= 10 * SECOND, "{:?}", begun.elapsed());
        assert_eq!(server.spec("holderIdentity"), "me");
    }
}

#[tokio::test(start_paused = true)]
async fn cl3_stopped_in_the_middle_of_a_look_or_of_a_write() {
    for (unanswered, holder) in [("get", Value::Null), ("create", json!("")), ("update", json!(""))] {
        let server = Server::obliging();
        let candidate = Running::start(&server, candidate("me"));
        if unanswered == "update" {
            candidate.leads().await;
        }
        // It is carried out, but its answer does not come before the stop.
        let mut first = true;
        server.script(move |what| {
            let unheard = what == unanswered && std::mem::take(&mut first);
            How { unheard, ..How::default() }
        });
        sleep(3 * SECOND).await;
        let told = candidate.stopped().await;
        assert_eq!(server.spec("holderIdentity"), holder, "in the middle of {unanswered}");
        assert_eq!(told.last().unwrap().phase, Phase::Over);
    }
}

#[tokio::test(start_paused = true)]
async fn cl3_what_is_somebody_elses_is_not_given_back() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    server.put(&json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 15}}));
    server.log();
    leader.stopped().await;
    assert_eq!(server.log(), ["get"]);
    assert_eq!(server.spec("holderIdentity"), "other");
}

#[tokio::test(start_paused = true)]
async fn cl3_only_who_wants_to_gives_back() {
    let server = Server::obliging();
    let leader = Running::start(&server, Candidate { release: false, ..candidate("me") });
    leader.leads().await;
    server.log();
    leader.stopped().await;
    assert_eq!(server.log(), [""; 0]);
    let next = Running::start(&server, candidate("next"));
    let begun = Instant::now();
    next.leads().await;
    assert!(begun.elapsed() >= 15 * SECOND, "it runs out");
    assert!(matches!(next.told.lock().last().unwrap().phase, Phase::Leading { after: Some(_) }));
}

#[tokio::test(start_paused = true)]
async fn cl5_who_hangs_while_leading_is_not_well() {
    let tolerance = 20 * SECOND;
    let (elector, tenure) = {
        let server: Arc<dyn Leases> = Server::obliging();
        Elector::new(candidate("me"), server, Clock::start(), Metrics::new())
    };
    sleep(100 * SECOND).await;
    assert_eq!(tenure.overdue(tolerance), None, "who does not lead is well");
    // Granted, and then whoever should renew does nothing any more.
    assert!(tenure.grant(Instant::now()));
    sleep(15 * SECOND).await;
    assert_eq!(tenure.overdue(tolerance), None);
    sleep(20 * SECOND).await;
    assert_eq!(tenure.overdue(tolerance), None, "just within the tolerance");
    sleep(SECOND).await;
    assert_eq!(tenure.overdue(tolerance), Some(21 * SECOND));
    drop(elector);
    assert_eq!(tenure.overdue(tolerance), None, "who knows that it leads no more is well");
}

#[tokio::test(start_paused = true)]
async fn cl5_a_leader_that_renews_is_well_for_ever() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    for _ in 0..20 {
        sleep(10 * SECOND).await;
        assert_eq!(leader.tenure.overdue(Duration::ZERO), None);
    }
}

#[tokio::test(start_paused = true)]
async fn cl6_the_end_is_told_also_if_it_never_led() {
    let server = Server::obliging();
    server.put(&json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600}}));
    let waiting = Running::start(&server, candidate("me"));
    sleep(5 * SECOND).await;
    server.log();
    let told = waiting.stopped().await;
    assert_eq!(phases(&told), ["waiting", "over"]);
    assert_eq!(server.log(), [""; 0], "there is nothing to give back");
}

#[tokio::test(start_paused = true)]
async fn cl6_the_end_is_told_however_it_comes() {
    let server = Server::obliging();
    for panics in [false, true] {
        let leader = Running::start(&server, candidate(&format!("me-{panics}")));
        leader.leads().await;
        if panics {
            server.script(|_| panic!("a defect"));
        } else {
            leader.task.abort();
        }
        leader.over().await;
        server.script(|_| How::default());
    }
}

#[tokio::test(start_paused = true)]
async fn cl6_each_new_leader_is_told_of() {
    let server = Server::obliging();
    let waiting = Running::start(&server, candidate("me"));
    waiting.leads().await;
    let told = waiting.told.lock().clone();
    assert_eq!(leaders(&told), ["-", "me"]);
    let second = Running::start(&server, candidate("second"));
    sleep(SECOND).await;
    for holder in ["a", "b", "b", "", "c"] {
        server.put(&json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}}));
        sleep(Duration::from_millis(2500)).await;
        if holder.is_empty() {
            second.leads().await;
        }
    }
    let told = second.told.lock().clone();
    assert_eq!(leaders(&told), ["-", "me", "a", "b", "second", "c"]);
    assert_eq!(phases(&told), ["waiting", "leading", "over"]);
}

#[tokio::test(start_paused = true)]
async fn cl6_a_leader_that_nobody_answers_ends_at_its_deadline() {
    for hangs in [false, true] {
        let server = Server::obliging();
        let leader = Running::start(&server, candidate("me"));
        leader.leads().await;
        server.script(move |_| if hangs { How::lost() } else { How::failed() });
        let begun = Instant::now();
        leader.over().await;
        assert!(begun.elapsed() <= 10 * SECOND, "{:?}", begun.elapsed());
        leader.task.await.unwrap();
        assert!(leader.metrics.encode().unwrap().contains(r#"leader_election_master_status{name="wharf"} 0"#));
        server.script(|_| How::default());
        let next = Running::start(&server, candidate("next"));
        next.leads().await;
        assert!(begun.elapsed() >= 15 * SECOND);
    }
}

/// Others may have seen a renewal long before its answer came.
#[tokio::test(start_paused = true)]
async fn cl6_a_leadership_counts_from_the_request_and_not_from_its_answer() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    let mut answered = false;
    server.script(move |_| if std::mem::replace(&mut answered, true) { How::lost() } else { How { after: 4 * SECOND, ..How::default() } });
    sleep(2 * SECOND).await;
    let sent = Instant::now();
    leader.over().await;
    assert!(sent.elapsed() <= 10 * SECOND, "{:?}", sent.elapsed());
}

/// One failure, or a request that hangs, is survived.
#[tokio::test(start_paused = true)]
async fn cl6_a_leader_survives_a_request_that_hangs() {
    let server = Server::obliging();
    let leader = Running::start(&server, candidate("me"));
    leader.leads().await;
    for how in [How::lost(), How::failed(), How { unheard: true, ..How::default() }] {
        let mut next = Some(how);
        server.script(move |_| next.take().unwrap_or_default());
        sleep(20 * SECOND).await;
        assert!(leader.tenure.may_deliver());
    }
    assert_eq!(phases(&leader.told.lock().clone()), ["waiting", "leading"]);
}
