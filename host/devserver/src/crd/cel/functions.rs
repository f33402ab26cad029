//! The functions that rules may call: how one is declared, and all of them together. Owns the choice among those of one
//! name. What they do is in the tables beside.

use super::EvalError;
use super::kinds::Kind;
use super::value::{Budget, Val};
use super::{convert, kubernetes, lists, strings};

/// What a function does with its values, the receiver first. It pays for long work.
pub(super) type Call = for<'a> fn(&Budget, &[Val<'a>]) -> Result<Val<'a>, EvalError>;

/// The type of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gives {
    Kind(Kind),
    /// An element of the first value.
    Element,
    /// The type of the first value.
    Same,
    ListOf(Kind),
    /// An optional of the first value's type.
    Optional,
    /// What the first value, an optional, may hold.
    Held,
}

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) name: &'static str,
    /// Written after its first value: `a.f(b)`.
    pub(super) method: bool,
    pub(super) of: &'static [Kind],
    pub(super) gives: Gives,
    pub(super) call: Call,
}

/// All ways to call a function of a name with so many values, the receiver included.
pub(super) fn named(name: &str, method: bool, count: usize) -> Vec<&'static Overload> {
    all().filter(|one| one.name == name && one.method == method && one.of.len() == count).collect()
}

/// Whether there is any function of that name.
pub(super) fn is_known(name: &str) -> bool {
    all().any(|one| one.name == name)
}

/// The words before the dot of functions such as `sets.contains`.
pub(super) const NAMESPACES: [&str; 6] = ["sets", "math", "optional", "base64", "ip", "cel"];

fn all() -> impl Iterator<Item = &'static Overload> {
    [strings::ALL, lists::ALL, convert::ALL, kubernetes::ALL].into_iter().flatten()
}

pub(super) const fn method(name: &'static str, of: &'static [Kind], gives: Gives, call: Call) -> Overload {
    Overload { name, method: true, of, gives, call }
}

pub(super) const fn global(name: &'static str, of: &'static [Kind], gives: Gives, call: Call) -> Overload {
    Overload { name, method: false, of, gives, call }
}

/// What a function says to values that it does not take.
pub(super) fn no_overload() -> EvalError {
    EvalError::new("no such overload")
}

/// A place in a list or text as a number of CEL.
pub(super) fn int<'a>(at: usize) -> Val<'a> {
    Val::Int(i64::try_from(at).unwrap_or(i64::MAX))
}

/// A number of CEL as a place.
pub(super) fn place(at: i64) -> Result<usize, EvalError> {
    usize::try_from(at).map_err(|_| EvalError::new(format!("index out of range: {at}")))
}
