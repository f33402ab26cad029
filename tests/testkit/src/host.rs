//! A real host: the `wharf` binary as a child process. Owns its flags, its log and the
//! ways to ask it something (metrics, health, `wharf get`); never looks inside it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::log::{Line, Log};
use crate::paths;
use crate::ports::free_port;
use crate::process::{Process, Signal};

/// Of Linux.
const O_NONBLOCK: i32 = 0o4000;
/// Six components of scripting languages may have to be compiled before, one after the other.
const START: Duration = Duration::from_secs(180);

/// How a host is started.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Folder with Plugin documents and components.
    pub plugins: PathBuf,
    /// The kubeconfig file that it uses.
    pub kubeconfig: PathBuf,
    /// Its data folder; its control socket lies there, so the path must be short.
    pub data: PathBuf,
    /// Further flags of `wharf run`.
    pub args: Vec<String>,
}

/// A running host. Dropping it kills it.
pub struct Host {
    process: Process,
    log: Log,
    options: HostOptions,
    metrics: SocketAddr,
    health: SocketAddr,
}

/// One finished call of a guest: the fields of the host's line about it, and those of the
/// last line that the guest itself wrote during the call.
#[derive(Clone, Debug)]
pub struct Call {
    line: Arc<Line>,
    guest: Map<String, Value>,
}

impl Call {
    /// A field of the host's line, else one of the guest's; empty if neither has it.
    pub fn text(&self, name: &str) -> String {
        if self.line.fields().contains_key(name) {
            return self.line.text(name);
        }
        match self.guest.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Did the guest end it with success?
    pub fn succeeded(&self) -> bool {
        matches!(self.line.text("outcome").as_str(), "done" | "requeue-after")
    }
}

impl Host {
    /// Starts the binary; [`Host::ready`] waits until it works.
    ///
    /// # Errors
    /// If it is not built or cannot be started.
    pub fn start(options: HostOptions) -> Result<Self> {
        let metrics: SocketAddr = (Ipv4Addr::LOCALHOST, free_port()?).into();
        let health: SocketAddr = (Ipv4Addr::LOCALHOST, free_port()?).into();
        let mut args: Vec<String> = vec!["run".into()];
        for (flag, value) in [
            ("--plugins-dir", options.plugins.display().to_string()),
            ("--kubeconfig", options.kubeconfig.display().to_string()),
            ("--data-dir", options.data.display().to_string()),
            ("--metrics-bind-address", metrics.to_string()),
            ("--health-probe-bind-address", health.to_string()),
            ("--log-format", "json".into()),
            ("--log-level", "info,wharf::call=debug".into()),
        ] {
            if !options.args.iter().any(|arg| arg == flag) {
                args.extend([flag.into(), value]);
            }
        }
        args.extend(options.args.iter().cloned());
        let mut process = Process::spawn(&paths::wharf()?, &args, Stdio::null(), Stdio::piped())?;
        let stderr = process.child().stderr.take().context("the host has no log")?;
        Ok(Self { process, log: Log::collect(stderr), options, metrics, health })
    }

    /// Waits until the host says that it is ready.
    ///
    /// # Errors
    /// If it ends or does not come up.
    pub async fn ready(&self) -> Result<()> {
        self.log.wait_for("the host is ready", 0, START, |line| line.is("message", "host ready")).await?;
        Ok(())
    }

    /// Its log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// All finished calls of a plugin (`namespace/name`) so far, in order.
    pub fn calls(&self, plugin: &str) -> Vec<Call> {
        calls(&self.log.since(0), plugin)
    }

    /// Waits until `find` sees what it wants in all the calls of a plugin so far.
    ///
    /// # Errors
    /// As for [`Log::wait_until`].
    pub async fn wait_calls<T>(&self, what: &str, plugin: &str, deadline: Duration, find: impl Fn(&[Call]) -> Option<T>) -> Result<T> {
        let mut seen = 0;
        self.log
            .wait_until(what, deadline, |lines| {
                // Most lines of a busy host are of no interest: do not look at all again.
                let news = lines.iter().skip(seen).any(|line| line.is("target", "wharf::call"));
                let first = seen == 0;
                seen = lines.len();
                if news || first { find(&calls(lines, plugin)) } else { None }
            })
            .await
    }

    /// The text of `/metrics`.
    ///
    /// # Errors
    /// If the port does not answer.
    pub async fn metrics(&self) -> Result<String> {
        Ok(http_get(self.metrics, "/metrics").await?.1)
    }

    /// The sum of all series of a metric that have these labels; `None` if there is none.
    ///
    /// # Errors
    /// If the port does not answer or a value cannot be read.
    pub async fn metric(&self, name: &str, labels: &[(String, String)]) -> Result<Option<f64>> {
        let text = self.metrics().await?;
        let mut sum = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let (found, rest) = series.split_once('{').unwrap_or((series, ""));
            let matches = labels.iter().all(|(label, value)| rest.contains(&format!("{label}=\"{value}\"")));
            if found == name && matches {
                let value: f64 = value.parse().with_context(|| format!("read {line}"))?;
                sum = Some(sum.unwrap_or(0.0) + value);
            }
        }
        Ok(sum)
    }

