//! Ceilings of a plugin's calls. Owns the defaults, the ranges and the rule whose wish
//! wins; never enforces them (that is the engine's and the queue's).

use std::ops::RangeInclusive;
use std::time::Duration;

use super::fields::{Node, Problems};

/// The fields of `limits`.
pub(super) const FIELDS: [&str; 4] = ["memory", "deadline", "cpu", "concurrency"];

pub(super) const CPU_TOO_LONG: &str = "cpu is longer than deadline and would never be reached";
pub(super) const CPU_TOO_LONG_HINT: &str = "make cpu at most deadline";

/// Ceilings of one plugin's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes over all memories of an instance.
    pub memory: u64,
    /// Wall time of one call, host calls included.
    pub deadline: Duration,
    /// Processor time of one call.
    pub cpu: Duration,
    /// Calls at the same time.
    pub concurrency: u32,
}

impl Limits {
    /// What `memory` may be, in bytes: 1Mi to 256Mi.
    pub const MEMORY: RangeInclusive<u64> = 1 << 20..=256 << 20;
    /// What `deadline` may be: 10ms to 60s.
    pub const DEADLINE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
    /// What `cpu` may be: 5ms to 10s.
    pub const CPU: RangeInclusive<Duration> = Duration::from_millis(5)..=Duration::from_secs(10);
    /// What `concurrency` may be.
    pub const CONCURRENCY: RangeInclusive<u64> = 1..=64;
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 64 << 20, deadline: Duration::from_secs(10), cpu: Duration::from_millis(200), concurrency: 4 }
    }
}

impl From<Limits> for AskedLimits {
    fn from(limits: Limits) -> Self {
        let Limits { memory, deadline, cpu, concurrency } = limits;
        Self { memory: Some(memory), deadline: Some(deadline), cpu: Some(cpu), concurrency: Some(concurrency) }
    }
}

/// Limits that somebody asks for; `None` where they have no wish. Every value that is
/// there is within its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedLimits {
    /// See [`Limits::memory`].
    pub memory: Option<u64>,
    /// See [`Limits::deadline`].
    pub deadline: Option<Duration>,
    /// See [`Limits::cpu`].
    pub cpu: Option<Duration>,
    /// See [`Limits::concurrency`].
    pub concurrency: Option<u32>,
}

impl AskedLimits {
    /// These wishes, and the other's where there is none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            memory: self.memory.or(other.memory),
            deadline: self.deadline.or(other.deadline),
            cpu: self.cpu.or(other.cpu),
            concurrency: self.concurrency.or(other.concurrency),
        }
    }

    /// These wishes, and the defaults where there is none.
    pub fn fill(self, defaults: &Limits) -> Limits {
        Limits {
            memory: self.memory.unwrap_or(defaults.memory),
            deadline: self.deadline.unwrap_or(defaults.deadline),
            cpu: self.cpu.unwrap_or(defaults.cpu),
            concurrency: self.concurrency.unwrap_or(defaults.concurrency),
        }
    }

    /// Reads `{memory, deadline, cpu, concurrency}`; wrong ones are problems and left out.
    pub(super) fn read(node: &Node<'_>, problems: &mut Problems) -> Self {
        let Some(object) = node.object(&FIELDS, &[], problems) else { return Self::default() };
        let limits = Self {
            memory: object.get("memory").and_then(|n| n.bytes(&Limits::MEMORY, problems)),
            deadline: object.get("deadline").and_then(|n| n.duration(&Limits::DEADLINE, problems)),
            cpu: object.get("cpu").and_then(|n| n.duration(&Limits::CPU, problems)),
            concurrency: object
                .get("concurrency")
                .and_then(|n| n.integer(&Limits::CONCURRENCY, problems))
                .and_then(|n| u32::try_from(n).ok()),
        };
        if let (Some(cpu), Some(deadline), Some(node)) = (limits.cpu, limits.deadline, object.get("cpu"))
            && cpu > deadline
        {
            problems.invalid(node.at(), CPU_TOO_LONG, CPU_TOO_LONG_HINT);
        }
        limits
    }
}
