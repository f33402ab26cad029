//! Go's durations, as the parameter `timeout` writes them: `32s`, `1m30s`, `1.5h`.

use std::time::Duration;

/// Longer than anything a server waits for; keeps the arithmetic from overflowing.
const LONGEST: f64 = 1e9;

/// Reads a duration; zero and negative ones are none.
///
/// # Errors
/// Go's own text for what is no duration.
pub(crate) fn parse(text: &str) -> Result<Option<Duration>, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(None);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits).ok_or_else(invalid)?;
        // Rust reads "." as no number, but a second point in it too.
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters).ok_or_else(invalid)?;
        seconds += number * unit_seconds(unit).ok_or_else(|| unknown_unit(text, unit))?;
        rest = after;
    }
    if negative || seconds <= 0.0 {
        return Ok(None);
    }
    Ok(Some(Duration::from_secs_f64(seconds.min(LONGEST))))
}

fn unknown_unit(text: &str, unit: &str) -> String {
    if unit.is_empty() {
        format!("time: missing unit in duration {text:?}")
    } else {
        format!("time: unknown unit {unit:?} in duration {text:?}")
    }
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn reads_go_durations() {
        for (text, want) in [
            ("32s", Some(32_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("9m35s", Some(575_000)),
            ("250ms", Some(250)),
            ("+2s", Some(2_000)),
            ("0", None),
            ("0s", None),
            ("-5s", None),
        ] {
            assert_eq!(parse(text), Ok(want.map(Duration::from_millis)), "{text}");
        }
        assert_eq!(parse("99999999999999999999h"), Ok(Some(Duration::from_secs(1_000_000_000))));
    }

    #[test]
    fn words_its_refusals_as_go_does() {
        for (text, want) in [
            ("abc", r#"time: invalid duration "abc""#),
            ("", r#"time: invalid duration """#),
            ("1..5s", r#"time: invalid duration "1..5s""#),
            ("10", r#"time: missing unit in duration "10""#),
            ("10d", r#"time: unknown unit "d" in duration "10d""#),
        ] {
            assert_eq!(parse(text), Err(want.to_owned()), "{text}");
        }
    }
}
