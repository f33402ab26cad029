//! Functions on lists, sets and optional values.

use std::cmp::Ordering;

use super::EvalError;
use super::functions::{Gives, Overload, global, int, method, no_overload, place};
use super::kinds::Kind::{Any, Bool, Int, List, Optional};
use super::value::{Budget, Val, contains};

const BOOL: Gives = Gives::Kind(Bool);

pub(super) const ALL: &[Overload] = &[
    method("isSorted", &[List], BOOL, is_sorted),
    method("sum", &[List], Gives::Element, sum),
    method("min", &[List], Gives::Element, |budget, of| extreme(budget, of, Ordering::Less)),
    method("max", &[List], Gives::Element, |budget, of| extreme(budget, of, Ordering::Greater)),
    global("math.least", &[Any, Any], Gives::Kind(Any), |budget, of| pick(budget, of, Ordering::Less)),
    global("math.greatest", &[Any, Any], Gives::Kind(Any), |budget, of| pick(budget, of, Ordering::Greater)),
    global("math.least", &[List], Gives::Element, |budget, of| extreme(budget, of, Ordering::Less)),
    global("math.greatest", &[List], Gives::Element, |budget, of| extreme(budget, of, Ordering::Greater)),
    method("indexOf", &[List, Any], Gives::Kind(Int), |budget, of| position(budget, of, false)),
    method("lastIndexOf", &[List, Any], Gives::Kind(Int), |budget, of| position(budget, of, true)),
    method("slice", &[List, Int, Int], Gives::Same, slice),
    method("flatten", &[List], Gives::ListOf(Any), flatten),
    method("distinct", &[List], Gives::Same, distinct),
    method("reverse", &[List], Gives::Same, reverse),
    method("sort", &[List], Gives::Same, sort),
    global("sets.contains", &[List, List], BOOL, |budget, of| subset(budget, of.first(), of.get(1)).map(Val::Bool)),
    global("sets.intersects", &[List, List], BOOL, intersects),
    global("sets.equivalent", &[List, List], BOOL, equivalent),
    global("optional.of", &[Any], Gives::Optional, |_, of| Ok(Val::some(first(of)?.clone()))),
    global("optional.none", &[], Gives::Kind(Optional), |_, _| Ok(Val::Optional(None))),
    global("optional.ofNonZeroValue", &[Any], Gives::Optional, non_zero),
    method("hasValue", &[Optional], BOOL, |_, of| Ok(Val::Bool(matches!(first(of)?, Val::Optional(Some(_)))))),
    method("value", &[Optional], Gives::Held, held),
    method("orValue", &[Optional, Any], Gives::Held, or_value),
    method("or", &[Optional, Optional], Gives::Same, or),
];

fn first<'v, 'a>(of: &'v [Val<'a>]) -> Result<&'v Val<'a>, EvalError> {
    of.first().ok_or_else(no_overload)
}

fn elements<'a>(budget: &Budget, of: Option<&Val<'a>>) -> Result<std::rc::Rc<Vec<Val<'a>>>, EvalError> {
    let of = of.filter(|of| of.kind() == List).ok_or_else(no_overload)?;
    let elements = of.elements(budget)?.ok_or_else(no_overload)?;
    budget.spend(elements.len())?;
    Ok(elements)
}

fn is_sorted<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let list = elements(budget, of.first())?;
    for (a, b) in list.iter().zip(list.iter().skip(1)) {
        if a.order(b, budget)?.ok_or_else(no_overload)? == Ordering::Greater {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let list = elements(budget, of.first())?;
    let mut list = list.iter();
    let Some(mut sum) = list.next().cloned() else { return Ok(Val::Int(0)) };
    for one in list {
        sum = super::math::add(budget, &sum, one)?;
    }
    Ok(sum)
}

fn extreme<'a>(budget: &Budget, of: &[Val<'a>], wanted: Ordering) -> Result<Val<'a>, EvalError> {
    pick(budget, &elements(budget, of.first())?, wanted)
}

