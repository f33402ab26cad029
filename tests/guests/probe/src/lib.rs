//! A guest that does what the object says, so that a scenario drives it from YAML. Each
//! call logs one line `probe` and then follows a script of one word:
//!
//! | word | the call |
//! |---|---|
//! | `done` or nothing | succeeds |
//! | `requeue:MS` | asks for another call; from then on (cause requeue) succeeds |
//! | `retry` / `retry:N` | fails with reason `Asked`; with N only the first N attempts |
//! | `retry-after:MS` | fails, not before so many milliseconds; the second attempt succeeds |
//! | `permanent` | fails for good |
//! | `trap`, `panic`, `loop`, `bomb`, `recurse` | breaks: unreachable, a panic, an endless loop, memory without end, calls without end |
//! | `trap-at:N` | breaks in the Nth call of an instance that has the word, and succeeds before |
//! | `leak:MIB` | keeps so much more memory, then succeeds |
//! | `slow:MS` | takes so long, then succeeds |
//! | `write:NAME` | applies the ConfigMap NAME with the value of the object |
//! | `event` | records a Kubernetes Event |
//!
//! The word is at `/data/do`, `/spec/do` or in the annotation `probe.wharf.dev/do`; for
//! `delete` it is `do-on-delete` in the same places (of the final state). The value in the
//! log line is at `/data/value` or `/spec/value`. The same source is built as two packages
//! (v1 and v2), whose revision tag differs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use wharf_sdk::cluster::WriteOptions;
use wharf_sdk::prelude::*;
use wharf_sdk::{Cause, View, config};

/// The revision, unless the configuration has another: the package's minor version.
const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION_MINOR"));

/// `slow` takes its time as processor time; a scenario with `loop` sets less.
const CPU: Duration = Duration::from_secs(2);

/// Calls of this instance that had the word `trap-at`.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Probe {
    /// Of the subscription `main`; `v1` if empty.
    api_version: String,
    /// Of the subscription `main`; `ConfigMap` if empty.
    kind: String,
    /// Of the subscription `main`.
    label_selector: String,
    /// Subscriptions beside `main`.
    also: Vec<Also>,
    /// The revision in log lines, instead of the package's.
    tag: Option<String>,
    /// The word of objects that have none, in `add` and `update`.
    word: String,
    /// One of the words that break, for `describe`.
    describe: String,
}

/// A subscription beside `main`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Also {
    name: String,
    api_version: String,
    kind: String,
    #[serde(default)]
    label_selector: String,
}

impl Handler for Probe {
    fn describe() -> Description {
        let config: Self = config().unwrap_or_default();
        if !config.describe.is_empty() {
            break_down(&config.describe);
        }
        let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
        let main = Subscription::new("main", or(config.api_version, "v1"), or(config.kind, "ConfigMap")).labels(config.label_selector);
        let description = Description::new("probe", env!("CARGO_PKG_VERSION")).subscribe(main).reasons(["Asked"]).cpu(CPU);
        config.also.into_iter().fold(description, |description, also| {
            description.subscribe(Subscription::new(also.name, also.api_version, also.kind).labels(also.label_selector))
        })
    }

    fn add(&self, event: &Event) -> Result {
        self.log(event)?;
        let script = word(event.current(), "do")?;
        obey(event, if script.is_empty() { &self.word } else { &script })
    }

    fn delete(&self, event: &Event) -> Result {
        self.log(event)?;
        obey(event, &word(event.current(), "do-on-delete")?)
    }
}

impl Probe {
    fn log(&self, event: &Event) -> Result<(), Failure> {
        let delivery = event.delivery();
        log::info!(
            "probe",
            event = event.change(),
            version = self.tag.as_deref().unwrap_or(TAG),
            code = TAG,
            value = value(event.current())?,
            previous = value(event.previous())?,
            removal = delivery.removal,
            final_unknown = delivery.final_state_unknown,
            cause = delivery.cause,
            attempt = delivery.attempt,
            subscription = delivery.subscription,
        );
        Ok(())
    }
}

