//! Components that are small and make large work. Owns their making; depends on nothing but `wat`, so that other test crates
//! can take this file as a module of theirs (`#[path]`).

use std::fmt::Write as _;

/// Long to compile: functions full of arithmetic that nobody can fold.
pub(crate) fn functions(count: usize) -> Vec<u8> {
    let mut text = String::from("(component (core module");
    for _ in 0..count {
        text.push_str("(func (param i64 i64) (result i64) local.get 0");
        for step in 0..24 {
            let operation = ["i64.add", "i64.mul", "i64.xor", "i64.rotl"][step % 4];
            write!(text, " local.get {} {operation}", step % 2).unwrap();
        }
        text.push(')');
    }
    text.push_str("))");
    wat::parse_str(text).unwrap()
}

/// Each component makes two instances of the one inside of it: two to this power in all.
pub(crate) fn instances(power: usize) -> Vec<u8> {
    let mut text = String::from("(component (core module $m (func)) (core instance (instantiate $m)))");
    for _ in 0..power {
        text = format!(
            "(component {} (instance (instantiate $c)) (instance (instantiate $c)))",
            text.replacen("(component", "(component $c", 1)
        );
    }
    wat::parse_str(text).unwrap()
}
