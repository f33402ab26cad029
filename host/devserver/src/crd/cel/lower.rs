//! From the tree of a rule to what is evaluated. Owns the limits of a rule, and what is refused before any object is seen:
//! names and functions that do not exist, fields that the schema does not have, types that do not go together.

use wharf_core::grammar::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};
use wharf_core::grammar::{self, Bounds};

use super::functions::{self, Gives, Overload};
use super::kinds::{Kind, Type};
use super::math::Math;
use super::node::{Constant, Loop, Node, Order};
use crate::crd::pattern;

/// Parts inside of parts, at most.
const MAX_DEPTH: usize = 100;
/// Parts of a rule, at most.
const MAX_NODES: usize = 10_000;

/// A part of a rule and its type, or why there is none.
pub(super) type Lowered<'s> = Result<(Node, Type<'s>), String>;

/// Compiles a text. `this` is the type of `self`; `old` that of `oldSelf`.
pub(super) fn lower<'s>(text: &str, this: &Type<'s>, old: &Type<'s>) -> Result<(Node, Type<'s>, bool), String> {
    let tree =
        grammar::parse(text, Bounds { depth: 64, nodes: MAX_NODES, optional: true }).map_err(|what| format!("Syntax error: {what}"))?;
    let mut lowering = Lowering { this, old, locals: Vec::new(), nodes: 0, uses_old: false };
    let (node, of) = lowering.part(&tree, 0)?;
    Ok((node, of, lowering.uses_old))
}

