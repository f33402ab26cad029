//! Commands that end the call, well or badly, and those that look for what is left of the
//! call before.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use wharf_sdk::prelude::*;

use crate::{args, report, unknown};

static CALLS: AtomicU64 = AtomicU64::new(0);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Args {
    reason: String,
    message: String,
    ms: Option<u32>,
    bytes: usize,
}

pub(crate) fn obey(command: &str, event: &Event) -> Result {
    let args: Args = match command {
        "done" | "recurse" | "spin" | "allocate" | "count" => Args::default(),
        _ => args(event)?,
    };
    let after = args.ms.map(|ms| Duration::from_millis(ms.into()));
    match command {
        "done" => Ok(Outcome::done()),
        "requeue" => Ok(Outcome::requeue_after(after.unwrap_or_default())),
        "retry" => {
            let failure = Failure::retry(args.reason, args.message);
            Err(after.map_or(failure.clone(), |after| failure.after(after)))
        }
        "permanent" => Err(Failure::permanent(args.reason, args.message)),
        "error" | "rejected" | "leave" => Err(Failure::from_error(std::io::Error::other(args.message))),
        "panic" => panic(&args.message),
        "throw-value" => throw(args.message),
        "recurse" => report(recurse(0)),
        "spin" => spin(),
        "allocate" => allocate(),
        "count" => report(count()),
        "churn" => {
            drop(black_box("x".repeat(args.bytes)));
            report(count())
        }
        _ => unknown(command),
    }
}

#[allow(clippy::panic, reason = "what happens then is what the suite looks at")]
pub(crate) fn panic(message: &str) -> ! {
    panic!("{message}")
}

#[allow(clippy::panic, reason = "what happens then is what the suite looks at")]
fn throw(message: String) -> ! {
    std::panic::panic_any(message)
}

fn count() -> u64 {
    CALLS.fetch_add(1, Ordering::Relaxed).saturating_add(1)
}

#[allow(unconditional_recursion, reason = "what happens then is what the suite looks at")]
fn recurse(depth: u64) -> u64 {
    black_box(recurse(black_box(depth).wrapping_add(1))).wrapping_add(1)
}

fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns).wrapping_add(1);
    }
}

fn allocate() -> ! {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
}
