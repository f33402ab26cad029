//! What operators ask of a running host beside its status: which keys fail, calling them again, and
//! why a plugin was or was not called.
//!
//! What is logged lately and from now on is theirs too (`logs`). The way from what people write (`key` reads it) to a dispatcher (`operator`), and from what that
//! says to rows (`decisions`, `calls`). Decides nothing and keeps nothing.

mod calls;
mod decisions;
mod key;
mod logs;
mod operator;
mod orders;

pub(crate) use operator::Operator;
