//! What the system says about this process. Owns the reading of `/proc`.

use std::fs;

use anyhow::{Context as _, Result};

/// Processor time is counted in hundredths of a second, as everywhere on Linux.
const TICKS: f64 = 100.0;

/// A `Key: value kB` line of `/proc/self/status`.
///
/// # Errors
/// If there is none.
pub(crate) fn kib(key: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).with_context(|| format!("/proc/self/status has no {key}"))
}

/// User and system time of this process, in seconds.
///
/// # Errors
/// If the system does not tell.
pub(crate) fn cpu() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    // The name of the program comes first and may have spaces and brackets.
    let (_, fields) = text.rsplit_once(')').context("/proc/self/stat has no name")?;
    let ticks = |index: usize| fields.split_whitespace().nth(index).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = (ticks(11).context("no user time")?, ticks(12).context("no system time")?);
    Ok((user + system) / TICKS)
}

/// Makes `VmHWM` start again from what is resident now.
///
/// # Errors
/// If the system refuses.
pub(crate) fn reset_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("reset the peak of memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_a_peak_above_it() {
        let (now, peak) = (kib("VmRSS").unwrap(), kib("VmHWM").unwrap());
        assert!(now > 0 && peak >= now, "{now} {peak}");
        assert!(cpu().unwrap() >= 0.0);
    }
}
