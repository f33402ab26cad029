//! One revision of a plugin after the other, on a real host and a real API server, while objects change all the time:
//! nothing is lost, nothing doubled, and no key is ever in the hands of two revisions. Then the same with every tenth
//! revision broken. `cargo test` exchanges 100 of each; `cargo xtask proof swap` does the same with other numbers:
//! `WHARF_SWAPS` of each, at `WHARF_SWAP_RATE` changes a second, slow and leaking ones among them. A real API server takes
//! some hundred changes a second; `WHARF_SWAP_SERVER=embedded` takes a thousand.
#![allow(clippy::print_stderr, reason = "a proof's figures are for the one who runs it")]

mod candidate;
mod stage;
mod witness;
mod writer;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, timeout};
use wharf_testkit::{Kind, until};

use crate::candidate::{Broken, Candidate};
use crate::stage::{DEADLINE, Stage};
use crate::witness::{Phase, Witness};
use crate::writer::{Books, Stream};

/// How many are exchanged; the long proof says so.
const SWAPS: &str = "WHARF_SWAPS";

/// Of so many revisions one is broken.
const ONE_BROKEN_OF: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swaps_under_load_lose_and_double_nothing() -> Result<()> {
    let (swaps, rate) = (number(SWAPS, 100)?, number("WHARF_SWAP_RATE", 200)?);
    let kind = match std::env::var("WHARF_SWAP_SERVER") {
        Ok(name) => Kind::ALL.into_iter().find(|kind| kind.name() == name).with_context(|| format!("there is no server {name:?}"))?,
        Err(_) => Kind::Real,
    };
    let mut stage = Stage::new(kind).await?;
    let mut stream = Stream::start(&stage.cluster, stage.namespace(), rate);
    // What is compared with what comes then; every object was there at least once.
    let quiet = swaps.max(2000);
    until("the first changes", DEADLINE, async || Ok((stream.written().0 >= quiet).then_some(()))).await?;
    // Without changes no revision is found out.
    let exchanged = tokio::select! {
        exchanged = exchange(&mut stage, swaps) => exchanged,
        error = stream.breaks() => Err(error),
    };
    if let Err(error) = exchanged {
        let witness = stage.witness.lock().clone();
        eprintln!("{}\n{}", witness.figures(), witness.problems().join("\n"));
        let (written, time) = stream.written();
        let writers = timeout(Duration::from_secs(5), stream.finish()).await;
        eprintln!("{written} changes in {time:?}; writers: {:?}", writers.map(|ended| ended.map(|books| books.writes)));
        return Err(error);
    }
    let (written, time) = stream.written();
    let books = stream.finish().await?;
    eprintln!("{written} changes, {:.0} a second of {rate}", written as f64 / time.as_secs_f64());
    let told = until("every last state and every end", DEADLINE, async || {
        let lost = stage.witness.lock().lost(&books);
        ensure!(lost.is_empty() && stage.quiet().await?, "{} lost:\n{}", lost.len(), lost.join("\n"));
        Ok(Some(()))
    });
    told.await?;
    let witness = stage.witness.lock().clone();
    eprintln!("{}", witness.figures());
    ensure!(witness.problems().is_empty(), "{}", witness.problems().join("\n"));
    ensure!(witness.revisions() as u64 > swaps / 2, "only {} revisions were called: this was no load", witness.revisions());
    can_fail(&witness, &books)
}

/// As many good ones, then as many of which some are broken.
async fn exchange(stage: &mut Stage, swaps: u64) -> Result<()> {
    let mut candidates = (1..).map(|number| Candidate { number, broken: None });
    for (phase, every) in [(Phase::Swaps, u64::MAX), (Phase::Broken, ONE_BROKEN_OF)] {
        stage.witness.lock().phase = phase;
        let begun = Instant::now();
        // A slow one computes for many seconds before it is found out.
        let kinds = if std::env::var_os(SWAPS).is_some() { Broken::ALL } else { Broken::CERTAIN };
        let mut kinds = kinds.iter().copied().cycle();
        for (count, candidate) in (1..=swaps).zip(&mut candidates) {
            let broken = if count % every == 0 { kinds.next() } else { None };
            stage.bring(Candidate { broken, ..candidate }).await?;
        }
        eprintln!("{phase:?}: {swaps} revisions in {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// With one state more in the books than happened the same history must have lost it.
fn can_fail(witness: &Witness, books: &Books) -> Result<()> {
    let mut books = books.clone();
    let (_, version) = books.live.values_mut().next().context("nothing was written")?;
    version.push('0');
    ensure!(witness.lost(&books).len() == 1, "the witness does not see what is lost");
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is {text:?}, which is no number")),
        Err(_) => Ok(default),
    }
}
