//! The conformance suite: the same cases for the conformance guest of every language, and
//! those of label-guard for the plugin of every language.

mod case;
mod cases;
mod check;
mod lab;
mod language;
mod ports;
mod table;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};

use lab::Lab;
use language::LANGUAGES;
use table::Results;

/// Runs what the command line asks for; after a whole run in which all passed, the table
/// in the documentation must be what was found.
pub(crate) fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let lab = Arc::new(Lab::new()?);
    let results = Arc::new(Results::default());
    let mut trials = Vec::new();
    for language in &LANGUAGES {
        let guest = cases::all(language).into_iter().map(|case| (language.component(), case));
        let guard = cases::label_guard().into_iter().map(|case| (language.label_guard.to_owned(), case));
        for (component, case) in guest.chain(guard) {
            let (lab, results) = (Arc::clone(&lab), Arc::clone(&results));
            trials.push(Trial::test(format!("{}/{}/{}", language.id, case.topic, case.name), move || {
                let played = lab.play(language, &component, &case);
                results.add(language.id, case.topic, played.is_ok());
                played.map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
    }
    let whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list && !arguments.ignored;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if whole && (table::update() || !conclusion.has_failed()) {
        results.compare()?;
    }
    Ok(conclusion.exit_code())
}
