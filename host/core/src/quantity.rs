//! Quantities and durations in Kubernetes notation. Owns parsing and printing; ranges are
//! the business of whoever reads the field.

use std::time::Duration;

/// Parses bytes: `64Mi`, `1Gi`, `500k`, `1048576`. Whole numbers only.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at_checked(digits)?;
    let unit: u64 = match suffix {
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Prints bytes with the largest binary unit that divides them.
pub fn format_bytes(bytes: u64) -> String {
    for (shift, unit) in [(30, "Gi"), (20, "Mi"), (10, "Ki")] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Parses Go's durations: `2s`, `200ms`, `1m30s`, `1.5h`. Never negative.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, tail) = tail.split_at_checked(letters)?;
        let seconds = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?)?;
        rest = tail;
    }
    Some(total)
}

/// Prints a duration as [`parse_duration`] reads it, to the millisecond.
pub fn format_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms < 1000 {
        return format!("{ms}ms");
    }
    let (s, ms) = (ms / 1000, ms % 1000);
    let (h, m, s) = (s / 3600, s % 3600 / 60, s % 60);
    let mut out = String::new();
    for (value, unit) in [(h, "h"), (m, "m"), (s, "s"), (ms, "ms")] {
        if value > 0 {
            out.push_str(&format!("{value}{unit}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes() {
        for (text, want) in [
            ("64Mi", Some(64 << 20)),
            ("1k", Some(1000)),
            ("7", Some(7)),
            ("", None),
            ("Mi", None),
            ("1.5Mi", None),
            ("99999999999Gi", None),
            ("-1", None),
        ] {
            assert_eq!(parse_bytes(text), want, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [
            ("2s", Some(2000)),
            ("200ms", Some(200)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("", None),
            ("5", None),
            ("-1s", None),
            ("1e9s", None),
            ("s", None),
        ] {
            assert_eq!(parse_duration(text).map(|d| d.as_millis()), ms, "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trips(ms in 0_u64..1 << 40, bytes: u64) {
            prop_assert_eq!(parse_duration(&format_duration(Duration::from_millis(ms))), Some(Duration::from_millis(ms)));
            prop_assert_eq!(parse_bytes(&format_bytes(bytes)), Some(bytes));
        }
        #[test]
        fn junk_never_panics(text in ".{0,12}") { let _ = (parse_bytes(&text), parse_duration(&text)); }
    }
}
