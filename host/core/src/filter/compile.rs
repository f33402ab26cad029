//! From the text of an expression to what is evaluated. Owns the limits that make it harmless
//! and the words for what is refused. The grammar is `grammar`'s; the evaluator of the crate behind
//! it is not used, because nothing bounds what that costs.

use super::Expression;
use super::node::{Constant, Function, Math, Node, Order};
use crate::grammar::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};
use crate::grammar::{self, Bounds, Loop};
use crate::plugin::fields::excerpt;
use crate::pointer::Pointer;

/// Why a text is no expression for a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// Values inside of values, at most.
const MAX_DEPTH: usize = 48;
/// Parts of an expression, at most.
const MAX_NODES: usize = 400;
/// Loops inside of a loop's body, at most, that loop included.
const MAX_LOOPS: usize = 2;

const NAMES_HINT: &str = "known are object (the object now), old (its state before, or null) and the variables of loops";
const FUNCTIONS_HINT: &str =
    "known are has, size, contains, startsWith, endsWith, string, int, double, all, exists, exists_one, filter and map";

pub(super) fn compile(text: &str) -> Lowered {
    if text.len() > Expression::MAX_BYTES {
        return Err(error(format!("{} bytes are too many for an expression", text.len()), format!("at most {}", Expression::MAX_BYTES)));
    }
    if text.trim().is_empty() {
        return Err(error("the expression is empty", "write one, for example object.spec != old.spec, or remove the field"));
    }
    let ast = parse(text)?;
    let mut lowering = Lowering { locals: Vec::new(), nodes: 0 };
    let root = lowering.lower(&ast, 0)?;
    if !root.may_be_bool() {
        return Err(error("the expression is neither true nor false", "compare it with something"));
    }
    Ok(root)
}

fn parse(text: &str) -> Result<IdedExpr, ExpressionError> {
    let bounds = Bounds { depth: 32, nodes: 4 * MAX_NODES, optional: false };
    grammar::parse(text, bounds).map_err(|what| {
        let hint = "write it in CEL, for example object.spec.replicas != old.spec.replicas";
        // The place is said in any case: only the parser's words may be long.
        let (place, words) = what.split_once(": ").unwrap_or(("", &what));
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        error(format!("this is no expression: {place}{}", excerpt(words)), hint)
    })
}

fn error(message: impl Into<String>, hint: impl Into<String>) -> ExpressionError {
    ExpressionError { message: message.into(), hint: hint.into() }
}

struct Lowering {
    /// Variables of the loops around, outermost first.
    locals: Vec<String>,
    nodes: usize,
}

type Lowered = Result<Node, ExpressionError>;

