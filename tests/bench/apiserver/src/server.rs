//! The server in a process of its own: how it is started, what it tells, how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use wharf_devserver::{Server, ServerOptions};

/// A server that runs until it is stopped, or its standard input is closed.
pub(crate) struct Child {
    process: Process,
    input: Option<ChildStdin>,
    address: SocketAddr,
    start_milliseconds: f64,
}

/// Serves until standard input is closed. Writes the address, and the milliseconds that the start took.
pub(crate) fn serve(tls: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let begin = Instant::now();
        let options = ServerOptions::default();
        let options = if tls { options } else { ServerOptions::plain(options.api) };
        let running = Server::start(options).await?;
        let took = begin.elapsed().as_secs_f64() * 1000.0;
        writeln!(std::io::stdout(), "{} {took}", running.address())?;
        let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await?;
        closed?;
        running.stop().await.context("stop")
    })
}

impl Child {
    /// Starts a server of this kind, and waits until it listens.
    pub(crate) fn start(kind: &str) -> Result<Self> {
        let me = std::env::current_exe().context("find this program")?;
        let mut process = Command::new(me).args(["serve", kind]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take();
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let (address, took) = line.trim().split_once(' ').context("the server does not tell its address")?;
        Ok(Self { address: address.parse()?, start_milliseconds: took.parse()?, process, input })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn start_milliseconds(&self) -> f64 {
        self.start_milliseconds
    }

    /// What is resident of it.
    pub(crate) fn mebibytes(&self) -> Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).context("read the memory of the server")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: f64 = line.split_whitespace().next().context("no number")?.parse()?;
        Ok(kib / 1024.0)
    }

    /// Ends it.
    pub(crate) fn stop(mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.process.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}
