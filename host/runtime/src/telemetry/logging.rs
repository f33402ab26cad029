//! Starts logging: format, filter and standard error. Owns the process-wide subscriber
//! and the handle that changes its filter later. Never formats a line itself.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

use super::gate::{Gate, Levels};
use super::layer::{LineLayer, Style};
use super::ring::LogRing;

/// What is logged unless someone asks for something else.
pub const DEFAULT_FILTER: &str = "info";

/// Plugins with levels of their own.
pub const MAX_LEVELS: usize = 64;

/// Lines that standard error did not take. Process-wide, as standard error is.
static LINES_LOST: AtomicU64 = AtomicU64::new(0);

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// For people, with colour on a terminal unless `NO_COLOR` is set.
    Text,
    /// One JSON object per line.
    Json,
    /// For people at a desk: calls as rows, without what only a machine looks for.
    Short,
}

impl FromStr for LogFormat {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "short" => Ok(Self::Short),
            other => anyhow::bail!("unknown log format {other:?}: use auto, text, json or short"),
        }
    }
}

/// Shows what was logged lately, and changes what is logged while the host runs. Clones share both; nothing of it outlives
/// the host.
#[derive(Clone)]
pub struct LogHandle {
    inner: Arc<Inner>,
}

struct Inner {
    /// What the host was started with.
    started: String,
    filter: Mutex<String>,
    levels: ArcSwap<Levels>,
    reload: reload::Handle<Gate, Registry>,
    ring: Arc<LogRing>,
}

impl LogHandle {
    /// The filter in force.
    pub fn filter(&self) -> String {
        self.inner.filter.lock().clone()
    }

    /// Puts another filter in force, or the one that the host was started with.
    ///
    /// # Errors
    /// A filter that cannot be read changes nothing.
    pub fn set_filter(&self, filter: Option<&str>) -> anyhow::Result<()> {
        let filter = filter.unwrap_or(&self.inner.started);
        let parsed = parse(filter)?;
        let mut current = self.inner.filter.lock();
        self.put_in_force(parsed, self.inner.levels.load_full())?;
        *current = or_default(filter).to_owned();
        Ok(())
    }

    /// The plugins with levels of their own.
    pub fn levels(&self) -> BTreeMap<String, LevelFilter> {
        BTreeMap::clone(&self.inner.levels.load())
    }

    /// Gives a plugin (`namespace/name`) a level of its own, or none. False if there is no room for one more.
    ///
    /// # Errors
    /// Logging has ended.
    pub fn set_level(&self, plugin: &str, level: Option<LevelFilter>) -> anyhow::Result<bool> {
        // Held over the exchange: two of them must not undo each other.
        let filter = self.inner.filter.lock();
        let mut levels = self.levels();
        match level {
            Some(_) if levels.len() >= MAX_LEVELS && !levels.contains_key(plugin) => return Ok(false),
            Some(level) => levels.insert(plugin.to_owned(), level),
            None => levels.remove(plugin),
        };
        let levels = Arc::new(levels);
        self.put_in_force(parse(&filter)?, Arc::clone(&levels))?;
        self.inner.levels.store(levels);
        Ok(true)
    }

    /// The level of its own that a plugin has.
    pub fn level_of(&self, plugin: &str) -> Option<LevelFilter> {
        self.inner.levels.load().get(plugin).copied()
    }

    /// What was logged lately.
    pub fn ring(&self) -> &Arc<LogRing> {
        &self.inner.ring
    }

    fn put_in_force(&self, filter: EnvFilter, levels: Arc<Levels>) -> anyhow::Result<()> {
        self.inner.reload.reload(Gate::new(filter, levels)).context("what is logged cannot be changed any more")
    }

    /// A handle, and what it is a handle of.
    ///
    /// # Errors
    /// A filter that cannot be read.
    fn new(filter: &str, buffer: usize) -> anyhow::Result<(Self, reload::Layer<Gate, Registry>)> {
        let (gate, reload) = reload::Layer::new(Gate::new(parse(filter)?, Arc::default()));
        let started = or_default(filter).to_owned();
        let inner = Inner { filter: Mutex::new(started.clone()), started, levels: ArcSwap::default(), reload, ring: LogRing::new(buffer) };
        Ok((Self { inner: Arc::new(inner) }, gate))
    }

    /// One that nobody logs to, for tests of whoever asks it.
    #[cfg(test)]
    pub(crate) fn unheard() -> Self {
        let (handle, gate) = Self::new("", 1 << 20).unwrap();
        // Without its layer nothing could be changed.
        std::mem::forget(gate);
        handle
    }
}

