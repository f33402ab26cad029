//! Evaluates an expression. Owns the budget, which every step and every byte that is read is
//! paid from, and CEL's rules for errors; never panics, and never reads more of an object than
//! it is asked for.

use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use super::node::{Constant, Function, Math, Node, Order};
use super::value::{Text, Value};
use crate::grammar::Loop;
use crate::pointer::Pointer;

/// Why an expression has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    message: String,
    /// The budget is used up: no other part of the expression can make up for it.
    spent: bool,
}

impl EvalError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), spent: false }
    }
}

/// What an evaluation may cost. One step is about 30 nanoseconds.
#[derive(Debug)]
pub(super) struct Budget(Cell<u32>);

const STEPS: u32 = 200_000;
/// Bytes that are read for a step.
const STEP_BYTES: usize = 64;

impl Budget {
    pub(super) fn step(&self) -> Result<(), EvalError> {
        self.spend(1)
    }

    pub(super) fn bytes(&self, bytes: usize) -> Result<(), EvalError> {
        self.spend(u32::try_from(bytes / STEP_BYTES).unwrap_or(u32::MAX))
    }

    fn spend(&self, steps: u32) -> Result<(), EvalError> {
        let left = self.0.get().checked_sub(steps);
        self.0.set(left.unwrap_or_default());
        left.map(|_| ()).ok_or_else(|| EvalError { message: "the expression costs too much on this object".to_owned(), spent: true })
    }
}

pub(super) fn eval(root: &Node, old: Option<&str>, object: &str) -> Result<bool, EvalError> {
    let mut evaluation = Evaluation { old, object, budget: Budget(Cell::new(STEPS)), locals: Vec::new() };
    match evaluation.value(root)? {
        Value::Bool(answer) => Ok(answer),
        other => Err(EvalError::new(format!("the answer is a {}, not true or false", other.kind()))),
    }
}

struct Evaluation<'a> {
    old: Option<&'a str>,
    object: &'a str,
    budget: Budget,
    locals: Vec<Value<'a>>,
}

type Evaluated<'a> = Result<Value<'a>, EvalError>;

