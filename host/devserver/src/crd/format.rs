//! The formats of strings that the server checks. Owns the list of names and each check; an unknown format holds for any text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::pattern;

/// Whether a text is of the format; `None` for a format that nobody checks.
pub(super) fn holds(format: &str, text: &str) -> Option<bool> {
    Some(match format {
        "date-time" | "datetime" => is_date_time(text),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => is_duration(text),
        "byte" => is_base64(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() || text.starts_with('/')),
        "hexcolor" => is_hex_color(text),
        "rgbcolor" => is_rgb_color(text),
        "creditcard" => is_card(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "isbn" => isbn10(text) || isbn13(text),
        "ssn" => is_ssn(text),
        "k8s-short-name" => is_label(text),
        "k8s-long-name" => text.len() <= 253 && text.split('.').all(is_label),
        _ => return None,
    })
}

/// A point in time of RFC 3339.
pub(super) fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let separated = bytes.get(10).is_some_and(|t| matches!(t, b'T' | b't'));
    let zoned = text.ends_with(['Z', 'z'])
        || bytes.len().checked_sub(6).and_then(|at| bytes.get(at)).is_some_and(|sign| matches!(sign, b'+' | b'-'));
    separated && zoned && text.len() <= 64 && !text.contains('[') && text.parse::<jiff::Timestamp>().is_ok()
}

/// A Go duration, or the words that go-openapi knows: `1h30m`, `3 days`.
fn is_duration(text: &str) -> bool {
    static WORDS: &[&str] = &[
        "ns",
        "nano",
        "nanos",
        "nanosecond",
        "nanoseconds",
        "us",
        "µs",
        "micro",
        "micros",
        "microsecond",
        "microseconds",
        "ms",
        "milli",
        "millis",
        "millisecond",
        "milliseconds",
        "s",
        "sec",
        "secs",
        "second",
        "seconds",
        "m",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hr",
        "hrs",
        "hour",
        "hours",
        "d",
        "day",
        "days",
        "w",
        "wk",
        "wks",
        "week",
        "weeks",
    ];
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return true;
    }
    let mut rest = unsigned.trim();
    if rest.is_empty() || rest.len() > 128 {
        return false;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Some((number, tail)) = rest.split_at_checked(end) else { return false };
        let tail = tail.trim_start();
        let end = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let Some((unit, tail)) = tail.split_at_checked(end) else { return false };
        if number.parse::<f64>().is_err() || !WORDS.contains(&unit) {
            return false;
        }
        rest = tail.trim_start();
    }
    true
}

fn is_base64(text: &str) -> bool {
    use base64::Engine;
    !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let dashed = text.len() == 36 && [8, 13, 18, 23].iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'));
    let of_version = version.is_none_or(|version| digits.chars().nth(12) == Some(version));
    let variant =
        matches!(version, None | Some('3')) || digits.chars().nth(16).is_some_and(|c| matches!(c, '8' | '9' | 'a' | 'b' | 'A' | 'B'));
    (dashed || text.len() == 32) && digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit()) && of_version && variant
}

fn is_cidr(text: &str) -> bool {
    let Some((ip, bits)) = text.split_once('/') else { return false };
    let canonical =
        !bits.is_empty() && bits.len() <= 3 && bits.chars().all(|c| c.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    match (ip.parse::<IpAddr>(), bits.parse::<u8>()) {
        (Ok(ip), Ok(bits)) => canonical && bits <= if ip.is_ipv4() { 32 } else { 128 },
        _ => false,
    }
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(|part| part.len() == 2 && part.chars().all(|c| c.is_ascii_hexdigit()))
}

fn is_email(text: &str) -> bool {
    let address = text.rsplit_once('<').map_or(text, |(_, rest)| rest.strip_suffix('>').unwrap_or(""));
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_word =
        |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "()<>,;:\\\"[]@".contains(c));
    is_word(local) && is_word(domain) && !local.starts_with('.') && !local.ends_with('.') && !domain.split('.').any(str::is_empty)
}

fn is_hostname(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    !text.is_empty() && text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_part)
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_rgb_color(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|text| text.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    })
}

fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter(|c| !matches!(c, ' ' | '-')).map_while(|c| c.to_digit(10)).collect();
    let plain = text.chars().filter(|c| !matches!(c, ' ' | '-')).count() == digits.len();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            if at % 2 == 1 {
                let twice = digit * 2;
                if twice > 9 { twice - 9 } else { twice }
            } else {
                *digit
            }
        })
        .sum();
    plain && (13..=16).contains(&digits.len()) && sum.is_multiple_of(10)
}

fn isbn10(text: &str) -> bool {
    let signs: Vec<char> = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let weight = |(at, sign): (usize, &char)| match sign.to_digit(10) {
        Some(digit) => u32::try_from(at).ok().map(|at| (10_u32.saturating_sub(at)).saturating_mul(digit)),
        None if *sign == 'X' && at == 9 => Some(10),
        None => None,
    };
    signs.len() == 10 && signs.iter().enumerate().map(weight).sum::<Option<u32>>().is_some_and(|sum| sum.is_multiple_of(11))
}

fn isbn13(text: &str) -> bool {
    let signs: Vec<char> = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let weight = |(at, sign): (usize, &char)| sign.to_digit(10).map(|digit| if at % 2 == 1 { digit.saturating_mul(3) } else { digit });
    signs.len() == 13 && signs.iter().enumerate().map(weight).sum::<Option<u32>>().is_some_and(|sum| sum.is_multiple_of(10))
}

fn is_ssn(text: &str) -> bool {
    pattern::compile(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$").is_ok_and(|regex| regex.is_match(text))
}

/// A DNS label.
pub(super) fn is_label(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    !text.is_empty() && text.len() <= 63 && text.chars().all(|c| plain(c) || c == '-') && text.starts_with(plain) && text.ends_with(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        for (format, good, bad) in [
            (
                "date-time",
                &["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+02:00"][..],
                &["2026-01-02", "x", "2026-01-02 03:04:05Z", "2026-13-02T03:04:05Z", ""][..],
            ),
            ("date", &["2026-02-28"], &["2026-02-30", "2026-2-1", "2026-01-02T03:04:05Z"]),
            ("duration", &["1h30m", "3 days", "1.5s", "0"], &["", "1", "h", "1 fortnight"]),
            ("byte", &["YQ=="], &["YQ", "é", ""]),
            (
                "uuid",
                &["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"],
                &["123e4567", "123e4567-e89b-12d3-a456-42661417400g"],
            ),
            ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]),
            ("ipv4", &["1.2.3.4"], &["1.2.3", "::1", "256.1.1.1"]),
            ("ipv6", &["::1"], &["1.2.3.4", "x"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08"]),
            ("mac", &["00:00:5e:00:53:01", "00-00-5e-00-53-01"], &["00:00", "00:00:5e:00:53:0g"]),
            ("email", &["a@b.c", "A B <a@b>"], &["a", "@b", "a@", "a b@c"]),
            ("hostname", &["a.example", "a"], &["", "-a", "a..b", "a b"]),
            ("uri", &["https://a.b/c?d", "/a"], &["a b", ""]),
            ("hexcolor", &["#fff", "a0b1c2"], &["#ff", "xyz"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2)", "rgb(1,2,256)"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112", "x"]),
            ("isbn10", &["0-306-40615-2"], &["0-306-40615-3"]),
            ("isbn13", &["978-0-306-40615-7"], &["978-0-306-40615-8"]),
            ("ssn", &["123-45-6789"], &["123-45-678"]),
            ("k8s-short-name", &["a-b"], &["a.b", "A"]),
            ("k8s-long-name", &["a.b"], &["a..b"]),
        ] {
            for text in good {
                assert_eq!(holds(format, text), Some(true), "{format} {text}");
            }
            for text in bad {
                assert_eq!(holds(format, text), Some(false), "{format} {text}");
            }
        }
        for format in ["int32", "int64", "float", "double", "password", "binary", "mine"] {
            assert_eq!(holds(format, "anything"), None, "{format}");
        }
    }
}
