//! Evaluates a rule. Owns CEL's rules for errors, and that every step is paid for; never panics, and goes no deeper than the
//! rule's own depth.

use std::cmp::Ordering;
use std::rc::Rc;

use super::EvalError;
use super::functions::no_overload;
use super::kinds::Kind;
use super::math;
use super::node::{Constant, Loop, Node, Order};
use super::value::{Budget, Text, Val, contains};

/// What a rule is evaluated on.
pub(super) struct Evaluation<'a, 'b> {
    pub(super) this: Val<'a>,
    /// `None` only for rules that do not use it.
    pub(super) old: Option<Val<'a>>,
    pub(super) budget: &'b Budget,
    pub(super) locals: Vec<Val<'a>>,
}

type Evaluated<'a> = Result<Val<'a>, EvalError>;

impl<'a> Evaluation<'a, '_> {
    pub(super) fn value(&mut self, node: &'a Node) -> Evaluated<'a> {
        self.budget.spend(1)?;
        Ok(match node {
            Node::Constant(constant) => read(constant),
            Node::This => self.this.clone(),
            Node::Old => self.old.clone().unwrap_or(Val::Null),
            Node::Local(at) => self.locals.get(*at).cloned().unwrap_or(Val::Null),
            Node::List(parts) => Val::list(parts.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?),
            Node::Map(entries) => self.map(entries)?,
            Node::Select(of, name) => {
                let of = self.value(of)?;
                match of {
                    Val::Optional(held) => self.inside(held, &Val::Text(Text::Read(name)))?,
                    of => of.field(name, self.budget)?.ok_or_else(|| no_key(name))?,
                }
            }
            Node::Has(of, name) => {
                let of = self.value(of)?;
                let found = match of {
                    Val::Optional(None) => false,
                    Val::Optional(Some(held)) => held.field(name, self.budget)?.is_some(),
                    of => of.field(name, self.budget)?.is_some(),
                };
                Val::Bool(found)
            }
            Node::Maybe(of, key) => {
                let (of, key) = (self.value(of)?, self.value(key)?);
                let held = match of {
                    Val::Optional(held) => held,
                    of => Some(Rc::new(of)),
                };
                self.inside(held, &key)?
            }
            Node::Index(of) => {
                let (of, at) = self.pair(of)?;
                match of {
                    Val::Optional(held) => self.inside(held, &at)?,
                    of => self.at(&of, &at)?.ok_or_else(|| missing(&at))?,
                }
            }
            Node::And(of) => self.logic(of, false)?,
            Node::Or(of) => self.logic(of, true)?,
            Node::Not(of) => Val::Bool(!self.truth(of)?),
            Node::Negate(of) => match self.value(of)? {
                Val::Int(value) => Val::Int(value.checked_neg().ok_or_else(|| EvalError::new("integer overflow"))?),
                Val::Double(value) => Val::Double(-value),
                _ => return Err(no_overload()),
            },
            Node::If(of) => {
                let [condition, yes, no] = &**of;
                if self.truth(condition)? { self.value(yes)? } else { self.value(no)? }
            }
            Node::Equal(of, negated) => {
                let (a, b) = self.pair(of)?;
                Val::Bool(a.equals(&b, self.budget)? != *negated)
            }
            Node::Compare(of, order) => {
                let (a, b) = self.pair(of)?;
                let both_numbers = a.kind().is_number() && b.kind().is_number();
                let found = match a.order(&b, self.budget)? {
                    Some(found) => found,
                    // Not a number: neither less nor greater.
                    None if both_numbers => return Ok(Val::Bool(false)),
                    None => return Err(no_overload()),
                };
                Val::Bool(match order {
                    Order::Less => found == Ordering::Less,
                    Order::LessOrEqual => found != Ordering::Greater,
                    Order::Greater => found == Ordering::Greater,
                    Order::GreaterOrEqual => found != Ordering::Less,
                })
            }
            Node::Math(operator, of) => {
                let (a, b) = self.pair(of)?;
                math::apply(self.budget, *operator, &a, &b)?
            }
            Node::In(of) => {
                let (wanted, of) = self.pair(of)?;
                Val::Bool(match of.kind() {
                    Kind::Map => of.entry(&wanted, self.budget)?.is_some(),
                    Kind::List => contains(&of.elements(self.budget)?.unwrap_or_default(), &wanted, self.budget)?,
                    _ => return Err(no_overload()),
                })
            }
            Node::Matches(of, regex) => {
                let Val::Text(text) = self.value(of)? else { return Err(no_overload()) };
                self.budget.spend(text.len().saturating_mul(regex.as_str().len()) / 64)?;
                Val::Bool(regex.is_match(&text))
            }
            Node::Call(candidates, of) => {
                let of = of.iter().map(|part| self.value(part)).collect::<Result<Vec<_>, _>>()?;
                let takes = |wanted: &[Kind]| wanted.iter().zip(&of).all(|(wanted, of)| wanted.agrees(of.kind()));
                let chosen = candidates.iter().find(|one| takes(one.of)).ok_or_else(no_overload)?;
                (chosen.call)(self.budget, &of)?
            }
            Node::Loop { kind, two, range, body } => self.each(*kind, *two, range, body)?,
            Node::Bind(of) => {
                let [value, body] = &**of;
                let value = self.value(value)?;
                self.with(vec![value], body)?
            }
            Node::Inside(of, flat) => {
                let [value, body] = &**of;
                match self.value(value)? {
                    Val::Optional(None) => Val::Optional(None),
                    Val::Optional(Some(held)) => {
                        let made = self.with(vec![(*held).clone()], body)?;
                        if *flat { made } else { Val::some(made) }
                    }
                    _ => return Err(no_overload()),
                }
            }
        })
    }

    fn truth(&mut self, node: &'a Node) -> Result<bool, EvalError> {
        match self.value(node)? {
            Val::Bool(value) => Ok(value),
            _ => Err(no_overload()),
        }
    }

    fn pair(&mut self, of: &'a [Node; 2]) -> Result<(Val<'a>, Val<'a>), EvalError> {
        let [a, b] = of;
        Ok((self.value(a)?, self.value(b)?))
    }

    fn with(&mut self, locals: Vec<Val<'a>>, body: &'a Node) -> Evaluated<'a> {
        let around = self.locals.len();
        self.locals.extend(locals);
        let value = self.value(body);
        self.locals.truncate(around);
        value
    }

    fn map(&mut self, entries: &'a [(Node, Node)]) -> Evaluated<'a> {
        let mut made: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.value(key)?;
            for (known, _) in &made {
                if known.equals(&key, self.budget)? {
                    return Err(EvalError::new("duplicate key in a map"));
                }
            }
            made.push((key, self.value(value)?));
        }
        Ok(Val::Map(Rc::new(made)))
    }

    /// `&&` and `||`: a side that decides makes up for an error of the other.
    fn logic(&mut self, of: &'a [Node; 2], decides: bool) -> Evaluated<'a> {
        let mut failed = None;
        for node in of {
            match self.truth(node) {
                Ok(value) if value == decides => return Ok(Val::Bool(decides)),
                Ok(_) => {}
                Err(error) if error.spent => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Val::Bool(!decides)), Err)
    }

    /// What is at a key or a place; `None` if nothing is.
    fn at(&self, of: &Val<'a>, at: &Val<'a>) -> Result<Option<Val<'a>>, EvalError> {
        match (of.kind(), at) {
            (Kind::Map, _) => of.entry(at, self.budget),
            (Kind::List, Val::Int(place)) => self.element(of, usize::try_from(*place).ok()),
            (Kind::List, Val::UInt(place)) => self.element(of, usize::try_from(*place).ok()),
            (Kind::List, Val::Double(place)) if place.fract() == 0.0 && (0.0..1e9).contains(place) => {
                self.element(of, Some(*place as usize))
            }
            _ => Err(no_overload()),
        }
    }

    fn element(&self, of: &Val<'a>, place: Option<usize>) -> Result<Option<Val<'a>>, EvalError> {
        Ok(match of {
            Val::Array(list, schema) => {
                let items = schema.and_then(|schema| schema.items.as_deref());
                place.and_then(|place| list.get(place)).map(|json| Val::read(json, items))
            }
            of => of.elements(self.budget)?.and_then(|list| place.and_then(|place| list.get(place).cloned())),
        })
    }

    fn inside(&self, held: Option<Rc<Val<'a>>>, key: &Val<'a>) -> Evaluated<'a> {
        let Some(held) = held else { return Ok(Val::Optional(None)) };
        Ok(Val::Optional(self.at(&held, key)?.map(Rc::new)))
    }

    fn each(&mut self, kind: Loop, two: bool, range: &'a Node, body: &'a Node) -> Evaluated<'a> {
        let range = self.value(range)?;
        let elements = range.elements(self.budget)?.ok_or_else(no_overload)?;
        let (mut failed, mut count, mut made) = (None, 0_u32, Vec::new());
        for (place, element) in elements.iter().enumerate() {
            let locals = match (two, range.kind()) {
                (false, _) => vec![element.clone()],
                (true, Kind::Map) => vec![element.clone(), range.entry(element, self.budget)?.unwrap_or(Val::Null)],
                (true, _) => vec![super::functions::int(place), element.clone()],
            };
            let value = self.with(locals, body);
            match (kind, value) {
                (Loop::Map, value) => made.push(value?),
                (Loop::All, Ok(Val::Bool(false))) => return Ok(Val::Bool(false)),
                (Loop::Exists, Ok(Val::Bool(true))) => return Ok(Val::Bool(true)),
                (Loop::Filter, Ok(Val::Bool(true))) => made.push(element.clone()),
                (Loop::ExistsOne, Ok(Val::Bool(true))) => count = count.saturating_add(1),
                (_, Ok(Val::Bool(_))) => {}
                // A later element may decide all the same.
                (Loop::All | Loop::Exists, Err(error)) if !error.spent => failed = failed.or(Some(error)),
                (Loop::All | Loop::Exists, Ok(_)) => failed = failed.or_else(|| Some(no_overload())),
                (_, Ok(_)) => return Err(no_overload()),
                (_, Err(error)) => return Err(error),
            }
        }
        match (kind, failed) {
            (_, Some(error)) => Err(error),
            (Loop::All, None) => Ok(Val::Bool(true)),
            (Loop::Exists, None) => Ok(Val::Bool(false)),
            (Loop::ExistsOne, None) => Ok(Val::Bool(count == 1)),
            (Loop::Filter | Loop::Map, None) => Ok(Val::list(made)),
        }
    }
}

fn read(constant: &Constant) -> Val<'_> {
    match constant {
        Constant::Null => Val::Null,
        Constant::Bool(value) => Val::Bool(*value),
        Constant::Int(value) => Val::Int(*value),
        Constant::UInt(value) => Val::UInt(*value),
        Constant::Double(value) => Val::Double(*value),
        Constant::Text(value) => Val::Text(Text::Read(value)),
        Constant::Bytes(value) => Val::Bytes(value.as_ref().into()),
        Constant::Kind(kind) => Val::Kind(*kind),
    }
}

fn no_key(name: &str) -> EvalError {
    EvalError::new(format!("no such key: {name}"))
}

fn missing(at: &Val<'_>) -> EvalError {
    match at {
        Val::Text(name) => no_key(name),
        Val::Int(place) => EvalError::new(format!("index out of bounds: {place}")),
        _ => EvalError::new("no such key"),
    }
}
