//! The ceilings of one call. Owns the numbers, the limiter of memories and tables, the meter
//! of processor time, and the cutting of texts that come from guests. Never decides what an
//! exceeded limit is called (that is `failure`).

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use wasmtime::ResourceLimiter;

use crate::failure::Stop;
use crate::guest_memory::Share;
use crate::used::Sums;

/// Hard ceiling of one memory, in bytes; `limits.memory` is usually lower.
pub(crate) const MAX_MEMORY_BYTES: usize = 256 << 20;
/// So long an answer that a guest waits for counts at most as its own time: how long a server takes is not its doing,
/// how often it asks is.
const OWN_WAIT: Duration = Duration::from_millis(3);
/// Resources (streams, pollables) that the host keeps for an instance.
pub(crate) const MAX_RESOURCES: usize = 256;
/// Frames of a backtrace.
pub(crate) const MAX_FRAMES: usize = 16;
/// A message of a guest or of a strike, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 4096;
/// `fault.reason`, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 64;
/// Fields of one log line.
pub(crate) const MAX_LOG_FIELDS: usize = 32;
/// The name of a log field, in bytes.
pub(crate) const MAX_FIELD_NAME_BYTES: usize = 128;
/// What `describe` may answer, in bytes.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 256 << 10;
/// Errors that `validate-config` may name.
pub(crate) const MAX_CONFIG_ERRORS: usize = 64;
/// Pointers in one `get-many` or `changed`.
pub(crate) const MAX_POINTERS: usize = 256;
/// Random bytes in one call.
pub(crate) const MAX_RANDOM_BYTES: u32 = 65_536;

/// Sums all memories and all tables of an instance, and remembers what it refused.
#[derive(Debug)]
pub(crate) struct Limiter {
    max_bytes: usize,
    max_elements: usize,
    bytes: usize,
    peak: usize,
    elements: usize,
    refused: Option<Refused>,
    sums: Arc<Sums>,
    share: Share,
}

/// A growth that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Bytes wanted, bytes allowed.
    Memory(usize, usize),
    /// Elements wanted, elements allowed.
    Table(usize, usize),
    /// Bytes wanted more, bytes that all guests may have together.
    Shared(usize, u64),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(want, max) => write!(f, "{want} bytes of memory were asked for, {max} are allowed"),
            Self::Shared(want, max) => write!(f, "{want} more bytes of memory were asked for, of {max} for all guests too few are left"),
            Self::Table(want, max) => write!(f, "{want} table elements were asked for, {max} are allowed"),
        }
    }
}

impl Limiter {
    /// For an instance of the revision that has these sums.
    pub(crate) fn new(max_bytes: u64, max_elements: usize, sums: Arc<Sums>, share: Share) -> Self {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        Self { max_bytes, max_elements, bytes: 0, peak: 0, elements: 0, refused: None, sums, share }
    }

    /// The most that all memories together ever had, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// What all memories together have now, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Another call starts: what was refused in the one before says nothing about it.
    pub(crate) fn begin(&mut self) {
        self.refused = None;
    }

    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.sums.resized(self.bytes, 0);
        self.share.give(self.bytes as u64);
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.bytes.saturating_sub(current).saturating_add(desired);
        // What nobody can ever have is the guest's own fault, whoever has the rest now.
        let most = usize::try_from(self.share.most()).unwrap_or(usize::MAX);
        let allowed = self.max_bytes.min(MAX_MEMORY_BYTES).min(most);
        if total > self.max_bytes.min(most) || desired > MAX_MEMORY_BYTES {
            self.refused = Some(Refused::Memory(total, allowed));
            return Ok(false);
        }
        // Beyond its own maximum a memory does not grow, so nothing is counted.
        if maximum.is_none_or(|maximum| desired <= maximum) {
            let more = total.saturating_sub(self.bytes);
            if !self.share.take(more as u64) {
                self.refused = Some(Refused::Shared(more, self.share.limit()));
                return Ok(false);
            }
            // It goes on with what it has got.
            self.refused = None;
            self.sums.resized(self.bytes, total);
            self.bytes = total;
            self.peak = self.peak.max(total);
        }
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements.saturating_sub(current).saturating_add(desired);
        if total > self.max_elements.saturating_mul(3) || desired > self.max_elements {
            self.refused = Some(Refused::Table(total, self.max_elements));
            return Ok(false);
        }
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.elements = total;
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        200
    }

    fn memories(&self) -> usize {
        4
    }

    fn tables(&self) -> usize {
        32
    }
}

