//! Reading CEL: the text of an expression becomes the tree of the crate `cel`, and the loops in it are recognised as what
//! their author wrote. Owns the bounds of reading. Knows no variable, no function and no value: the filters of subscriptions
//! and the rules of CustomResourceDefinitions each have a language of their own on this grammar.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cel::parser::PrattParser;

/// The tree of an expression.
pub use cel::common::ast;

use ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

/// How much of a text is read, and in which dialect.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Parts inside of parts.
    pub depth: u16,
    /// Parts of the tree.
    pub nodes: usize,
    /// Whether `a.?b` and `a[?b]` are part of the language.
    pub optional: bool,
}

/// Bytes of a text, at most.
const MAX_BYTES: usize = 16 * 1024;
/// Signs that make a part of what was read before, or of all that follows: the parser's own bounds do not count those.
const MAX_LINKS: usize = 400;
/// The same for conditions, each of which costs more of the stack.
const MAX_CONDITIONS: usize = 150;

/// Reads a text.
///
/// # Errors
/// Where and why it is none; in the words of the parser.
pub fn parse(text: &str, bounds: Bounds) -> Result<IdedExpr, String> {
    // Texts in quotation marks count, too: nothing that is written there can hide a chain.
    let count = |signs: &[char]| text.matches(signs).count();
    if text.len() > MAX_BYTES || count(&['.', '[']) > MAX_LINKS || count(&['?']) > MAX_CONDITIONS {
        return Err("the expression has too many parts".to_owned());
    }
    let parser = PrattParser::new()
        .max_recursion_depth(bounds.depth)
        .error_recovery_limit(0)
        .max_expression_node_count(bounds.nodes)
        .enable_optional_syntax(bounds.optional);
    // The text comes from somebody whom nobody checks, and the parser is not ours: should a text break it,
    // that text is refused, and nothing else happens.
    match catch_unwind(AssertUnwindSafe(|| parser.parse(text))) {
        Ok(Ok(ast)) => Ok(ast),
        Ok(Err(errors)) => {
            let first = errors.errors.into_iter().find(|error| error.pos.0 > 0);
            Err(first.map_or_else(unreadable, |error| format!("line {}, column {}: {}", error.pos.0, error.pos.1, error.msg)))
        }
        Err(_) => Err(unreadable()),
    }
}

/// The macros that are loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// True for every element.
    All,
    /// True for an element.
    Exists,
    /// True for one element and no more.
    ExistsOne,
    /// The elements for which it is true.
    Filter,
    /// What becomes of the elements.
    Map,
}

/// Which macro a comprehension was, the condition of `map`, if it has one, and its body; `None` for what no macro makes.
pub fn loop_of(of: &ComprehensionExpr) -> Option<(Loop, Option<&IdedExpr>, &IdedExpr)> {
    let Expr::Call(step) = &of.loop_step.expr else { return None };
    match (&of.accu_init.expr, step.func_name.as_str(), step.args.as_slice()) {
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, body]) => Some((Loop::All, None, body)),
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, body]) => Some((Loop::Exists, None, body)),
        (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [body, ..]) => Some((Loop::ExistsOne, None, body)),
        (Expr::List(_), operators::ADD, _) => Some((Loop::Map, None, one_more(&of.loop_step)?)),
        (Expr::List(_), operators::CONDITIONAL, [condition, added, _]) => {
            let element = one_more(added)?;
            // `filter` adds the element itself.
            match &element.expr {
                Expr::Ident(name) if *name == of.iter_var => Some((Loop::Filter, None, condition)),
                _ => Some((Loop::Map, Some(condition), element)),
            }
        }
        _ => None,
    }
}

/// The `x` of `@result + [x]`.
fn one_more(added: &IdedExpr) -> Option<&IdedExpr> {
    let Expr::Call(call) = &added.expr else { return None };
    match &call.args.last()?.expr {
        Expr::List(list) if call.func_name == operators::ADD => list.elements.first(),
        _ => None,
    }
}

fn unreadable() -> String {
    "it cannot be read".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain that is longer than the parser's stack is refused, not walked through.
    #[test]
    fn no_chain_is_too_long() {
        let bounds = Bounds { depth: 64, nodes: 10_000, optional: true };
        for n in [100, 380, 3_000, 8_000, 100_000] {
            for text in [
                ["true"; 3].join(" ? true : ").repeat(n / 2),
                vec!["true"; n].join("?true:"),
                vec!["1"; n].join("+"),
                vec!["1"; n].join("<"),
                vec!["a"; n].join("&&"),
                format!("a{}", "[0]".repeat(n)),
                format!("a{}", ".a".repeat(n)),
                format!("a{}", ".a()".repeat(n)),
                format!("a{}", ".map(a,a)".repeat(n)),
                format!("{}1{}", "(".repeat(n), ")".repeat(n)),
                format!("{}1{}", "[".repeat(n), "]".repeat(n)),
                format!("{}1{}", "a(".repeat(n), ")".repeat(n)),
                format!("{}1{}", "{1:".repeat(n), "}".repeat(n)),
                "!".repeat(n),
                "-".repeat(n),
                "- ".repeat(n) + "1",
            ] {
                drop(parse(&text, bounds));
            }
        }
        assert!(parse(&vec!["a"; 300].join("."), bounds).is_ok());
        assert_eq!(parse(&vec!["a"; 500].join("."), bounds).unwrap_err(), "the expression has too many parts");
    }
}
