//! A mistake with its line. Owns how it looks; where it is comes from `yaml`.

use std::fmt;
use std::path::Path;

use wharf_core::Reason;
use wharf_core::plugin::Problem;

use super::yaml::Place;

/// One mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedProblem {
    /// From 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// From 1, in characters; 0 likewise.
    pub column: usize,
    /// RFC 6901 pointer of the field; empty for the whole document.
    pub pointer: String,
    /// What kind of mistake.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl LocatedProblem {
    /// Finds the place of a problem; a field that is absent is where its parent is.
    pub(super) fn new(problem: Problem, places: &Place) -> Self {
        let (line, column) = places.locate(&problem.pointer);
        let Problem { pointer, reason, message, hint } = problem;
        Self { line, column, pointer, reason, message, hint }
    }

    /// Writes one line, and the hint on a second one.
    pub(super) fn write(&self, file: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", file.display())?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        f.write_str(" ")?;
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        write!(f, "{} [{}]", self.message, self.reason)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}