/// Wall and processor time of the running part of a call. Checked on every tick that the
/// guest is on the processor, and inside host functions that work for long.
#[derive(Debug)]
pub(crate) struct Budget {
    deadline: Instant,
    cpu: Duration,
    meter: Arc<CpuMeter>,
}

impl Budget {
    /// A budget with nothing in it: arm it before each part of a call.
    pub(crate) fn new(meter: Arc<CpuMeter>) -> Self {
        Self { deadline: Instant::now(), cpu: Duration::ZERO, meter }
    }

    /// Starts a new part of the call with a budget of its own.
    pub(crate) fn arm(&mut self, wall: Duration, cpu: Duration) {
        let now = Instant::now();
        // A day is for ever; it also keeps the sum in range.
        self.deadline = now + wall.min(Duration::from_secs(86_400));
        self.cpu = self.meter.used().saturating_add(cpu);
    }

    /// The call waits for an answer of a port, or has it.
    pub(crate) fn asks(&self, asks: bool) {
        self.meter.asks(asks);
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A tick is over: the guest gives its thread back if there is something left of both.
    pub(crate) fn tick(&self) -> Result<(), Stop> {
        self.check()?;
        self.meter.yielded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Is there something left of both?
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.meter.used() >= self.cpu {
            return Err(Stop::Cpu);
        }
        if Instant::now() >= self.deadline {
            return Err(Stop::Wall);
        }
        Ok(())
    }
}

/// Processor time of one call, measured by the thread's own clock around every poll: time in
/// which the call waits, or in which other threads have the processor, does not count.
#[derive(Debug, Default)]
pub struct CpuMeter {
    spent: AtomicU64,
    entered: AtomicU64,
    waited: AtomicU64,
    rested: AtomicU64,
    asks: AtomicBool,
    yielded: AtomicBool,
    sums: Arc<Sums>,
}

impl CpuMeter {
    /// For an instance of the revision that has these sums.
    pub(crate) fn new(sums: Arc<Sums>) -> Self {
        let zero = AtomicU64::default;
        let flag = AtomicBool::default;
        Self { spent: zero(), entered: zero(), waited: zero(), rested: zero(), asks: flag(), yielded: flag(), sums }
    }

    /// Time of all polls that have ended.
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }

    /// Has the guest given its thread back since the last question, because a tick was over?
    pub fn yielded(&self) -> bool {
        // No swap: mostly it has not.
        self.yielded.load(Ordering::Relaxed) && self.yielded.swap(false, Ordering::Relaxed)
    }