/// Starts logging to standard error; so many bytes of what was logged lately are kept. To be called once, by the program
/// that runs the host.
///
/// # Errors
/// A filter that cannot be read, or a second call in one process.
pub fn init(format: LogFormat, filter: &str, buffer: usize) -> anyhow::Result<LogHandle> {
    let (handle, gate) = LogHandle::new(filter, buffer)?;
    let style = style(format, std::io::stderr().is_terminal(), colour_wanted());
    let lines = LineLayer::new(style, write_line, Arc::clone(handle.ring()));
    tracing_subscriber::registry().with(gate).with(lines).try_init().context("logging is set up already")?;
    Ok(handle)
}

/// How many lines standard error did not take.
pub fn lines_lost() -> u64 {
    LINES_LOST.load(Ordering::Relaxed)
}

fn parse(filter: &str) -> anyhow::Result<EnvFilter> {
    let filter = or_default(filter);
    // EnvFilter panics on some of what is not ASCII.
    anyhow::ensure!(filter.is_ascii(), "log filter {filter:?} has characters that no target's name has");
    EnvFilter::builder().parse(filter).with_context(|| {
        format!("log filter {filter:?} cannot be read; write a level (error, warn, info, debug, trace) or TARGET=LEVEL,TARGET=LEVEL")
    })
}

fn or_default(filter: &str) -> &str {
    if filter.trim().is_empty() { DEFAULT_FILTER } else { filter.trim() }
}

fn style(format: LogFormat, terminal: bool, colour_wanted: bool) -> Style {
    match format {
        LogFormat::Json => Style::Json,
        LogFormat::Auto if !terminal => Style::Json,
        LogFormat::Short => Style::Short { colour: terminal && colour_wanted },
        LogFormat::Auto | LogFormat::Text => Style::Text { colour: terminal && colour_wanted },
    }
}

fn colour_wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn write_line(line: &str) {
    write_or_count(&mut std::io::stderr().lock(), line);
}

/// A reader that has gone away must not end the host, and there is no other place to say
/// it: the line is counted instead.
fn write_or_count(to: &mut impl Write, line: &str) {
    if to.write_all(line.as_bytes()).is_err() {
        LINES_LOST.fetch_add(1, Ordering::Relaxed);
    }
}

