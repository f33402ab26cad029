//! `wharf:plugin/system`: time and randomness. The clock is coarse, so that it is of little
//! use for measuring the host or a neighbour.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::activity::HostFunction;
use crate::bindings::wharf::plugin::system::{self, Timestamp};
use crate::host::Ctx;
use crate::limits::MAX_RANDOM_BYTES;

impl system::Host for Ctx {
    fn now(&mut self) -> wasmtime::Result<Timestamp> {
        self.enter(HostFunction::SystemNow);
        // A clock before 1970 reads as 1970.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Timestamp { seconds: u32::try_from(now.as_secs()).unwrap_or(u32::MAX), nanoseconds: now.subsec_millis() * 1_000_000 })
    }

    fn random(&mut self, len: u32) -> wasmtime::Result<Vec<u8>> {
        self.enter(HostFunction::SystemRandom);
        let mut bytes = vec![0; len.min(MAX_RANDOM_BYTES) as usize];
        rand::fill(&mut bytes);
        Ok(bytes)
    }
}
