//! How bytes get through a [`super::Proxy`]. Owns one connection and what may befall it: an
//! end at once or after some bytes, silence, slowness.

use std::io::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::sleep;

use super::ProxyCounts;

/// What connections have to obey now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    pub(super) closed: bool,
    /// Counted, so that no connection survives a cut because it is over so soon.
    pub(super) cuts: u64,
    pub(super) hangs: bool,
    /// Bytes from the server per second and connection.
    pub(super) rate: Option<u64>,
    /// Bytes from the server that a connection may still have from the start of this budget, or
    /// of the connection, on.
    pub(super) budget: Option<u64>,
    /// Number of the budget.
    pub(super) budgets: u64,
}

const BUFFER: usize = 16 << 10;
/// A slow connection gets its bytes in portions, so many a second.
const PORTIONS: u64 = 20;

/// Carries one connection to its end.
pub(super) async fn forward(
    client: TcpStream,
    server: SocketAddr,
    gate: watch::Receiver<Gate>,
    at_start: Gate,
    counts: Arc<watch::Sender<ProxyCounts>>,
) {
    let mut cut = gate.clone();
    let carry = async {
        let upstream = TcpStream::connect(server).await?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = upstream.into_split();
        let up = Pump { gate: gate.clone(), counts: &counts, down: false, budgets: at_start.budgets, budget: None };
        let down = Pump { gate, counts: &counts, down: true, budgets: at_start.budgets, budget: at_start.budget };
        // The end of one direction is passed on, the other goes on; a cut or an error ends both.
        tokio::try_join!(up.run(from_client, to_server), down.run(from_server, to_client))
    };
    tokio::select! {
        // An end on either side is the business of the two sides.
        _ended = carry => {}
        gone = cut.wait_for(|gate| gate.cuts != at_start.cuts) => {
            if gone.is_ok() {
                counts.send_modify(|counts| counts.cut += 1);
            }
        }
    }
}

/// One direction of a connection.
struct Pump<'a> {
    gate: watch::Receiver<Gate>,
    counts: &'a watch::Sender<ProxyCounts>,
    /// From the server to the client?
    down: bool,
    budgets: u64,
    budget: Option<u64>,
}

impl Pump<'_> {
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let size = from.read(&mut buffer).await?;
            let mut rest = buffer.get(..size).unwrap_or_default();
            if rest.is_empty() {
                return to.shutdown().await;
            }
            while !rest.is_empty() {
                let gate = self.unhung().await;
                let portion = self.portion(gate, rest.len());
                let (now, later) = rest.split_at(portion);
                to.write_all(now).await?;
                rest = later;
                self.spend(portion as u64)?;
                if let Some(rate) = gate.rate.filter(|_| self.down) {
                    self.counts.send_modify(|counts| counts.slowed += portion as u64);
                    sleep(Duration::from_secs_f64(portion as f64 / rate as f64)).await;
                }
            }
        }
    }

    /// The gate, once it lets bytes through.
    async fn unhung(&mut self) -> Gate {
        let hangs = self.gate.borrow_and_update().hangs;
        if hangs {
            self.counts.send_modify(|counts| counts.withheld += 1);
        }
        // A proxy that is gone restores and cuts before it goes.
        self.gate.wait_for(|gate| !gate.hangs).await.map_or_else(|_| Gate::default(), |gate| *gate)
    }

    /// How many of so many bytes may go at once.
    fn portion(&mut self, gate: Gate, size: usize) -> usize {
        if gate.budgets != self.budgets && self.down {
            (self.budgets, self.budget) = (gate.budgets, gate.budget);
        }
        let slow = gate.rate.filter(|_| self.down).map_or(u64::MAX, |rate| (rate / PORTIONS).max(1));
        let most = slow.min(self.budget.unwrap_or(u64::MAX));
        usize::try_from(most).unwrap_or(usize::MAX).min(size)
    }

    fn spend(&mut self, bytes: u64) -> Result<()> {
        let Some(budget) = &mut self.budget else { return Ok(()) };
        *budget = budget.saturating_sub(bytes);
        if *budget == 0 {
            self.counts.send_modify(|counts| counts.cut_midway += 1);
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}
