//! The programs that are measured beside the host, and the server that they read from. Owns
//! how they are built, started, asked and ended (`tests/bench/README.md`); never what is
//! measured with them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use wharf_testkit::{Process, free_port, paths};

use crate::step::{run, step};

/// The slowest peer needs a minute and a half for 100,000 Pods on a quiet machine.
const DEADLINE: Duration = Duration::from_secs(600);
/// How often a counter is looked at: the error of a time that is measured by it.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of a program's log that are kept for an error.
const LOG: usize = 20;
/// A program is idle if it used at most one hundredth of a second in each of so many looks.
const IDLE_LOOKS: u32 = 5;
const IDLE_LOOK: Duration = Duration::from_millis(200);

/// Builds the programs in Go.
///
/// # Errors
/// If Go is not there or does not build them.
pub(super) fn build(root: &Path) -> Result<()> {
    let mut go = Command::new("go");
    go.current_dir(root.join("tests/bench/peers")).args(["build", "-o"]).arg(programs().join("")).arg("./cmd/...");
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -buildvcs=false");
    step("build the peers in Go", || run(&mut go))
}

/// Where the programs in Go are.
pub(super) fn programs() -> PathBuf {
    paths::target().join("peers")
}

/// Waits for a condition.
///
/// # Errors
/// That of the condition, or if it does not come.
pub(super) async fn wait(what: &str, done: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + DEADLINE;
    while !done().await? {
        ensure!(Instant::now() < end, "in vain: {what}");
        sleep(LOOK).await;
    }
    Ok(())
}

/// A running program that reports in lines of JSON. Dropping it ends it.
pub(super) struct Peer {
    process: Process,
    reports: Lines<BufReader<ChildStdout>>,
    synced: watch::Receiver<bool>,
    log: Arc<Mutex<VecDeque<String>>>,
}

impl Peer {
    /// Starts a program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(program: &Path, args: &[&str]) -> Result<Self> {
        let mut process = Process::spawn(program, args, Stdio::piped(), Stdio::piped())?;
        let stdout = process.child().stdout.take().context("the program has no output")?;
        let stderr = process.child().stderr.take().context("the program has no log")?;
        let (told, synced) = watch::channel(false);
        let log = Arc::new(Mutex::new(VecDeque::new()));
        tokio::spawn(follow(stderr, told, log.clone()));
        Ok(Self { process, reports: BufReader::new(stdout).lines(), synced, log })
    }

    /// Waits until it says that its cache is filled.
    ///
    /// # Errors
    /// If it ends before, or takes too long.
    pub(super) async fn synced(&mut self) -> Result<()> {
        let ended = {
            let synced = timeout(DEADLINE, self.synced.wait_for(|synced| *synced)).await;
            synced.map(|still| still.is_err())
        };
        match ended {
            Ok(false) => Ok(()),
            Ok(true) => bail!("the program has ended:\n{}", self.tail()),
            Err(_) => bail!("the cache is not filled after {DEADLINE:?}:\n{}", self.tail()),
        }
    }

    /// Asks for a report, and so begins a new window.
    ///
    /// # Errors
    /// If none comes.
    pub(super) async fn report(&mut self) -> Result<Value> {
        self.ask("-USR1").await
    }

    /// Asks for a measurement of reads.
    ///
    /// # Errors
    /// If no outcome comes.
    pub(super) async fn reads(&mut self) -> Result<Value> {
        self.ask("-USR2").await
    }

    /// Waits until the program has nothing to do for a second.
    ///
    /// # Errors
    /// If it ends, or always has something to do.
    pub(super) async fn idle(&self) -> Result<()> {
        let end = Instant::now() + DEADLINE;
        let (mut before, mut quiet) = (self.ticks()?, 0);
        while quiet < IDLE_LOOKS {
            ensure!(Instant::now() < end, "the program is never idle:\n{}", self.tail());
            sleep(IDLE_LOOK).await;
            let now = self.ticks()?;
            quiet = if now - before <= 1 { quiet + 1 } else { 0 };
            before = now;
        }
        Ok(())
    }

    async fn ask(&mut self, signal: &str) -> Result<Value> {
        run(Command::new("kill").args([signal, &self.process.id().to_string()]))?;
        let line = timeout(DEADLINE, self.reports.next_line()).await.context("no report came")??;
        let line = line.with_context(|| format!("the program has ended:\n{}", self.tail()))?;
        serde_json::from_str(&line).with_context(|| format!("read the report {line}"))
    }

    /// Number of its process.
    pub(super) fn id(&self) -> i32 {
        self.process.id()
    }

    fn ticks(&self) -> Result<u64> {
        ticks(self.id()).with_context(|| format!("the program has ended:\n{}", self.tail()))
    }

    fn tail(&self) -> String {
        Vec::from(self.log.lock().clone()).join("\n")
    }
}