/// What the object says, for a view of it; empty if nothing.
fn word(view: View, name: &str) -> Result<String, Failure> {
    let values = view.get_many::<String>(&[&format!("/data/{name}"), &format!("/spec/{name}")])?;
    match values.into_iter().flatten().next() {
        Some(word) => Ok(word),
        None => Ok(view.annotation(&format!("probe.wharf.dev/{name}"))?.unwrap_or_default()),
    }
}

/// The value in log lines; empty if the view is absent or has none.
fn value(view: View) -> Result<String, Failure> {
    Ok(view.get_many::<String>(&["/data/value", "/spec/value"])?.into_iter().flatten().next().unwrap_or_default())
}

fn obey(event: &Event, script: &str) -> Result {
    let (word, argument) = script.split_once(':').unwrap_or((script, ""));
    let number = argument.parse::<u32>().ok();
    let time = Duration::from_millis(number.unwrap_or_default().into());
    let attempt = event.delivery().attempt;
    match word {
        "" | "done" => {}
        "requeue" if event.delivery().cause != Cause::Requeue => return Ok(Outcome::requeue_after(time)),
        "requeue" => {}
        "retry" if number.is_none_or(|failures| attempt <= failures) => return Err(Failure::retry("Asked", script)),
        "retry" => {}
        "retry-after" if attempt == 1 => return Err(Failure::retry("Asked", script).after(time)),
        "retry-after" => {}
        "permanent" => return Err(Failure::permanent("Asked", script)),
        "slow" => be_slow(event, time),
        "write" => write(event, argument)?,
        "event" => cluster::record_event(event.key(), EventType::Normal, "Asked", &value(event.current())?),
        "trap-at" if CALLS.fetch_add(1, Ordering::Relaxed) + 1 == number.unwrap_or_default() => break_down("trap"),
        "trap-at" => {}
        "leak" => std::mem::forget(vec![1_u8; usize::try_from(number.unwrap_or_default()).unwrap_or_default() << 20]),
        "trap" | "panic" | "loop" | "bomb" | "recurse" => break_down(word),
        _ => return Err(Failure::permanent("Asked", format!("no such word: {script}"))),
    }
    Ok(Outcome::done())
}

fn be_slow(event: &Event, time: Duration) {
    let end = event.remaining().saturating_sub(time);
    while event.remaining() > end {
        std::hint::spin_loop();
    }
}

fn write(event: &Event, name: &str) -> Result<(), ApiError> {
    let value = value(event.current()).unwrap_or_default();
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": event.namespace(), "name": name},
        "data": {"from": event.name(), "value": value},
    });
    cluster::apply_with(&object, &WriteOptions { force: true, ..WriteOptions::default() })?;
    Ok(())
}

#[expect(clippy::panic, reason = "the scenario asks for it")]
fn break_down(word: &str) {
    match word {
        "panic" => panic!("asked for"),
        "trap" => std::process::abort(),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "recurse" => {
            std::hint::black_box(one_deeper(0));
        }
        _ => {
            let mut blocks = Vec::new();
            loop {
                blocks.push(std::hint::black_box(vec![1_u8; 1 << 20]));
            }
        }
    }
}

#[expect(unconditional_recursion, reason = "the scenario asks for it")]
fn one_deeper(depth: u64) -> u64 {
    // Used afterwards, so that each call needs a frame.
    let frame = std::hint::black_box([depth; 4]);
    one_deeper(depth + 1) + frame.iter().sum::<u64>()
}

