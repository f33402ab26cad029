//! The tables, played once each, and measured: how long each case takes to its end, and how long the calls of a good neighbour
//! take while it is played again and again. `cargo xtask proof hostile` measures; `cargo test` looks at names alone, and measures
//! each case once.
//!
//! `WHARF_PROOF_SECONDS` is how long each case is played (once at least), `WHARF_BINARY` the program that compiles in a process of its own.

use std::env;
use std::time::{Duration, Instant};

use wharf_core::Reason;
use wharf_engine::{Compiler, Engine, EngineConfig};

use super::case::{Case, Neighbour};
use super::{bombs, calls, loads};
use crate::support::engine;

fn table() -> Vec<Case> {
    calls::table().into_iter().chain(loads::table()).collect()
}

#[tokio::test]
async fn every_case_has_its_name_and_no_neighbour_notices() {
    let mut wrong = Vec::new();
    for case in table() {
        let engine = engine(4);
        let neighbour = Neighbour::start(&engine).await;
        let staged = case.stage(&engine).await;
        // Twice, so that what the first one leaves behind would show.
        let ends = [staged.play().await, staged.play().await];
        neighbour.stop().await;
        assert_eq!(engine.stats().busy(), 0, "{}", case.name);
        wrong.extend(ends.iter().filter_map(|end| staged.wrong(end)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only where there is a compiling process: in this one nothing would end them.
fn compile_bombs() -> Vec<Case> {
    const ENDS: &[Reason] = &[Reason::CompileFailed];
    vec![
        Case::made("compile bomb of 40,000 functions", || bombs::functions(40_000), ENDS),
        Case::made("compile bomb of 2 to the 30 instances", || bombs::instances(30), ENDS),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn measure() {
    let long = Duration::from_secs(env::var("WHARF_PROOF_SECONDS").map_or(0, |text| text.parse().expect("a number of seconds")));
    let folder = tempfile::tempdir().unwrap();
    let compiler = env::var_os("WHARF_BINARY").map(|program| Compiler {
        program: program.into(),
        cpu: Duration::from_secs(2),
        ..Compiler::this_program()
    });
    let bombs = if compiler.is_some() { compile_bombs() } else { Vec::new() };
    let engine = || {
        let cache_dir = compiler.is_some().then(|| folder.path().to_owned());
        Engine::new(EngineConfig { instances: 8, threads: 1, cache_dir, compiler: compiler.clone(), ..EngineConfig::default() }).unwrap()
    };
    println!("    {:<46} {:<18} {:>6} {:>10} {:>10}   {:>10} {:>10}", "", "", "times", "median", "worst", "neighbour", "worst");
    let alone = Neighbour::start(&engine()).await;
    tokio::time::sleep(long).await;
    line("the neighbour alone", "", Vec::new(), alone.stop().await);
    for case in table().into_iter().chain(bombs) {
        let engine = engine();
        let staged = case.stage(&engine).await;
        let neighbour = Neighbour::start(&engine).await;
        let (begin, mut times, mut name) = (Instant::now(), Vec::new(), "passes");
        while begin.elapsed() < long || times.is_empty() {
            let begin = Instant::now();
            let end = staged.play().await;
            times.push(begin.elapsed());
            assert_eq!(staged.wrong(&end), None);
            name = end.err().map_or(name, |(reason, _)| reason.as_str());
        }
        line(case.name, name, times, neighbour.stop().await);
    }
}

fn line(case: &str, name: &str, mut times: Vec<Duration>, mut neighbour: Vec<Duration>) {
    let played = times.len();
    let middle = |durations: &mut Vec<Duration>| {
        durations.sort();
        let millis = |at: usize| durations.get(at).map_or(String::new(), |d| format!("{:.2} ms", d.as_secs_f64() * 1000.0));
        (millis(durations.len() / 2), millis(durations.len().saturating_sub(1)))
    };
    let ((median, worst), (its_median, its_worst)) = (middle(&mut times), middle(&mut neighbour));
    println!("    {case:<46} {name:<18} {played:>6} {median:>10} {worst:>10}   {its_median:>10} {its_worst:>10}");
}
