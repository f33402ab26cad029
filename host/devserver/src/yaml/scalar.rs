//! What a scalar is: the rules of go-yaml v2, which Kubernetes reads with. Owns no text and no structure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

/// The value of a scalar that has neither quotes nor a tag.
///
/// # Errors
/// For numbers that JSON does not have.
pub(super) fn plain(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Ok(true.into()),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Ok(false.into()),
        ".nan" | ".NaN" | ".NAN" => return Err("json: unsupported value: NaN".to_owned()),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Err("json: unsupported value: +Inf".to_owned()),
        "-.inf" | "-.Inf" | "-.INF" => return Err("json: unsupported value: -Inf".to_owned()),
        _ => {}
    }
    let number = match text.as_bytes() {
        [b'0'..=b'9' | b'+' | b'-', ..] => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| float(&digits))
        }
        [b'.', ..] => float(text),
        _ => None,
    };
    Ok(number.unwrap_or_else(|| text.into()))
}

/// The value of a scalar with a tag of YAML's own (`!!int` is `int`); others mean text.
///
/// # Errors
/// If it is none of the tag.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Value, String> {
    if tag == "binary" {
        let bytes = STANDARD.decode(text.replace(['\n', '\r'], "")).map_err(|_| "!!binary value contains invalid base64 data")?;
        return Ok(String::from_utf8_lossy(&bytes).into());
    }
    if !matches!(tag, "int" | "float" | "bool" | "null") {
        return Ok(text.into());
    }
    let value = plain(text)?;
    let fits = match tag {
        "int" => value.is_i64() || value.is_u64(),
        "float" => value.is_number(),
        "bool" => value.is_boolean(),
        _ => value.is_null(),
    };
    if fits { Ok(value) } else { Err(format!("cannot decode `{text}` as a !!{tag}")) }
}

/// A value as the name of a member.
///
/// # Errors
/// If it cannot be one.
pub(super) fn name(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) if !number.is_u64() || number.is_i64() => Ok(number.to_string()),
        Value::Array(_) | Value::Object(_) => Err("invalid map key: a sequence or a map".to_owned()),
        other => Err(format!("unsupported map key: {other}")),
    }
}

/// As Go's `ParseInt` with base 0: a leading zero means octal.
fn integer(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let prefixed = |lower: &str, upper: &str| unsigned.strip_prefix(lower).or_else(|| unsigned.strip_prefix(upper));
    let radixes = [(16, prefixed("0x", "0X")), (8, prefixed("0o", "0O")), (2, prefixed("0b", "0B")), (8, unsigned.strip_prefix('0'))];
    let octal_or_other = radixes.into_iter().find_map(|(radix, digits)| Some((radix, digits?)));
    let (radix, digits) = octal_or_other.filter(|(_, digits)| unsigned != "0" || !digits.is_empty()).unwrap_or((10, unsigned));
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if text.starts_with('-') { 0_i64.checked_sub_unsigned(magnitude).map(Value::from) } else { Some(magnitude.into()) }
}

/// A decimal number, as an integer if it is one: JSON does not tell 1 from 1.0.
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || exponent.is_empty() || ![whole, fraction, exponent].into_iter().all(digits) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    let integer = number.to_string().parse::<i64>().ok().map(Value::from);
    integer.or_else(|| Number::from_f64(number).map(Value::Number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What `sigs.k8s.io/yaml` v1.6.0 makes of them.
    #[test]
    fn plain_scalars() {
        for (text, want) in [
            ("0644", json!(420)),
            ("0689", json!(689)),
            ("0o644", json!(420)),
            ("0O7", json!(7)),
            ("0x1F", json!(31)),
            ("0X1f", json!(31)),
            ("0b101", json!(5)),
            ("1_000", json!(1000)),
            ("190:20:30", json!("190:20:30")),
            ("-0644", json!(-420)),
            ("+0644", json!(420)),
            ("+12", json!(12)),
            ("0", json!(0)),
            ("-0", json!(0)),
            ("00", json!(0)),
            ("08", json!(8)),
            ("09.5", json!(9.5)),
            ("yes", json!(true)),
            ("off", json!(false)),
            ("y", json!(true)),
            ("N", json!(false)),
            ("yES", json!("yES")),
            ("tRUE", json!("tRUE")),
            ("Null", json!(null)),
            ("nUll", json!("nUll")),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000)),
            ("1e-3", json!(0.001)),
            (".5", json!(0.5)),
            ("5.", json!(5)),
            ("-.5", json!(-0.5)),
            ("+.5", json!(0.5)),
            (".", json!(".")),
            ("-", json!("-")),
            ("+", json!("+")),
            ("e5", json!("e5")),
            ("..5", json!("..5")),
            (".5e3", json!(500)),
            ("2001-01-01", json!("2001-01-01")),
            ("12345678901234567890", json!(12_345_678_901_234_567_890_u64)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.0", json!(1)),
            ("1e999", json!("1e999")),
            ("1,000", json!("1,000")),
            ("0x_1F", json!(31)),
            ("-0x1F", json!(-31)),
            ("-0b11", json!(-3)),
            ("06_44", json!(420)),
            ("1_0.5", json!(10.5)),
            ("0e1", json!(0)),
            ("=", json!("=")),
            ("_1", json!("_1")),
            ("0_", json!(0)),
            ("0x", json!("0x")),
            ("1.5.2", json!("1.5.2")),
            ("0x1.8p3", json!("0x1.8p3")),
            ("infinity", json!("infinity")),
            ("nan", json!("nan")),
            ("1e", json!("1e")),
        ] {
            assert_eq!(plain(text), Ok(want), "{text}");
        }
        assert!([".inf", "-.Inf", ".NaN"].into_iter().all(|text| plain(text).is_err()));
    }

    #[test]
    fn tags() {
        for (tag, text, want) in [
            ("str", "0644", Some(json!("0644"))),
            ("int", "12", Some(json!(12))),
            ("int", "abc", None),
            ("float", "12", Some(json!(12))),
            ("bool", "yes", Some(json!(true))),
            ("null", "", Some(json!(null))),
            ("binary", "aGVsbG8=", Some(json!("hello"))),
            ("binary", "a", None),
            ("timestamp", "2001-01-01", Some(json!("2001-01-01"))),
            ("other", "12", Some(json!("12"))),
        ] {
            assert_eq!(tagged(tag, text).ok(), want, "!!{tag} {text}");
        }
    }
}
