//! docs/languages.md: what was found, as a table. Owns its form; a whole run compares it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use wharf_core::Reason;
use wharf_engine::Level;
use wharf_testkit::paths;

use super::language::{Ending, Integers, LANGUAGES, Language, Print};

/// In the order of the table.
const TOPICS: [(&str, &str); 14] = [
    ("delivery", "what a call is told: fields, causes, removals"),
    ("event", "raw reads of the object: current, previous, absent, several at once, changed"),
    ("typed", "typed reads, and their errors"),
    ("text", "Unicode, escapes, odd keys, numbers at the edges"),
    ("size", "1 MB objects both ways, deep and empty values, hundreds of pointers"),
    ("log", "levels, fields, limits of a line, the language's own logging and printing"),
    ("config", "typed and raw configuration, and one that does not fit"),
    ("outcome", "done, requeue, retry, permanent, at their edges"),
    ("error", "errors, crashes and rejections in each function, with the text of the error"),
    ("cluster", "reads, lists, writes, Events; each API error caught and not; not granted"),
    ("limit", "recursion, computing and allocating without end, and the call after it"),
    ("calls", "10,000 calls in one instance: no trap, no growing memory"),
    ("system", "time and randomness, from the host and by the language's own means"),
    ("setup", "validate-config and describe, good, bad and crashing"),
];

const INTRODUCTION: &str = "\
# Languages

A plugin may be written in any language that compiles to a component; six have an SDK in this repository. To the operator they are
all the same: same documents, limits, logs, metrics and errors. What an SDK promises is held by one suite, which plays the same cases
against the same guest in each language (`tests/guests/conformance`), and the cases of `label-guard` against that plugin in each.

This page is made by the suite (`WHARF_UPDATE=1 cargo test --workspace --test conformance`); a result that differs from it fails.

## Cases that pass
";

const DIFFERENCES: &str = "
## What differs

Everything that an SDK can make the same is the same. These come from the languages:
";

/// What passed, by language and topic.
#[derive(Default)]
pub(crate) struct Results(Mutex<BTreeMap<(&'static str, &'static str), Count>>);

/// Passed, and played.
type Count = (u32, u32);

impl Results {
    pub(crate) fn add(&self, language: &'static str, topic: &'static str, passed: bool) {
        let mut all = self.0.lock();
        let (good, of) = all.entry((language, topic)).or_default();
        *good += u32::from(passed);
        *of += 1;
    }

    /// Compares with the page, or writes it.
    pub(crate) fn compare(&self) -> Result<()> {
        let page = paths::root().join("docs").join("languages.md");
        let text = self.page()?;
        if update() {
            return fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()));
        }
        let there = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        let how = "run `WHARF_UPDATE=1 cargo test --workspace --test conformance` and look at the diff";
        ensure!(there == text, "{} is not what this run found: {how}", page.display());
        Ok(())
    }

    fn page(&self) -> Result<String> {
        let mut text = String::from(INTRODUCTION);
        head(&mut text)?;
        for (topic, what) in TOPICS.iter().chain(&[("label-guard", "the plugin of that name")]) {
            row(&mut text, &format!("`{topic}`: {what}"), |language| {
                let (good, of) = self.0.lock().get(&(language.id, *topic)).copied().unwrap_or_default();
                if good == of { good.to_string() } else { format!("**{good}** of {of}") }
            })?;
        }
        row(&mut text, "together", |language| {
            let all = self.0.lock();
            let (good, of) =
                all.iter().filter(|((id, _), _)| *id == language.id).fold((0, 0), |(g, o), (_, (good, of))| (g + good, o + of));
            format!("{good} of {of}")
        })?;
        text.push_str(DIFFERENCES);
        head(&mut text)?;
        row(&mut text, "typed integers", |language| {
            match language.traits.integers {
                Integers::Bits64 => "64 bits, more is refused",
                Integers::Any => "any size",
                Integers::Doubles => "rounded beyond 2^53",
            }
            .to_owned()
        })?;
        row(&mut text, "a crash", |language| ending(language.traits.panic))?;
        row(&mut text, "a thrown value that is no error", |language| ending(language.traits.thrown))?;
        row(&mut text, "recursion without end", |language| ending(language.traits.recursion))?;
        row(&mut text, "allocation without end", |language| ending(language.traits.allocation))?;
        row(&mut text, "an uncaught error's text has the stack", |language| {
            if language.traits.stack.is_some() { "yes" } else { "no" }.to_owned()
        })?;
        row(&mut text, "a crash's text has the place in the source", |language| {
            if language.traits.crash_place.is_some() { "yes" } else { "no" }.to_owned()
        })?;
        row(&mut text, "levels of the language's own logging", |language| levels(language.traits.levels))?;
        row(&mut text, "standard output", |language| {
            match language.traits.print {
                Print::Nothing => "there is none",
                Print::Line => "a log line",
                Print::Stream => "a log line with `stream=stdout`",
            }
            .to_owned()
        })?;
        Ok(text)
    }
}

/// Shall the page be written?
pub(crate) fn update() -> bool {
    std::env::var_os("WHARF_UPDATE").is_some()
}

fn head(text: &mut String) -> Result<()> {
    let titles: Vec<_> = LANGUAGES.iter().map(|language| language.title).collect();
    writeln!(text, "\n| | {} |\n|---|{}", titles.join(" | "), "---|".repeat(LANGUAGES.len()))?;
    Ok(())
}

fn row(text: &mut String, what: &str, cell: impl Fn(&Language) -> String) -> Result<()> {
    let cells: Vec<_> = LANGUAGES.iter().map(cell).collect();
    writeln!(text, "| {what} | {} |", cells.join(" | "))?;
    Ok(())
}

fn ending(ending: Ending) -> String {
    match ending {
        Ending::Caught => "retry, `HandlerError`".to_owned(),
        Ending::Strike(Reason::Trap) => "strike, `Trap`, with its text".to_owned(),
        Ending::Strike(reason) => format!("strike, `{reason}`"),
    }
}

fn levels(levels: &[Level]) -> String {
    let words = levels.iter().map(|level| match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    });
    words.collect::<Vec<_>>().join(", ")
}
