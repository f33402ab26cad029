//! One run: a writer, and hosts that are killed one after the other. Owns the order of it all and
//! the random moments; what was right or wrong says `judge`.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tokio::time::Instant;
use wharf_testkit::{Host, until};

use crate::books::Books;
use crate::judge::{Figures, Told, lost, wrong};
use crate::lab::{DEADLINE, Lab};
use crate::pass;

/// Hosts that are killed in a run.
const KILLS: u64 = 3;

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) figures: Figures,
    pub(crate) problems: Vec<String>,
    /// Everything that every host called, for the report of a failure.
    pub(crate) history: String,
}

/// Plays one run to its end.
///
/// # Errors
/// If the scene cannot be set. What goes wrong in it is a problem in the outcome.
pub(crate) async fn play(lab: &Lab, seed: u64) -> Result<Outcome> {
    let (namespace, plugin) = lab.plugin(&format!("kill-{seed}")).await?;
    let mut books = Books::new(seed, &namespace);
    let (mut told, mut figures) = (Told::default(), Figures::default());
    for kill in 0..KILLS {
        let mut host = lab.start(&[])?;
        // The first one compiles; later ones may be killed while they start.
        if kill == 0 || books.below(4) > 0 {
            host.ready().await?;
        }
        let end = Instant::now() + Duration::from_millis(books.below(2500));
        while Instant::now() < end {
            books.write(lab).await?;
            pass(Duration::from_millis(books.below(40))).await;
        }
        host.kill().await?;
        told.killed(&all_lines(&host).await, &plugin);
        for _ in 0..books.below(9) {
            books.write(lab).await?;
        }
        pass(Duration::from_millis(books.below(900))).await;
        figures.restarted(&told, &books);
    }
    let mut host = lab.start(&[])?;
    let mut problems = Vec::new();
    let settled = until("every last state and every end", DEADLINE, async || {
        let left = lost(&told.with(&host.log().since(0), &plugin), &books);
        ensure!(left.is_empty(), "{}", left.join("\n"));
        Ok(Some(()))
    });
    if let Err(error) = settled.await {
        problems.push(format!("{error:#}"));
    }
    quiet(&host, &plugin).await?;
    told = told.with(&host.log().since(0), &plugin);
    ensure!(host.terminate(DEADLINE).await? == Some(0), "the last host stops in order");
    problems.extend(wrong(&told));
    figures.ended(&told, &books);
    Ok(Outcome { figures, problems, history: told.to_string() })
}

/// All that a host that is gone has said.
pub(crate) async fn all_lines(host: &Host) -> Vec<std::sync::Arc<wharf_testkit::Line>> {
    // Ends with the stream, and that is an error for who waits for a line.
    let _end = host.log().wait_until("the end of the log", DEADLINE, |_| None::<()>).await;
    host.log().since(0)
}

/// Nothing is to be done any more.
pub(crate) async fn quiet(host: &Host, plugin: &str) -> Result<()> {
    until("an empty queue", DEADLINE, async || {
        let queues = host.get("queues").await?;
        let row = queues.as_array().into_iter().flatten().find(|row| row.get("plugin").is_some_and(|name| name == plugin));
        let Some(row) = row else { bail!("no such queue") };
        let number = |field: &str| row.get(field).and_then(serde_json::Value::as_u64).unwrap_or(1);
        Ok((number("ready") + number("processing") == 0).then_some(()))
    })
    .await
}