impl<'a> Evaluation<'a> {
    fn value(&mut self, node: &'a Node) -> Evaluated<'a> {
        self.budget.step()?;
        Ok(match node {
            Node::Constant(constant) => read(constant),
            Node::Object => Value::Map(self.object),
            Node::Old => self.old.map_or(Value::Null, Value::Map),
            Node::Local(at) => self.locals.get(*at).cloned().unwrap_or(Value::Null),
            Node::List(elements) => Value::List(Rc::new(elements.iter().map(|node| self.value(node)).collect::<Result<_, _>>()?)),
            Node::Select { of, path } => {
                let of = self.value(of)?;
                self.find(&of, path)?.ok_or_else(|| EvalError::new(format!("there is no field {path}")))?
            }
            Node::Has { of, parent, path } => {
                let of = self.value(of)?;
                Value::Bool(self.has(&of, parent, path)?)
            }
            Node::Index(of) => self.index(of)?,
            Node::And(of) => self.logic(of, false)?,
            Node::Or(of) => self.logic(of, true)?,
            Node::Not(of) => match self.value(of)? {
                Value::Bool(value) => Value::Bool(!value),
                other => return Err(mismatch("!", &[&other])),
            },
            Node::Negate(of) => match self.value(of)? {
                Value::Int(value) => Value::Int(value.checked_neg().ok_or_else(overflow)?),
                Value::Double(value) => Value::Double(-value),
                other => return Err(mismatch("-", &[&other])),
            },
            Node::If(of) => {
                let [condition, yes, no] = &**of;
                match self.value(condition)? {
                    Value::Bool(true) => self.value(yes)?,
                    Value::Bool(false) => self.value(no)?,
                    other => return Err(mismatch("?:", &[&other])),
                }
            }
            Node::Equal { of, negated } => {
                let (a, b) = self.pair(of)?;
                Value::Bool(a.equals(&b, &self.budget)? != *negated)
            }
            Node::Compare { order, of } => {
                let (a, b) = self.pair(of)?;
                let found = a.order(&b, &self.budget)?.ok_or_else(|| mismatch("<", &[&a, &b]))?;
                Value::Bool(found.is_some_and(|found| match order {
                    Order::Less => found == Ordering::Less,
                    Order::LessOrEqual => found != Ordering::Greater,
                    Order::Greater => found == Ordering::Greater,
                    Order::GreaterOrEqual => found != Ordering::Less,
                }))
            }
            Node::Math { operator, of } => {
                let (a, b) = self.pair(of)?;
                self.math(*operator, a, b)?
            }
            Node::In(of) => {
                let (a, b) = self.pair(of)?;
                Value::Bool(self.contains(&b, &a)?)
            }
            Node::Call { function, of } => {
                let of = of.iter().map(|node| self.value(node)).collect::<Result<Vec<_>, _>>()?;
                self.call(*function, &of)?
            }
            Node::Loop { kind, range, body } => self.each(*kind, range, body)?,
        })
    }

    fn pair(&mut self, of: &'a [Node; 2]) -> Result<(Value<'a>, Value<'a>), EvalError> {
        let [a, b] = of;
        Ok((self.value(a)?, self.value(b)?))
    }

    /// `&&` and `||`: a side that decides makes up for an error of the other.
    fn logic(&mut self, of: &'a [Node; 2], decides: bool) -> Evaluated<'a> {
        let mut failed = None;
        for node in of {
            match self.value(node) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(other) => failed = failed.or(Some(mismatch(if decides { "||" } else { "&&" }, &[&other]))),
                Err(error) if error.spent => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// The value at a path; `None` if it is not there.
    fn find(&self, of: &Value<'a>, path: &Pointer) -> Result<Option<Value<'a>>, EvalError> {
        let Value::Map(json) = of else { return Err(EvalError::new(format!("{path} is looked for in a {}", of.kind()))) };
        let found = path.lookup(json);
        // All before the end of the value was read.
        let read =
            found.map_or(json.len(), |found| (found.as_ptr().addr()).saturating_sub(json.as_ptr().addr()).saturating_add(found.len()));
        self.budget.bytes(read)?;
        found.map(|found| Value::read(found, &self.budget)).transpose()
    }

    fn has(&self, of: &Value<'a>, parent: &Pointer, path: &Pointer) -> Result<bool, EvalError> {
        if self.find(of, path)?.is_some() {
            return Ok(true);
        }
        match self.find(of, parent)? {
            Some(Value::Map(_)) => Ok(false),
            Some(other) => Err(EvalError::new(format!("{path} is looked for in a {}", other.kind()))),
            None => Err(EvalError::new(format!("there is no field {parent}"))),
        }
    }

    fn index(&mut self, of: &'a [Node; 2]) -> Evaluated<'a> {
        let (of, at) = self.pair(of)?;
        match (&of, &at) {
            (Value::Map(_), Value::Text(key)) => {
                let path = Pointer::of([&**key]);
                self.find(&of, &path)?.ok_or_else(|| EvalError::new(format!("there is no field {path}")))
            }
            (Value::List(_) | Value::Array(_), Value::Int(at)) => {
                let list = of.elements(&self.budget)?.unwrap_or_default();
                let found = usize::try_from(*at).ok().and_then(|at| list.get(at).cloned());
                found.ok_or_else(|| EvalError::new(format!("there is no element {at}")))
            }
            _ => Err(mismatch("[]", &[&of, &at])),
        }
    }

    fn contains(&self, of: &Value<'a>, wanted: &Value<'a>) -> Result<bool, EvalError> {
        match (of, wanted) {
            (Value::Map(_), Value::Text(key)) => Ok(self.find(of, &Pointer::of([&**key]))?.is_some()),
            // Keys of JSON are texts.
            (Value::Map(_), Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Double(_)) => Ok(false),
            (Value::List(_) | Value::Array(_), _) => {
                for element in &*of.elements(&self.budget)?.unwrap_or_default() {
                    self.budget.step()?;
                    if element.equals(wanted, &self.budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Err(mismatch("in", &[wanted, of])),
        }
    }

    fn math(&self, operator: Math, a: Value<'a>, b: Value<'a>) -> Evaluated<'a> {
        let zero = || EvalError::new("division by zero");
        Ok(match (operator, &a, &b) {
            (Math::Add, Value::Text(a), Value::Text(b)) => {
                self.budget.bytes(a.len().saturating_add(b.len()))?;
                Value::Text(format!("{}{}", &**a, &**b).into())
            }
            (Math::Add, Value::List(_) | Value::Array(_), Value::List(_) | Value::Array(_)) => {
                let mut all = a.elements(&self.budget)?.unwrap_or_default().to_vec();
                all.extend(b.elements(&self.budget)?.unwrap_or_default().iter().cloned());
                self.budget.spend(u32::try_from(all.len()).unwrap_or(u32::MAX))?;
                Value::List(Rc::new(all))
            }
            (_, Value::Int(a), Value::Int(b)) => Value::Int(match operator {
                Math::Add => a.checked_add(*b).ok_or_else(overflow)?,
                Math::Subtract => a.checked_sub(*b).ok_or_else(overflow)?,
                Math::Multiply => a.checked_mul(*b).ok_or_else(overflow)?,
                Math::Divide => a.checked_div(*b).ok_or_else(zero)?,
                Math::Modulo => a.checked_rem(*b).ok_or_else(zero)?,
            }),
            (_, Value::UInt(a), Value::UInt(b)) => Value::UInt(match operator {
                Math::Add => a.checked_add(*b).ok_or_else(overflow)?,
                Math::Subtract => a.checked_sub(*b).ok_or_else(overflow)?,
                Math::Multiply => a.checked_mul(*b).ok_or_else(overflow)?,
                Math::Divide => a.checked_div(*b).ok_or_else(zero)?,
                Math::Modulo => a.checked_rem(*b).ok_or_else(zero)?,
            }),
            (Math::Add, Value::Double(a), Value::Double(b)) => Value::Double(a + b),
            (Math::Subtract, Value::Double(a), Value::Double(b)) => Value::Double(a - b),
            (Math::Multiply, Value::Double(a), Value::Double(b)) => Value::Double(a * b),
            (Math::Divide, Value::Double(a), Value::Double(b)) => Value::Double(a / b),
            _ => return Err(mismatch(operator.as_str(), &[&a, &b])),
        })
    }

    fn call(&self, function: Function, of: &[Value<'a>]) -> Evaluated<'a> {
        let (a, b) = (of.first().unwrap_or(&Value::Null), of.get(1).unwrap_or(&Value::Null));
        let wrong = || mismatch(function.as_str(), &of.iter().collect::<Vec<_>>());
        let texts = || match (a, b) {
            (Value::Text(a), Value::Text(b)) => self.budget.bytes(a.len().saturating_add(b.len())).map(|()| (&**a, &**b)),
            _ => Err(wrong()),
        };
        Ok(match function {
            Function::Contains => texts().map(|(a, b)| Value::Bool(a.contains(b)))?,
            Function::StartsWith => texts().map(|(a, b)| Value::Bool(a.starts_with(b)))?,
            Function::EndsWith => texts().map(|(a, b)| Value::Bool(a.ends_with(b)))?,
            Function::Size => {
                let size = match a {
                    Value::Text(text) => {
                        self.budget.bytes(text.len())?;
                        text.chars().count()
                    }
                    _ => a.elements(&self.budget)?.ok_or_else(wrong)?.len(),
                };
                Value::Int(i64::try_from(size).unwrap_or(i64::MAX))
            }
            Function::Text => Value::Text(match a {
                Value::Text(text) => text.clone(),
                Value::Bool(value) => value.to_string().into(),
                Value::Int(value) => value.to_string().into(),
                Value::UInt(value) => value.to_string().into(),
                Value::Double(value) => value.to_string().into(),
                _ => return Err(wrong()),
            }),
            Function::Int => Value::Int(match a {
                Value::Int(value) => *value,
                Value::UInt(value) => i64::try_from(*value).map_err(|_| overflow())?,
                Value::Double(value) if value.abs() < 9.2e18 => *value as i64,
                Value::Double(_) => return Err(overflow()),
                Value::Text(text) => text.parse().map_err(|_| EvalError::new("a string is no whole number"))?,
                _ => return Err(wrong()),
            }),
            Function::Double => Value::Double(match a {
                Value::Int(value) => *value as f64,
                Value::UInt(value) => *value as f64,
                Value::Double(value) => *value,
                Value::Text(text) => text.parse().map_err(|_| EvalError::new("a string is no number"))?,
                _ => return Err(wrong()),
            }),
        })
    }

    fn each(&mut self, kind: Loop, range: &'a Node, body: &'a Node) -> Evaluated<'a> {
        let range = self.value(range)?;
        let Some(elements) = range.elements(&self.budget)? else { return Err(mismatch("a loop", &[&range])) };
        let (mut failed, mut count, mut made) = (None, 0_u32, Vec::new());
        for element in &*elements {
            self.locals.push(element.clone());
            let value = self.value(body);
            self.locals.pop();
            match (kind, value) {
                (Loop::Map, value) => made.push(value?),
                (Loop::All, Ok(Value::Bool(false))) => return Ok(Value::Bool(false)),
                (Loop::Exists, Ok(Value::Bool(true))) => return Ok(Value::Bool(true)),
                (Loop::Filter, Ok(Value::Bool(true))) => made.push(element.clone()),
                (Loop::ExistsOne, Ok(Value::Bool(true))) => count = count.saturating_add(1),
                (_, Ok(Value::Bool(_))) => {}
                // A later element may decide all the same.
                (Loop::All | Loop::Exists, Err(error)) if !error.spent => failed = failed.or(Some(error)),
                (Loop::All | Loop::Exists, Ok(other)) => failed = failed.or(Some(mismatch("a loop", &[&other]))),
                (_, Ok(other)) => return Err(mismatch("a loop", &[&other])),
                (_, Err(error)) => return Err(error),
            }
        }
        match (kind, failed) {
            (_, Some(error)) => Err(error),
            (Loop::All, None) => Ok(Value::Bool(true)),
            (Loop::Exists, None) => Ok(Value::Bool(false)),
            (Loop::ExistsOne, None) => Ok(Value::Bool(count == 1)),
            (Loop::Filter | Loop::Map, None) => Ok(Value::List(Rc::new(made))),
        }
    }
}

fn read(constant: &Constant) -> Value<'_> {
    match constant {
        Constant::Null => Value::Null,
        Constant::Bool(value) => Value::Bool(*value),
        Constant::Int(value) => Value::Int(*value),
        Constant::UInt(value) => Value::UInt(*value),
        Constant::Double(value) => Value::Double(*value),
        Constant::Text(value) => Value::Text(Text::Read(value)),
    }
}

fn mismatch(what: &str, of: &[&Value<'_>]) -> EvalError {
    let kinds: Vec<_> = of.iter().map(|value| value.kind()).collect();
    EvalError::new(format!("{what} does not go with {}", kinds.join(" and ")))
}

fn overflow() -> EvalError {
    EvalError::new("a number is too large")
}