pub(super) struct Lowering<'s, 't> {
    this: &'t Type<'s>,
    old: &'t Type<'s>,
    /// Variables around, outermost first.
    pub(super) locals: Vec<(String, Type<'s>)>,
    nodes: usize,
    uses_old: bool,
}

impl<'s> Lowering<'s, '_> {
    pub(super) fn part(&mut self, tree: &IdedExpr, depth: usize) -> Lowered<'s> {
        self.nodes = self.nodes.saturating_add(1);
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err("the expression has too many parts".to_owned());
        }
        let below = depth.saturating_add(1);
        match &tree.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select, below),
            Expr::List(list) if list.optional_indices.is_empty() => {
                let (nodes, types) = self.parts(&list.elements, below)?;
                let of = match types.split_first() {
                    Some((first, rest)) if rest.iter().all(|one| one.kind() == first.kind()) => first.clone(),
                    _ => Type::ANY,
                };
                Ok((Node::List(nodes), Type::List(Box::new(of))))
            }
            Expr::Map(map) => {
                let mut entries = Vec::new();
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return Err("unsupported map entry".to_owned()) };
                    entries.push((self.part(&entry.key, below)?.0, self.part(&entry.value, below)?.0));
                }
                Ok((Node::Map(entries), Type::Plain(Kind::Map)))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, below),
            Expr::Call(call) => self.call(call, below),
            Expr::Struct(of) => Err(format!("undeclared reference to '{}' (in container '')", of.type_name)),
            Expr::List(_) | Expr::Unspecified => Err("unsupported expression".to_owned()),
        }
    }

    fn parts(&mut self, trees: &[IdedExpr], depth: usize) -> Result<(Vec<Node>, Vec<Type<'s>>), String> {
        let parts: Vec<_> = trees.iter().map(|one| self.part(one, depth)).collect::<Result<_, _>>()?;
        Ok(parts.into_iter().unzip())
    }

    fn name(&mut self, name: &str) -> Lowered<'s> {
        if let Some(at) = self.locals.iter().rposition(|(local, _)| local == name) {
            let of = self.locals.get(at).map_or(Type::ANY, |(_, of)| of.clone());
            return Ok((Node::Local(at), of));
        }
        match name {
            "self" => Ok((Node::This, self.this.clone())),
            "oldSelf" => {
                self.uses_old = true;
                Ok((Node::Old, self.old.clone()))
            }
            _ => match Kind::named(name) {
                Some(kind) => Ok((Node::Constant(Constant::Kind(kind)), Type::Plain(Kind::Type))),
                None => Err(format!("undeclared reference to '{name}' (in container '')")),
            },
        }
    }

    fn select(&mut self, select: &SelectExpr, depth: usize) -> Lowered<'s> {
        let (node, of) = self.part(&select.operand, depth)?;
        let field = of.field(&select.field).ok_or_else(|| match of.kind() {
            Kind::Map => format!("undefined field '{}'", select.field),
            _ => format!("type '{}' does not support field selection", of.name()),
        })?;
        let name = select.field.as_str().into();
        let node = Box::new(node);
        Ok(if select.test { (Node::Has(node, name), Type::Plain(Kind::Bool)) } else { (Node::Select(node, name), field) })
    }

    fn call(&mut self, call: &CallExpr, depth: usize) -> Lowered<'s> {
        let name = call.func_name.as_str();
        if let Some(target) = &call.target {
            if let Some(lowered) = self.binding(name, target, &call.args, depth) {
                return lowered;
            }
            if let Expr::Ident(space) = &target.expr
                && functions::NAMESPACES.contains(&space.as_str())
                && !self.locals.iter().any(|(local, _)| local == space)
            {
                let (nodes, types) = self.parts(&call.args, depth)?;
                return function(&format!("{space}.{name}"), false, nodes, &types);
            }
            let (first, of) = self.part(target, depth)?;
            let (mut nodes, mut types) = self.parts(&call.args, depth)?;
            nodes.insert(0, first);
            types.insert(0, of);
            return function(name, true, nodes, &types);
        }
        if name == operators::OPT_SELECT
            && let [of, field] = call.args.as_slice()
        {
            return self.maybe(of, field, depth);
        }
        let (nodes, types) = self.parts(&call.args, depth)?;
        match operator(name, nodes, &types) {
            Ok(lowered) => lowered,
            Err(nodes) => function(name, false, nodes, &types),
        }
    }

    /// `a.?b`: absent fields give an optional without value.
    fn maybe(&mut self, of: &IdedExpr, field: &IdedExpr, depth: usize) -> Lowered<'s> {
        let (node, of) = self.part(of, depth)?;
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else { return Err("unsupported optional field".to_owned()) };
        let held = match &of {
            Type::Optional(of) => of.field(name.inner()),
            of => of.field(name.inner()),
        };
        let held = held.ok_or_else(|| format!("undefined field '{}'", name.inner()))?;
        let key = Node::Constant(Constant::Text(name.inner().into()));
        Ok((Node::Maybe(Box::new(node), Box::new(key)), Type::Optional(Box::new(held))))
    }

    /// Calls that give names to values; the parser knows them as plain calls.
    fn binding(&mut self, name: &str, target: &IdedExpr, args: &[IdedExpr], depth: usize) -> Option<Lowered<'s>> {
        match (name, args) {
            ("bind", [IdedExpr { expr: Expr::Ident(local), .. }, value, body]) if matches!(&target.expr, Expr::Ident(space) if space == "cel") => {
                Some(self.part(value, depth).and_then(|(value, of)| {
                    let (body, of) = self.within(&[(local, of)], body, depth)?;
                    Ok((Node::Bind(Box::new([value, body])), of))
                }))
            }
            ("optMap" | "optFlatMap", [IdedExpr { expr: Expr::Ident(local), .. }, body]) => {
                Some(self.part(target, depth).and_then(|(value, of)| {
                    let held = if let Type::Optional(held) = of { *held } else { Type::ANY };
                    let (body, of) = self.within(&[(local, held)], body, depth)?;
                    let flat = name == "optFlatMap";
                    let of = if flat { of } else { Type::Optional(Box::new(of)) };
                    Ok((Node::Inside(Box::new([value, body]), flat), of))
                }))
            }
            (
                "all" | "exists" | "exists_one" | "existsOne",
                [IdedExpr { expr: Expr::Ident(at), .. }, IdedExpr { expr: Expr::Ident(value), .. }, body],
            ) => {
                let kind = match name {
                    "all" => Loop::All,
                    "exists" => Loop::Exists,
                    _ => Loop::ExistsOne,
                };
                Some(self.part(target, depth).and_then(|(range, of)| {
                    let key = if of.kind() == Kind::List { Type::Plain(Kind::Int) } else { of.element() };
                    let (body, _) = self.within(&[(at, key), (value, of.value())], body, depth)?;
                    Ok((Node::Loop { kind, two: true, range: Box::new(range), body: Box::new(body) }, Type::Plain(Kind::Bool)))
                }))
            }
            _ => None,
        }
    }

    fn within(&mut self, locals: &[(&String, Type<'s>)], body: &IdedExpr, depth: usize) -> Lowered<'s> {
        let around = self.locals.len();
        self.locals.extend(locals.iter().map(|(name, of)| ((*name).clone(), of.clone())));
        let lowered = self.part(body, depth);
        self.locals.truncate(around);
        lowered
    }

    fn comprehension(&mut self, of: &ComprehensionExpr, depth: usize) -> Lowered<'s> {
        let (range, over) = self.part(&of.iter_range, depth)?;
        if !matches!(over.kind(), Kind::List | Kind::Map | Kind::Any) {
            return Err(format!("expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)", over.name()));
        }
        let (kind, condition, body) = grammar::loop_of(of).ok_or("unsupported comprehension")?;
        let local = (&of.iter_var, over.element());
        let mut range = Box::new(range);
        if let Some(condition) = condition {
            let condition = self.within(std::slice::from_ref(&local), condition, depth)?.0;
            range = Box::new(Node::Loop { kind: Loop::Filter, two: false, range, body: Box::new(condition) });
        }
        let (body, made) = self.within(std::slice::from_ref(&local), body, depth)?;
        if kind != Loop::Map && !made.kind().agrees(Kind::Bool) {
            return Err(format!("found no matching overload for '{}' applied to '({})'", "_&&_", made.name()));
        }
        let gives = match kind {
            Loop::Map => Type::List(Box::new(made)),
            Loop::Filter => Type::List(Box::new(over.element())),
            Loop::All | Loop::Exists | Loop::ExistsOne => Type::Plain(Kind::Bool),
        };
        Ok((Node::Loop { kind, two: false, range, body: Box::new(body) }, gives))
    }
}

fn no_overload<'s>(name: &str, method: bool, types: &[Type<'s>]) -> String {
    let names: Vec<String> = types.iter().map(Type::name).collect();
    match names.split_first() {
        Some((first, rest)) if method => format!("found no matching overload for '{name}' applied to '{first}.({})'", rest.join(", ")),
        _ => format!("found no matching overload for '{name}' applied to '({})'", names.join(", ")),
    }
}

