//! A TCP proxy in front of the API server that a test can disturb. Owns the connections
//! through it; knows nothing of TLS or HTTP: the server's certificate is valid for
//! 127.0.0.1 whatever the port. How bytes get through is in `pump`.

mod pump;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::pump::{Gate, forward};

/// A running proxy; dropping it ends all its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    gate: Arc<watch::Sender<Gate>>,
    counts: Arc<watch::Sender<ProxyCounts>>,
    accepting: JoinHandle<()>,
}

/// What a proxy has done up to now. All of it is about what a test asked for but
/// `connections`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyCounts {
    /// Connections that were let through.
    pub connections: u64,
    /// Connections that [`Proxy::cut`] has ended.
    pub cut: u64,
    /// Connections that were closed at once because the proxy was cut.
    pub refused: u64,
    /// Connections that ended in the middle of what the server sent, see [`Proxy::cut_after`].
    pub cut_midway: u64,
    /// Pieces of data that had to wait because the proxy hung.
    pub withheld: u64,
    /// Bytes that were let through slowly.
    pub slowed: u64,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards to `server`.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("listen for the proxy")?;
        let address = listener.local_addr().context("find the proxy's port")?;
        let gate = Arc::new(watch::Sender::new(Gate::default()));
        let counts = Arc::new(watch::Sender::new(ProxyCounts::default()));
        let (state, counters) = (Arc::clone(&gate), Arc::clone(&counts));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While cut, the client sees its connection closed at once.
                let gate = *state.borrow();
                if gate.closed {
                    counters.send_modify(|counts| counts.refused += 1);
                } else {
                    counters.send_modify(|counts| counts.connections += 1);
                    tokio::spawn(forward(client, server, state.subscribe(), gate, Arc::clone(&counters)));
                }
            }
        });
        Ok(Self { address, gate, counts, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections and refuses new ones.
    pub fn cut(&self) {
        self.gate.send_modify(|gate| *gate = Gate { closed: true, cuts: gate.cuts + 1, ..*gate });
    }

    /// Ends each connection, also one to come, after so many more bytes from the server: most
    /// often in the middle of something. Holds until [`Self::restore`].
    pub fn cut_after(&self, bytes: u64) {
        self.gate.send_modify(|gate| *gate = Gate { budget: Some(bytes), budgets: gate.budgets + 1, ..*gate });
    }

    /// Forwards nothing more, in no direction, and says nothing about it. What comes meanwhile is
    /// kept, and goes on after [`Self::restore`].
    pub fn hang(&self) {
        self.gate.send_modify(|gate| gate.hangs = true);
    }

    /// Lets each connection have so many bytes from the server per second.
    pub fn slow_down(&self, bytes_per_second: u64) {
        self.gate.send_modify(|gate| gate.rate = Some(bytes_per_second.max(1)));
    }

    /// Lets everything through again.
    pub fn restore(&self) {
        self.gate.send_modify(|gate| *gate = Gate { cuts: gate.cuts, budgets: gate.budgets + 1, ..Gate::default() });
    }

    /// What it has done, to be read or awaited.
    pub fn counts(&self) -> watch::Receiver<ProxyCounts> {
        self.counts.subscribe()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        // Connections that hang must end as well.
        self.restore();
        self.cut();
    }
}
