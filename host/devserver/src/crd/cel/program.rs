//! A compiled rule, what it is asked about, and why it may have no answer. Owns the texts with which a rule is refused; how it is read is
//! `lower`'s, how it is run `eval`'s.

use serde_json::Value as Json;

use super::eval::Evaluation;
use super::kinds::{Kind, Type};
use super::lower::lower;
use super::node::Node;
use super::value::{Budget, Val};
use crate::crd::schema::CustomSchema;

/// Why a rule has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::crd) struct EvalError {
    pub(in crate::crd) message: String,
    /// The budget is used up: no other part of the rule can make up for it.
    pub(in crate::crd) spent: bool,
}

impl EvalError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), spent: false }
    }

    pub(super) fn spent() -> Self {
        Self { message: "call cost exceeds limit".to_owned(), spent: true }
    }
}

/// A compiled rule or message.
#[derive(Debug)]
pub(in crate::crd) struct Program {
    root: Node,
    uses_old: bool,
}

impl Program {
    /// Compiles a rule about values of a schema. `optional_old`: whether `oldSelf` is an optional value.
    ///
    /// # Errors
    /// The compiler's text, as the real server begins it.
    pub(in crate::crd) fn rule(text: &str, schema: &CustomSchema, optional_old: bool) -> Result<Self, String> {
        Self::compile(text, schema, optional_old, Kind::Bool).map_err(|why| match why {
            Some(why) => format!("compilation failed: ERROR: <input>: {why}"),
            None => "cel expression must evaluate to a bool".to_owned(),
        })
    }

    /// Compiles a messageExpression.
    ///
    /// # Errors
    /// The compiler's text, as the real server begins it.
    pub(in crate::crd) fn message(text: &str, schema: &CustomSchema, optional_old: bool) -> Result<Self, String> {
        Self::compile(text, schema, optional_old, Kind::Text).map_err(|why| match why {
            Some(why) => format!("messageExpression compilation failed: ERROR: <input>: {why}"),
            None => "messageExpression must evaluate to a string".to_owned(),
        })
    }

    fn compile(text: &str, schema: &CustomSchema, optional_old: bool, wanted: Kind) -> Result<Self, Option<String>> {
        let this = Type::of(schema);
        let old = if optional_old { Type::Optional(Box::new(this.clone())) } else { this.clone() };
        let (root, of, uses_old) = lower(text, &this, &old).map_err(Some)?;
        if of.kind().agrees(wanted) { Ok(Self { root, uses_old }) } else { Err(None) }
    }

    /// Whether it looks at the state before, and so can only be asked about an update.
    pub(in crate::crd) fn uses_old(&self) -> bool {
        self.uses_old
    }

    /// Does the rule hold? `old` as `oldSelf` has it: `Some(None)` is the optional without value.
    ///
    /// # Errors
    /// What went wrong, or that the budget is used up.
    pub(in crate::crd) fn holds(&self, of: &Subject<'_>, budget: &Budget) -> Result<bool, EvalError> {
        match self.run(of, budget)? {
            Val::Bool(holds) => Ok(holds),
            _ => Err(EvalError::new("no such overload")),
        }
    }

    /// The text of a messageExpression.
    ///
    /// # Errors
    /// What went wrong, or that the budget is used up.
    pub(in crate::crd) fn text(&self, of: &Subject<'_>, budget: &Budget) -> Result<String, EvalError> {
        match self.run(of, budget)? {
            Val::Text(text) => Ok(text.to_string()),
            _ => Err(EvalError::new("no such overload")),
        }
    }

    fn run<'a>(&'a self, of: &Subject<'a>, budget: &Budget) -> Result<Val<'a>, EvalError> {
        let read = |json| Val::read(json, Some(of.schema));
        let old = match (of.old, of.optional_old) {
            (old, true) => Some(Val::Optional(old.map(|old| std::rc::Rc::new(read(old))))),
            (old, false) => old.map(read),
        };
        Evaluation { this: read(of.this), old, budget, locals: Vec::new() }.value(&self.root)
    }
}

/// What a rule is asked about.
#[derive(Clone, Copy, Debug)]
pub(in crate::crd) struct Subject<'a> {
    pub(in crate::crd) schema: &'a CustomSchema,
    pub(in crate::crd) this: &'a Json,
    pub(in crate::crd) old: Option<&'a Json>,
    pub(in crate::crd) optional_old: bool,
}
