//! Does what happened fit what was wanted? Pure comparison, and the texts that say why not.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use wharf_core::{Failure, Fault, Outcome, Strike};
use wharf_engine::Level;

use super::case::{Call, Lines, Report, Text, Want};
use super::ports::Line;

/// How a call ended.
pub(crate) type Ended = Result<Result<Outcome, Failure>, Strike>;

/// The end of the call.
pub(crate) fn ending(ended: &Ended, want: &Want) -> Result<()> {
    let good = match (want, ended) {
        (Want::Done, Ok(Ok(Outcome::Done))) => true,
        (Want::RequeueAfter(ms), Ok(Ok(Outcome::RequeueAfter(after)))) => after.as_millis() == u128::from(*ms),
        (Want::Retry(reason, message, ms), Ok(Err(Failure::Retry(fault)))) => {
            fits(fault, reason, message) && fault.retry_after.map(|after| after.as_millis()) == ms.map(u128::from)
        }
        (Want::Permanent(reason, message), Ok(Err(Failure::Permanent(fault)))) => fits(fault, reason, message),
        (Want::Strike(reason, message), Err(strike)) => strike.reason == *reason && says(message, &strike.message),
        _ => false,
    };
    ensure!(good, "ended with {ended:?}\nwanted {want:?}");
    Ok(())
}

fn fits(fault: &Fault, reason: &str, message: &Text) -> bool {
    fault.reason == reason && says(message, &fault.message)
}

/// Is this what the text should say?
pub(crate) fn says(want: &Text, text: &str) -> bool {
    match want {
        Text::Is(whole) => text == whole,
        Text::Has(parts) => parts.iter().all(|part| text.contains(part.as_str())),
    }
}

/// The report and the other lines; returns the report.
pub(crate) fn lines(lines: Vec<Line>, call: &Call, earlier: &[Value]) -> Result<Option<Value>> {
    let (reports, others): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(_, message, _)| message == "result");
    let report = match reports.as_slice() {
        [] => None,
        [(Level::Info, _, fields)] => match fields.as_slice() {
            [(name, text)] if name == "value" => Some(parse(text)?),
            _ => bail!("the report has other fields than `value`: {fields:?}"),
        },
        _ => bail!("there is more than one report, or one of another level: {reports:?}"),
    };
    match (&call.report, &report) {
        (Report::None, None) => {}
        (Report::Is(want), Some(got)) => ensure!(same(want, got), "reported {got}\nwanted   {want}"),
        (Report::Holds(name, test), Some(got)) => ensure!(test(got), "reported {got}\nwanted   {name}"),
        (Report::Distinct, Some(got)) => ensure!(!earlier.contains(got), "reported {got} twice"),
        (Report::None, Some(got)) => bail!("reported {got}, wanted nothing"),
        (_, None) => bail!("reported nothing; lines: {others:?}"),
    }
    let good = match &call.lines {
        Lines::Are(want) => *want == others,
        Lines::Say(want) => want.iter().map(|(l, m)| (*l, m.as_str())).eq(others.iter().map(|(l, m, _)| (*l, m.as_str()))),
        Lines::Any => true,
    };
    ensure!(good, "logged {others:?}\nwanted {}", wanted(&call.lines));
    Ok(report)
}

fn wanted(lines: &Lines) -> String {
    match lines {
        Lines::Are(lines) => format!("{lines:?}"),
        Lines::Say(lines) => format!("{lines:?}"),
        Lines::Any => "anything".to_owned(),
    }
}

/// What the ports were asked. A body is compared as JSON unless it is wanted as a text.
pub(crate) fn asked(mut asked: Vec<Value>, call: &Call) -> Result<()> {
    let Some(want) = &call.asked else { return Ok(()) };
    for (got, want) in asked.iter_mut().zip(want) {
        let as_text = want.get("body").is_none_or(Value::is_string);
        if let Some(body) = got.get_mut("body").filter(|_| !as_text) {
            *body = serde_json::from_str(body.as_str().unwrap_or_default()).context("the body is no JSON")?;
        }
    }
    let good = asked.len() == want.len() && asked.iter().zip(want).all(|(got, want)| same(want, got));
    ensure!(good, "asked {}\nwanted {}", short(&asked), short(want));
    Ok(())
}

fn short(values: &[Value]) -> String {
    let text = Value::from(values).to_string();
    if text.len() > 2000 { format!("{}… ({} bytes)", text.chars().take(500).collect::<String>(), text.len()) } else { text }
}

/// The same JSON; numbers are the same if they have the same value.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

/// JSON text from a log field, in which the host has escaped control characters as `\u{7f}`.
fn parse(text: &str) -> Result<Value> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        plain.push_str(before);
        let (code, after) = after.split_once('}').context("no end of \\u{")?;
        let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        plain.push(code.with_context(|| format!("no character in {text}"))?);
        rest = after;
    }
    plain.push_str(rest);
    serde_json::from_str(&plain).with_context(|| format!("the report is no JSON: {text}"))
}
