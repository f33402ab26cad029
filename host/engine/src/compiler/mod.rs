//! Machine code for components, made in a process of its own. Owns what that process may use up and what its end means;
//! never maps code, and never decides whether a component is wanted.
//!
//! A compiler is a large program that is fed by strangers: it may loop, take all memory, or crash. Here that ends a child
//! process, and is one component's [`Reason::CompileFailed`](wharf_core::Reason).

mod child;
mod confine;
mod process;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Compile;
use crate::failure::LoadError;

pub use child::compile_stdin;

/// A program that calls [`compile_stdin`], and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program; it is started without environment.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Processor time, in whole seconds, at least one.
    pub cpu: Duration,
    /// Time until it is killed.
    pub wall: Duration,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of machine code.
    pub code: u64,
}

impl Compiler {
    /// This very program as `compile --helper`: 60 seconds of processor time, three minutes, 2 GiB, 1 GiB of code. The
    /// largest components in use need a fifth of that.
    pub fn this_program() -> Self {
        Self {
            // Still the same one after the file was replaced.
            program: "/proc/self/exe".into(),
            arguments: ["compile", "--helper"].map(OsString::from).to_vec(),
            cpu: Duration::from_secs(60),
            wall: Duration::from_secs(180),
            memory: 2 << 30,
            code: 1 << 30,
        }
    }

    /// Compiles into a file. Cancel safe: the process is killed.
    ///
    /// # Errors
    /// What the component did to the compiler, or why it could not be run.
    pub(crate) async fn compile(&self, wasm: Arc<[u8]>, level: Compile, output: File) -> Result<(), Failure> {
        process::run(self, wasm, level, output).await
    }
}

/// Why there is no code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The component is to blame.
    Component(LoadError),
    /// The file could not be written.
    Output(String),
}