/// For tests of this crate: what a piece of code logs at all levels, as JSON values.
#[cfg(test)]
pub(crate) fn capture(code: impl FnOnce()) -> Vec<serde_json::Value> {
    let text = capture_as(Style::Json, code);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[cfg(test)]
fn capture_as(style: Style, code: impl FnOnce()) -> String {
    // As long as there is one subscriber only, whichever thread meets a line first decides for all whether
    // anybody listens to it; another test may be it.
    static SECOND: std::sync::LazyLock<tracing::Dispatch> =
        std::sync::LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));
    let _stays = &*SECOND;
    let written = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&written);
    let layer = LineLayer::new(style, move |line: &str| sink.lock().push_str(line), LogRing::new(0));
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, code);
    std::mem::take(&mut *written.lock())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracing::{info, info_span, warn};

    use super::*;
    use crate::telemetry::LogsWanted;

    #[test]
    fn json_is_flat_with_span_fields_merged() {
        let lines = capture(|| {
            let outer = info_span!("reload", plugin = "team-a/guard", attempt = 1, later = tracing::field::Empty);
            outer.record("later", "seen");
            let _outer = outer.enter();
            let _inner = info_span!("call", attempt = 2).entered();
            warn!(target: "wharf::test", ok = true, ratio = 0.5, nan = f64::NAN, level = "x", small = -1, "something happened");
        });
        assert_eq!(lines.len(), 1);
        let mut line = lines[0].as_object().unwrap().clone();
        let timestamp = line.remove("timestamp").unwrap();
        timestamp.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let expected = json!({
            "level": "warn", "target": "wharf::test", "message": "something happened", "ok": true, "ratio": 0.5, "nan": null,
            "field_level": "x", "small": -1, "attempt": 2, "plugin": "team-a/guard", "later": "seen",
        });
        assert_eq!(serde_json::Value::Object(line), expected);
    }

    #[test]
    fn at_a_desk_calls_are_rows() {
        let lines = capture_as(Style::Short { colour: false }, || {
            tracing::debug!(target: "wharf::call", plugin = "a/guard", event = "add", kind = "ConfigMap", namespace = "a", name = "x",
                outcome = "retry", reason = "Other", detail = "no\nlabel", duration_ms = 1.5, uid = "u", "guest call finished");
            info!(target: "guest", plugin = "a/guard", revision = "1-x", task = "add", attempt = 1, fields = r#"{"n":"1","a":"b c"}"#,
                "hello\u{1b}[31m");
            info!(target: "wharf::plugin", plugin = "a/guard", revision = "1-x", digest = "d", duration_ms = 7, swapped = true,
                "plugin revision serving");
            warn!(target: "wharf::plugin", plugin = "a/guard", reason = "ProbeFailed", error = "no", hint = "try", serving = true,
                "plugin revision refused");
            warn!(target: "wharf::host", reason = "Other", path = "p.wasm", error = "two\nlines", "something happened");
        });
        let lines: Vec<&str> = lines.lines().map(|line| line.get(9..).unwrap()).collect();
        let expected = [
            "a/guard                      add     ConfigMap a/x                            retry Other 1.5 ms",
            "no",
            "label",
            "a/guard                      says    hello\\u{1b}[31m a=\"b c\" n=1",
            "a/guard                      serves  revision 1-x after 7 ms",
            "a/guard                      refused no [ProbeFailed]; what served before goes on",
            "hint: try",
            "wharf                        something happened [Other] path=p.wasm",
            "two",
            "lines",
        ];
        assert_eq!(lines, expected);
    }

    /// A guest cannot pass for the host: neither by a value nor by the name of a field.
    #[test]
    fn in_text_the_fields_of_a_guest_are_fields_too() {
        let text = Style::Text { colour: false };
        for (fields, want) in [
            ("", ""),
            ("{}", ""),
            (r#"{"boom":"false","a":"b c"}"#, " a=\"b c\" boom=false"),
            (r#"{"plugin":"x/y","a b":"1"}"#, " \"a b\"=1 field_plugin=x/y"),
        ] {
            let line = capture_as(text, || info!(target: "guest", plugin = "a/guard", fields, "hello"));
            assert_eq!(line.split_once(" guest: ").unwrap().1, format!("hello plugin=a/guard{want}\n"), "{fields}");
        }
        let json = &capture(|| info!(target: "guest", fields = r#"{"a":"b"}"#, "hello"))[0];
        assert_eq!(json["fields"], r#"{"a":"b"}"#);
    }

    #[test]
    fn control_characters_neither_break_a_line_nor_reach_a_terminal() {
        let evil = "a\n{\"level\":\"error\"}\r\u{1b}[31m\u{9b}2J\u{202e}\0";
        let write = || info!(target: "guest", value = evil, "{evil}");
        for style in [Style::Json, Style::Text { colour: false }] {
            let text = capture_as(style, write);
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            assert!(text.ends_with('\n'));
            let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!text.chars().any(bad), "{text:?}");
        }
        let line = &capture(write)[0];
        assert_eq!((line["message"].as_str(), line["value"].as_str()), (Some(evil), Some(evil)));
    }

    #[test]
    fn long_values_are_cut() {
        let long = "x".repeat(1 << 20);
        let line = &capture(|| info!(value = %long, "long"))[0];
        let value = line["value"].as_str().unwrap();
        assert!(value.len() < 17 << 10, "{}", value.len());
        assert!(value.ends_with("bytes cut)"), "it says that it was cut");
    }

    #[test]
    fn errors_are_written_with_their_causes() {
        let inner = std::io::Error::other("no route");
        let outer = anyhow::Error::new(inner).context("cannot list");
        let outer: &(dyn std::error::Error + 'static) = outer.as_ref();
        let line = &capture(|| warn!(error = outer, "failed"))[0];
        assert_eq!(line["error"], "cannot list: no route");
    }

    #[test]
    fn a_reader_that_is_gone_costs_a_line_and_nothing_else() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let before = lines_lost();
        write_or_count(&mut writer, "one\n");
        assert_eq!(lines_lost(), before);
        drop(reader);
        write_or_count(&mut writer, "two\n");
        assert_eq!(lines_lost(), before + 1);
    }

    #[test]
    fn text_for_people() {
        let text = capture_as(Style::Text { colour: false }, || info!(target: "wharf::host", plugins = 3, file = "a b", "host ready"));
        let (timestamp, rest) = text.split_once(' ').unwrap();
        timestamp.parse::<jiff::Timestamp>().unwrap();
        assert_eq!(rest, " INFO wharf::host: host ready plugins=3 file=\"a b\"\n");
        let coloured = capture_as(Style::Text { colour: true }, || info!("host ready"));
        assert!(coloured.contains("\u{1b}[32m INFO\u{1b}[0m"), "{coloured:?}");
    }

    #[test]
    fn a_refusal_at_a_desk_has_its_lines_below_its_row() {
        let say = || {
            info!(target: "wharf::plugin", plugin = "a/x", reason = "GrantMissing", error = "two are missing:\n  one\n  two\u{1b}", hint = "add them", "plugin revision refused");
        };
        let text = capture_as(Style::Short { colour: false }, say);
        let (_, row) = text.split_once(' ').unwrap();
        let below = "\n         ";
        let want = format!("{:<28} refused two are missing: [GrantMissing]{below}  one{below}  two\\u{{1b}}{below}hint: add them\n", "a/x");
        assert_eq!(row, want);
    }

    #[test]
    fn format_follows_the_terminal() {
        for (format, terminal, colour, expected) in [
            (LogFormat::Auto, true, true, Style::Text { colour: true }),
            (LogFormat::Auto, true, false, Style::Text { colour: false }),
            (LogFormat::Auto, false, true, Style::Json),
            (LogFormat::Text, false, true, Style::Text { colour: false }),
            (LogFormat::Json, true, true, Style::Json),
        ] {
            assert_eq!(style(format, terminal, colour), expected, "{format:?} {terminal} {colour}");
        }
        assert_eq!("json".parse::<LogFormat>().unwrap(), LogFormat::Json);
        assert!("yaml".parse::<LogFormat>().unwrap_err().to_string().contains("auto, text, json or short"));
    }

    #[test]
    fn a_plugin_has_a_level_of_its_own() {
        let (handle, gate) = LogHandle::new("info,wharf::call=error", 1 << 20).unwrap();
        let lines = LineLayer::new(Style::Json, |_: &str| {}, Arc::clone(handle.ring()));
        let heard = |plugin: Option<&str>| {
            let wanted = LogsWanted { plugin: plugin.map(str::to_owned), json: true, ..LogsWanted::default() };
            handle.ring().read(&wanted).lines.len()
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(gate).with(lines), || {
            let say = || {
                tracing::debug!(target: "wharf::call", plugin = "a/x", "debug");
                tracing::info!(target: "wharf::plugin", plugin = %"a/x", "info");
                tracing::debug!(target: "wharf::call", plugin = "a/y", "debug");
                tracing::info!(target: "wharf::plugin", plugin = "a/y", "info");
                tracing::debug!(target: "wharf::host", "debug");
            };
            say();
            assert_eq!((heard(Some("a/x")), heard(Some("a/y")), heard(None)), (1, 1, 2));
            assert!(handle.set_level("a/x", Some(LevelFilter::DEBUG)).unwrap());
            say();
            assert_eq!((heard(Some("a/x")), heard(Some("a/y")), heard(None)), (3, 2, 5), "louder than the host");
            assert!(handle.set_level("a/x", Some(LevelFilter::OFF)).unwrap());
            say();
            assert_eq!((heard(Some("a/x")), heard(Some("a/y"))), (3, 3), "more silent");
            handle.set_filter(Some("error")).unwrap();
            assert!(handle.set_level("a/x", None).unwrap() && handle.levels().is_empty());
            say();
            assert_eq!((heard(Some("a/x")), heard(Some("a/y"))), (3, 3), "as the host");
        });
    }

    #[test]
    fn levels_are_bounded() {
        let handle = LogHandle::unheard();
        for at in 0..MAX_LEVELS {
            assert!(handle.set_level(&format!("a/{at}"), Some(LevelFilter::INFO)).unwrap());
        }
        assert!(!handle.set_level("b/x", Some(LevelFilter::INFO)).unwrap());
        assert!(handle.set_level("a/7", Some(LevelFilter::WARN)).unwrap(), "one that is there can be changed");
        assert!(handle.set_level("a/7", None).unwrap() && handle.set_level("b/x", Some(LevelFilter::OFF)).unwrap());
        assert_eq!((handle.level_of("b/x"), handle.level_of("a/7")), (Some(LevelFilter::OFF), None));
    }

    #[test]
    fn filter_is_changed_while_running_and_nonsense_is_refused() {
        let written = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&written);
        let (handle, gate) = LogHandle::new("", 0).unwrap();
        let lines = LineLayer::new(Style::Json, move |line: &str| sink.lock().push_str(line), LogRing::new(0));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(gate).with(lines), || {
            tracing::debug!(target: "wharf::filter", "one");
            handle.set_filter(Some("wharf::filter=debug")).unwrap();
            tracing::debug!(target: "wharf::filter", "two");
            let error = handle.set_filter(Some("wharf::filter=loudest")).unwrap_err();
            assert!(error.to_string().contains("TARGET=LEVEL"), "{error}");
            assert_eq!(handle.filter(), "wharf::filter=debug");
            handle.set_filter(None).unwrap();
            tracing::debug!(target: "wharf::filter", "three");
            assert_eq!(handle.filter(), DEFAULT_FILTER);
        });
        let text = written.lock().clone();
        let heard = ["one", "two", "three"].map(|word| text.contains(&format!("\"{word}\"")));
        assert_eq!(heard, [false, true, false], "{text}");
    }
}