    /// Adds time for which the call has waited for its turn.
    pub fn waited(&self, long: Duration) {
        self.waited.fetch_add(u64::try_from(long.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The call waits for an answer of a port, or has it.
    pub(crate) fn asks(&self, asks: bool) {
        self.asks.store(asks, Ordering::Relaxed);
    }

    /// For how long the call has slept since the last question, without what it waited for others; of each answer of a
    /// port a little is its own.
    pub(crate) fn take_rested(&self) -> Duration {
        Duration::from_nanos(self.rested.swap(0, Ordering::Relaxed))
    }

    /// The time that was waited since the last question.
    pub(crate) fn take_waited(&self) -> Duration {
        Duration::from_nanos(self.waited.swap(0, Ordering::Relaxed))
    }

    /// Time used up to now. Right only on the thread that is running the call.
    pub(crate) fn used(&self) -> Duration {
        let running = match self.entered.load(Ordering::Relaxed) {
            0 => 0,
            entered => thread_nanos().saturating_sub(entered),
        };
        Duration::from_nanos(self.spent.load(Ordering::Relaxed).saturating_add(running))
    }

    /// Runs a future and counts the time of its polls.
    pub(crate) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        // Since when it sleeps, and what it had waited for turns by then.
        let mut sleeps: Option<(Instant, u64)> = None;
        std::future::poll_fn(|cx| {
            if let Some((since, waited)) = sleeps.take() {
                // Who wakes up waits for a turn first.
                let waited = self.waited.load(Ordering::Relaxed).saturating_sub(waited);
                let rested = since.elapsed().saturating_sub(Duration::from_nanos(waited));
                let own = if self.asks.load(Ordering::Relaxed) { rested.min(OWN_WAIT) } else { rested };
                self.rested.fetch_add(u64::try_from(own.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            self.yielded.store(false, Ordering::Relaxed);
            self.entered.store(thread_nanos().max(1), Ordering::Relaxed);
            let poll = future.as_mut().poll(cx);
            let entered = self.entered.swap(0, Ordering::Relaxed);
            let nanos = thread_nanos().saturating_sub(entered);
            self.spent.fetch_add(nanos, Ordering::Relaxed);
            self.sums.computed(nanos);
            // Who gives its thread back after a tick does not sleep.
            if poll.is_pending() && !self.yielded.load(Ordering::Relaxed) {
                sleeps = Some((Instant::now(), self.waited.load(Ordering::Relaxed)));
            }
            poll
        })
        .await
    }
}

fn thread_nanos() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// At most `max` bytes of a guest's text, with escapes as `printable` has them: what goes to logs
/// and statuses must not be able to fake a line.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for c in text.chars() {
        let before = out.len();
        wharf_core::print(c, &mut out);
        if out.len() > max {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_memory::GuestMemory;

    fn share() -> Share {
        GuestMemory::new(None, &Arc::default()).share("a")
    }

    #[test]
    fn memories_are_summed_and_the_refusal_is_kept() {
        let mut limiter = Limiter::new(10 << 16, 0, Arc::default(), share());
        assert!(limiter.memory_growing(0, 6 << 16, None).unwrap());
        assert!(limiter.memory_growing(0, 4 << 16, Some(4 << 16)).unwrap());
        assert_eq!((limiter.peak(), limiter.refused()), (10 << 16, None));
        assert!(!limiter.memory_growing(4 << 16, 5 << 16, None).unwrap());
        assert_eq!(limiter.refused(), Some(Refused::Memory(11 << 16, 10 << 16)));
        assert_eq!(limiter.peak(), 10 << 16);
    }

    #[test]
    fn what_others_have_now_is_short_and_what_nobody_can_have_is_too_much() {
        let memory = GuestMemory::new(Some(9 << 16), &Arc::default());
        let mut one = Limiter::new(100 << 16, 0, Arc::default(), memory.share("a"));
        let mut other = Limiter::new(100 << 16, 0, Arc::default(), memory.share("b"));
        assert!(one.memory_growing(0, 6 << 16, None).unwrap());
        assert!(!other.memory_growing(0, 4 << 16, None).unwrap());
        assert_eq!(other.refused(), Some(Refused::Shared(4 << 16, 9 << 16)));
        assert!(other.memory_growing(0, 3 << 16, None).unwrap());
        assert_eq!(other.refused(), None, "it went on with less");
        assert!(!one.memory_growing(6 << 16, 9 << 16, None).unwrap());
        assert_eq!(one.refused(), Some(Refused::Memory(9 << 16, 8 << 16)), "eight ninths");
        drop(one);
        assert!(other.memory_growing(3 << 16, 8 << 16, None).unwrap());
    }

    #[test]
    fn growth_beyond_a_memorys_own_maximum_counts_nothing() {
        let mut limiter = Limiter::new(10 << 16, 0, Arc::default(), share());
        assert!(limiter.memory_growing(0, 3 << 16, Some(2 << 16)).unwrap());
        assert_eq!(limiter.peak(), 0);
    }

    #[test]
    fn tables_have_a_ceiling_each_and_together() {
        let mut limiter = Limiter::new(0, 1000, Arc::default(), share());
        assert!(limiter.table_growing(0, 1000, None).unwrap());
        assert!(!limiter.table_growing(0, 1000 + 1, None).unwrap());
        for _ in 0..2 {
            assert!(limiter.table_growing(0, 1000, None).unwrap());
        }
        assert!(!limiter.table_growing(0, 1000, None).unwrap());
    }

    #[test]
    fn texts_are_cut_at_characters_and_cannot_fake_lines() {
        assert_eq!(clean("a\nb\u{1b}[31m\u{2028}", 64), "a\\nb\\u{1b}[31m\\u{2028}");
        assert_eq!(clean("éééé", 5), "éé…");
        assert_eq!(clean("abc", 3), "abc");
    }

    #[tokio::test]
    async fn waiting_costs_no_processor_time() {
        let meter = CpuMeter::default();
        meter
            .measure(async {
                tokio::task::yield_now().await;
                assert!(meter.entered.load(Ordering::Relaxed) > 0);
            })
            .await;
        let spent = meter.used();
        assert!(spent > Duration::ZERO);
        assert_eq!(meter.used(), spent, "nothing is counted outside polls");
    }
}
