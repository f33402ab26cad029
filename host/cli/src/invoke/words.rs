//! Words and numbers that both outputs use. Owns how times and sizes are written for people.

use std::time::Duration;

use wharf_engine::{ApiError, Level};

/// What an error says beyond its word; empty if nothing.
pub(super) fn text(error: &ApiError) -> &str {
    match error {
        ApiError::NotGranted(text)
        | ApiError::Forbidden(text)
        | ApiError::Conflict(text)
        | ApiError::Invalid(text)
        | ApiError::Unavailable(text) => text,
        ApiError::NotFound | ApiError::AlreadyExists | ApiError::Throttled(_) | ApiError::TooLarge => "",
    }
}

/// The contract's word for a level.
pub(super) const fn level(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

/// Whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A time to three digits or so: `87 µs`, `4.2 ms`, `310 ms`, `2.1 s`.
pub(super) fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.0} µs"),
        ..1e4 => format!("{:.1} ms", micros / 1e3),
        ..1e6 => format!("{:.0} ms", micros / 1e3),
        _ => format!("{:.1} s", micros / 1e6),
    }
}

/// A size to a digit behind the point: `812 bytes`, `1.1 MiB`.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
    let number = bytes as f64;
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", number / 1024.0),
        _ => format!("{:.1} MiB", number / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_for_people() {
        let times = [87, 4_240, 310_400, 2_100_000].map(|micros| time(Duration::from_micros(micros)));
        assert_eq!(times, ["87 µs", "4.2 ms", "310 ms", "2.1 s"]);
        assert_eq!([812, 2048, 1_179_648].map(size), ["812 bytes", "2.0 KiB", "1.1 MiB"]);
    }
}
