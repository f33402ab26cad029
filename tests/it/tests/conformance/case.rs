//! What a case is: steps on one revision, and what each must lead to. Data only; the lab runs
//! it.

use std::time::Duration;

use serde_json::{Value, json};
use wharf_core::plugin::{Isolation, Limits};
use wharf_core::{Cause, Event, Gvk, Reason, Removal};
use wharf_engine::Level;

use super::ports::Line;

/// Steps on one revision of its own.
pub(crate) struct Case {
    pub(crate) topic: &'static str,
    pub(crate) name: String,
    pub(crate) config: Value,
    pub(crate) level: Level,
    pub(crate) limits: Limits,
    pub(crate) isolation: Isolation,
    pub(crate) steps: Vec<Step>,
}

/// One use of the guest.
pub(crate) enum Step {
    Call(Box<Call>),
    /// So many calls one after the other, each of which reports a number.
    Burst(Box<Call>, u32),
    Validate(Verdict),
    Describe(Told),
}

/// What `validate-config` must say.
pub(crate) enum Verdict {
    Good,
    /// Exactly these sentences, in any order.
    Wrong(Vec<&'static str>),
    /// At least one sentence, with this in it.
    Mentions(&'static str),
    /// An uncaught error: the SDK's refusal or, where nothing can be caught, a strike, with
    /// this text.
    Crash(&'static str),
}

/// What `describe` must say.
pub(crate) enum Told {
    /// The conformance guest of the language.
    Itself,
    /// The plugin label-guard, in the same words in every language.
    LabelGuard,
    /// Nothing: a strike with this text.
    Crash(&'static str),
}

/// One call of the handler.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) event: Event,
    pub(crate) kind: Gvk,
    /// Text of the object now; `None`: absent.
    pub(crate) current: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) cause: Cause,
    pub(crate) removal: Removal,
    pub(crate) final_state_unknown: bool,
    pub(crate) attempt: u32,
    pub(crate) queued: Duration,
    pub(crate) want: Want,
    pub(crate) report: Report,
    pub(crate) lines: Lines,
    /// What the ports must have been asked, in this order. `None`: whatever.
    pub(crate) asked: Option<Vec<Value>>,
}

/// How the call must end.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    Done,
    RequeueAfter(u32),
    /// Reason, message, time.
    Retry(String, Text, Option<u32>),
    Permanent(String, Text),
    Strike(Reason, Text),
}

/// A text for people.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Is(String),
    /// All of them, somewhere.
    Has(Vec<String>),
}

impl Text {
    pub(crate) fn has(part: &str) -> Self {
        Self::Has(vec![part.to_owned()])
    }
}

/// The line `result`.
#[derive(Clone)]
pub(crate) enum Report {
    /// There is none.
    None,
    Is(Value),
    /// A predicate, and its name.
    Holds(&'static str, fn(&Value) -> bool),
    /// Another one than all earlier reports of the case.
    Distinct,
}

/// The other lines.
#[derive(Clone)]
pub(crate) enum Lines {
    /// These and no others.
    Are(Vec<Line>),
    /// Level and message; with whatever fields.
    Say(Vec<(Level, String)>),
    /// Whatever.
    Any,
}

impl Case {
    pub(crate) fn new(topic: &'static str, name: impl Into<String>) -> Self {
        let limits = Limits { memory: 128 << 20, deadline: Duration::from_secs(60), cpu: Duration::from_secs(10), ..Limits::default() };
        Self { topic, name: name.into(), config: json!({}), level: Level::Info, limits, isolation: Isolation::Reuse, steps: Vec::new() }
    }

    pub(crate) fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Lines below it are not wanted.
    pub(crate) fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Every call in an instance of its own.
    pub(crate) fn fresh(mut self) -> Self {
        self.isolation = Isolation::Fresh;
        self
    }

    pub(crate) fn cpu(mut self, cpu: Duration) -> Self {
        self.limits.cpu = cpu;
        self
    }

    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = bytes;
        self
    }

    pub(crate) fn call(mut self, call: Call) -> Self {
        self.steps.push(Step::Call(Box::new(call)));
        self
    }

    pub(crate) fn calls(self, calls: impl IntoIterator<Item = Call>) -> Self {
        calls.into_iter().fold(self, Self::call)
    }

    pub(crate) fn burst(mut self, call: Call, times: u32) -> Self {
        self.steps.push(Step::Burst(Box::new(call), times));
        self
    }

    pub(crate) fn validate(mut self, verdict: Verdict) -> Self {
        self.steps.push(Step::Validate(verdict));
        self
    }

    pub(crate) fn describe(mut self, told: Told) -> Self {
        self.steps.push(Step::Describe(told));
        self
    }
}

/// What every object of the suite has in `metadata`.
pub(crate) const METADATA: &str = r#"{"namespace":"team-a","name":"x","uid":"u1","resourceVersion":"7"}"#;

/// The text of an object with a command; `members` is JSON text behind it, as
/// `"a":1,"b":2`.
pub(crate) fn object(command: &str, args: &Value, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    let command = Value::from(command);
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{METADATA},"do":{command},"args":{args}{comma}{members}}}"#)
}

/// `add` with this command, which ends with `done`, says nothing and asks for nothing.
pub(crate) fn add(command: &str, args: Value) -> Call {
    add_with(command, args, "")
}

/// [`add`], the object having more members.
pub(crate) fn add_with(command: &str, args: Value, members: &str) -> Call {
    of(Event::Add, object(command, &args, members))
}

/// A call about an object.
pub(crate) fn of(event: Event, current: String) -> Call {
    Call {
        event,
        kind: Gvk::new("", "v1", "ConfigMap"),
        current: Some(current),
        previous: None,
        cause: Cause::Watch,
        removal: if event == Event::Delete { Removal::Gone } else { Removal::None },
        final_state_unknown: false,
        attempt: 1,
        queued: Duration::from_millis(12),
        want: Want::Done,
        report: Report::None,
        lines: Lines::Are(Vec::new()),
        asked: Some(Vec::new()),
    }
}

impl Call {
    /// With another function.
    pub(crate) fn event(mut self, event: Event) -> Self {
        self.event = event;
        self.removal = if event == Event::Delete { Removal::Gone } else { Removal::None };
        self
    }

    /// With a previous state of the object.
    pub(crate) fn previous(mut self, text: impl Into<String>) -> Self {
        self.previous = Some(text.into());
        self
    }

    pub(crate) fn want(mut self, want: Want) -> Self {
        self.want = want;
        self
    }

    pub(crate) fn reports(mut self, value: impl Into<Value>) -> Self {
        self.report = Report::Is(value.into());
        self
    }

    pub(crate) fn holds(mut self, name: &'static str, test: fn(&Value) -> bool) -> Self {
        self.report = Report::Holds(name, test);
        self
    }

    pub(crate) fn distinct(mut self) -> Self {
        self.report = Report::Distinct;
        self
    }

    pub(crate) fn lines(mut self, lines: Lines) -> Self {
        self.lines = lines;
        self
    }

    /// The SDK may log before it gives up.
    pub(crate) fn any_lines(self) -> Self {
        self.lines(Lines::Any)
    }

    pub(crate) fn asked(mut self, asked: impl IntoIterator<Item = Value>) -> Self {
        self.asked = Some(asked.into_iter().collect());
        self
    }
}