fn pick<'a>(budget: &Budget, of: &[Val<'a>], wanted: Ordering) -> Result<Val<'a>, EvalError> {
    let mut values = of.iter();
    let mut best = values.next().ok_or_else(|| EvalError::new("min and max of an empty list are not defined"))?;
    for one in values {
        if one.order(best, budget)?.ok_or_else(no_overload)? == wanted {
            best = one;
        }
    }
    Ok(best.clone())
}

fn position<'a>(budget: &Budget, of: &[Val<'a>], last: bool) -> Result<Val<'a>, EvalError> {
    let (list, wanted) = (elements(budget, of.first())?, of.get(1).ok_or_else(no_overload)?);
    let mut found = Val::Int(-1);
    for (at, one) in list.iter().enumerate() {
        if one.equals(wanted, budget)? {
            found = int(at);
            if !last {
                break;
            }
        }
    }
    Ok(found)
}

fn slice<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [list, Val::Int(from), Val::Int(to)] = of else { return Err(no_overload()) };
    let list = elements(budget, Some(list))?;
    let part = list.get(place(*from)?..place(*to)?);
    part.map(|part| Val::list(part.to_vec())).ok_or_else(|| EvalError::new(format!("index out of range: {to}")))
}

fn flatten<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut out = Vec::new();
    for one in elements(budget, of.first())?.iter() {
        match one {
            Val::Array(..) | Val::List(_) => out.extend(elements(budget, Some(one))?.iter().cloned()),
            other => out.push(other.clone()),
        }
    }
    Ok(Val::list(out))
}

fn distinct<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut out: Vec<Val<'a>> = Vec::new();
    for one in elements(budget, of.first())?.iter() {
        if !contains(&out, one, budget)? {
            out.push(one.clone());
        }
    }
    Ok(Val::list(out))
}

fn reverse<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::list(elements(budget, of.first())?.iter().rev().cloned().collect()))
}

fn sort<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut list = elements(budget, of.first())?.to_vec();
    budget.spend(list.len().saturating_mul(16))?;
    let mut failed = None;
    list.sort_by(|a, b| match a.order(b, budget) {
        Ok(Some(order)) => order,
        Ok(None) => {
            failed = Some(no_overload());
            Ordering::Equal
        }
        Err(error) => {
            failed = Some(error);
            Ordering::Equal
        }
    });
    failed.map_or_else(|| Ok(Val::list(list)), Err)
}

/// Whether the first list has all of the second.
fn subset<'a>(budget: &Budget, all: Option<&Val<'a>>, wanted: Option<&Val<'a>>) -> Result<bool, EvalError> {
    let all = elements(budget, all)?;
    for one in elements(budget, wanted)?.iter() {
        if !contains(&all, one, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let all = elements(budget, of.first())?;
    for one in elements(budget, of.get(1))?.iter() {
        if contains(&all, one, budget)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

fn equivalent<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Bool(subset(budget, of.first(), of.get(1))? && subset(budget, of.get(1), of.first())?))
}

fn non_zero<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let value = first(of)?;
    let zero = match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::UInt(0) | Val::Duration(0) => true,
        Val::Double(number) => *number == 0.0,
        other => other.size(budget)? == Some(0),
    };
    Ok(if zero { Val::Optional(None) } else { Val::some(value.clone()) })
}

fn held<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match first(of)? {
        Val::Optional(Some(value)) => Ok((**value).clone()),
        _ => Err(EvalError::new("optional.none() dereference")),
    }
}

fn or_value<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match of {
        [Val::Optional(Some(value)), _] => Ok((**value).clone()),
        [_, other] => Ok(other.clone()),
        _ => Err(no_overload()),
    }
}

fn or<'a>(_: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match of {
        [one @ Val::Optional(Some(_)), _] => Ok(one.clone()),
        [_, other] => Ok(other.clone()),
        _ => Err(no_overload()),
    }
}
