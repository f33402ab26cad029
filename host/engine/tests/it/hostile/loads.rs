//! The table of hostile components: what is wrong with their bytes, and what that is called. Then bytes that were damaged on
//! their way.

use std::fmt::Write as _;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use wharf_core::plugin::Limits;
use wharf_core::{Event, Outcome, Reason};
use wharf_engine::{EngineConfig, inspect};

use super::case::{Ask, Case};
use crate::encode;
use crate::support::{OBJECT, Recorder, delivery, engine, limits, revision, spec};

const INVALID: &[Reason] = &[Reason::ComponentInvalid];
const UNCOMPILED: &[Reason] = &[Reason::CompileFailed];
const MISMATCH: &[Reason] = &[Reason::WorldMismatch];
const UNKNOWN: &[Reason] = &[Reason::ImportUnknown];

pub(super) fn table() -> Vec<Case> {
    vec![
        Case::made("no WebAssembly", || b"\x7fELF garbage".to_vec(), INVALID),
        Case::made("core module", || parse("(module)"), INVALID),
        Case::made("component of 64 MiB", || padded(0), &[]),
        Case::made("component of 64 MiB and a byte", || padded(1), &[Reason::ComponentTooLarge]),
        Case::new("unknown imports", "unknown-import", Ask::Load, UNKNOWN),
        Case::made("10,000 unknown imports", unknown_imports, UNKNOWN),
        Case::made("10,000 unknown imports of instances", unknown_instances, INVALID),
        Case::made("10,000 functions of a known import", known_import, MISMATCH),
        Case::made("function of a known import with another type", other_type, MISMATCH),
        Case::new("exports that are missing", "wrong-world", Ask::Load, MISMATCH),
        Case::made("two memories in a module", || parse("(component (core module (memory 1) (memory 1)))"), UNCOMPILED),
        Case::made("memory of 4 GiB", || parse("(component (core module (memory 65536)))"), UNCOMPILED),
        Case::made("table of a million elements", || parse("(component (core module (table 1000000 funcref)))"), UNCOMPILED),
        Case::made("256 memories", || many("(core instance (instantiate $m))", 256), UNCOMPILED),
        Case::made("types of types, 2 to the 30", || doubled_types(30), INVALID),
        Case::made("90 components in one another", || nested(90), MISMATCH),
        Case::made("100,000 components in one another", || nested(100_000), INVALID),
        Case::made("a million types of components in one another", || nested_types(0x41, 1_000_000), INVALID),
        Case::made("a million types of instances in one another", || nested_types(0x42, 1_000_000), INVALID),
    ]
}

