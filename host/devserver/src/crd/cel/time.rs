//! Timestamps and durations of CEL: reading, printing, and their parts. Knows no clock.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

/// Nanoseconds of a Go duration: `1h30m`, `-1.5s`, `100ms`. `None` if it is none, or longer than 292 years.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    if rest.is_empty() || text.len() > 128 {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(end)?;
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(end)?;
        let nanos: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || whole.len() > 19 || fraction.len() > 18 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        let below = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        total = total.checked_add(whole.checked_mul(nanos)?)?.checked_add(part.checked_mul(nanos)?.checked_div(below)?)?;
        rest = tail;
    }
    i64::try_from(if negative { total.checked_neg()? } else { total }).ok()
}

/// A point in time as RFC 3339 has it, or a date.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    if let Ok(date) = text.parse::<Date>()
        && text.len() == 10
    {
        return Offset::UTC.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok();
    }
    crate::crd::format::is_date_time(text).then(|| text.parse().ok()).flatten()
}

/// As CEL prints a timestamp.
pub(super) fn print_timestamp(time: Timestamp) -> String {
    time.to_string()
}

/// As CEL prints a duration: seconds.
pub(super) fn print_duration(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let (seconds, below) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if below == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{below:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// A part of a point in time, in UTC or in a fixed offset such as `+02:00`; `None` for a part or a zone that is not known.
pub(super) fn part(time: Timestamp, name: &str, zone: Option<&str>) -> Option<i64> {
    let at: DateTime = offset(zone)?.to_datetime(time);
    Some(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()).saturating_sub(1),
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()).saturating_sub(1),
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(at.day_of_year()).saturating_sub(1),
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.millisecond()),
        _ => return None,
    })
}

fn offset(zone: Option<&str>) -> Option<Offset> {
    let Some(zone) = zone.filter(|zone| !matches!(*zone, "" | "UTC" | "Z")) else { return Some(Offset::UTC) };
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Offset::from_seconds(hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_mul(sign)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, want) in [
            ("0", Some(0)),
            ("1s", Some(1_000_000_000)),
            ("1.5s", Some(1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("-1m30s", Some(-90_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            ("3us", Some(3_000)),
            ("", None),
            ("1", None),
            ("s", None),
            ("1d", None),
            ("1.2.3s", None),
            ("9999999999999h", None),
        ] {
            assert_eq!(duration(text), want, "{text}");
        }
        assert_eq!(print_duration(-1_500_000_000), "-1.5s");
        assert_eq!(print_duration(90_000_000_000), "90s");
    }

    #[test]
    fn parts_of_times() {
        let time = timestamp("2026-03-01T23:30:15.250Z").unwrap();
        for (name, zone, want) in [
            ("getFullYear", None, Some(2026)),
            ("getMonth", None, Some(2)),
            ("getDate", Some("+02:00"), Some(2)),
            ("getHours", Some("-01:30"), Some(22)),
            ("getDayOfWeek", None, Some(0)),
            ("getDayOfYear", None, Some(59)),
            ("getMilliseconds", None, Some(250)),
            ("getHours", Some("Mars"), None),
        ] {
            assert_eq!(part(time, name, zone), want, "{name} {zone:?}");
        }
        assert!(timestamp("2026-03-01").is_some() && timestamp("2026-03-01 10:00").is_none() && timestamp("x").is_none());
    }
}