/// Processor time of a process so far, in hundredths of a second.
pub(super) fn ticks(pid: i32) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = text.rsplit_once(')').map(|(_, fields)| fields.split_whitespace());
    let times = fields.into_iter().flatten().skip(11).take(2);
    Ok(times.filter_map(|field| field.parse::<u64>().ok()).sum())
}

async fn follow(log: impl AsyncRead + Unpin, synced: watch::Sender<bool>, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut lines = BufReader::new(log).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.starts_with("synced") {
            synced.send_replace(true);
        }
        let mut kept = kept.lock();
        kept.push_back(line);
        if kept.len() > LOG {
            kept.pop_front();
        }
    }
}

/// The server that all of them read from. Dropping it ends it.
pub(super) struct Source {
    port: u16,
    _process: Process,
}

impl Source {
    /// Starts a server with the flags, and waits until it has made its objects.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) async fn start(flags: &[&str]) -> Result<Self> {
        let port = free_port()?;
        let listen = format!("127.0.0.1:{port}");
        let args = ["-listen", &listen].into_iter().chain(flags.iter().copied());
        let process = Process::spawn(&programs().join("fakeserver"), args, Stdio::null(), Stdio::null())?;
        let source = Self { port, _process: process };
        wait("the server listens", async || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())).await?;
        Ok(source)
    }

    /// Where it listens.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends changes of the objects to the one watch; returns when they are sent.
    ///
    /// # Errors
    /// If there is not just one watch.
    pub(super) async fn push(&self, events: u64) -> Result<Value> {
        self.push_at(events, 0).await
    }

    /// Likewise, so many a second; 0 is as fast as they are read.
    ///
    /// # Errors
    /// If there is not just one watch.
    pub(super) async fn push_at(&self, events: u64, rate: u64) -> Result<Value> {
        self.one_watch(&["-XPOST", &format!("{}/bench/push?events={events}&rate={rate}", self.url())]).await
    }

    /// Changes some objects without a word, and ends the one watch with a 410.
    ///
    /// # Errors
    /// If there is not just one watch.
    pub(super) async fn expire(&self, change: u64) -> Result<Value> {
        self.one_watch(&["-XPOST", &format!("{}/bench/expire?change={change}", self.url())]).await
    }

    /// What it was asked and has sent, and what its content is.
    ///
    /// # Errors
    /// If it does not answer.
    pub(super) async fn stats(&self) -> Result<Value> {
        curl(&[&format!("{}/bench/stats", self.url())]).await
    }

    async fn one_watch(&self, args: &[&str]) -> Result<Value> {
        let answer = curl(args).await?;
        ensure!(answer.get("watches").and_then(Value::as_u64) == Some(1), "not one watch is open: {answer}");
        Ok(answer)
    }
}

async fn curl(args: &[&str]) -> Result<Value> {
    let output = tokio::process::Command::new("curl").arg("-sf").args(args).output().await.context("run curl")?;
    ensure!(output.status.success(), "the server did not answer curl {}: {}", args.join(" "), output.status);
    serde_json::from_slice(&output.stdout).context("read the server's answer")
}

/// A number of a report.
///
/// # Errors
/// If it is not there.
pub(super) fn number(report: &Value, name: &str) -> Result<f64> {
    report.get(name).and_then(Value::as_f64).with_context(|| format!("the report has no {name}: {report}"))
}

/// A kubeconfig for the server at this URL.
pub(super) fn kubeconfig(url: &str) -> Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": url}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    })
}
