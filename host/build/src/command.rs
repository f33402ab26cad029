//! Running the tools of a language. Owns how they are started and how their failure reads:
//! the command, its exit code, what it printed, and whether only the network was missing.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::error::BuildError;

/// Bytes of a tool's output that an error shows: its end, where compilers sum up.
const MAX_OUTPUT: usize = 16 << 10;

/// What tools say when nobody answers.
const NETWORK_WORDS: [&str; 20] = [
    "could not resolve host",
    "couldn't resolve host",
    "couldn't connect to server",
    "temporary failure in name resolution",
    "name or service not known",
    "no such host",
    "failed to establish a new connection",
    "network is unreachable",
    "connection refused",
    "connection timed out",
    "cannot connect to proxy",
    "failed to connect to",
    "could not connect to server",
    "eai_again",
    "enotfound",
    "econnrefused",
    "enetunreach",
    "ehostunreach",
    "etimedout",
    "dial tcp",
];

/// One run of a tool.
pub(crate) struct Tool {
    command: Command,
    what: String,
    /// How to get the program.
    get: String,
    /// What to do when it fails.
    fix: String,
    /// It may need the network.
    downloads: bool,
}

impl Tool {
    /// A program, run in a folder to do something (`what`, for example `compile the plugin`).
    pub(crate) fn new(program: impl AsRef<OsStr>, folder: &Path, what: &str) -> Self {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        Self { command, what: what.to_owned(), get: String::new(), fix: String::new(), downloads: false }
    }

    /// How to get the program where it is missing.
    pub(crate) fn get(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.get);
        self
    }

    /// It may need the network, and says so when nobody answers. Never for a compiler, which shows
    /// the author's own words.
    pub(crate) fn downloads(mut self) -> Self {
        self.downloads = true;
        self
    }

    /// What to do when it fails.
    pub(crate) fn fix(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.fix);
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it to its end, keeping what it prints.
    ///
    /// # Errors
    /// [`BuildError::ToolMissing`], [`BuildError::NoNetwork`] or [`BuildError::Failed`].
    pub(crate) fn run(mut self) -> Result<Said, BuildError> {
        let output = self.command.output().map_err(|error| self.missing(&error))?;
        if output.status.success() {
            return Ok(Said { out: output.stdout, err: text(&output.stderr) });
        }
        Err(self.failed(&output))
    }

    fn missing(&self, error: &io::Error) -> BuildError {
        BuildError::ToolMissing {
            program: self.command.get_program().to_string_lossy().into_owned(),
            why: error.to_string(),
            hint: self.get.clone(),
        }
    }

    fn failed(&self, output: &Output) -> BuildError {
        let mut said = text(&output.stderr);
        let out = text(&output.stdout);
        // Tools that answer in JSON on standard output say nothing to people there.
        if !out.is_empty() && !out.starts_with('{') {
            said = format!("{out}\n{said}");
        }
        let said = tail(said.trim()).to_owned();
        let what = self.what.clone();
        let lower = said.to_lowercase();
        if self.downloads && NETWORK_WORDS.iter().any(|word| lower.contains(word)) {
            return BuildError::NoNetwork { what, output: said };
        }
        BuildError::Failed { what, command: self.line(), status: status(output), output: said, hint: self.fix.clone() }
    }

    /// The command as one would type it.
    fn line(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }
}

/// What a tool printed.
pub(crate) struct Said {
    /// On standard output.
    pub(crate) out: Vec<u8>,
    /// On standard error.
    pub(crate) err: String,
}

impl Said {
    /// Standard output as one line.
    pub(crate) fn line(&self) -> String {
        text(&self.out)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn status(output: &Output) -> String {
    output.status.code().map_or_else(|| output.status.to_string(), |code| format!("exit code {code}"))
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "/._-=:@,+%".contains(c));
    if plain { word.to_owned() } else { format!("'{word}'") }
}

/// The end of a text, from the beginning of a line.
fn tail(text: &str) -> &str {
    let Some(cut) = text.len().checked_sub(MAX_OUTPUT) else { return text };
    let start = text.char_indices().find(|(at, c)| *at >= cut && *c == '\n').map_or(text.len(), |(at, _)| at + 1);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Said, BuildError> {
        Tool::new("/bin/sh", Path::new("/"), "try it").args(["-c", script]).fix("do better").run()
    }

    #[test]
    fn what_was_printed_is_kept() {
        let said = shell("echo out; echo err >&2").unwrap();
        assert_eq!((said.line().as_str(), said.err.as_str()), ("out", "err"));
    }

    #[test]
    fn a_failure_says_what_and_why() {
        let error = shell("echo it is broken >&2; exit 3").err().unwrap();
        let text = error.to_string();
        assert!(
            text.starts_with("try it failed: /bin/sh -c 'echo it is broken >&2; exit 3' ended with exit code 3\nit is broken"),
            "{text}"
        );
        assert_eq!(error.hint(), "do better");
    }

    #[test]
    fn a_dead_network_has_its_own_name_where_one_is_needed() {
        let tool = || Tool::new("/bin/sh", Path::new("/"), "try it").args(["-c", "echo 'dial tcp: No such host' >&2; exit 1"]);
        let error = tool().downloads().run().err().unwrap();
        assert!(matches!(error, BuildError::NoNetwork { .. }), "{error}");
        // A compiler that shows the author's source has not lost its network.
        let error = tool().run().err().unwrap();
        assert!(matches!(error, BuildError::Failed { .. }), "{error}");
    }

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        let error = Tool::new("/no/such/program", Path::new("/"), "try it").get("install it").run().err().unwrap();
        assert!(error.to_string().starts_with("/no/such/program is needed"), "{error}");
        assert_eq!(error.hint(), "install it");
    }

    #[test]
    fn long_output_keeps_its_end() {
        let long = format!("{}\nthe end", "a line that is in the way\n".repeat(2000));
        let kept = tail(&long);
        assert!(kept.len() <= MAX_OUTPUT && kept.starts_with("a line") && kept.ends_with("the end"), "{}", kept.len());
    }
}
