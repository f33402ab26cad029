//! Feeds a target with its seeds, mutated at random: a small relative of cargo-fuzz, which follows what it reaches; this one needs no
//! tools and runs everywhere. Owns the mutations; each crate that has targets takes this file as a module of its tests.
//!
//! `WHARF_FUZZ_SECONDS` is how long each target is fed, `WHARF_FUZZ_SEED` the dice.

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

/// Longer than any input may take, in a build without optimisation on a busy machine.
const HANG: Duration = Duration::from_secs(20);
const WORDS: [&str; 32] = [
    "null",
    "true",
    "-1",
    "0",
    "18446744073709551615",
    "-9223372036854775808",
    "1e400",
    "1.5",
    "\"\"",
    "{}",
    "[]",
    "[[[[[[[[",
    "{\"a\":",
    ",",
    ":",
    "\"",
    "\\",
    "\\ud800",
    "\n---\n",
    "\n\n",
    "%2e",
    "%zz",
    "=",
    "!",
    "$patch",
    "f:",
    "k:{",
    ".",
    "/",
    "self",
    "oldSelf",
    "'",
];

pub(crate) fn feed(target: &'static str, function: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds").join(target);
    let mut seeds: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    let seeds: Vec<_> = seeds.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let mut dice = StdRng::seed_from_u64(number("WHARF_FUZZ_SEED", 1));
    let long = Duration::from_secs(number("WHARF_FUZZ_SECONDS", 1));
    let eater = Eater::start(target, function, HANG);
    for seed in &seeds {
        eater.eat(seed);
    }
    let begin = Instant::now();
    let mut inputs = 0_u64;
    while begin.elapsed() < long {
        let mut input = seeds.choose(&mut dice).unwrap().clone();
        for _ in 0..dice.random_range(1..6) {
            mutate(&mut input, &seeds, &mut dice);
        }
        eater.eat(&input);
        inputs += 1;
    }
    eprintln!("{target}: {inputs} inputs");
}

/// A target on a thread of its own, which the test outlives if it hangs.
struct Eater {
    target: &'static str,
    inputs: SyncSender<Vec<u8>>,
    /// Whether it did not panic.
    outcomes: Receiver<bool>,
    patience: Duration,
}

impl Eater {
    fn start(target: &'static str, function: fn(&[u8]), patience: Duration) -> Self {
        let (inputs, waiting) = sync_channel::<Vec<u8>>(1);
        let (tell, outcomes) = sync_channel(1);
        thread::spawn(move || {
            for input in waiting {
                if tell.send(catch_unwind(|| function(&input)).is_ok()).is_err() {
                    return;
                }
            }
        });
        Self { target, inputs, outcomes, patience }
    }

    /// A panic or a hang shows the input.
    fn eat(&self, input: &[u8]) {
        self.inputs.send(input.to_vec()).unwrap();
        let (target, outcome) = (self.target, self.outcomes.recv_timeout(self.patience));
        assert_eq!(outcome, Ok(true), "{target} panics or hangs at {}", input.escape_ascii());
    }
}

#[test]
#[should_panic(expected = "hangs at abc")]
fn a_hang_is_shown() {
    fn hang(_: &[u8]) {
        loop {
            thread::park();
        }
    }
    Eater::start("hang", hang, Duration::from_millis(1)).eat(b"abc");
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut StdRng) {
    if input.is_empty() {
        input.push(dice.random());
    }
    let from = dice.random_range(0..input.len());
    let to = (from + dice.random_range(1..20)).min(input.len());
    match dice.random_range(0..9) {
        0 => input[from] = dice.random(),
        1 => input[from] ^= 1 << dice.random_range(0..8),
        2 => drop(input.drain(from..to)),
        3 => {
            let copy = input[from..to].to_vec();
            let at = dice.random_range(0..=input.len());
            input.splice(at..at, copy);
        }
        4 | 5 => {
            let word = WORDS.choose(dice).unwrap().bytes();
            let end = if dice.random_bool(0.5) { from } else { to };
            input.splice(from..end, word);
        }
        6 => {
            let other = seeds.choose(dice).unwrap();
            let cut = dice.random_range(0..=other.len());
            input.truncate(from);
            input.extend_from_slice(&other[cut..]);
        }
        7 => {
            // The same many times: long and deep.
            let copy = input[from..to].repeat(dice.random_range(2..200));
            input.splice(from..to, copy);
        }
        _ => {
            // Exchanges one number for another.
            if let Some(digit) = input.iter().skip(from).position(u8::is_ascii_digit) {
                input[from + digit] = b'0' + dice.random_range(0..10);
            }
        }
    }
}
