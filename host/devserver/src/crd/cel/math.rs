//! The arithmetic of CEL: checked, never mixed between ints and doubles; and that of times and durations.

use std::rc::Rc;

use super::EvalError;
use super::functions::no_overload;
use super::kinds::Kind;
use super::value::{Budget, Val};

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Math {
    /// The type of the answer; `None` for types that do not go together.
    pub(super) fn gives(self, a: Kind, b: Kind) -> Option<Kind> {
        use Kind::{Any, Bytes, Double, Duration, Int, List, Text, Timestamp, UInt};
        if a == Any || b == Any {
            return Some(Any);
        }
        match (self, a, b) {
            (_, Int, Int) => Some(Int),
            (_, UInt, UInt) => Some(UInt),
            (Self::Modulo, ..) => None,
            (_, Double, Double) => Some(Double),
            (Self::Add, Text, Text) => Some(Text),
            (Self::Add, Bytes, Bytes) => Some(Bytes),
            (Self::Add, List, List) => Some(List),
            (Self::Add | Self::Subtract, Duration, Duration) => Some(Duration),
            (Self::Add | Self::Subtract, Timestamp, Duration) => Some(Timestamp),
            (Self::Add, Duration, Timestamp) => Some(Timestamp),
            (Self::Subtract, Timestamp, Timestamp) => Some(Duration),
            _ => None,
        }
    }
}

pub(super) fn add<'a>(budget: &Budget, a: &Val<'a>, b: &Val<'a>) -> Result<Val<'a>, EvalError> {
    apply(budget, Math::Add, a, b)
}

pub(super) fn apply<'a>(budget: &Budget, operator: Math, a: &Val<'a>, b: &Val<'a>) -> Result<Val<'a>, EvalError> {
    Ok(match (a, b) {
        (Val::Int(a), Val::Int(b)) => Val::Int(whole(
            operator,
            *b == 0,
            [a.checked_add(*b), a.checked_sub(*b), a.checked_mul(*b), a.checked_div(*b), a.checked_rem(*b)],
        )?),
        (Val::UInt(a), Val::UInt(b)) => Val::UInt(whole(
            operator,
            *b == 0,
            [a.checked_add(*b), a.checked_sub(*b), a.checked_mul(*b), a.checked_div(*b), a.checked_rem(*b)],
        )?),
        (Val::Double(a), Val::Double(b)) => Val::Double(match operator {
            Math::Add => a + b,
            Math::Subtract => a - b,
            Math::Multiply => a * b,
            Math::Divide => a / b,
            Math::Modulo => return Err(no_overload()),
        }),
        (Val::Duration(a), Val::Duration(b)) => Val::Duration(
            match operator {
                Math::Add => a.checked_add(*b),
                Math::Subtract => a.checked_sub(*b),
                _ => return Err(no_overload()),
            }
            .ok_or_else(|| EvalError::new("duration overflow"))?,
        ),
        (Val::Timestamp(time), Val::Duration(nanos)) => moved(*time, *nanos, operator)?,
        (Val::Duration(nanos), Val::Timestamp(time)) if operator == Math::Add => moved(*time, *nanos, operator)?,
        (Val::Timestamp(a), Val::Timestamp(b)) if operator == Math::Subtract => {
            let nanos = a.as_nanosecond().checked_sub(b.as_nanosecond()).and_then(|nanos| i64::try_from(nanos).ok());
            Val::Duration(nanos.ok_or_else(|| EvalError::new("duration overflow"))?)
        }
        (Val::Text(a), Val::Text(b)) if operator == Math::Add => {
            budget.bytes(a.len().saturating_add(b.len()))?;
            Val::text(format!("{}{}", &**a, &**b))
        }
        (Val::Bytes(a), Val::Bytes(b)) if operator == Math::Add => {
            budget.bytes(a.len().saturating_add(b.len()))?;
            Val::Bytes(a.iter().chain(b.iter()).copied().collect())
        }
        (a, b) if operator == Math::Add && a.kind() == Kind::List && b.kind() == Kind::List => {
            let (a, b) = (a.elements(budget)?.unwrap_or_default(), b.elements(budget)?.unwrap_or_default());
            budget.spend(a.len().saturating_add(b.len()))?;
            Val::List(Rc::new(a.iter().chain(b.iter()).cloned().collect()))
        }
        _ => return Err(no_overload()),
    })
}

/// The one of the results that was asked for.
fn whole<N: Copy>(operator: Math, by_zero: bool, [add, subtract, multiply, divide, modulo]: [Option<N>; 5]) -> Result<N, EvalError> {
    let (result, why) = match operator {
        Math::Add => (add, "integer overflow"),
        Math::Subtract => (subtract, "integer overflow"),
        Math::Multiply => (multiply, "integer overflow"),
        Math::Divide => (divide, if by_zero { "division by zero" } else { "integer overflow" }),
        Math::Modulo => (modulo, if by_zero { "modulus by zero" } else { "integer overflow" }),
    };
    result.ok_or_else(|| EvalError::new(why))
}

fn moved<'a>(time: jiff::Timestamp, nanos: i64, operator: Math) -> Result<Val<'a>, EvalError> {
    let nanos = match operator {
        Math::Add => Some(nanos),
        Math::Subtract => nanos.checked_neg(),
        _ => return Err(no_overload()),
    };
    let moved = nanos.and_then(|nanos| time.checked_add(jiff::SignedDuration::from_nanos(nanos)).ok());
    moved.map(Val::Timestamp).ok_or_else(|| EvalError::new("timestamp overflow"))
}
