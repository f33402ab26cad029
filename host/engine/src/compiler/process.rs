//! Starts the compiling process, bounds it, feeds it, and tells what its end means. Owns the limits of the operating
//! system; what is done inside is `child`'s.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use wharf_core::Reason;

use super::{Compiler, Failure, child};
use crate::config::Compile;
use crate::failure::LoadError;
use crate::limits::{MAX_TEXT_BYTES, clean};

/// Files that it may have open: the three that it is given, and what a runtime needs.
const FILES: u64 = 64;

pub(super) async fn run(compiler: &Compiler, wasm: Arc<[u8]>, level: Compile, output: File) -> Result<(), Failure> {
    let mut command = Command::new(&compiler.program);
    command.args(&compiler.arguments).args((level == Compile::Quick).then_some("--quick"));
    // Memory that is only reserved would count against the limit.
    command.env_clear().env("MIMALLOC_ARENA_EAGER_COMMIT", "0").current_dir("/");
    command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(format!("the compiler could not be started: {error}")))?;
    // It waits for the component, and so cannot have done anything yet.
    bound(&child, compiler).map_err(|error| failed(format!("the compiler could not be bounded: {error}")))?;
    let (input, errors) = (child.stdin.take(), child.stderr.take());
    let fed = async move {
        let Some(mut input) = input else { return Ok(()) };
        match input.write_all(&wasm).await {
            // One that has ended early says itself why.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    };
    let said = async move {
        let mut said = Vec::new();
        if let Some(errors) = errors {
            errors.take(4 * MAX_TEXT_BYTES as u64).read_to_end(&mut said).await?;
        }
        io::Result::Ok(clean(String::from_utf8_lossy(&said).trim(), MAX_TEXT_BYTES))
    };
    let ended = timeout(compiler.wall, async {
        let (fed, said) = tokio::join!(fed, said);
        fed?;
        io::Result::Ok((said?, child.wait().await?))
    });
    match ended.await {
        Ok(Ok((said, status))) => judge(compiler, status, &said),
        Ok(Err(error)) => Err(failed(format!("the compiler could not be followed: {error}"))),
        // Dropping the child kills it.
        Err(_) => Err(failed(format!("compiling took longer than {} s", compiler.wall.as_secs()))),
    }
}

fn bound(child: &Child, compiler: &Compiler) -> io::Result<()> {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let Some(id) = id else { return Ok(()) };
    let seconds = compiler.cpu.as_secs().max(1);
    let limits = [
        // The signal of the first one says what it was; the second one kills.
        (Resource::Cpu, seconds, seconds + 5),
        (Resource::Data, compiler.memory, compiler.memory),
        (Resource::Fsize, compiler.code, compiler.code),
        (Resource::Nofile, FILES, FILES),
        (Resource::Core, 0, 0),
    ];
    for (resource, current, maximum) in limits {
        match prlimit(Some(id), resource, Rlimit { current: Some(current), maximum: Some(maximum) }) {
            // It has ended already, and says itself why.
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            done => done.map(drop)?,
        }
    }
    Ok(())
}

fn judge(compiler: &Compiler, status: ExitStatus, said: &str) -> Result<(), Failure> {
    let (mib, signal) = (|bytes: u64| bytes >> 20, status.signal());
    let is = |one: Signal| signal == Some(one.as_raw());
    let detail = if said.is_empty() { status.to_string() } else { said.to_owned() };
    Err(match status.code().map(u8::try_from) {
        Some(Ok(0)) => {
            if !said.is_empty() {
                tracing::warn!(said, "the compiler");
            }
            return Ok(());
        }
        Some(Ok(child::INVALID)) => Failure::Component(LoadError::new(Reason::ComponentInvalid, detail)),
        Some(Ok(child::FAILED)) => failed(detail),
        Some(Ok(child::IO)) => Failure::Output(detail),
        _ if is(Signal::XCPU) => failed(format!("compiling needs more than {} s of processor time", compiler.cpu.as_secs())),
        _ if is(Signal::XFSZ) => failed(format!("its machine code has more than {} MiB", mib(compiler.code))),
        // What Rust does when memory is refused.
        _ if is(Signal::ABORT) && detail.contains("memory allocation of") => {
            failed(format!("compiling needs more than {} MiB of memory", mib(compiler.memory)))
        }
        _ => failed(format!("the compiler crashed on this component: {detail}")),
    })
}

fn failed(message: String) -> Failure {
    Failure::Component(LoadError::new(Reason::CompileFailed, message))
}
