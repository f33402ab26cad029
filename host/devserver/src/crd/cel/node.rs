//! A rule as it is evaluated. Owns the form only: it is made and bounded by `lower`, and read by `eval`.

use super::functions::Overload;
use super::kinds::Kind;
use super::math::Math;

pub(super) use wharf_core::grammar::Loop;

#[derive(Debug)]
pub(super) enum Node {
    Constant(Constant),
    This,
    Old,
    /// The variable of a loop or of `cel.bind`, counted from the outermost.
    Local(usize),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// `a.b`.
    Select(Box<Node>, Box<str>),
    /// `has(a.b)`.
    Has(Box<Node>, Box<str>),
    /// `a.?b`.
    Maybe(Box<Node>, Box<Node>),
    Index(Box<[Node; 2]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    If(Box<[Node; 3]>),
    Equal(Box<[Node; 2]>, bool),
    /// Whether the smaller must be first, and whether equal will do.
    Compare(Box<[Node; 2]>, Order),
    Math(Math, Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    /// A pattern that stands in the rule is compiled with it.
    Matches(Box<Node>, regex::Regex),
    /// Any of these, whichever takes the values.
    Call(Vec<&'static Overload>, Vec<Node>),
    /// A body for each element of a list, or key of a map; with two variables the place or key comes first.
    Loop {
        kind: Loop,
        two: bool,
        range: Box<Node>,
        body: Box<Node>,
    },
    /// `cel.bind`.
    Bind(Box<[Node; 2]>),
    /// `optMap`; true for `optFlatMap`.
    Inside(Box<[Node; 2]>, bool),
}

#[derive(Debug)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    Kind(Kind),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