wharf_sdk::plugin!(Probe);

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wharf_sdk::testing::{Call, Host};

    use super::*;

    fn told(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "x"}, "data": data})
    }

    #[test]
    fn each_word_has_its_end() {
        let ms = Duration::from_millis;
        for (script, attempt, want) in [
            ("done", 1, Ok(Outcome::Done)),
            ("requeue:500", 1, Ok(Outcome::RequeueAfter(ms(500)))),
            ("retry", 9, Err(Failure::retry("Asked", "retry"))),
            ("retry:2", 2, Err(Failure::retry("Asked", "retry:2"))),
            ("retry:2", 3, Ok(Outcome::Done)),
            ("retry-after:500", 1, Err(Failure::retry("Asked", "retry-after:500").after(ms(500)))),
            ("retry-after:500", 2, Ok(Outcome::Done)),
            ("permanent", 1, Err(Failure::permanent("Asked", "permanent"))),
            ("slow:300", 1, Ok(Outcome::Done)),
            ("event", 1, Ok(Outcome::Done)),
            ("write:y", 1, Ok(Outcome::Done)),
            ("trap-at:2", 1, Ok(Outcome::Done)),
            ("leak:1", 1, Ok(Outcome::Done)),
            ("dance", 1, Err(Failure::permanent("Asked", "no such word: dance"))),
        ] {
            let mut host = Host::new();
            let call = Call::add(&told(json!({"do": script, "value": "1"}))).attempt(attempt);
            assert_eq!(host.call::<Probe>(call), want, "{script}");
            assert_eq!(host.events().len(), usize::from(script == "event"));
            assert_eq!(host.get("v1", "ConfigMap", Some("a"), "y").is_some(), script == "write:y");
        }
        let call = Call::update(&told(json!({})), &told(json!({"do": "requeue:500"}))).cause(Cause::Requeue);
        assert_eq!(Host::new().call::<Probe>(call), Ok(Outcome::Done));
    }

    #[test]
    fn line_says_what_was_seen() {
        let mut host = Host::with_config(json!({"tag": "t1"}));
        host.update::<Probe>(&told(json!({"value": "1"})), &told(json!({"value": "2"}))).unwrap();
        let gone = told(json!({"value": "2", "do-on-delete": "permanent"}));
        let failure = host.call::<Probe>(Call::delete(&gone).final_state_unknown()).unwrap_err();
        assert!(failure.is_permanent());
        let [update, delete] = host.logs() else { panic!("{:?}", host.logs()) };
        let fields =
            |names: &[&str], line: &wharf_sdk::testing::LogLine| names.iter().map(|name| line.fields[*name].clone()).collect::<Vec<_>>();
        assert_eq!(
            fields(&["event", "version", "value", "previous", "cause", "attempt"], update),
            ["update", "t1", "2", "1", "watch", "1"]
        );
        assert_eq!(fields(&["event", "removal", "final_unknown", "value"], delete), ["delete", "gone", "true", "2"]);
        let mut host = Host::with_config(json!({"word": "permanent"}));
        assert!(host.add::<Probe>(&told(json!({}))).unwrap_err().is_permanent());
        host.add::<Probe>(&told(json!({"do": "done"}))).unwrap();
        let mut host = Host::new();
        host.add::<Probe>(&told(json!({}))).unwrap();
        assert_eq!(host.logs()[0].fields["version"], TAG);
    }

    #[test]
    fn other_kinds_are_driven_by_spec_or_annotation() {
        let mut object =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"do": "retry", "value": "s"}});
        let mut host = Host::with_config(json!({"apiVersion": "example.com/v1", "kind": "Widget", "labelSelector": "a=b", "also": [
            {"name": "maps", "apiVersion": "v1", "kind": "ConfigMap"}]}));
        assert!(host.add::<Probe>(&object).is_err());
        assert_eq!(host.logs()[0].fields["value"], "s");
        object["spec"] = json!({});
        object["metadata"]["annotations"] = json!({"probe.wharf.dev/do": "permanent"});
        assert!(host.add::<Probe>(&object).unwrap_err().is_permanent());
        let subscribe = &host.describe::<Probe>()["subscribe"];
        assert_eq!(
            (&subscribe[0]["kind"], &subscribe[0]["labelSelector"], &subscribe[1]["name"]),
            (&json!("Widget"), &json!("a=b"), &json!("maps"))
        );
        assert_eq!(Host::new().describe::<Probe>()["subscribe"][0]["kind"], "ConfigMap");
    }

    #[test]
    fn panic_is_one() {
        let call = std::panic::AssertUnwindSafe(|| Host::new().add::<Probe>(&told(json!({"do": "panic"}))));
        assert!(std::panic::catch_unwind(call).is_err());
    }
}
