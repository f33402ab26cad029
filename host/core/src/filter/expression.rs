//! An expression as the rest of the host sees it: a text that was compiled once and is evaluated
//! for each change. Owns no rule of the language (those are `compile`'s and `eval`'s).

use std::fmt;

use super::compile::{self, ExpressionError};
use super::eval::{self, EvalError};
use super::node::Node;

/// A CEL expression over `object` and `old` that says whether a change is wanted. `old` is null
/// where there is no state to compare with.
///
/// It is part of a configuration that nobody else checks, so it cannot hang: its text, its depth
/// and its nested loops are bounded when it is compiled, and an evaluation has a budget of steps.
#[derive(Debug)]
pub struct Expression {
    text: Box<str>,
    root: Node,
}

impl Expression {
    /// The longest text, in bytes.
    pub const MAX_BYTES: usize = 2048;

    /// Compiles a text.
    ///
    /// # Errors
    /// When it is no expression, uses what is not supported, or cannot answer true or false.
    pub fn compile(text: &str) -> Result<Self, ExpressionError> {
        let root = compile::compile(text)?;
        Ok(Self { text: text.into(), root })
    }

    /// Is the change wanted? Both texts are JSON objects; reads them only as far as it must.
    ///
    /// # Errors
    /// When a value is missing or of the wrong type, or the budget is used up: some
    /// milliseconds at worst.
    pub fn eval(&self, old: Option<&str>, object: &str) -> Result<bool, EvalError> {
        eval::eval(&self.root, old, object)
    }

    /// The text that it was compiled from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}
