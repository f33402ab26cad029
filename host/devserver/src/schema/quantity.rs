//! Quantities of resources (`500m`, `1Gi`): reading, comparing and the canonical form in which Kubernetes answers. Owns their
//! notation; what may be asked for is validation's business. Exact to a billionth, as Kubernetes is.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

const NANO: i128 = 1_000_000_000;
/// More digits than this cannot be told apart after rounding to a billionth or would be too large anyway.
const DIGITS: usize = 36;
/// Far above 2^63 - 1 units, to which larger ones are capped.
const MOST: i128 = i128::MAX / NANO;

/// An amount and the notation it was written in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `m`, `k`, `M`, …
    Decimal,
    /// `e3`.
    Exponent,
    /// `Ki`, `Mi`, …
    Binary,
}

impl Quantity {
    /// Zero, written without a unit.
    pub(crate) const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    /// Reads a quantity. What is finer than a billionth is rounded away from zero, what is too large is capped.
    ///
    /// # Errors
    /// The text that Kubernetes gives.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, rest) = digits(rest);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => digits(rest),
            None => ("", rest),
        };
        check_form(text, suffix)?;
        let (format, power) = read_suffix(suffix).ok_or("unable to parse quantity's suffix")?;
        if whole.is_empty() && fraction.is_empty() {
            return Err("unable to parse numeric part of quantity");
        }
        let (binary, decimal) = if format == Format::Binary { (power, 0) } else { (0, power) };
        let nanos = scale(whole, fraction, binary, decimal);
        // So small a binary amount is told in decimals.
        let format = if format == Format::Binary && nanos < NANO { Format::Decimal } else { format };
        Ok(Self { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// Reads one that stands in an object, as a text or a number; none if it is no quantity.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            Value::Number(number) => Self::parse(&number.to_string()).ok(),
            _ => None,
        }
    }

    /// The amount in billionths.
    pub(crate) fn nanos(self) -> i128 {
        self.nanos
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// The canonical form: no fraction, the largest unit that allows that.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let units = self.nanos / NANO;
        if self.format == Format::Binary && self.nanos % NANO == 0 && !(-1023..=1023).contains(&units) {
            let (mut number, mut power) = (units, 0_usize);
            while number % 1024 == 0 && power < 6 {
                number /= 1024;
                power += 1;
            }
            return write!(f, "{number}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(power).unwrap_or(&""));
        }
        let (mut number, mut power) = (self.nanos, -9);
        while number % 1000 == 0 && (power < 18 || self.format == Format::Exponent) {
            number /= 1000;
            power += 3;
        }
        let unit = match power {
            0 => "",
            _ if self.format == Format::Exponent => return write!(f, "{number}e{power}"),
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            _ => "E",
        };
        write!(f, "{number}{unit}")
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// What the expression of the error's text asks for: letters of units, a sign, digits.
fn check_form(text: &str, suffix: &str) -> Result<(), &'static str> {
    let rest = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if text.is_empty() || !rest.chars().all(|c| c.is_ascii_digit()) {
        return Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    }
    Ok(())
}

fn read_suffix(suffix: &str) -> Option<(Format, i32)> {
    Some(match suffix {
        "n" => (Format::Decimal, -9),
        "u" => (Format::Decimal, -6),
        "m" => (Format::Decimal, -3),
        "" => (Format::Decimal, 0),
        "k" => (Format::Decimal, 3),
        "M" => (Format::Decimal, 6),
        "G" => (Format::Decimal, 9),
        "T" => (Format::Decimal, 12),
        "P" => (Format::Decimal, 15),
        "E" => (Format::Decimal, 18),
        "Ki" => (Format::Binary, 10),
        "Mi" => (Format::Binary, 20),
        "Gi" => (Format::Binary, 30),
        "Ti" => (Format::Binary, 40),
        "Pi" => (Format::Binary, 50),
        "Ei" => (Format::Binary, 60),
        other => (Format::Exponent, other.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

/// `whole.fraction` times powers of two and ten, in billionths; rounded up, capped.
fn scale(whole: &str, fraction: &str, binary: i32, decimal: i32) -> i128 {
    let (mut number, mut taken, mut more) = (0_i128, 0_usize, false);
    let mut power = i64::from(decimal) + 9;
    let whole = whole.trim_start_matches('0');
    for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let after_point = index >= whole.len();
        if number == 0 || taken < DIGITS {
            number = number * 10 + i128::from(digit.saturating_sub(b'0'));
            taken += usize::from(number != 0);
            power -= i64::from(after_point);
        } else {
            more |= digit != b'0';
            power += i64::from(!after_point);
        }
    }
    if number == 0 {
        return 0;
    }
    // First up, then down: then nothing is lost that counts.
    for _ in 0..binary {
        number = number.saturating_mul(2);
    }
    while power > 0 && number < MOST {
        number = number.saturating_mul(10);
        power -= 1;
    }
    while power < 0 && (number > 0) {
        more |= number % 10 != 0;
        number /= 10;
        power += 1;
    }
    number = number.saturating_add(i128::from(more));
    if number >= MOST || power > 0 { i128::from(i64::MAX) * NANO } else { number }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_texts_are_read_in_one_pass() {
        let text = format!("{}1.{}", "0".repeat(1_000_000), "5".repeat(1_000_000));
        assert_eq!(Quantity::parse(&text).unwrap().to_string(), "1555555556n");
    }

    #[test]
    fn canonical_forms() {
        for (text, canonical) in [
            ("0", "0"),
            ("0Mi", "0"),
            ("-0", "0"),
            ("1024Mi", "1Gi"),
            ("1536Mi", "1536Mi"),
            ("0.5", "500m"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.1Ki", "102400m"),
            ("0.0001Ki", "102400u"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("100000", "100k"),
            ("1Ki", "1Ki"),
            ("2048Ki", "2Mi"),
            ("1e3", "1e3"),
            ("2000e3", "2e6"),
            ("1E3", "1e3"),
            ("1E", "1E"),
            ("12e-1", "1200e-3"),
            (".5", "500m"),
            ("5.", "5"),
            ("+7", "7"),
            ("-1500m", "-1500m"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("-0.1n", "-1n"),
            ("1.0000000001", "1000000001n"),
            ("00010", "10"),
            ("8Ei", "8Ei"),
            ("0.000000000000000000000000000000000000000000000000001", "1n"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_kubernetes() {
        for (text, error) in [
            ("", "regular expression"),
            ("abc", "regular expression"),
            ("1 ", "regular expression"),
            ("1.2.3", "regular expression"),
            ("1Xi", "regular expression"),
            ("1e3x", "regular expression"),
            ("1mm", "suffix"),
            ("1K", "suffix"),
            ("1e", "suffix"),
            ("1e99999999999", "suffix"),
            (".", "numeric"),
            ("-", "numeric"),
            ("Mi", "numeric"),
        ] {
            assert!(Quantity::parse(text).unwrap_err().contains(error), "{text}: {:?}", Quantity::parse(text));
        }
    }

    #[test]
    fn amounts_compare_over_notations() {
        let read = |text| Quantity::parse(text).unwrap();
        assert!(read("1Gi") == read("1024Mi") && read("1k") < read("1Ki") && read("-1") < Quantity::ZERO);
        assert_eq!(read("99999999999999999999999999999999999999999999999"), read("9223372036854775807"));
        assert_eq!(read("1e2000000000"), read("9223372036854775807"));
        assert_eq!(read("1e-2000000000"), read("1n"));
    }

    proptest! {
        #[test]
        fn canonical_is_a_fixed_point(number in "[+-]?[0-9]{0,40}[.]?[0-9]{0,40}", suffix in "n|u|m||k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e[0-9]|e-[0-9]") {
            if let Ok(quantity) = Quantity::parse(&format!("{number}{suffix}")) {
                let again = Quantity::parse(&quantity.to_string()).unwrap();
                prop_assert_eq!(again, quantity);
                prop_assert_eq!(again.to_string(), quantity.to_string());
            }
        }
        #[test]
        fn junk_never_panics(text in ".{0,20}") { let _ = Quantity::parse(&text).map(|quantity| quantity.to_string()); }
    }
}
