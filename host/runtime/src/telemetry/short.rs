//! How a line looks to somebody at a desk: a call as one row (plugin, event, object, outcome), what a plugin says behind its name, and
//! anything else as a sentence. Owns that shape and nothing else; leaves out what only a machine would look for.

use std::fmt::Write as _;

use super::line::{Line, escape};

/// What of a line is said by the row itself, or is of no use at a desk.
const SAID: [&str; 18] = [
    "plugin",
    "event",
    "namespace",
    "name",
    "outcome",
    "reason",
    "duration_ms",
    "kind",
    "group",
    "uid",
    "resource_version",
    "call",
    "revision",
    "task",
    "attempt",
    "fields",
    "error",
    "hint",
];
/// Where what follows a row begins: below the plugin's name.
const BELOW: &str = "\n         ";

/// The line and its newline.
pub(super) fn short(line: &Line, colour: bool) -> String {
    let paint = Paint::new(line, colour);
    let Paint { dim, strong, reset } = paint;
    let mut out = format!("{dim}{}{reset} ", line.timestamp().strftime("%H:%M:%S"));
    let text = |name: &str| line.text_of(name).unwrap_or_default();
    let plugin = text("plugin");
    let about = if plugin.is_empty() { "wharf" } else { &plugin };
    // Writing into a String cannot fail.
    let _infallible = match (line.target(), line.message()) {
        ("wharf::call", "guest call finished") => {
            let outcome = format!("{} {}", text("outcome"), text("reason"));
            let took = text("duration_ms").parse::<f64>().unwrap_or_default();
            let (event, object) = (text("event"), object(line));
            let said = write!(out, "{about:<28} {event:<7} {object:<40} {strong}{}{reset} {dim}{took:.1} ms{reset}", outcome.trim_end());
            said.and(below(&mut out, "", &text("detail")))
        }
        ("guest", message) => {
            let said = write!(out, "{about:<28} {dim}says{reset}    {strong}{}{reset}", escape(message));
            line.of_guest().fold(said, |said, (name, value)| said.and(write!(out, " {dim}{name}={reset}{value}")))
        }
        ("wharf::plugin", "plugin revision serving") => {
            write!(out, "{about:<28} {strong}serves{reset}  revision {} {dim}after {} ms{reset}", text("revision"), text("duration_ms"))
        }
        ("wharf::plugin", "plugin revision refused") => {
            let goes_on = if text("serving") == "true" { "; what served before goes on" } else { "" };
            let error = text("error");
            let (what, more) = error.split_once('\n').unwrap_or((&error, ""));
            let said = write!(out, "{about:<28} {strong}refused{reset} {} [{}]{goes_on}", escape(what), text("reason"));
            said.and(below(&mut out, "", more)).and(below(&mut out, "hint: ", &text("hint")))
        }
        ("wharf::plugin", "guest calls fail") => {
            let (object, detail) = (object(line), text("error"));
            let said = write!(out, "{about:<28} {strong}fails{reset}   {object:<40} {} [{}]", escape(&detail), text("reason"));
            said.and(below(&mut out, "hint: ", &text("hint")))
        }
        (_, message) => sentence(&mut out, line, about, message, paint),
    };
    out.push('\n');
    out
}

#[derive(Clone, Copy)]
struct Paint {
    dim: &'static str,
    strong: &'static str,
    reset: &'static str,
}

impl Paint {
    fn new(line: &Line, colour: bool) -> Self {
        if colour { Self { dim: "\x1b[2m", strong: line.colour(), reset: "\x1b[0m" } } else { Self { dim: "", strong: "", reset: "" } }
    }
}

/// `Kind namespace/name`.
fn object(line: &Line) -> String {
    let text = |name: &str| line.text_of(name).unwrap_or_default();
    let place = if text("namespace").is_empty() { String::new() } else { format!("{}/", text("namespace")) };
    format!("{} {place}{}", text("kind"), text("name"))
}

/// Lines of a text that are lines here, too.
const MOST_LINES: usize = 20;

/// Each line of a text below the row: whatever a plugin says, it begins no row of its own.
fn below(out: &mut String, what: &str, text: &str) -> std::fmt::Result {
    let mut what = what;
    for line in text.splitn(MOST_LINES, '\n').filter(|line| !line.is_empty()) {
        write!(out, "{BELOW}{what}{}", escape(line))?;
        what = "";
    }
    Ok(())
}

/// Whatever has no row: the message, the reason, other fields, and what is wrong and what to do about it.
fn sentence(out: &mut String, line: &Line, about: &str, message: &str, Paint { dim, strong, reset }: Paint) -> std::fmt::Result {
    let text = |name: &str| line.text_of(name).unwrap_or_default();
    write!(out, "{about:<28} {strong}{}{reset}", escape(message))?;
    if !text("reason").is_empty() {
        write!(out, " [{}]", text("reason"))?;
    }
    for (name, value) in line.others(&SAID) {
        write!(out, " {dim}{name}={reset}{value}")?;
    }
    below(out, "", &text("error"))?;
    below(out, "hint: ", &text("hint"))
}