fn function<'s>(name: &str, method: bool, nodes: Vec<Node>, types: &[Type<'s>]) -> Lowered<'s> {
    let candidates: Vec<&'static Overload> = functions::named(name, method, nodes.len())
        .into_iter()
        .filter(|one| one.of.iter().zip(types).all(|(wanted, of)| wanted.agrees(of.kind())))
        .collect();
    let Some(first) = candidates.first() else {
        return Err(match functions::is_known(name) {
            true => no_overload(name, method, types),
            false => format!("undeclared reference to '{name}' (in container '')"),
        });
    };
    let gives = gives(first.gives, types.first());
    if name == "matches"
        && let [_, Node::Constant(Constant::Text(text))] = nodes.as_slice()
    {
        let regex = pattern::compile(text).map_err(|why| format!("invalid matches argument: {why}"))?;
        let mut nodes = nodes;
        nodes.truncate(1);
        return nodes.pop().map(|of| (Node::Matches(Box::new(of), regex), gives)).ok_or_else(|| no_overload(name, method, types));
    }
    Ok((Node::Call(candidates, nodes), gives))
}

fn gives<'s>(gives: Gives, first: Option<&Type<'s>>) -> Type<'s> {
    let first = || first.cloned().unwrap_or(Type::ANY);
    match gives {
        Gives::Kind(Kind::List) => Type::List(Box::new(Type::ANY)),
        Gives::Kind(Kind::Optional) => Type::Optional(Box::new(Type::ANY)),
        Gives::Kind(kind) => Type::Plain(kind),
        Gives::Element => first().element(),
        Gives::Same => first(),
        Gives::ListOf(kind) => Type::List(Box::new(Type::Plain(kind))),
        Gives::Optional => Type::Optional(Box::new(first())),
        Gives::Held => match first() {
            Type::Optional(held) => *held,
            _ => Type::ANY,
        },
    }
}

