use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::filter::Filters;
use crate::grant::Namespaces;
use crate::kind::Gvk;
use crate::ledger::{FailureView, Parked};
use crate::selector::Selector;

const UP_TO_DATE: EntryView<'_> = EntryView {
    uid: "u1",
    resource_version: "7",
    attempts: 0,
    strikes: 0,
    deleting: false,
    parked: None,
    due: None,
    hold: None,
    failing_since: None,
    failure: None,
};

const FAILED: EntryView<'_> = EntryView {
    attempts: 2,
    strikes: 2,
    failing_since: Some(Duration::from_secs(80)),
    failure: Some(FailureView { reason: "Trap", message: "unreachable" }),
    ..UP_TO_DATE
};

fn config_map() -> Object {
    let json = r#"{"metadata": {"namespace": "team-a", "name": "x", "uid": "u1", "resourceVersion": "7", "labels": {"app": "web"}}}"#;
    Object::parse(json, &Gvk::new("", "v1", "ConfigMap")).unwrap()
}

fn subscribed() -> Subscription {
    Subscription {
        name: "main".into(),
        kind: Arc::new(Gvk::new("", "v1", "ConfigMap")),
        namespaces: Namespaces::Some(vec!["team-a".into()]),
        label_selector: Selector::parse("app=web").unwrap(),
        field_selector: Selector::default(),
        events: Event::ALL.to_vec(),
        resync: None,
        redacted: false,
        every_event: false,
        filters: Filters::default(),
        ignore_own_writes: false,
        map: None,
    }
}

