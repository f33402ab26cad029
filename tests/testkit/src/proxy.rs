//! A TCP proxy in front of the API server, which a test can cut. Owns the connections
//! through it; knows nothing of TLS or HTTP: the server's certificate is valid for
//! 127.0.0.1 whatever the port.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running proxy; dropping it ends all its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    gate: Arc<watch::Sender<Gate>>,
    accepting: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Gate {
    open: bool,
    /// Counted, so that no connection survives a cut because it is over so soon.
    cuts: u64,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards to `server`.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("listen for the proxy")?;
        let address = listener.local_addr().context("find the proxy's port")?;
        let gate = Arc::new(watch::Sender::new(Gate { open: true, cuts: 0 }));
        let state = Arc::clone(&gate);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While cut, the client sees its connection closed at once.
                let gate = *state.borrow();
                if gate.open {
                    tokio::spawn(forward(client, server, state.subscribe(), gate.cuts));
                }
            }
        });
        Ok(Self { address, gate, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections and refuses new ones.
    pub fn cut(&self) {
        self.gate.send_modify(|gate| *gate = Gate { open: false, cuts: gate.cuts + 1 });
    }

    /// Lets connections through again.
    pub fn restore(&self) {
        self.gate.send_modify(|gate| gate.open = true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn forward(mut client: TcpStream, server: SocketAddr, mut gate: watch::Receiver<Gate>, cuts: u64) {
    let carry = async {
        let mut upstream = TcpStream::connect(server).await?;
        tokio::io::copy_bidirectional(&mut client, &mut upstream).await
    };
    tokio::select! {
        // An end on either side is the business of the two sides.
        _ended = carry => {}
        _cut = gate.wait_for(|gate| gate.cuts != cuts) => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        address
    }

    async fn answers(stream: &mut TcpStream) -> bool {
        let mut byte = [0];
        stream.write_all(b"x").await.is_ok() && matches!(stream.read(&mut byte).await, Ok(1))
    }

    #[tokio::test]
    async fn cut_and_restored() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert!(answers(&mut stream).await);
        proxy.cut();
        assert!(!answers(&mut stream).await);
        let mut refused = TcpStream::connect(proxy.address()).await.unwrap();
        assert!(!answers(&mut refused).await);
        proxy.restore();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert!(answers(&mut stream).await);
        // Over before anybody could look: the connection is cut all the same.
        proxy.cut();
        proxy.restore();
        assert!(!answers(&mut stream).await);
    }
}
