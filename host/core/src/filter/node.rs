//! An expression as it is evaluated. Owns the form only: it is made by `compile`, bounded
//! there, and read by `eval`.

use crate::grammar::Loop;
use crate::pointer::Pointer;

#[derive(Debug)]
pub(super) enum Node {
    Constant(Constant),
    Object,
    Old,
    /// The variable of a loop, counted from the outermost.
    Local(usize),
    List(Vec<Node>),
    /// Fields of fields: one walk through the text for all of them.
    Select {
        of: Box<Node>,
        path: Pointer,
    },
    /// Is the last field there? The one that has it must be.
    Has {
        of: Box<Node>,
        parent: Pointer,
        path: Pointer,
    },
    Index(Box<[Node; 2]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    If(Box<[Node; 3]>),
    Equal {
        of: Box<[Node; 2]>,
        negated: bool,
    },
    Compare {
        order: Order,
        of: Box<[Node; 2]>,
    },
    Math {
        operator: Math,
        of: Box<[Node; 2]>,
    },
    In(Box<[Node; 2]>),
    Call {
        function: Function,
        of: Vec<Node>,
    },
    /// A body for each element of a list, or key of a map.
    Loop {
        kind: Loop,
        range: Box<Node>,
        body: Box<Node>,
    },
}

#[derive(Debug)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Box<str>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Text,
    Int,
    Double,
}

impl Function {
    /// Name, whether it has a receiver, and how many values it takes with that.
    pub(super) const ALL: [(&str, bool, usize, Self); 8] = [
        ("size", false, 1, Self::Size),
        ("size", true, 1, Self::Size),
        ("contains", true, 2, Self::Contains),
        ("startsWith", true, 2, Self::StartsWith),
        ("endsWith", true, 2, Self::EndsWith),
        ("string", false, 1, Self::Text),
        ("int", false, 1, Self::Int),
        ("double", false, 1, Self::Double),
    ];
}

impl Function {
    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Contains => "contains",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::Text => "string",
            Self::Int => "int",
            Self::Double => "double",
        }
    }
}

impl Math {
    /// How it is written.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

impl Node {
    /// Can it be true or false at all?
    pub(super) fn may_be_bool(&self) -> bool {
        match self {
            Self::Constant(constant) => matches!(constant, Constant::Bool(_)),
            Self::Object | Self::Old | Self::List(_) | Self::Negate(_) | Self::Math { .. } => false,
            Self::Call { function, .. } => matches!(function, Function::Contains | Function::StartsWith | Function::EndsWith),
            Self::Loop { kind, .. } => matches!(kind, Loop::All | Loop::Exists | Loop::ExistsOne),
            Self::If(of) => {
                let [_, yes, no] = &**of;
                yes.may_be_bool() && no.may_be_bool()
            }
            _ => true,
        }
    }
}