fn parse(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// The good guest with a custom section that fills it up to the largest size that is accepted, and so much more.
fn padded(more: usize) -> Vec<u8> {
    let mut bytes = encode::guest("ok").unwrap();
    let max = usize::try_from(EngineConfig::default().max_component_bytes).unwrap() + more;
    // Its number, and its length in five bytes.
    let mut length = max - bytes.len() - 6;
    bytes.push(0);
    for byte in 0..5 {
        bytes.push((length & 0x7f) as u8 | if byte < 4 { 0x80 } else { 0 });
        length >>= 7;
    }
    bytes.push(0);
    bytes.resize(max, 0);
    bytes
}

fn unknown_imports() -> Vec<u8> {
    let mut text = String::from("(component");
    for n in 0..10_000 {
        write!(text, " (import \"part-n{n}\" (func))").unwrap();
    }
    parse(&(text + ")"))
}

fn unknown_instances() -> Vec<u8> {
    let mut text = String::from("(component");
    for n in 0..10_000 {
        write!(text, " (import \"acme:parts/part{n}@1.0.0\" (instance))").unwrap();
    }
    parse(&(text + ")"))
}

fn known_import() -> Vec<u8> {
    let mut text = String::from("(component (import \"wharf:plugin/log@0.1.0\" (instance");
    for n in 0..10_000 {
        write!(text, " (export \"f{n}\" (func))").unwrap();
    }
    parse(&(text + ")))"))
}

fn other_type() -> Vec<u8> {
    parse(r#"(component (import "wharf:plugin/system@0.1.0" (instance (export "random" (func (param "len" string))))))"#)
}

fn many(what: &str, count: usize) -> Vec<u8> {
    parse(&format!("(component (core module $m (memory 1)) {})", what.repeat(count)))
}

/// Components in one another, written from the inside: the assembler does not go so deep.
fn nested(depth: usize) -> Vec<u8> {
    let head = parse("(component)");
    let mut reversed: Vec<u8> = head.iter().rev().copied().collect();
    for _ in 0..depth {
        let mut bytes = section(4, reversed.len());
        bytes.splice(0..0, head.iter().copied());
        reversed.extend(bytes.iter().rev());
    }
    reversed.reverse();
    reversed
}

/// Each type is made of two of the one before.
fn doubled_types(power: usize) -> Vec<u8> {
    let mut text = String::from("(component (type $t0 (tuple u8 u8))");
    for n in 1..=power {
        write!(text, " (type $t{n} (tuple $t{0} $t{0}))", n - 1).unwrap();
    }
    write!(text, " (import \"f\" (func (param \"p\" $t{power}))))").unwrap();
    wat::parse_str(text).unwrap()
}

/// Types of components (or of instances) in one another.
fn nested_types(kind: u8, depth: usize) -> Vec<u8> {
    // One type; it has one declaration, which is a type.
    let mut types = vec![1];
    types.extend([kind, 1, 1].repeat(depth));
    types.extend([kind, 0]);
    let mut bytes = parse("(component)");
    bytes.extend(section(7, types.len()));
    bytes.extend(types);
    bytes
}

/// The begin of a section.
fn section(number: u8, mut length: usize) -> Vec<u8> {
    let mut bytes = vec![number];
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes
}

/// Loads what was damaged; what can be loaded is called. Whatever happens has a name, and it is none of the host's.
async fn survives(inputs: impl IntoIterator<Item = Vec<u8>>) {
    let engine = engine(2);
    let neighbour = revision(&engine, "ok").await;
    let short = Limits { cpu: Duration::from_millis(50), deadline: Duration::from_secs(5), ..limits() };
    let (mut refused, mut called) = (0, 0);
    for bytes in inputs {
        let looked = inspect(&bytes).map(|seen| seen.kind);
        let artifact = match engine.load(bytes.clone().into()).await {
            Ok(artifact) => artifact,
            Err(error) => {
                refused += 1;
                let expected = matches!(error.reason, Reason::ComponentInvalid | Reason::CompileFailed);
                assert!(expected && !error.message.contains("crashed"), "{error:?} of {}", bytes.escape_ascii());
                continue;
            }
        };
        assert!(looked.is_ok(), "what is loaded can be looked at: {}", bytes.escape_ascii());
        let Ok(revision) = engine.prepare(artifact, spec(short, &Recorder::new())) else { continue };
        for event in [Event::Add, Event::Update] {
            let end = revision.call(delivery(event, OBJECT)).await.result;
            let strike = end.err().map(|strike| strike.reason);
            assert!(!matches!(strike, Some(Reason::HostError | Reason::Cancelled)), "{strike:?} of {}", bytes.escape_ascii());
            called += 1;
        }
        assert_eq!(neighbour.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
        assert_eq!(engine.stats().busy(), 0);
    }
    println!("{refused} were refused, {called} calls");
}

#[tokio::test]
async fn cut_components_are_refused() {
    let whole = encode::guest("ok").unwrap();
    survives((0..whole.len()).map(|length| whole[..length].to_vec())).await;
}

#[tokio::test]
async fn flipped_bits_are_somebodys_fault_but_not_the_hosts() {
    let mut dice = StdRng::seed_from_u64(1);
    let guests: Vec<_> = ["ok", "cluster", "reenters"].map(|name| encode::guest(name).unwrap()).into();
    survives((0..400).map(|n| {
        let mut bytes = guests[n % guests.len()].clone();
        for _ in 0..dice.random_range(1..4) {
            let at = dice.random_range(0..bytes.len());
            bytes[at] ^= 1 << dice.random_range(0..8);
        }
        bytes
    }))
    .await;
}