    /// Status code and text of a health path, for example `/readyz?verbose`.
    ///
    /// # Errors
    /// If the port does not answer.
    pub async fn health(&self, path: &str) -> Result<(u16, String)> {
        http_get(self.health, path).await
    }

    /// `wharf get WHAT -o json` against this host.
    ///
    /// # Errors
    /// If the command fails or does not print JSON.
    pub async fn get(&self, what: &str) -> Result<Value> {
        let mut command = Command::new(paths::wharf()?);
        command.args(["get", what, "-o", "json", "--data-dir"]).arg(&self.options.data).kill_on_drop(true);
        let output = command.output().await.context("start wharf get")?;
        if !output.status.success() {
            bail!("wharf get {what}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).with_context(|| format!("read the answer of wharf get {what}"))
    }

    /// Runs `wharf ARGS…` against this host: exit code (-1 if a signal ended it), standard output and
    /// standard error.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn wharf(&self, args: &[String]) -> Result<(i32, String, String)> {
        let mut command = Command::new(paths::wharf()?);
        command.args(args).arg("--data-dir").arg(&self.options.data).kill_on_drop(true);
        let output = command.output().await.with_context(|| format!("start wharf {}", args.join(" ")))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
    }

    /// Number of its process.
    pub fn id(&self) -> i32 {
        self.process.id()
    }

    /// Starts `wharf ARGS…` against this host as a command that goes on, with its output in a pipe.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn wharf_goes_on(&self, args: &[String]) -> Result<Process> {
        let data = [OsStr::new("--data-dir"), self.options.data.as_os_str()];
        Process::spawn(&paths::wharf()?, args.iter().map(OsStr::new).chain(data), Stdio::piped(), Stdio::inherit())
    }

    /// Takes no more of its log, so that it stands still where it writes its next line, holding whatever it holds.
    ///
    /// # Errors
    /// If its log cannot be filled up.
    pub fn hold_at_next_line(&self) -> Result<()> {
        self.log.pause(true);
        let log = format!("/proc/{}/fd/2", self.process.id());
        let mut log = File::options().write(true).custom_flags(O_NONBLOCK).open(&log).with_context(|| format!("open {log}"))?;
        loop {
            match log.write(b" ") {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("fill up the log"),
            }
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// If it still runs at the deadline.
    pub async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        self.process.wait(deadline).await
    }

    /// SIGTERM, then the exit code (`None` if a signal ended it).
    ///
    /// # Errors
    /// If it still runs at the deadline.
    pub async fn terminate(&mut self, deadline: Duration) -> Result<Option<i32>> {
        self.signal(Signal::Term);
        Ok(self.wait(deadline).await?.code())
    }

    /// SIGKILL: as a crash of the machine would end it.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub async fn kill(&mut self) -> Result<()> {
        self.signal(Signal::Kill);
        self.log.pause(false);
        self.wait(START).await?;
        Ok(())
    }
}

/// Joins the host's lines about finished calls with the guest's own lines. Calls of one
/// key never overlap, so a guest's line belongs to the next finished call of its key.
fn calls(lines: &[Arc<Line>], plugin: &str) -> Vec<Call> {
    let mut spoken: std::collections::HashMap<[String; 3], Map<String, Value>> = std::collections::HashMap::new();
    let mut calls = Vec::new();
    for line in lines.iter().filter(|line| line.is("plugin", plugin)) {
        let key = ["kind", "namespace", "name"].map(|field| line.text(field));
        if line.is("target", "guest") {
            let fields = match line.fields().get("fields") {
                Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
                Some(Value::Object(fields)) => fields.clone(),
                _ => Map::new(),
            };
            spoken.insert(key, fields);
        } else if line.is("target", "wharf::call") && line.is("message", "guest call finished") {
            calls.push(Call { line: Arc::clone(line), guest: spoken.remove(&key).unwrap_or_default() });
        }
    }
    calls
}

async fn http_get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
    // HTTP/1.0: the answer ends with the connection and comes without chunks.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.with_context(|| format!("read {path} from {address}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer has no body")?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).with_context(|| format!("the answer has no code: {head}"))?;
    Ok((code, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(value: &Value) -> Arc<Line> {
        Arc::new(Line::parse(&value.to_string()))
    }

    #[test]
    fn guest_lines_join_the_next_call_of_their_key() {
        let lines = [
            line(&json!({"target": "guest", "plugin": "a/p", "kind": "K", "namespace": "a", "name": "x", "fields": "{\"value\":\"1\"}"})),
            line(
                &json!({"target": "wharf::call", "message": "guest call finished", "plugin": "a/p", "kind": "K", "namespace": "a", "name": "y", "outcome": "retry"}),
            ),
            line(
                &json!({"target": "wharf::call", "message": "guest call finished", "plugin": "a/p", "kind": "K", "namespace": "a", "name": "x", "outcome": "done", "attempt": 2}),
            ),
            line(
                &json!({"target": "wharf::call", "message": "guest call finished", "plugin": "a/q", "kind": "K", "namespace": "a", "name": "x", "outcome": "done"}),
            ),
        ];
        let calls = calls(&lines, "a/p");
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].text("name"), calls[0].text("value"), calls[0].succeeded()), ("y".into(), String::new(), false));
        assert_eq!((calls[1].text("value"), calls[1].text("attempt"), calls[1].succeeded()), ("1".into(), "2".into(), true));
    }
}
