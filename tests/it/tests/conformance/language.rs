//! The languages, and in which way a language may differ from the others: every expectation
//! that is not the same for all stands here, so that the documentation can show it.

use wharf_core::Reason;
use wharf_engine::Level;

/// One language.
pub(crate) struct Language {
    /// As in the names of files and trials.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    /// The component of label-guard, without `.wasm`.
    pub(crate) label_guard: &'static str,
    pub(crate) traits: Traits,
}

impl Language {
    /// The conformance guest, without `.wasm`.
    pub(crate) fn component(&self) -> String {
        format!("conformance-{}", self.id)
    }
}

/// What differs.
pub(crate) struct Traits {
    /// A typed integer beyond 2^53.
    pub(crate) integers: Integers,
    /// The crash: `panic`, in a handler and in `validate-config`.
    pub(crate) panic: Ending,
    /// A thrown value that is no error.
    pub(crate) thrown: Ending,
    /// Recursion without end.
    pub(crate) recursion: Ending,
    /// Allocation without end.
    pub(crate) allocation: Ending,
    /// Is the message of a crash the plugin's? (In JavaScript it is the engine's own.)
    pub(crate) panic_message: bool,
    /// What the text of an uncaught error has behind the message, where there is a stack.
    pub(crate) stack: Option<&'static str>,
    /// What the text of a crash has in it of the place in the source.
    pub(crate) crash_place: Option<&'static str>,
    /// Is there a garbage collector, whose heap grows when it likes?
    pub(crate) collected: bool,
    /// Levels that the language's own logging has.
    pub(crate) levels: &'static [Level],
    /// What a line on standard output becomes.
    pub(crate) print: Print,
}

/// What becomes of integers that no double holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integers {
    /// 64 bits, more is refused.
    Bits64,
    /// Any size.
    Any,
    /// Rounded to a double.
    Doubles,
}

/// How a call ends that nobody caught.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The SDK catches it: `retry` with `HandlerError`.
    Caught,
    /// The host ends it: a strike.
    Strike(Reason),
}

/// What a line on standard output becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Print {
    /// There is no standard output.
    Nothing,
    /// A log line, level info, from the SDK.
    Line,
    /// A log line, level info, with the field `stream` from the host.
    Stream,
}

const ALL_LEVELS: &[Level] = &[Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error];
const NO_TRACE: &[Level] = &[Level::Debug, Level::Info, Level::Warn, Level::Error];

/// JavaScript, in both its spellings.
const SCRIPT: Traits = Traits {
    integers: Integers::Doubles,
    panic: Ending::Caught,
    thrown: Ending::Caught,
    recursion: Ending::Strike(Reason::StackOverflow),
    allocation: Ending::Strike(Reason::MemoryExceeded),
    panic_message: false,
    stack: Some("at "),
    crash_place: Some("end."),
    collected: true,
    levels: ALL_LEVELS,
    print: Print::Line,
};

/// In the order of the table.
pub(crate) const LANGUAGES: [Language; 6] = [
    Language {
        id: "rust",
        title: "Rust",
        label_guard: "label-guard",
        traits: Traits {
            integers: Integers::Bits64,
            panic: Ending::Strike(Reason::Trap),
            thrown: Ending::Strike(Reason::Trap),
            recursion: Ending::Strike(Reason::StackOverflow),
            allocation: Ending::Strike(Reason::MemoryExceeded),
            panic_message: true,
            stack: None,
            crash_place: Some("crash.rs:"),
            collected: false,
            levels: ALL_LEVELS,
            print: Print::Nothing,
        },
    },
    Language {
        id: "go",
        title: "Go",
        label_guard: "label-guard-go",
        traits: Traits {
            integers: Integers::Bits64,
            panic: Ending::Caught,
            thrown: Ending::Caught,
            recursion: Ending::Strike(Reason::StackOverflow),
            allocation: Ending::Strike(Reason::MemoryExceeded),
            panic_message: true,
            stack: None,
            crash_place: Some("commands.go:"),
            collected: true,
            levels: NO_TRACE,
            print: Print::Stream,
        },
    },
    Language {
        id: "python",
        title: "Python",
        label_guard: "label-guard-python",
        traits: Traits {
            integers: Integers::Any,
            panic: Ending::Caught,
            thrown: Ending::Caught,
            recursion: Ending::Caught,
            allocation: Ending::Caught,
            panic_message: true,
            stack: Some("line "),
            crash_place: Some("commands_crash.py"),
            collected: true,
            levels: NO_TRACE,
            print: Print::Stream,
        },
    },
    Language { id: "js", title: "JavaScript", label_guard: "label-guard-js", traits: SCRIPT },
    Language { id: "ts", title: "TypeScript", label_guard: "label-guard-ts", traits: SCRIPT },
    Language {
        id: "c",
        title: "C",
        label_guard: "label-guard-c",
        traits: Traits {
            integers: Integers::Bits64,
            panic: Ending::Strike(Reason::Trap),
            thrown: Ending::Strike(Reason::Trap),
            recursion: Ending::Strike(Reason::StackOverflow),
            allocation: Ending::Strike(Reason::MemoryExceeded),
            panic_message: true,
            stack: None,
            crash_place: None,
            collected: false,
            levels: ALL_LEVELS,
            print: Print::Stream,
        },
    },
];
