//! What a plain YAML scalar is: the core schema of YAML 1.2. Owns the rules and refuses
//! what older parsers read differently; never sees a quoted text.

use serde_json::{Number, Value};

/// The value of a plain scalar.
///
/// # Errors
/// Why it is neither text nor a JSON value.
pub(super) fn value(text: &str) -> Result<Value, &'static str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(true.into()),
        "false" | "False" | "FALSE" => return Ok(false.into()),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("JSON has no such number");
    }
    if !unsigned.is_empty() && unsigned.chars().all(|c| c.is_ascii_digit()) {
        return integer(text, unsigned);
    }
    if let Some((radix, digits)) = text.strip_prefix("0x").map(|d| (16, d)).or_else(|| text.strip_prefix("0o").map(|d| (8, d)))
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_digit(radix))
    {
        return u64::from_str_radix(digits, radix).map(Value::from).map_err(|_| "the number is too large");
    }
    let looks_like_float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    match text.parse::<f64>() {
        Ok(number) if looks_like_float => Number::from_f64(number).map(Value::Number).ok_or("the number is too large"),
        _ => Ok(text.into()),
    }
}

/// Would this text, written plainly, come back as the same text?
pub(super) fn is_plain_text(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'))
        && value(text).is_ok_and(|value| value.is_string())
}

fn integer(text: &str, digits: &str) -> Result<Value, &'static str> {
    if digits.len() > 1 && digits.starts_with('0') {
        return Err("a number with a leading zero is octal for some parsers and decimal for others");
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from)).map_err(|_| "the number is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn core_schema() {
        for (text, want) in [
            ("", Value::Null),
            ("~", Value::Null),
            ("true", json!(true)),
            ("yes", json!("yes")),
            ("off", json!("off")),
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("18446744073709551615", json!(u64::MAX)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("0xZ", json!("0xZ")),
            ("1.5", json!(1.5)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("1.2.3", json!("1.2.3")),
            ("1_000", json!("1_000")),
            ("infinity", json!("infinity")),
            ("nan", json!("nan")),
            ("-", json!("-")),
            (".", json!(".")),
            ("64Mi", json!("64Mi")),
            ("2026-11-29", json!("2026-11-29")),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
        for text in ["0644", "-01", ".inf", "-.INF", ".nan", "1e999", "18446744073709551616", "-9223372036854775809", "0x10000000000000000"]
        {
            assert!(value(text).is_err(), "{text}");
        }
        for (text, plain) in
            [("a/b.yaml", true), ("true", false), ("1", false), (":8080", false), ("", false), ("a b", false), ("64Mi", true)]
        {
            assert_eq!(is_plain_text(text), plain, "{text}");
        }
    }
}
