//! Which changes of an object a subscription wants to be told of. Owns the judgement of one
//! change by its two states ([`Filters`]), and the expressions that may take part in it
//! ([`Expression`]). Never knows what was called before: which two states are compared is
//! `diff`'s, and a call that is due is never asked about here.

mod compile;
mod eval;
mod expression;
mod node;
mod value;

use std::sync::Arc;

use crate::diff::Dropped;
use crate::object::Object;
use crate::pointer::Pointer;

pub use compile::ExpressionError;
pub use eval::EvalError;
pub use expression::Expression;

/// The change filters of a subscription that look at the objects themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Only changes of a value at one of these pointers are wanted; empty: all are.
    pub only_if_changed: Vec<Pointer>,
    /// All of them must want the change.
    pub expressions: Vec<Arc<Expression>>,
}

impl Filters {
    /// More pointers than these are refused.
    pub const MAX_POINTERS: usize = 16;

    /// Is everything wanted?
    pub fn is_empty(&self) -> bool {
        self.only_if_changed.is_empty() && self.expressions.is_empty()
    }

    /// Which filter drops the change from `old` to `new`; `None` lets it through. Without an
    /// `old` nothing can be compared: only expressions are asked. An expression that cannot be
    /// evaluated lets the change through, so that nothing is lost, and is handed to `failed`.
    ///
    /// Costs a pass over both texts for each pointer, up to its value, and the expressions.
    pub fn drops(&self, old: Option<&Object>, new: &Object, mut failed: impl FnMut(&Expression, &EvalError)) -> Option<Dropped> {
        let same = |old: &Object| self.only_if_changed.iter().all(|pointer| old.get(pointer) == new.get(pointer));
        if !self.only_if_changed.is_empty() && old.is_some_and(same) {
            return Some(Dropped::OnlyIfChanged);
        }
        let wanted = |expression: &Arc<Expression>| match expression.eval(old.map(Object::json), new.json()) {
            Ok(wanted) => wanted,
            Err(error) => {
                failed(expression, &error);
                true
            }
        };
        if self.expressions.iter().all(wanted) { None } else { Some(Dropped::Filter) }
    }
}

#[cfg(test)]
mod tests;