/// The parts come back if it is no operator.
fn operator<'s>(name: &str, nodes: Vec<Node>, types: &[Type<'s>]) -> Result<Lowered<'s>, Vec<Node>> {
    let kinds: Vec<Kind> = types.iter().map(Type::kind).collect();
    let bool = Type::Plain(Kind::Bool);
    let wrong = || Ok(Err(no_overload(name, false, types)));
    let nodes = match <[Node; 1]>::try_from(nodes) {
        Ok([one]) => {
            let kind = kinds.first().copied().unwrap_or(Kind::Any);
            return match name {
                operators::LOGICAL_NOT if kind.agrees(Kind::Bool) => Ok(Ok((Node::Not(Box::new(one)), bool))),
                operators::NEGATE if kind.agrees(Kind::Int) || kind == Kind::Double => {
                    Ok(Ok((Node::Negate(Box::new(one)), Type::Plain(kind))))
                }
                operators::LOGICAL_NOT | operators::NEGATE => wrong(),
                _ => Err(vec![one]),
            };
        }
        Err(nodes) => nodes,
    };
    let nodes = match <[Node; 3]>::try_from(nodes) {
        Ok(three) if name == operators::CONDITIONAL => {
            let [condition, yes, no] = types else { return wrong() };
            if !condition.kind().agrees(Kind::Bool)
                || !(yes.kind().agrees(no.kind()) || yes.kind() == Kind::Null || no.kind() == Kind::Null)
            {
                return wrong();
            }
            let of = if yes.kind() == no.kind() { yes.clone() } else { Type::ANY };
            return Ok(Ok((Node::If(Box::new(three)), of)));
        }
        Ok(three) => return Err(three.into()),
        Err(nodes) => nodes,
    };
    let two = Box::new(<[Node; 2]>::try_from(nodes)?);
    let [first, second] = types else { return Err((*two).into()) };
    let (a, b) = (first.kind(), second.kind());
    let math = |operator: Math, two: Box<[Node; 2]>| match operator.gives(a, b) {
        Some(Kind::List) => Ok(Ok((Node::Math(operator, two), first.clone()))),
        Some(kind) => Ok(Ok((Node::Math(operator, two), Type::Plain(kind)))),
        None => wrong(),
    };
    let compare = |order, two: Box<[Node; 2]>| {
        let ordered = |kind| {
            !matches!(kind, Kind::List | Kind::Map | Kind::Null | Kind::Optional | Kind::Quantity | Kind::Url | Kind::Ip | Kind::Cidr)
        };
        if (a.agrees(b) || (a.is_number() && b.is_number())) && ordered(a) && ordered(b) {
            Ok(Ok((Node::Compare(two, order), Type::Plain(Kind::Bool))))
        } else {
            wrong()
        }
    };
    let equal = |negated, two: Box<[Node; 2]>| {
        if a.agrees(b) || a == Kind::Null || b == Kind::Null {
            Ok(Ok((Node::Equal(two, negated), Type::Plain(Kind::Bool))))
        } else {
            wrong()
        }
    };
    match name {
        operators::LOGICAL_AND | operators::LOGICAL_OR if !a.agrees(Kind::Bool) || !b.agrees(Kind::Bool) => wrong(),
        operators::LOGICAL_AND => Ok(Ok((Node::And(two), bool))),
        operators::LOGICAL_OR => Ok(Ok((Node::Or(two), bool))),
        operators::INDEX => match (a, b) {
            (Kind::List, Kind::Int | Kind::UInt | Kind::Any) | (Kind::Map | Kind::Any | Kind::Optional, _) => {
                Ok(Ok((Node::Index(two), first.value())))
            }
            _ => wrong(),
        },
        operators::OPT_INDEX => {
            let [of, at] = *two;
            let held = match first {
                Type::Optional(of) => of.value(),
                of => of.value(),
            };
            Ok(Ok((Node::Maybe(Box::new(of), Box::new(at)), Type::Optional(Box::new(held)))))
        }
        operators::IN if matches!(b, Kind::List | Kind::Map | Kind::Any) && a.agrees(second.element().kind()) => {
            Ok(Ok((Node::In(two), bool)))
        }
        operators::IN => wrong(),
        operators::EQUALS => equal(false, two),
        operators::NOT_EQUALS => equal(true, two),
        operators::LESS => compare(Order::Less, two),
        operators::LESS_EQUALS => compare(Order::LessOrEqual, two),
        operators::GREATER => compare(Order::Greater, two),
        operators::GREATER_EQUALS => compare(Order::GreaterOrEqual, two),
        operators::ADD => math(Math::Add, two),
        operators::SUBSTRACT => math(Math::Subtract, two),
        operators::MULTIPLY => math(Math::Multiply, two),
        operators::DIVIDE => math(Math::Divide, two),
        operators::MODULO => math(Math::Modulo, two),
        _ => Err((*two).into()),
    }
}

fn constant<'s>(literal: &LiteralValue) -> (Node, Type<'s>) {
    let (constant, kind) = match literal {
        LiteralValue::Null => (Constant::Null, Kind::Null),
        LiteralValue::Boolean(value) => (Constant::Bool(*value.inner()), Kind::Bool),
        LiteralValue::Int(value) => (Constant::Int(*value.inner()), Kind::Int),
        LiteralValue::UInt(value) => (Constant::UInt(*value.inner()), Kind::UInt),
        LiteralValue::Double(value) => (Constant::Double(*value.inner()), Kind::Double),
        LiteralValue::String(value) => (Constant::Text(value.inner().into()), Kind::Text),
        LiteralValue::Bytes(value) => (Constant::Bytes(value.inner().into()), Kind::Bytes),
    };
    (Node::Constant(constant), Type::Plain(kind))
}