/// Explains the usual facts after a change to them: of a plugin that was told of everything,
/// 100 s after the start. Returns the findings behind those that the usual ones begin with.
fn explained(change: impl FnOnce(&mut Facts<'_>, &'static Subscription, &'static Object)) -> Vec<Finding> {
    let (key, object, subscription): (&'static ObjectKey, &'static Object, &'static Subscription) =
        (Box::leak(Box::new(ObjectKey::new("team-a", "x"))), Box::leak(Box::new(config_map())), Box::leak(Box::new(subscribed())));
    let mut facts = Facts {
        now: Duration::from_secs(100),
        plugin: Standing::Known { serving: Some("1-abc"), refused: None, held: false },
        breaker: None,
        kind: "v1 ConfigMap",
        key,
        kinds: vec!["v1 ConfigMap".into()],
        subscription: Some(subscription),
        watch: Some(Watch::Synced),
        object: Some(object),
        entry: Some(UP_TO_DATE),
        place: None,
        dropped: None,
        full: None,
    };
    change(&mut facts, subscription, object);
    explain(&facts)
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// What answers the question, and what it says of calls.
fn answered(findings: &[Finding]) -> (Finding, Sign) {
    let answer = answer(findings).unwrap();
    (answer.clone(), answer.sign())
}

fn main() -> String {
    "main".to_owned()
}

#[test]
fn a_plugin_that_was_told_of_everything() {
    let findings = explained(|_, _, _| {});
    let want = [
        Finding::PluginServes { revision: "1-abc".into() },
        Finding::Covered { subscription: main() },
        Finding::ObjectFound { uid: "u1".into(), resource_version: "7".into() },
        Finding::Matches { subscription: main() },
        Finding::UpToDate { resource_version: "7".into() },
    ];
    assert_eq!(findings, want);
    assert_eq!(answered(&findings), (Finding::UpToDate { resource_version: "7".into() }, Sign::Good));
}

#[test]
fn plugin_unknown() {
    let findings = explained(|facts, _, _| facts.plugin = Standing::Unknown { similar: Some("team-a/guard") });
    assert_eq!(findings, [Finding::PluginUnknown { similar: Some("team-a/guard".into()) }]);
    assert_eq!(answered(&findings).1, Sign::Against);
}

#[test]
fn plugin_starting_or_refused() {
    let findings = explained(|facts, _, _| facts.plugin = Standing::Known { serving: None, refused: None, held: false });
    assert_eq!(findings, [Finding::PluginStarting {}]);
    let findings = explained(|facts, _, _| facts.plugin = Standing::Known { serving: None, refused: None, held: true });
    assert_eq!(findings, [Finding::PluginHeld {}]);
    let findings = explained(|facts, _, _| facts.plugin = Standing::Known { serving: Some("1-abc"), refused: None, held: true });
    assert_eq!(answer(&findings), Some(&Finding::PluginHeld {}));
    let refused = Some(("GrantMissing", "no"));
    let findings = explained(|facts, _, _| facts.plugin = Standing::Known { serving: None, refused, held: false });
    let finding = |serving| Finding::PluginRefused { reason: "GrantMissing".into(), message: "no".into(), serving };
    assert_eq!(findings, [finding(None)]);
    assert_eq!(answered(&findings).1, Sign::Against);
    let findings = explained(|facts, _, _| facts.plugin = Standing::Known { serving: Some("1-abc"), refused, held: false });
    assert_eq!(findings.first(), Some(&finding(Some("1-abc".into()))));
    assert_eq!(answered(&findings).1, Sign::Good, "an earlier revision goes on");
}

#[test]
fn kind_not_subscribed_or_only_cached() {
    let findings = explained(|facts, _, _| (facts.subscription, facts.kind) = (None, "v1 Pod"));
    assert_eq!(answered(&findings).0, Finding::KindNotSubscribed { kind: "v1 Pod".into(), subscribed: vec!["v1 ConfigMap".into()] });
    let findings = explained(|facts, all, _| facts.subscription = Some(leak(Subscription { events: Vec::new(), ..all.clone() })));
    assert_eq!(answered(&findings).0, Finding::KindOnlyCached { subscription: main(), maps: None });
}

#[test]
fn namespace_not_covered() {
    let findings = explained(|facts, _, _| facts.key = leak(ObjectKey::new("team-b", "x")));
    let want = Finding::NamespaceNotCovered { subscription: main(), namespace: "team-b".into(), covered: vec!["team-a".into()] };
    assert_eq!(answered(&findings), (want, Sign::Against));
    let all = explained(|facts, all, _| {
        facts.subscription = Some(leak(Subscription { namespaces: Namespaces::All, ..all.clone() }));
        facts.key = leak(ObjectKey::new("", "x"));
    });
    assert_eq!(answered(&all).1, Sign::Good);
}

#[test]
fn watches_that_do_not_follow() {
    for (watch, want, sign) in [
        (Watch::Starting, Finding::WatchStarting {}, Sign::Against),
        (Watch::Sleeping(Reason::KindNotFound), Finding::WatchSleeping { reason: "KindNotFound".into() }, Sign::Against),
        (
            Watch::Failing(Reason::Forbidden, "no"),
            Finding::WatchFailing { reason: "Forbidden".into(), message: "no".into(), sleeps: true },
            Sign::Against,
        ),
        (
            Watch::Failing(Reason::ServerUnavailable, "refused"),
            Finding::WatchFailing { reason: "ServerUnavailable".into(), message: "refused".into(), sleeps: false },
            Sign::Note,
        ),
    ] {
        let findings = explained(|facts, _, _| facts.watch = Some(watch));
        assert!(findings.contains(&want) && want.sign() == sign, "{watch:?}: {findings:?}");
        assert_eq!(answered(&findings).0 == want, sign == Sign::Against);
    }
}

#[test]
fn object_missing() {
    let findings = explained(|facts, _, _| (facts.object, facts.entry) = (None, None));
    assert_eq!(answered(&findings), (Finding::ObjectMissing {}, Sign::Against));
}

#[test]
fn selectors_that_do_not_match() {
    for (labels, requirement, value) in [("app=db", "app=db", Some("web")), ("app,tier in (a,b)", "tier in (a,b)", None)] {
        let findings = explained(|facts, all, _| {
            facts.subscription = Some(leak(Subscription { label_selector: Selector::parse(labels).unwrap(), ..all.clone() }));
            facts.entry = None;
        });
        let value = value.map(str::to_owned);
        let want = Finding::LabelMismatch { subscription: main(), requirement: requirement.into(), value };
        assert_eq!(answered(&findings), (want, Sign::Against));
        assert!(!findings.contains(&Finding::NeverCalled {}));
    }
    let findings = explained(|facts, all, _| {
        facts.subscription = Some(leak(Subscription { field_selector: Selector::parse("metadata.name=y").unwrap(), ..all.clone() }));
        facts.entry = None;
    });
    assert_eq!(answered(&findings).0, Finding::FieldMismatch { subscription: main(), requirement: "metadata.name=y".into() });
}

#[test]
fn events_that_are_left_out() {
    let narrowed = |facts: &mut Facts<'_>, all: &Subscription| {
        facts.subscription = Some(leak(Subscription { events: vec![Event::Add, Event::Delete], ..all.clone() }));
    };
    let findings = explained(|facts, all, _| narrowed(facts, all));
    let want = Finding::EventsNarrowed { subscription: main(), wanted: vec!["add".into(), "delete".into()] };
    assert!(findings.contains(&want) && want.sign() == Sign::Note);
    let findings = explained(|facts, all, _| {
        narrowed(facts, all);
        facts.dropped = Some("events");
    });
    assert_eq!(answered(&findings).0, Finding::ChangeDropped { by: "events".into() });
}

#[test]
fn never_called_in_the_queue() {
    let findings = explained(|facts, _, _| (facts.entry, facts.place) = (None, Some(Place::Ready(12))));
    assert!(findings.contains(&Finding::NeverCalled {}));
    assert_eq!(answered(&findings), (Finding::Queued { ahead: 12 }, Sign::Coming));
}

#[test]
fn too_many_failures() {
    let findings = explained(|facts, _, _| (facts.entry, facts.full) = (None, Some(10_000)));
    assert_eq!(answered(&findings), (Finding::TooManyFailures { failing: 10_000 }, Sign::Against));
    let told = explained(|facts, _, _| facts.full = Some(10_000));
    assert_eq!(answered(&told).1, Sign::Good, "what was told of before goes on");
}

#[test]
fn parked() {
    let parked = |by, due: Option<u64>| {
        explained(move |facts, _, _| {
            let parked = Some(Parked { by, since: Duration::from_secs(90) });
            facts.entry = Some(EntryView { parked, due: due.map(Duration::from_secs), ..FAILED });
            facts.place = due.map(|due| Place::Later(Duration::from_secs(due - 100)));
        })
    };
    let want = |by: &str, next_ms| Finding::Parked {
        by: by.into(),
        reason: "Trap".into(),
        message: "unreachable".into(),
        since_ms: 10_000,
        strikes: 2,
        next_ms,
    };
    assert_eq!(answered(&parked(ParkedBy::Permanent, None)), (want("permanent", None), Sign::Against));
    let findings = parked(ParkedBy::Strikes, Some(1900));
    assert_eq!(answered(&findings), (want("strikes", Some(1_800_000)), Sign::Against));
    assert!(findings.contains(&Finding::Due { in_ms: 1_800_000 }));
}

#[test]
fn a_breaker_is_the_answer_as_long_as_it_is_open() {
    let open = |until: Option<u64>| {
        let findings = explained(|facts, _, _| facts.breaker = Some((Reason::Trap, until.map(Duration::from_secs))));
        findings.into_iter().find(|finding| matches!(finding, Finding::BreakerOpen { .. }))
    };
    let breaker = |in_ms| Finding::BreakerOpen { reason: "Trap".into(), in_ms };
    let usual = |findings: &[Finding]| answer(findings).cloned();
    assert_eq!(open(Some(130)), Some(breaker(Some(30_000))));
    assert_eq!(open(None), Some(breaker(None)));
    let mut findings = explained(|facts, _, _| facts.place = Some(Place::Ready(0)));
    findings.insert(0, breaker(None));
    assert_eq!(usual(&findings), Some(Finding::Queued { ahead: 0 }));
    findings.insert(0, breaker(Some(1)));
    assert_eq!(usual(&findings), Some(breaker(Some(1))));
}

#[test]
fn held_and_failing() {
    let findings = explained(|facts, _, _| {
        facts.entry = Some(EntryView { hold: Some(Duration::from_secs(104)), due: Some(Duration::from_secs(104)), ..FAILED });
    });
    assert_eq!(answered(&findings).0, Finding::Held { reason: "Trap".into(), message: "unreachable".into(), until_ms: 4000 });
    let findings = explained(|facts, _, _| {
        facts.entry = Some(FAILED);
        facts.place = Some(Place::Later(Duration::from_millis(1500)));
    });
    let failing = Finding::Failing { attempts: 2, strikes: 2, reason: "Trap".into(), message: "unreachable".into(), since_ms: 20_000 };
    assert!(findings.contains(&failing));
    assert_eq!(answered(&findings), (Finding::Due { in_ms: 1500 }, Sign::Coming));
}

#[test]
fn calling_and_deleting() {
    let findings = explained(|facts, _, _| {
        facts.entry = Some(EntryView { attempts: 1, ..UP_TO_DATE });
        facts.place = Some(Place::Working(Duration::from_millis(20)));
    });
    assert!(findings.contains(&Finding::ToldBefore { resource_version: "7".into() }));
    assert_eq!(answered(&findings).0, Finding::Calling { for_ms: 20 });
    let findings = explained(|facts, _, _| {
        facts.object = None;
        facts.entry = Some(EntryView { deleting: true, ..FAILED });
        facts.place = Some(Place::Later(Duration::from_secs(1)));
    });
    assert!(findings.contains(&Finding::Deleting { attempts: 2 }) && !findings.contains(&Finding::ObjectMissing {}));
    assert_eq!(answered(&findings).0, Finding::Due { in_ms: 1000 });
}

#[test]
fn a_change_that_waits() {
    let findings = explained(|facts, _, _| {
        facts.entry = Some(EntryView { resource_version: "6", ..UP_TO_DATE });
        facts.place = Some(Place::Ready(0));
    });
    assert!(findings.contains(&Finding::ToldBefore { resource_version: "6".into() }));
    assert_eq!(answered(&findings).0, Finding::Queued { ahead: 0 });
}

#[test]
fn findings_travel_as_json() {
    let finding =
        Finding::Parked { by: "strikes".into(), reason: "Trap".into(), message: "m".into(), since_ms: 1, strikes: 5, next_ms: None };
    let json = serde_json::to_value(&finding).unwrap();
    assert_eq!((&json["finding"], &json["sinceMs"]), (&"Parked".into(), &1.into()));
    assert_eq!(serde_json::from_value::<Finding>(json).unwrap(), finding);
    let bare = serde_json::to_string(&Finding::ObjectMissing {}).unwrap();
    assert_eq!(bare, r#"{"finding":"ObjectMissing"}"#);
    assert_eq!(serde_json::from_str::<Finding>(&bare).unwrap(), Finding::ObjectMissing {});
}
