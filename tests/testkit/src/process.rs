//! One child process. Owns how it is started, stopped and outlived: it leads a group of
//! its own, so that Ctrl-C reaches only the parent, which then stops it in order; it dies
//! with its parent even if that is killed; and no drop leaves it behind.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, WaitOptions, kill_process, kill_process_group, waitpid};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Signals that a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: please stop.
    Term,
    /// SIGINT: what Ctrl-C sends.
    Interrupt,
    /// SIGKILL: cannot be refused.
    Kill,
    /// SIGSTOP: freezes it.
    Stop,
    /// SIGCONT: ends that.
    Continue,
}

/// A running child process. Dropping it kills its whole group at once and waits for its
/// end, which comes immediately.
#[derive(Debug)]
pub struct Process {
    name: String,
    pid: Pid,
    child: Child,
    ended: bool,
}

impl Process {
    /// Starts a program with its output going where the caller says.
    ///
    /// Must be called on a thread that lives as long as the child shall: the kernel ends
    /// the child when the thread that started it ends.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn spawn<A: AsRef<OsStr>>(program: &Path, args: impl IntoIterator<Item = A>, stdout: Stdio, stderr: Stdio) -> Result<Self> {
        Self::spawn_with_input(program, args, Stdio::null(), stdout, stderr)
    }

    /// The same with an input.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub fn spawn_with_input<A: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = A>,
        stdin: Stdio,
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<Self> {
        let name = program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut command = tied_to_parent(program);
        command.args(args).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let child = command.spawn().with_context(|| format!("start {}", program.display()))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).context("the child has no process id")?;
        Ok(Self { name, pid, child, ended: false })
    }

    /// The process id.
    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The underlying child, to take its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal to the process alone. A process that has ended is no error.
    pub fn signal(&self, signal: Signal) {
        if !self.ended {
            // It may have ended in between: then there is nobody left to tell.
            let _gone = kill_process(self.pid, signal.into());
        }
    }

    /// How the process ended, if it did.
    ///
    /// # Errors
    /// If the system cannot say.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait().with_context(|| format!("look after {}", self.name))?;
        self.ended |= status.is_some();
        Ok(status)
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    /// If it still runs at the deadline.
    pub async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        match timeout(deadline, self.child.wait()).await {
            Ok(status) => {
                self.ended = true;
                status.with_context(|| format!("wait for {}", self.name))
            }
            Err(_) => bail!("{} still runs after {deadline:?}", self.name),
        }
    }

    /// Asks the process to stop, and kills its group if it has not within the grace.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub async fn stop(&mut self, grace: Duration) -> Result<ExitStatus> {
        self.signal(Signal::Term);
        if let Ok(status) = self.wait(grace).await {
            return Ok(status);
        }
        let _gone = kill_process_group(self.pid, rustix::process::Signal::KILL);
        self.wait(grace).await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended || matches!(self.exited(), Ok(Some(_))) {
            return;
        }
        let _gone = kill_process_group(self.pid, rustix::process::Signal::KILL);
        // Folders of the child are removed next: nobody may write there any more.
        let _reaped = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Term => Self::TERM,
            Signal::Interrupt => Self::INT,
            Signal::Kill => Self::KILL,
            Signal::Stop => Self::STOP,
            Signal::Continue => Self::CONT,
        }
    }
}

/// A command whose process the kernel kills when its parent dies: through util-linux's
/// `setpriv`, which Debian always has. Elsewhere the child is only stopped by `Drop`.
fn tied_to_parent(program: &Path) -> Command {
    const SETPRIV: &str = "/usr/bin/setpriv";
    if !Path::new(SETPRIV).exists() {
        return Command::new(program);
    }
    let mut command = Command::new(SETPRIV);
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use rustix::process::test_kill_process;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    use super::*;
    use crate::wait::until;

    fn sleeper(script: &str) -> Process {
        Process::spawn(Path::new("/bin/sh"), ["-c", script], Stdio::piped(), Stdio::null()).unwrap()
    }

    async fn first_line(process: &mut Process) -> String {
        let stdout = process.child().stdout.take().unwrap();
        BufReader::new(stdout).lines().next_line().await.unwrap().unwrap()
    }

    /// A killed process may stay as a zombie until somebody asks for it.
    fn lives(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    #[tokio::test]
    async fn a_killed_parent_takes_its_children_along() {
        let command = tied_to_parent(Path::new("/bin/sh"));
        let words = std::iter::once(command.as_std().get_program()).chain(command.as_std().get_args());
        let command = words.map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
        // The child itself says its number: by then it is tied.
        let mut parent = sleeper(&format!("{command} -c 'echo $$; exec sleep 60' & wait"));
        let child = first_line(&mut parent).await;
        assert!(lives(&child));
        parent.signal(Signal::Kill);
        parent.wait(Duration::from_secs(10)).await.unwrap();
        until("the child's end", Duration::from_secs(10), async || Ok((!lives(&child)).then_some(()))).await.unwrap();
    }

    #[tokio::test]
    async fn drop_ends_the_process() {
        let process = sleeper("exec sleep 60");
        let pid = process.pid;
        drop(process);
        assert!(test_kill_process(pid).is_err());
    }

    #[tokio::test]
    async fn stop_kills_what_does_not_listen() {
        let mut process = sleeper("trap '' TERM; echo up; while :; do sleep 1; done");
        first_line(&mut process).await;
        let status = process.stop(Duration::from_millis(200)).await.unwrap();
        assert!(!status.success());
        assert_eq!(status.code(), None);
    }

    #[tokio::test]
    async fn exit_codes_are_seen() {
        let mut process = sleeper("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done");
        first_line(&mut process).await;
        assert_eq!(process.stop(Duration::from_secs(10)).await.unwrap().code(), Some(7));
        assert!(process.exited().unwrap().is_some());
    }
}
