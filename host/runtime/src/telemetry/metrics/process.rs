//! `process_*`: this process as Linux sees it, read from /proc at each scrape, and the log
//! lines that standard error did not take. What cannot be read is left out.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::telemetry::logging;

/// Linux gives times of processes in 1/100 s on every architecture that wharf runs on.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(ProcessCollector));
}

/// What this process has used; zero where Linux does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    /// User and system processor time.
    pub cpu_seconds: f64,
    /// Resident memory now.
    pub resident_bytes: u64,
}

impl ProcessUsage {
    /// Reads it.
    pub fn now() -> Self {
        let stat = read("/proc/self/stat").and_then(|text| Stat::parse(&text));
        let resident = read("/proc/self/status").and_then(|text| resident_bytes(&text));
        Self { cpu_seconds: stat.map_or(0.0, |stat| stat.cpu_ticks / TICKS_PER_SECOND), resident_bytes: resident.unwrap_or_default() }
    }
}

#[derive(Debug)]
struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stat = read("/proc/self/stat").and_then(|text| Stat::parse(&text));
        if let Some(stat) = &stat {
            let cpu = ConstCounter::new(stat.cpu_ticks / TICKS_PER_SECOND);
            put(&mut encoder, "process_cpu_seconds", "User and system processor time.", &cpu)?;
        }
        if let Some(bytes) = read("/proc/self/status").and_then(|text| resident_bytes(&text)) {
            put(&mut encoder, "process_resident_memory_bytes", "Resident memory.", &ConstGauge::new(bytes))?;
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder that is being read.
            let open = entries.count().saturating_sub(1);
            put(&mut encoder, "process_open_fds", "Open file descriptors.", &ConstGauge::new(open))?;
        }
        if let (Some(stat), Some(boot)) = (&stat, read("/proc/stat").and_then(|text| boot_time(&text))) {
            let started = ConstGauge::new(boot + stat.start_ticks / TICKS_PER_SECOND);
            put(&mut encoder, "process_start_time_seconds", "Start of the process in seconds since 1970.", &started)?;
        }
        let lost = ConstCounter::new(logging::lines_lost());
        put(&mut encoder, "wharf_log_lines_lost", "Log lines that standard error did not take.", &lost)
    }
}

struct Stat {
    cpu_ticks: f64,
    start_ticks: f64,
}

impl Stat {
    /// Fields are counted after the command, which is in parentheses and may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self { cpu_ticks: field(14)? + field(15)?, start_ticks: field(22)? })
    }
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn put(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, metric: &impl EncodeMetric) -> Result<(), fmt::Error> {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stat_with_a_hostile_name() {
        let text = "1 (a) b) R 1 1 1 0 -1 4 100 0 0 0 250 50 0 0 20 0 1 0 12345 1000 10 18446744073709551615";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.cpu_ticks, stat.start_ticks), (300.0, 12345.0));
        assert!(Stat::parse("nonsense").is_none());
    }

    #[test]
    fn reads_this_process() {
        let resident = read("/proc/self/status").and_then(|text| resident_bytes(&text)).unwrap();
        assert!(resident > 1 << 20, "{resident}");
        assert!(read("/proc/stat").and_then(|text| boot_time(&text)).unwrap() > 1e9);
    }
}
