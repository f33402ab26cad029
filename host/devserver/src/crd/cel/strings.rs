//! Functions on text. Places are counted in characters, as CEL has it.

use super::EvalError;
use super::functions::{Gives, Overload, global, int, method, no_overload, place};
use super::kinds::Kind::{Any, Bool, Bytes, Int, List, Text as T};
use super::value::{Budget, Text, Val};
use crate::crd::pattern;

const BOOL: Gives = Gives::Kind(Bool);
const INT: Gives = Gives::Kind(Int);
const TEXT: Gives = Gives::Kind(T);

pub(super) const ALL: &[Overload] = &[
    method("contains", &[T, T], BOOL, |budget, of| texts(budget, of).map(|(a, b)| Val::Bool(a.contains(b)))),
    method("startsWith", &[T, T], BOOL, |budget, of| texts(budget, of).map(|(a, b)| Val::Bool(a.starts_with(b)))),
    method("endsWith", &[T, T], BOOL, |budget, of| texts(budget, of).map(|(a, b)| Val::Bool(a.ends_with(b)))),
    method("matches", &[T, T], BOOL, matches),
    global("matches", &[T, T], BOOL, matches),
    method("find", &[T, T], TEXT, find),
    method("findAll", &[T, T], Gives::ListOf(T), find_all),
    method("findAll", &[T, T, Int], Gives::ListOf(T), find_all),
    method("lowerAscii", &[T], TEXT, |budget, of| change(budget, of, str::to_ascii_lowercase)),
    method("upperAscii", &[T], TEXT, |budget, of| change(budget, of, str::to_ascii_uppercase)),
    method("trim", &[T], TEXT, |budget, of| change(budget, of, |text| text.trim().to_owned())),
    method("reverse", &[T], TEXT, |budget, of| change(budget, of, |text| text.chars().rev().collect())),
    global("strings.quote", &[T], TEXT, |budget, of| change(budget, of, |text| format!("{text:?}"))),
    method("charAt", &[T, Int], TEXT, char_at),
    method("indexOf", &[T, T], INT, index_of),
    method("indexOf", &[T, T, Int], INT, index_of),
    method("lastIndexOf", &[T, T], INT, last_index_of),
    method("lastIndexOf", &[T, T, Int], INT, last_index_of),
    method("substring", &[T, Int], TEXT, substring),
    method("substring", &[T, Int, Int], TEXT, substring),
    method("replace", &[T, T, T], TEXT, replace),
    method("replace", &[T, T, T, Int], TEXT, replace),
    method("split", &[T, T], Gives::ListOf(T), split),
    method("split", &[T, T, Int], Gives::ListOf(T), split),
    method("join", &[List], TEXT, join),
    method("join", &[List, T], TEXT, join),
    method("format", &[T, List], TEXT, format),
    global("base64.encode", &[Bytes], TEXT, encode),
    global("base64.decode", &[T], Gives::Kind(Bytes), decode),
    global("size", &[Any], INT, size),
    method("size", &[Any], INT, size),
];

/// The first two values, both text.
fn texts<'v>(budget: &Budget, of: &'v [Val<'_>]) -> Result<(&'v str, &'v str), EvalError> {
    match of {
        [Val::Text(a), Val::Text(b), ..] => budget.bytes(a.len().saturating_add(b.len())).map(|()| (&**a, &**b)),
        _ => Err(no_overload()),
    }
}

fn number(of: &[Val<'_>], at: usize) -> Option<i64> {
    match of.get(at) {
        Some(Val::Int(number)) => Some(*number),
        _ => None,
    }
}

fn change<'a>(budget: &Budget, of: &[Val<'a>], by: impl Fn(&str) -> String) -> Result<Val<'a>, EvalError> {
    let [Val::Text(text)] = of else { return Err(no_overload()) };
    budget.bytes(text.len())?;
    Ok(Val::text(by(text)))
}

fn matches<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, regex) = compiled(budget, of)?;
    Ok(Val::Bool(regex.is_match(text)))
}

/// The text and the pattern. Patterns of rules are nearly always written in the rule, and those are compiled with it.
fn compiled<'v>(budget: &Budget, of: &'v [Val<'_>]) -> Result<(&'v str, regex::Regex), EvalError> {
    let (text, pattern) = texts(budget, of)?;
    // Compiling costs about as much as thousands of steps.
    budget.spend(pattern.len().saturating_mul(64))?;
    budget.spend(text.len().saturating_mul(pattern.len()) / 64)?;
    Ok((text, pattern::compile(pattern).map_err(EvalError::new)?))
}

