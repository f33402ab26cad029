//! WASI 0.2 with nothing behind it. Owns what standard components find when they look around:
//! no arguments, environment, files or sockets; coarse clocks; capped randomness; stdout and
//! stderr that become log lines.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use tokio::time::Instant;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::host::Ctx;
use crate::host::log::LogSink;
use crate::limits::{MAX_RANDOM_BYTES, MAX_TEXT_BYTES};
use crate::ports::Level;

/// The interfaces that are served, in any version 0.2.x.
pub(crate) const INTERFACES: [&str; 27] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// The resolution of the clocks.
const COARSE: Duration = Duration::from_millis(1);

impl WasiView for Ctx {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let log = &self.log;
        WasiCtxView { ctx: &mut self.wasi.get_or_insert_with(|| Wasi::new(log)).ctx, table: &mut self.table }
    }
}

impl Ctx {
    /// Hands on what a guest wrote without a newline at its end.
    pub(crate) fn flush_streams(&self) {
        if let Some(wasi) = &self.wasi {
            wasi.stdout.flush();
            wasi.stderr.flush();
        }
    }
}

/// What a guest has of WASI, for as long as its instance lives.
pub(crate) struct Wasi {
    ctx: WasiCtx,
    stdout: Lines,
    stderr: Lines,
}

impl Wasi {
    fn new(log: &Arc<LogSink>) -> Self {
        let stdout = Lines::new(log, Level::Info, "stdout");
        let stderr = Lines::new(log, Level::Warn, "stderr");
        let mut builder = WasiCtxBuilder::new();
        builder
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .max_random_size(u64::from(MAX_RANDOM_BYTES))
            .wall_clock(Clock { start: Instant::now() })
            .monotonic_clock(Clock { start: Instant::now() })
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false);
        Self { ctx: builder.build(), stdout, stderr }
    }
}

/// Both clocks, cut to whole milliseconds.
struct Clock {
    start: Instant,
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        COARSE
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::new(now.as_secs(), now.subsec_millis() * 1_000_000)
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        u64::try_from(COARSE.as_nanos()).unwrap_or(u64::MAX)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_mul(1_000_000)
    }
}

/// A stream of a guest, cut into lines. All handles to it share one unfinished line.
#[derive(Clone)]
struct Lines(Arc<Shared>);

struct Shared {
    log: Arc<LogSink>,
    level: Level,
    name: &'static str,
    /// The line that has no end yet; never longer than one log line.
    rest: Mutex<Vec<u8>>,
}

impl Lines {
    fn new(log: &Arc<LogSink>, level: Level, name: &'static str) -> Self {
        Self(Arc::new(Shared { log: Arc::clone(log), level, name, rest: Mutex::default() }))
    }
}

impl Lines {
    fn flush(&self) {
        let mut rest = self.0.rest.lock();
        self.0.emit(&mut rest);
    }
}

impl Shared {
    fn take(&self, bytes: &[u8]) {
        let mut rest = self.rest.lock();
        for &byte in bytes {
            if byte == b'\n' {
                self.emit(&mut rest);
                continue;
            }
            if rest.len() >= MAX_TEXT_BYTES {
                self.emit(&mut rest);
            }
            rest.push(byte);
        }
    }

    fn emit(&self, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        line.clear();
        if !text.is_empty() {
            if self.level == Level::Warn {
                // What a language's runtime says before it gives up.
                self.log.note(&text);
            }
            self.log.write(self.level, &text, &[("stream".to_owned(), self.name.to_owned())]);
        }
    }
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Lines {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for it, which is not served.
        Box::new(tokio::io::sink())
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_TEXT_BYTES)
    }
}