impl Lowering {
    fn lower(&mut self, ast: &IdedExpr, depth: usize) -> Lowered {
        self.nodes = self.nodes.saturating_add(1);
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(error("the expression has too many parts", "make it shorter, or decide in the handler"));
        }
        let below = depth.saturating_add(1);
        match &ast.expr {
            Expr::Literal(literal) => constant(literal).map(Node::Constant),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select, below),
            Expr::List(list) if list.optional_indices.is_empty() => {
                list.elements.iter().map(|element| self.lower(element, below)).collect::<Result<_, _>>().map(Node::List)
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, below),
            Expr::Call(call) => self.call(call, below),
            Expr::Map(_) => Err(error("maps cannot be written in a filter", "compare their fields one by one")),
            Expr::Struct(_) => Err(error("messages cannot be written in a filter", "compare fields one by one")),
            Expr::List(_) | Expr::Unspecified => Err(error("optional values are not supported in a filter", "use has()")),
        }
    }

    fn name(&self, name: &str) -> Lowered {
        if let Some(at) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Node::Local(at));
        }
        match name {
            "object" => Ok(Node::Object),
            "old" => Ok(Node::Old),
            _ => Err(error(format!("{} is not known in a filter", excerpt(name)), NAMES_HINT)),
        }
    }

    /// `a.b.c` is one path through `a`. Long chains are walked, not descended.
    fn select(&mut self, select: &SelectExpr, depth: usize) -> Lowered {
        let mut path = vec![select.field.as_str()];
        let mut of = &*select.operand;
        loop {
            match &of.expr {
                Expr::Select(inner) if !inner.test => {
                    path.push(&inner.field);
                    of = &inner.operand;
                }
                Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
                    [inner, IdedExpr { expr: Expr::Literal(LiteralValue::String(key)), .. }] if is_name(key.inner()) => {
                        path.push(key.inner());
                        of = inner;
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        path.reverse();
        let of = Box::new(self.lower(of, depth)?);
        Ok(match (select.test, path.split_last()) {
            (true, Some((_, parent))) => {
                Node::Has { of, parent: Pointer::of(parent.iter().copied()), path: Pointer::of(path.iter().copied()) }
            }
            _ => Node::Select { of, path: Pointer::of(path.iter().copied()) },
        })
    }

    fn call(&mut self, call: &CallExpr, depth: usize) -> Lowered {
        // `a["b"]` is `a.b`.
        if call.func_name == operators::INDEX
            && let [of, IdedExpr { expr: Expr::Literal(LiteralValue::String(key)), .. }] = call.args.as_slice()
            && is_name(key.inner())
        {
            let select = SelectExpr { operand: Box::new(of.clone()), field: key.inner().to_owned(), test: false };
            return self.select(&select, depth);
        }
        let name = call.func_name.as_str();
        let mut of: Vec<Node> =
            call.target.iter().map(AsRef::as_ref).chain(&call.args).map(|part| self.lower(part, depth)).collect::<Result<_, _>>()?;
        if call.target.is_none() {
            of = match self.operator(name, of) {
                Ok(node) => return Ok(node),
                Err(of) => of,
            };
        }
        let known = Function::ALL
            .iter()
            .find(|(known, receiver, count, _)| *known == name && *receiver == call.target.is_some() && *count == of.len());
        match known {
            Some((.., function)) => Ok(Node::Call { function: *function, of }),
            None => {
                let named = Function::ALL.iter().any(|(known, ..)| *known == name);
                let what = if named { "takes other values" } else { "is not known in a filter" };
                Err(error(format!("the function {} {what}", excerpt(name.trim_matches('_'))), FUNCTIONS_HINT))
            }
        }
    }

    /// The parts come back if it is no operator.
    fn operator(&self, name: &str, of: Vec<Node>) -> Result<Node, Vec<Node>> {
        let of = match <[Node; 1]>::try_from(of) {
            Ok([one]) => {
                return match name {
                    operators::LOGICAL_NOT => Ok(Node::Not(Box::new(one))),
                    operators::NEGATE => Ok(Node::Negate(Box::new(one))),
                    _ => Err(vec![one]),
                };
            }
            Err(of) => of,
        };
        let of = match <[Node; 3]>::try_from(of) {
            Ok(three) if name == operators::CONDITIONAL => return Ok(Node::If(Box::new(three))),
            Ok(three) => return Err(three.into()),
            Err(of) => of,
        };
        let of = Box::new(<[Node; 2]>::try_from(of)?);
        let math = |operator| move |of| Node::Math { operator, of };
        let compare = |order| move |of| Node::Compare { order, of };
        Ok(match name {
            operators::LOGICAL_AND => Node::And(of),
            operators::LOGICAL_OR => Node::Or(of),
            operators::INDEX => Node::Index(of),
            operators::IN => Node::In(of),
            operators::EQUALS => Node::Equal { of, negated: false },
            operators::NOT_EQUALS => Node::Equal { of, negated: true },
            operators::LESS => compare(Order::Less)(of),
            operators::LESS_EQUALS => compare(Order::LessOrEqual)(of),
            operators::GREATER => compare(Order::Greater)(of),
            operators::GREATER_EQUALS => compare(Order::GreaterOrEqual)(of),
            operators::ADD => math(Math::Add)(of),
            operators::SUBSTRACT => math(Math::Subtract)(of),
            operators::MULTIPLY => math(Math::Multiply)(of),
            operators::DIVIDE => math(Math::Divide)(of),
            operators::MODULO => math(Math::Modulo)(of),
            _ => return Err((*of).into()),
        })
    }

    fn comprehension(&mut self, of: &ComprehensionExpr, depth: usize) -> Lowered {
        let unknown = || error("this loop is not supported in a filter", FUNCTIONS_HINT);
        let range = Box::new(self.lower(&of.iter_range, depth)?);
        if self.locals.len() >= MAX_LOOPS {
            return Err(error("loops are nested too deeply", format!("at most {MAX_LOOPS}, one in the other; or decide in the handler")));
        }
        let (kind, condition, body) = grammar::loop_of(of).ok_or_else(unknown)?;
        self.locals.push(of.iter_var.clone());
        let condition = condition.map(|condition| self.lower(condition, depth)).transpose();
        let body = self.lower(body, depth);
        self.locals.pop();
        let (condition, body) = (condition?, body?);
        let range = match condition {
            Some(condition) => Box::new(Node::Loop { kind: Loop::Filter, range, body: Box::new(condition) }),
            None => range,
        };
        Ok(Node::Loop { kind, range, body: Box::new(body) })
    }
}

/// A key that no list can take for an index.
fn is_name(key: &str) -> bool {
    !key.starts_with(|c: char| c.is_ascii_digit())
}

fn constant(literal: &LiteralValue) -> Result<Constant, ExpressionError> {
    Ok(match literal {
        LiteralValue::Null => Constant::Null,
        LiteralValue::Boolean(value) => Constant::Bool(*value.inner()),
        LiteralValue::Int(value) => Constant::Int(*value.inner()),
        LiteralValue::UInt(value) => Constant::UInt(*value.inner()),
        LiteralValue::Double(value) => Constant::Double(*value.inner()),
        LiteralValue::String(value) => Constant::Text(value.inner().into()),
        LiteralValue::Bytes(_) => return Err(error("bytes are not supported in a filter", "JSON has only text")),
    })
}
