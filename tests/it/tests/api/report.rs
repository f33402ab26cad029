//! What came out of a sequence, one outcome per check. Owns the count; says nothing itself.

use anyhow::Error;

/// How one check went.
pub(crate) enum Verdict {
    Passed,
    /// Why it was not asked.
    Skipped(String),
    /// What was expected and what came instead.
    Failed(String),
}

/// One check's verdict.
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
}

impl Outcome {
    /// Of a check that nobody asked for: the harness filters it out again.
    pub(crate) fn unasked() -> Self {
        Self { verdict: Verdict::Skipped("not asked for".to_owned()) }
    }

    /// Of a check that ran.
    pub(crate) fn of(result: Result<(), String>) -> Self {
        Self { verdict: result.map_or_else(Verdict::Failed, |()| Verdict::Passed) }
    }
}

/// The outcomes of a whole sequence, in its order.
pub(crate) struct Report {
    pub(crate) outcomes: Vec<Outcome>,
}

impl Report {
    /// The same failure for everything, for example because there was no server.
    pub(crate) fn all(ids: Vec<String>, error: &Error) -> Self {
        Self { outcomes: ids.iter().map(|_| Outcome::of(Err(format!("{error:#}")))).collect() }
    }

    /// For example `176 of 177 passed, 1 skipped`.
    pub(crate) fn summary(&self) -> String {
        let count = |wanted: fn(&Verdict) -> bool| self.outcomes.iter().filter(|outcome| wanted(&outcome.verdict)).count();
        let passed = count(|verdict| matches!(verdict, Verdict::Passed));
        let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
        format!("{passed} of {} passed, {skipped} skipped", self.outcomes.len())
    }
}
