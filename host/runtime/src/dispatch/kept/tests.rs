use wharf_core::{Cause, Event, Failure, Fault, ObjectKey, Removal, Strike};
use wharf_engine::Activity;

use super::*;

const LIMITS: KeepFailed = KeepFailed { calls: 3, bytes: 1 << 20, secret_data: false };

fn report(reason: Reason) -> CallReport {
    CallReport {
        result: Err(Strike { reason, message: "unreachable".to_owned() }),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        own: Duration::ZERO,
        peak_memory: 0,
        activity: Activity::default(),
        log_lines: 0,
        log_dropped: 0,
        reused: false,
        waited_instance: Duration::ZERO,
        waited_turns: Duration::ZERO,
        core_dump: None,
    }
}

fn delivery(kind: &str, name: &str, rest: &str) -> Delivery {
    let kind = Arc::new(Gvk::new("", "v1", kind));
    let text = format!(r#"{{"metadata":{{"namespace":"a","name":"{name}","uid":"u","resourceVersion":"7"{rest}}}"#);
    let object = Arc::new(Object::parse(&text, &kind).unwrap());
    Delivery {
        event: Event::Update,
        kind,
        key: ObjectKey::new("a", name),
        uid: "u".into(),
        subscription: "main".into(),
        removal: Removal::None,
        final_state_unknown: false,
        cause: Cause::Watch,
        attempt: 1,
        queued: Duration::ZERO,
        current: Some(Arc::clone(&object)),
        previous: Some(object),
    }
}

fn call(limits: &KeepFailed, delivery: &Delivery) -> FailedCall {
    failed_call(limits, Duration::ZERO, &"r1".into(), delivery, &report(Reason::Trap))
}

fn names(kept: &Kept) -> Vec<String> {
    kept.0.lock().iter().map(|call| call.delivery.key.name.to_string()).collect()
}

#[test]
fn the_newest_of_each_key_up_to_a_number() {
    let kept = Kept::default();
    for name in ["a", "b", "a", "c", "b", "d"] {
        kept.push(&LIMITS, call(&LIMITS, &delivery("ConfigMap", name, "}")));
    }
    assert_eq!(names(&kept), ["c", "b", "d"]);
}

#[test]
fn up_to_a_number_of_bytes() {
    let kept = Kept::default();
    let large = format!(r#"}},"data":{{"x":"{}"}}"#, "x".repeat(20_000));
    let one = call(&LIMITS, &delivery("ConfigMap", "a", &large)).bytes();
    let limits = KeepFailed { calls: 100, bytes: one * 2 + 1, ..LIMITS };
    for name in ["a", "b", "c"] {
        kept.push(&limits, call(&limits, &delivery("ConfigMap", name, &large)));
    }
    assert_eq!(names(&kept), ["b", "c"]);
    // Where there is no room at all for the objects, the call is kept without.
    let limits = KeepFailed { bytes: OWN_BYTES + 100, ..limits };
    let without = call(&limits, &delivery("ConfigMap", "d", &large));
    assert!(without.too_large.is_some_and(|bytes| bytes > 40_000) && without.delivery.current.is_none());
    kept.push(&limits, without);
    assert_eq!(names(&kept), ["d"]);
}

#[test]
fn an_input_that_is_too_large_is_not_kept_alive() {
    let half = format!(r#"}},"data":{{"x":"{}"}}"#, "x".repeat(MAX_INPUT / 2));
    let told = delivery("ConfigMap", "a", &half);
    let held = Arc::downgrade(told.current.as_ref().unwrap());
    let kept = call(&LIMITS, &told);
    assert!(kept.too_large.is_some_and(|bytes| bytes > MAX_INPUT));
    drop(told);
    assert!(held.upgrade().is_none());
}

#[test]
fn values_of_secrets_are_kept_only_at_an_operators_wish() {
    let annotation = r#","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"c2VjcmV0","x":"y"}"#;
    let told = delivery("Secret", "a", &format!(r#"{annotation}}},"data":{{"password":"c2VjcmV0"}}"#));
    let kept = call(&LIMITS, &told);
    for state in [&kept.delivery.current, &kept.delivery.previous] {
        let text = state.as_ref().unwrap().json();
        assert!(!text.contains("c2VjcmV0") && text.contains(r#""password":"""#) && text.contains(r#""x":"y""#), "{text}");
    }
    assert!(kept.redacted);
    let asked = KeepFailed { secret_data: true, ..LIMITS };
    let kept = call(&asked, &told);
    assert!(!kept.redacted && Arc::ptr_eq(kept.delivery.current.as_ref().unwrap(), told.current.as_ref().unwrap()));
    assert!(!call(&LIMITS, &delivery("ConfigMap", "a", "}")).redacted);
}

#[test]
fn the_message_counts() {
    let mut long = report(Reason::Trap);
    long.result = Ok(Err(Failure::Permanent(Fault { reason: "Asked".into(), message: "m".repeat(4000), retry_after: None })));
    let short = call(&LIMITS, &delivery("ConfigMap", "a", "}")).bytes();
    let long = failed_call(&LIMITS, Duration::ZERO, &"r1".into(), &delivery("ConfigMap", "a", "}"), &long).bytes();
    assert_eq!(long - short, 4000 - "unreachable".len());
}
