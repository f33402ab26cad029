//! The answer, what holds, and the timeline, as they are printed.

use wharf_core::Reason;
use wharf_runtime::admin::operate::{Decision, DecisionRow};

use super::*;

fn row(findings: Vec<Finding>, history: Vec<(u64, Decision)>) -> ExplainRow {
    ExplainRow {
        plugin: "team-a/guard".into(),
        key: "ConfigMap team-a/settings".into(),
        answer: wharf_core::explain::answer(&findings).cloned(),
        findings,
        history: history.into_iter().map(|(ago_ms, what)| DecisionRow { at: String::new(), ago_ms, what }).collect(),
        kept: 40,
        forgotten: 0,
        since_ms: Some(3_600_000),
    }
}

fn good() -> Vec<Finding> {
    let subscription = || "main".to_owned();
    vec![
        Finding::PluginServes { revision: "2-1f2e3d4c5b6a".into() },
        Finding::Covered { subscription: subscription() },
        Finding::ObjectFound { uid: "u".into(), resource_version: "812".into() },
        Finding::Matches { subscription: subscription() },
    ]
}

#[test]
fn a_parked_key_as_a_timeline() {
    let mut findings = good();
    findings.push(Finding::Parked {
        by: "permanent".into(),
        reason: "OwnerMissing".into(),
        message: "no such\nowner".into(),
        since_ms: 312_000,
        strikes: 0,
        next_ms: None,
    });
    let seen = |how: &str, resource_version| Decision::Seen { how: how.into(), resource_version, gone: false };
    let called = |attempt, cause: &str, changes| Decision::Called {
        event: "update".into(),
        cause: cause.into(),
        attempt,
        revision: 2,
        resource_version: 812,
        queued_ms: 3,
        changes,
    };
    let ended = |outcome: &str, reason: &str, took_us, parked, next_ms| Decision::Ended {
        outcome: outcome.into(),
        reason: reason.into(),
        took_us,
        parked,
        skipped: false,
        next_ms,
    };
    let wrote = Decision::Wrote {
        verb: "apply".into(),
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        namespace: "team-a".into(),
        name: "web".into(),
    };
    let history = vec![
        (320_100, seen("initial-list", 0)),
        (319_000, seen("watch", 811)),
        (319_000, seen("watch", 812)),
        (318_990, called(1, "watch", 2)),
        (318_500, wrote),
        (318_000, ended("retry", "Busy", 990_000, false, Some(5))),
        (317_990, called(2, "retry", 0)),
        (312_000, ended("permanent", "OwnerMissing", 45, true, None)),
        (9_050, Decision::Dropped { by: "events".into(), resource_version: 813 }),
    ];
    insta::assert_snapshot!(text(&row(findings, history)), @r"
    Plugin team-a/guard, ConfigMap team-a/settings
    Not called: it is parked since 5m12s (for good): OwnerMissing: no such
      owner
    hint: a change of the object frees it, or a new revision, or `wharf retry team-a/guard ConfigMap/team-a/settings`

    [+] revision 2-1f2e3d4c5b6a serves
    [+] subscription main covers kind and namespace
    [+] the object exists, resourceVersion 812
    [+] it matches the selectors of subscription main
    [-] it is parked since 5m12s (for good): OwnerMissing: no such
        owner

    AGO      DECISION   DETAILS
    5m20s    seen       initial-list
    5m19s    seen       watch, resourceVersion 811
    5m19s    seen       watch, resourceVersion 812
    5m18s    called     update, cause watch, attempt 1, revision 2, resourceVersion 812, 2 changes in one, waited 3ms
    5m18s    wrote      apply apps/v1 Deployment team-a/web
    5m18s    ended      retry Busy after 990.0ms, next try in 5ms
    5m17s    called     update, cause retry, attempt 2, revision 2, resourceVersion 812, waited 3ms
    5m12s    ended      permanent OwnerMissing after 45µs, parked
    9.050s   dropped    by events, resourceVersion 813
    ");
}

#[test]
fn a_key_that_nothing_is_remembered_of() {
    let mut findings = good();
    findings.truncate(3);
    findings.push(Finding::LabelMismatch { subscription: "main".into(), requirement: "team=a".into(), value: Some("b".into()) });
    insta::assert_snapshot!(text(&row(findings, Vec::new())), @r#"
    Plugin team-a/guard, ConfigMap team-a/settings
    Not called: it does not match subscription main: labelSelector wants team=a, and the label is "b"
    hint: the selector is that of the component and that of spec.subscribe together

    [+] revision 2-1f2e3d4c5b6a serves
    [+] subscription main covers kind and namespace
    [+] the object exists, resourceVersion 812
    [-] it does not match subscription main: labelSelector wants team=a, and the label is "b"

    Nothing was decided about it in the last 60m.
    "#);
}

#[test]
fn a_refusal_has_its_own_hint_and_its_lines() {
    let message = "the document does not grant what the component imports\n  wharf:plugin/cluster\u{1b}[31m\n[+] all is well".to_owned();
    let refused = |reason: &str| {
        let (reason, message) = (reason.to_owned(), message.clone());
        text(&row(vec![Finding::PluginRefused { reason, message, serving: None }], Vec::new()))
    };
    insta::assert_snapshot!(refused("GrantMissing"), @r"
    Plugin team-a/guard, ConfigMap team-a/settings
    Not called: the plugin was refused: GrantMissing: the document does not grant what the component imports
        wharf:plugin/cluster\u{1b}[31m
      [+] all is well
    hint: add the grants that the message names to the Plugin document, if the plugin should have them

    [-] the plugin was refused: GrantMissing: the document does not grant what the component imports
          wharf:plugin/cluster\u{1b}[31m
        [+] all is well

    Nothing was decided about it in the last 60m.
    ");
    assert!(refused("ComponentNotFound").contains(Reason::ComponentNotFound.hint()));
    assert!(!refused("OfAnotherVersion").contains("hint:"));
}

#[test]
fn no_such_plugin() {
    let unknown = ExplainRow { since_ms: None, ..row(vec![Finding::PluginUnknown { similar: Some("team-a/guard".into()) }], Vec::new()) };
    insta::assert_snapshot!(text(&unknown), @r"
    Plugin team-a/guard, ConfigMap team-a/settings
    Not called: there is no such plugin
    hint: did you mean team-a/guard? `wharf get plugins` lists them

    [-] there is no such plugin
    ");
}

#[test]
fn what_comes_is_said_and_what_is_forgotten_too() {
    let mut findings = good();
    findings.push(Finding::ToldBefore { resource_version: "811".into() });
    findings.push(Finding::Queued { ahead: 12 });
    let mut queued = row(findings, vec![(20, Decision::Asked {})]);
    queued.forgotten = 1;
    let text = text(&queued);
    assert!(text.contains("\nComing: it is in the queue, behind 12 others\n"), "{text}");
    assert!(text.contains("\n0.020s   asked      by an operator\nWhat is older than 60m is not remembered.\n"), "{text}");
}

#[test]
fn every_finding_is_a_sentence_without_control_characters() {
    let text = || "x\n\u{1b}[31m".to_owned();
    let subscription = text;
    let all = [
        Finding::PluginUnknown { similar: None },
        Finding::PluginStarting {},
        Finding::PluginHeld {},
        Finding::BreakerOpen { reason: text(), in_ms: Some(1) },
        Finding::BreakerOpen { reason: text(), in_ms: None },
        Finding::PluginRefused { reason: text(), message: text(), serving: None },
        Finding::PluginRefused { reason: text(), message: text(), serving: Some(text()) },
        Finding::KindNotSubscribed { kind: text(), subscribed: Vec::new() },
        Finding::KindOnlyCached { subscription: subscription(), maps: None },
        Finding::KindOnlyCached { subscription: subscription(), maps: Some(text()) },
        Finding::NamespaceNotCovered { subscription: subscription(), namespace: text(), covered: vec![text()] },
        Finding::WatchStarting {},
        Finding::WatchSleeping { reason: text() },
        Finding::WatchFailing { reason: text(), message: text(), sleeps: true },
        Finding::WatchFailing { reason: text(), message: text(), sleeps: false },
        Finding::ObjectMissing {},
        Finding::LabelMismatch { subscription: subscription(), requirement: text(), value: None },
        Finding::FieldMismatch { subscription: subscription(), requirement: text() },
        Finding::EventsNarrowed { subscription: subscription(), wanted: vec![text()] },
        Finding::ChangeDropped { by: text() },
        Finding::TooManyFailures { failing: 1 },
        Finding::NeverCalled {},
        Finding::UpToDate { resource_version: text() },
        Finding::ToldBefore { resource_version: text() },
        Finding::Deleting { attempts: 1 },
        Finding::Failing { attempts: 2, strikes: 1, reason: text(), message: text(), since_ms: 10 },
        Finding::Parked { by: "strikes".into(), reason: text(), message: String::new(), since_ms: 1, strikes: 5, next_ms: Some(1_800_000) },
        Finding::Held { reason: text(), message: text(), until_ms: 4000 },
        Finding::Calling { for_ms: 20 },
        Finding::Queued { ahead: 0 },
        Finding::Due { in_ms: 1500 },
    ];
    for each in all {
        let said = finding(&each).replace('\n', " ");
        let hint = hint(&each, &row(Vec::new(), Vec::new())).unwrap_or_default();
        assert!(!said.is_empty() && !said.contains(char::is_control) && !hint.contains(char::is_control), "{each:?}: {said:?}");
        assert!(!said.ends_with('.') && !hint.ends_with('.'));
    }
}

#[test]
fn an_object_that_is_gone_need_not_have_come_unseen() {
    let said = decision(&Decision::Nothing { why: "gone".into() });
    assert_eq!(said, ("nothing".to_owned(), "it is gone, and no call is owed for it".to_owned()));
}

#[test]
fn changes_that_are_told_one_by_one() {
    let ended =
        Decision::Ended { outcome: "permanent".into(), reason: "Bad".into(), took_us: 45, parked: false, skipped: true, next_ms: None };
    let (word, details) = decision(&ended);
    assert_eq!((word.as_str(), details.as_str()), ("ended", "permanent Bad after 45µs, the change is skipped and the next one told"));
    let merged = |changes| decision(&Decision::Merged { changes }).1;
    assert_eq!(merged(1), "1 change into the next one, for lack of room");
    assert_eq!(merged(12), "12 changes into the next one, for lack of room");
}

#[test]
fn long_messages_are_cut() {
    let failing = Finding::Failing { attempts: 1, strikes: 0, reason: "Trap".into(), message: "ü".repeat(1000), since_ms: 0 };
    let said = finding(&failing);
    assert!(said.ends_with("üü…") && said.chars().count() < 220, "{said}");
}