fn find<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, regex) = compiled(budget, of)?;
    Ok(Val::text(regex.find(text).map_or("", |found| found.as_str())))
}

fn find_all<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, regex) = compiled(budget, of)?;
    let most = number(of, 2).and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    Ok(Val::list(regex.find_iter(text).take(most).map(|found| Val::text(found.as_str())).collect()))
}

fn char_at<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Text(text), Val::Int(at)] = of else { return Err(no_overload()) };
    budget.bytes(text.len())?;
    let place = place(*at)?;
    match text.chars().nth(place) {
        Some(found) => Ok(Val::text(found.to_string())),
        None if place == text.chars().count() => Ok(Val::text("")),
        None => Err(EvalError::new(format!("index out of range: {at}"))),
    }
}

fn index_of<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, wanted) = texts(budget, of)?;
    let from = place(number(of, 2).unwrap_or(0))?;
    let start = byte_of(text, from)?;
    let found = text.get(start..).and_then(|rest| rest.find(wanted)).and_then(|at| text.get(..start.saturating_add(at)));
    Ok(found.map_or(Val::Int(-1), |before| int(before.chars().count())))
}

fn last_index_of<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, wanted) = texts(budget, of)?;
    let searched = match number(of, 2) {
        Some(last) => text.get(..byte_of(text, place(last)?)?.saturating_add(wanted.len()).min(text.len())),
        None => Some(text),
    };
    let found = searched.and_then(|text| text.rfind(wanted)).and_then(|at| text.get(..at));
    Ok(found.map_or(Val::Int(-1), |before| int(before.chars().count())))
}

fn substring<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let Some(Val::Text(text)) = of.first() else { return Err(no_overload()) };
    budget.bytes(text.len())?;
    let start = number(of, 1).ok_or_else(no_overload)?;
    let from = byte_of(text, place(start)?)?;
    let to = number(of, 2).map_or(Ok(text.len()), |end| byte_of(text, place(end)?))?;
    match text.get(from..to) {
        Some(part) => Ok(Val::text(part)),
        None => Err(EvalError::new(format!("invalid substring range. start: {start}, end: {}", number(of, 2).unwrap_or(-1)))),
    }
}

/// Where a character begins; the end of the text counts.
fn byte_of(text: &str, at: usize) -> Result<usize, EvalError> {
    let end = std::iter::once(text.len());
    let found = text.char_indices().map(|(byte, _)| byte).chain(end).nth(at);
    found.ok_or_else(|| EvalError::new(format!("index out of range: {at}")))
}

fn replace<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Text(text), Val::Text(from), Val::Text(to), ..] = of else { return Err(no_overload()) };
    budget.bytes(text.len())?;
    let most = match number(of, 3) {
        Some(most) if most >= 0 => place(most)?,
        _ => usize::MAX,
    };
    let count = text.matches(&**from).count().min(most);
    budget.bytes(count.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(Val::text(text.replacen(&**from, to, count)))
}

fn split<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (text, by) = texts(budget, of)?;
    let most = match number(of, 2) {
        Some(0) => return Ok(Val::list(Vec::new())),
        Some(most) if most > 0 => place(most)?,
        _ => usize::MAX,
    };
    budget.spend(text.len())?;
    let parts: Vec<Val<'a>> = if by.is_empty() {
        let mut characters = text.chars();
        let mut parts: Vec<Val<'a>> = characters.by_ref().take(most.saturating_sub(1)).map(|one| Val::text(one.to_string())).collect();
        if !characters.as_str().is_empty() {
            parts.push(Val::text(characters.as_str()));
        }
        parts
    } else {
        text.splitn(most, by).map(Val::text).collect()
    };
    Ok(Val::list(parts))
}

fn join<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (list, by) = match of {
        [list] => (list, ""),
        [list, Val::Text(by)] => (list, &**by),
        _ => return Err(no_overload()),
    };
    let mut out = String::new();
    for (at, one) in list.elements(budget)?.ok_or_else(no_overload)?.iter().enumerate() {
        let Val::Text(text) = one else { return Err(no_overload()) };
        budget.bytes(text.len().saturating_add(by.len()))?;
        if at > 0 {
            out.push_str(by);
        }
        out.push_str(text);
    }
    Ok(Val::text(out))
}

