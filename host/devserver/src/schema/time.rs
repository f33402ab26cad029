//! Times in objects: RFC 3339 with seconds (Time) or with exactly six decimals (MicroTime), always in UTC. Owns reading, writing and
//! the error texts of Go's `time.Parse`. Reads no clock.

use jiff::Timestamp;
use jiff::tz::Offset;

/// Reads a Time and writes it in UTC with whole seconds; `None` for Go's zero time, which is the same as none.
///
/// # Errors
/// Go's text.
pub(super) fn seconds(text: &str) -> Result<Option<String>, String> {
    parse(text, false).map(|time| time.and_then(|time| write(time, false)))
}

/// Reads a MicroTime, which must have six decimals, and writes it in UTC.
///
/// # Errors
/// Go's text.
pub(super) fn micros(text: &str) -> Result<Option<String>, String> {
    parse(text, true).map(|time| time.and_then(|time| write(time, true)))
}

/// A time from protobuf, as JSON has it; `None` where that has no such year.
pub(super) fn from_unix(seconds: i64, nanos: i32, micros: bool) -> Option<String> {
    write(Timestamp::new(seconds, nanos).ok()?, micros)
}

/// A time as objects carry it: in UTC with whole seconds.
pub(crate) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn write(time: Timestamp, micros: bool) -> Option<String> {
    let utc = Offset::UTC.to_datetime(time);
    if !(0..=9999).contains(&utc.year()) {
        return None;
    }
    let text = utc.strftime(if micros { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" });
    Some(text.to_string())
}

/// Seconds of 0001-01-01T00:00:00Z.
const ZERO: i64 = -62_135_596_800;

fn parse(text: &str, micros: bool) -> Result<Option<Timestamp>, String> {
    let layout = if micros { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    check(text, micros).map_err(|why| format!("parsing time {text:?}{}", why.tell(layout)))?;
    // Its form is right; what a month does not have is left.
    let time: Timestamp = text.parse().map_err(|_| format!("parsing time {text:?}: day out of range"))?;
    let zero = time.as_second() == ZERO && time.subsec_nanosecond() == 0;
    Ok((!zero).then_some(time))
}

enum Wrong<'a> {
    Element(&'a str, &'static str),
    Range(&'static str),
    Extra(&'a str),
}

impl Wrong<'_> {
    fn tell(&self, layout: &str) -> String {
        match self {
            Wrong::Element(rest, element) => format!(" as {layout:?}: cannot parse {rest:?} as {element:?}"),
            Wrong::Range(what) => format!(": {what} out of range"),
            Wrong::Extra(rest) => format!(": extra text: {rest:?}"),
        }
    }
}

/// Walks over a text as Go does over its layout.
fn check(text: &str, micros: bool) -> Result<(), Wrong<'_>> {
    let mut rest = text;
    let parts: [(&'static str, usize, &'static str, u32, &'static str); 6] = [
        ("2006", 4, "-", 9999, ""),
        ("01", 2, "-", 12, "month"),
        ("02", 2, "T", 31, "day"),
        ("15", 2, ":", 23, "hour"),
        ("04", 2, ":", 59, "minute"),
        ("05", 2, "", 59, "second"),
    ];
    for (element, width, separator, most, what) in parts {
        let (number, after) = digits(rest, width).ok_or(Wrong::Element(rest, element))?;
        if number > most || (number == 0 && matches!(element, "01" | "02")) {
            return Err(Wrong::Range(what));
        }
        rest = after.strip_prefix(separator).ok_or(Wrong::Element(after, separator))?;
    }
    if micros {
        let (_, after) = rest.strip_prefix('.').and_then(|after| digits(after, 6)).ok_or(Wrong::Element(rest, ".000000"))?;
        rest = after;
    } else if let Some(after) = rest.strip_prefix(['.', ',']) {
        let tail = after.trim_start_matches(|c: char| c.is_ascii_digit());
        if tail.len() < after.len() {
            rest = tail;
        }
    }
    let zone = "Z07:00";
    let tail = match rest.strip_prefix('Z') {
        Some(tail) => tail,
        None => {
            let after = rest.strip_prefix(['+', '-']).ok_or(Wrong::Element(rest, zone))?;
            let (hours, after) = digits(after, 2).ok_or(Wrong::Element(rest, zone))?;
            let after = after.strip_prefix(':').ok_or(Wrong::Element(rest, zone))?;
            let (minutes, tail) = digits(after, 2).ok_or(Wrong::Element(rest, zone))?;
            if hours > 24 {
                return Err(Wrong::Range("time zone offset hour"));
            }
            if minutes > 60 {
                return Err(Wrong::Range("time zone offset minute"));
            }
            tail
        }
    };
    if tail.is_empty() { Ok(()) } else { Err(Wrong::Extra(tail)) }
}

fn digits(text: &str, width: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(width)?;
    let all = number.bytes().all(|byte| byte.is_ascii_digit());
    if all { number.parse().ok().map(|number| (number, rest)) } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_told_in_utc() {
        for (text, want) in [
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05Z")),
            ("2026-01-02T03:04:05.999Z", Some("2026-01-02T03:04:05Z")),
            ("2026-01-02T03:04:05+02:30", Some("2026-01-02T00:34:05Z")),
            ("2026-01-01T00:00:00-01:00", Some("2026-01-01T01:00:00Z")),
            ("0001-01-01T00:00:00Z", None),
        ] {
            assert_eq!(seconds(text).unwrap().as_deref(), want, "{text}");
        }
        assert_eq!(micros("2026-01-02T03:04:05.000001+01:00").unwrap().unwrap(), "2026-01-02T02:04:05.000001Z");
    }

    #[test]
    fn errors_are_those_of_go() {
        let second = "\"2006-01-02T15:04:05Z07:00\"";
        let micro = "\"2006-01-02T15:04:05.000000Z07:00\"";
        for (text, is_micro, want) in [
            ("", false, format!("parsing time \"\" as {second}: cannot parse \"\" as \"2006\"")),
            ("abc", false, format!("parsing time \"abc\" as {second}: cannot parse \"abc\" as \"2006\"")),
            ("2026-01-02", false, format!("parsing time \"2026-01-02\" as {second}: cannot parse \"\" as \"T\"")),
            ("2026-01-02T03:04:05", false, format!("parsing time \"2026-01-02T03:04:05\" as {second}: cannot parse \"\" as \"Z07:00\"")),
            ("2026-13-02T03:04:05Z", false, "parsing time \"2026-13-02T03:04:05Z\": month out of range".to_owned()),
            ("2026-02-30T03:04:05Z", false, "parsing time \"2026-02-30T03:04:05Z\": day out of range".to_owned()),
            ("2026-01-02T03:04:05Zx", false, "parsing time \"2026-01-02T03:04:05Zx\": extra text: \"x\"".to_owned()),
            ("2026-01-01T00:00:00Z", true, format!("parsing time \"2026-01-01T00:00:00Z\" as {micro}: cannot parse \"Z\" as \".000000\"")),
            (
                "2026-01-01T00:00:00.123Z",
                true,
                format!("parsing time \"2026-01-01T00:00:00.123Z\" as {micro}: cannot parse \".123Z\" as \".000000\""),
            ),
        ] {
            let got = if is_micro { micros(text) } else { seconds(text) };
            assert_eq!(got.unwrap_err(), want);
        }
    }

    #[test]
    fn times_out_of_protobuf() {
        assert_eq!(from_unix(1_767_323_045, 678_901_999, true).unwrap(), "2026-01-02T03:04:05.678901Z");
        assert_eq!(from_unix(1_767_323_045, 678_901_999, false).unwrap(), "2026-01-02T03:04:05Z");
        assert!(from_unix(i64::MAX, 0, false).is_none() && from_unix(0, i32::MAX, false).is_none());
    }

    proptest! {
        #[test]
        fn junk_never_panics(text in "[0-9TZ:.+-]{0,36}|.{0,20}") { let _ = (seconds(&text), micros(&text)); }
        #[test]
        fn what_is_written_is_read(second in -62_000_000_000_i64..253_000_000_000, nano in 0_i32..1_000_000_000) {
            let text = from_unix(second, nano, true).unwrap();
            prop_assert_eq!(micros(&text).unwrap().unwrap(), text);
        }
    }
}
