//! Ages as kubectl shows them: two or three figures of a duration, coarser the longer it is.
//!
//! Owns the reading of timestamps for cells. Asks no clock: `now` is handed in.

use jiff::Timestamp;
use serde_json::Value;

/// What stands for a time that is not there.
const UNKNOWN: &str = "<unknown>";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration of so many seconds as Kubernetes' `duration.HumanDuration` writes it: `119s`, `5m33s`, `3h4m`, `7d23h`, `2y45d`.
pub(super) fn human(seconds: i64) -> String {
    /// The larger unit, and the smaller one unless it is zero.
    fn two(seconds: i64, large: (i64, &str), small: (i64, &str)) -> String {
        let rest = seconds % large.0 / small.0;
        match rest {
            0 => format!("{}{}", seconds / large.0, large.1),
            _ => format!("{}{}{rest}{}", seconds / large.0, large.1, small.1),
        }
    }
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds, (MINUTE, "m"), (1, "s")),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, (HOUR, "h"), (MINUTE, "m")),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, (DAY, "d"), (HOUR, "h")),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The age of an RFC 3339 timestamp at `now` (seconds since the epoch); `<unknown>` if it is absent or unreadable.
pub(super) fn since(timestamp: &Value, now: i64) -> String {
    instant(timestamp).map_or_else(|| UNKNOWN.to_owned(), |then| human(between(then, now)))
}

/// The same for the date columns of custom resources: there an unreadable time is `<invalid>`.
pub(super) fn since_date(text: &str, now: i64) -> String {
    match text {
        "" => UNKNOWN.to_owned(),
        text => text.parse().map_or_else(|_| "<invalid>".to_owned(), |then| human(between(then, now))),
    }
}

/// An RFC 3339 timestamp.
pub(super) fn instant(timestamp: &Value) -> Option<Timestamp> {
    timestamp.as_str()?.parse().ok()
}

/// Whole seconds from `then` to `now`, cut towards zero as Go does.
fn between(then: Timestamp, now: i64) -> i64 {
    let nanoseconds = i128::from(now) * 1_000_000_000 - then.as_nanosecond();
    i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_written_as_kubernetes_does() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (333, "5m33s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 4 * MINUTE + 59, "3h4m"),
            (8 * HOUR, "8h"),
            (48 * HOUR - 1, "47h"),
            (48 * HOUR, "2d"),
            (50 * HOUR, "2d2h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 45 * DAY, "2y45d"),
            (8 * YEAR, "8y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn times_become_ages() {
        let now = 1_000_000_000;
        assert_eq!(since(&json!("2001-09-09T01:46:30Z"), now), "10s");
        assert_eq!(since(&json!("2001-09-09T01:46:30.900000Z"), now), "9s");
        assert_eq!(since(&json!("2001-09-09T03:46:30+02:00"), now), "10s");
        assert_eq!(since(&json!("2001-09-09T01:46:41.500000Z"), now), "0s");
        assert_eq!(since(&json!(null), now), "<unknown>");
        assert_eq!(since_date("soon", now), "<invalid>");
        assert_eq!(since_date("", now), "<unknown>");
    }
}