/// `%s`, `%d`, `%f`, `%e`, `%x`, `%X`, `%b`, `%o` and `%%`, with a precision for numbers.
fn format<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Text(text), list] = of else { return Err(no_overload()) };
    let values = list.elements(budget)?.ok_or_else(no_overload)?;
    let mut values = values.iter();
    let (mut out, mut characters) = (String::new(), text.chars());
    while let Some(one) = characters.next() {
        budget.spend(1)?;
        if one != '%' {
            out.push(one);
            continue;
        }
        let mut verb = characters.next();
        if verb == Some('%') {
            out.push('%');
            continue;
        }
        let mut precision = None;
        if verb == Some('.') {
            let mut digits: usize = 0;
            verb = characters.next();
            while let Some(digit) = verb.and_then(|one| one.to_digit(10)) {
                digits = digits.saturating_mul(10).saturating_add(usize::try_from(digit).unwrap_or(0)).min(100);
                verb = characters.next();
            }
            precision = Some(digits);
        }
        let value = values.next().ok_or_else(|| EvalError::new("index out of range in the arguments of format"))?;
        let wrong = || EvalError::new("a value does not go with its place in format");
        let printed = match (verb, value) {
            (Some('s'), value) => show(budget, value)?,
            (Some('d'), Val::Int(number)) => number.to_string(),
            (Some('d'), Val::UInt(number)) => number.to_string(),
            (Some('b'), Val::Int(number)) => format!("{number:b}"),
            (Some('o'), Val::Int(number)) => format!("{number:o}"),
            (Some('x'), Val::Int(number)) => format!("{number:x}"),
            (Some('X'), Val::Int(number)) => format!("{number:X}"),
            (Some('x'), Val::Text(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            (Some('f' | 'e'), Val::Double(number)) => format!("{number:.*}", precision.unwrap_or(6)),
            (Some('f' | 'e'), Val::Int(number)) => format!("{:.*}", precision.unwrap_or(6), *number as f64),
            _ => return Err(wrong()),
        };
        budget.bytes(printed.len())?;
        out.push_str(&printed);
    }
    Ok(Val::text(out))
}

/// How `%s` prints any value.
fn show(budget: &Budget, value: &Val<'_>) -> Result<String, EvalError> {
    budget.spend(1)?;
    Ok(match value {
        Val::Null => "null".to_owned(),
        Val::Kind(kind) => kind.name().to_owned(),
        Val::Array(..) | Val::List(_) => {
            let elements = value.elements(budget)?.unwrap_or_default();
            let parts: Vec<String> = elements.iter().map(|one| show(budget, one)).collect::<Result<_, _>>()?;
            format!("[{}]", parts.join(", "))
        }
        Val::Object(..) | Val::Map(_) => {
            let mut parts = Vec::new();
            for key in value.elements(budget)?.unwrap_or_default().iter() {
                let of = value.entry(key, budget)?.unwrap_or(Val::Null);
                parts.push(format!("{}: {}", show(budget, key)?, show(budget, &of)?));
            }
            format!("{{{}}}", parts.join(", "))
        }
        other => match super::convert::to_text(budget, std::slice::from_ref(other))? {
            Val::Text(Text::Read(text)) => text.to_owned(),
            Val::Text(Text::Made(text)) => text.to_string(),
            _ => String::new(),
        },
    })
}

fn encode<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    use base64::Engine;
    let [Val::Bytes(bytes)] = of else { return Err(no_overload()) };
    budget.bytes(bytes.len())?;
    Ok(Val::text(base64::engine::general_purpose::STANDARD.encode(bytes)))
}

fn decode<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    use base64::Engine;
    let [Val::Text(text)] = of else { return Err(no_overload()) };
    budget.bytes(text.len())?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.as_bytes());
    decoded.map(|bytes| Val::Bytes(bytes.into())).map_err(|_| EvalError::new("illegal base64 data"))
}

fn size<'a>(budget: &Budget, of: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of.first().ok_or_else(no_overload)?.size(budget)?.map(int).ok_or_else(no_overload)
}
