//! The rules of CustomResourceDefinitions (`x-kubernetes-validations`) in CEL: compiled against the schema, so that a rule
//! with a wrong name or type refuses the definition, and evaluated on JSON within a budget of steps.
//!
//! Not the evaluator of the crate `cel`, though the grammar is that crate's: nothing bounds what its evaluator costs, it
//! knows no types before it runs, and times need another calendar. Not that of a subscription's filter either: that one
//! reads the text of two objects, for each change of them, and its language is small on purpose; this one reads values that
//! are parsed anyway, by their schema, and its language is what Kubernetes' is. The grammar is one (`wharf_core::grammar`).

mod convert;
mod eval;
mod functions;
mod kinds;
mod kubernetes;
mod lists;
mod lower;
mod math;
mod node;
mod program;
mod quantity;
mod strings;
mod time;
mod value;

pub(super) use program::{EvalError, Program, Subject};
pub(super) use value::Budget;

#[cfg(test)]
mod tests;
