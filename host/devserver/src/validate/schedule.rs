//! Schedules of CronJobs: five fields, or a descriptor.
//!
//! Owns whether a schedule can be read, not when it comes around.

/// Least, greatest and names of each field.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Reads a schedule.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let schedule = schedule.trim();
    if schedule.is_empty() {
        return Err("empty spec string".to_owned());
    }
    if let Some(descriptor) = schedule.strip_prefix('@') {
        return match descriptor {
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
            _ => match descriptor.strip_prefix("every ") {
                Some(duration) if is_duration(duration) => Ok(()),
                Some(duration) => Err(format!("failed to parse duration {schedule}: time: invalid duration {duration:?}")),
                None => Err(format!("unrecognized descriptor: {schedule}")),
            },
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly {} fields, found {}: [{}]", FIELDS.len(), fields.len(), fields.join(" ")));
    }
    fields
        .iter()
        .zip(FIELDS)
        .try_for_each(|(text, field)| text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, field)))
}

/// `*`, `3`, `1-5`, `*/2`, `1-5/2`, `mon`.
fn range(part: &str, (least, greatest, names): (u32, u32, &[&str])) -> Result<(), String> {
    let number = |text: &str| -> Result<u32, String> {
        if let Some(index) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(least.saturating_add(u32::try_from(index).unwrap_or_default()));
        }
        text.parse().map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let (span, step) = part.split_once('/').map_or((part, None), |(span, step)| (span, Some(step)));
    if step.is_some_and(|step| step.contains('/')) {
        return Err(format!("too many slashes: {part}"));
    }
    let (from, to) = match span {
        "*" | "?" => (least, greatest),
        span => match span.split_once('-') {
            Some((_, to)) if to.contains('-') => return Err(format!("too many hyphens: {part}")),
            Some((from, to)) => (number(from)?, number(to)?),
            None if step.is_some() => (number(span)?, greatest),
            None => (number(span)?, number(span)?),
        },
    };
    if from < least {
        return Err(format!("beginning of range ({from}) below minimum ({least}): {part}"));
    }
    if to > greatest {
        return Err(format!("end of range ({to}) above maximum ({greatest}): {part}"));
    }
    if from > to {
        return Err(format!("beginning of range ({from}) beyond end of range ({to}): {part}"));
    }
    match step.map(number).transpose()? {
        Some(0) => Err(format!("step of range should be a positive number: {part}")),
        _ => Ok(()),
    }
}

/// Go's durations: `1h30m`, `1.5s`.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    loop {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let Some((number, unit)) = rest.split_at_checked(digits) else { return false };
        let after = ["ns", "us", "µs", "ms", "s", "m", "h"].iter().find_map(|name| {
            let after = unit.strip_prefix(name)?;
            (after.is_empty() || after.starts_with(|c: char| c.is_ascii_digit())).then_some(after)
        });
        match after {
            Some(after) if number.parse::<f64>().is_ok() => rest = after,
            _ => return false,
        }
        if rest.is_empty() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for right in ["* * * * *", "*/5 0 1,15 * MON-FRI", "0 0 ? JAN sun", "1-5/2 3/4 * * 0", "@daily", "@every 1h30m", "@every 1.5s"] {
            assert_eq!(parse(right), Ok(()), "{right}");
        }
        for wrong in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "1-2-3 * * * *",
            "@often",
            "@every soon",
            "@every ",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("* *"), Err("expected exactly 5 fields, found 2: [* *]".to_owned()));
    }
}
