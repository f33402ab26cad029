//! What the embedded API server costs: without arguments the client that measures, with `serve plain` or `serve tls` the server that
//! it starts, a process of its own with the host's allocator and two threads. Owns the order of the experiments and their aims;
//! fails only if an answer is wrong, never for being slow.

mod client;
mod figures;
mod load;
mod objects;
mod server;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use client::Client;
use figures::Figures;
use server::Child;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Fails only if a provider was installed before, which nobody does in this process.
    let _first = rustls::crypto::ring::default_provider().install_default();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        [] => measure(),
        ["serve", "plain"] => server::serve(false),
        ["serve", "tls"] => server::serve(true),
        other => Err(anyhow::anyhow!("unknown arguments {other:?}; there is: serve plain, serve tls")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            figures::tell(&mut std::io::stderr(), &format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// `RUNS` rounds (5), each with servers of its own; lists and memory with `PODS` (10,000).
fn measure() -> Result<()> {
    let runs = number("RUNS", 5)?;
    let pods = number("PODS", 10_000)?;
    // One thread: the processor belongs to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Figures::default();
    for run in 1..=runs {
        figures::tell(&mut std::io::stderr(), &format!("    round {run} of {runs}"));
        runtime.block_on(round(&mut figures, pods))?;
    }
    figures.show(&mut std::io::stdout());
    Ok(())
}

async fn round(figures: &mut Figures, pods: usize) -> Result<()> {
    start(figures).await?;
    let child = Child::start("plain")?;
    figures.add("memory of an empty server, MiB", None, child.mebibytes()?);
    round_trips(figures, &child).await?;
    child.stop()?;
    for clients in [4, 16] {
        // A server of its own each: an older history costs nothing, but nobody shall have to believe that.
        let child = Child::start("plain")?;
        load::writes(figures, child.address(), clients).await?;
        child.stop()?;
    }
    let child = Child::start("plain")?;
    load::pods(figures, &child, pods).await?;
    child.stop()
}

/// From the start of the process to its first answer, and what `Server::start` itself takes.
async fn start(figures: &mut Figures) -> Result<()> {
    let begin = Instant::now();
    let child = Child::start("plain")?;
    let mut client = Client::connect(child.address()).await?;
    client.get("/readyz").await?;
    figures.add("start of the process to its first answer, ms", Some((50.0, true)), milliseconds(begin.elapsed()));
    figures.add("Server::start, plain, ms", Some((50.0, true)), child.start_milliseconds());
    child.stop()?;
    let child = Child::start("tls")?;
    figures.add("Server::start, TLS, ms", Some((50.0, true)), child.start_milliseconds());
    child.stop()
}

/// From before a create is sent until its event is read from a watch on another connection.
async fn round_trips(figures: &mut Figures, child: &Child) -> Result<()> {
    const TRIPS: usize = 500;
    let mut watcher = Client::connect(child.address()).await?;
    let mut events = watcher.watch("/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt").await?;
    let mut writer = Client::connect(child.address()).await?;
    let mut times = Vec::new();
    for i in 0..TRIPS {
        let body = objects::config_map(&format!("trip-{i}"), 0);
        let begin = Instant::now();
        writer.post("/api/v1/namespaces/default/configmaps", body).await?;
        let line = events.line().await?;
        // The first ones warm everything up.
        if i >= 20 {
            times.push(milliseconds(begin.elapsed()));
        }
        let name = format!("\"trip-{i}\"");
        if !line.windows(name.len()).any(|window| window == name.as_bytes()) {
            bail!("the watch shows something else than {name}: {}", String::from_utf8_lossy(&line));
        }
    }
    times.sort_by(f64::total_cmp);
    figures.add("create to its event on a watch, median, ms", Some((1.0, true)), figures::at(&times, 0.5));
    figures.add("create to its event on a watch, p99, ms", None, figures::at(&times, 0.99));
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn number(name: &str, default: usize) -> Result<usize> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is no number")),
        Err(_) => Ok(default),
    }
}
