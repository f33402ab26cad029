//! The tests: every history keeps the promises, and none does once a rule is broken.

use crate::broken::Broken;
use crate::history::{Op, generate, shrink};
use crate::world::play;

const STEPS: usize = 100;

fn histories() -> u64 {
    std::env::var("WHARF_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

fn fails(seed: u64, ops: &[Op], broken: Option<Broken>) -> bool {
    play(seed, ops, broken).1.is_err()
}

/// The shortest form of a failing history, step by step.
fn explain(seed: u64, broken: Option<Broken>) -> String {
    let ops = shrink(generate(seed, STEPS), |ops| fails(seed, ops, broken));
    let (trace, verdict) = play(seed, &ops, broken);
    format!("seed {seed}:\n{}\n=> {verdict:?}", trace.join("\n"))
}

#[test]
fn every_history_keeps_the_promises() {
    for seed in 1..=histories() {
        assert!(!fails(seed, &generate(seed, STEPS), None), "{}", explain(seed, None));
    }
}

#[test]
fn the_witness_sees_every_broken_rule() {
    for broken in Broken::ALL {
        let seen = (1..=100_000).any(|seed| fails(seed, &generate(seed, STEPS), Some(broken)));
        assert!(seen, "{broken:?} was never noticed");
    }
}

#[test]
fn a_failing_history_is_made_short() {
    let broken = Some(Broken::Fence);
    let seed = (1..).find(|seed| fails(*seed, &generate(*seed, STEPS), broken)).unwrap();
    let short = shrink(generate(seed, STEPS), |ops| fails(seed, ops, broken));
    assert!(fails(seed, &short, broken) && short.len() < 20, "{}", explain(seed, broken));
}
