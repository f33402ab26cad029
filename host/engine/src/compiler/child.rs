//! What the compiling process does: a component comes in, machine code goes out, or one line that says why not. Owns the
//! exit codes; never opens a file.

use std::fmt::Display;
use std::io::{self, Read as _, Write as _};

use super::confine::confine;
use crate::config::{Compile, compiler_config};
use crate::inspect::inspect_component;

/// The component is not a valid one.
pub(super) const INVALID: u8 = 65;
/// It is valid, and could not be compiled.
pub(super) const FAILED: u8 = 70;
/// The code could not be written, or the component not be read.
pub(super) const IO: u8 = 74;

/// Reads a component from standard input, checks it, and writes its machine code to standard output. For a process that does
/// nothing else: from here on it can do nothing else. What it may use up is set by whoever started it. Answers the exit code
/// to end with.
pub fn compile_stdin(level: Compile) -> u8 {
    prepare();
    let mut wasm = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut wasm) {
        return say(IO, &error);
    }
    if let Err(error) = inspect_component(&wasm) {
        return say(INVALID, &error);
    }
    let code = match wasmtime::Engine::new(&compiler_config(level)).and_then(|engine| engine.precompile_component(&wasm)) {
        Ok(code) => code,
        Err(error) => return say(FAILED, &format!("{error:#}")),
    };
    let mut output = io::stdout().lock();
    match output.write_all(&code).and_then(|()| output.flush()) {
        Ok(()) => 0,
        Err(error) => say(IO, &error),
    }
}

/// If memory runs out on the machine, this process goes first, and it leaves no dump of what strangers brought. Then nobody
/// can make it do anything but compile.
fn prepare() {
    // Both are for the others' good only: where they are not allowed, the component is compiled all the same.
    let _asked = std::fs::write("/proc/self/oom_score_adj", "1000");
    let _asked = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    if let Err(error) = confine() {
        // Whoever started it writes that down.
        let _told = writeln!(io::stderr(), "the compiler is not confined: {error}");
    }
}

fn say(code: u8, why: &impl Display) -> u8 {
    // The exit code tells the most of it.
    let _told = writeln!(io::stderr(), "{why}");
    code
}
