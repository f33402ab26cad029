//! Free ports of 127.0.0.1. Owns their choice: below the range that the system takes for
//! outgoing connections, so that a port stays free while its server restarts.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, bail};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// How many ports this process has looked at.
static LOOKED: AtomicU16 = AtomicU16::new(0);

/// A port that nobody listens on, and that this process was not given before.
///
/// # Errors
/// If there is none.
pub fn free_port() -> Result<u16> {
    // Processes begin at different places, so that two that start together seldom meet.
    let begin = process::id().wrapping_mul(2_654_435_761) >> 16;
    for _ in 0..COUNT {
        let offset = begin.wrapping_add(u32::from(LOOKED.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port of 127.0.0.1 from {FIRST} on is free")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wait::until;

    #[tokio::test]
    async fn ports_differ_and_can_be_had() {
        let first = free_port().unwrap();
        // A child that another test starts right now holds a copy of our socket until it runs.
        let held = until("the port", Duration::from_secs(10), async || Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, first)).ok()));
        let _held = held.await.unwrap();
        let second = free_port().unwrap();
        assert_ne!(first, second);
        assert!((FIRST..FIRST + COUNT).contains(&second));
    }
}
