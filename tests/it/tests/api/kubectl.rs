//! Plays `kubectl.yaml`: the commands of a user's day, one after the other, on one server. Owns
//! how they are run and compared; what may differ in any two outputs is `normal`'s.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;
use wharf_testkit::{paths, scratch};

use crate::data;
use crate::normal::Normal;
use crate::report::{Outcome, Report};
use crate::server::Server;
use wharf_testkit::Kind;

const DEADLINE: Duration = Duration::from_secs(40);

/// All commands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// What lies in the folder where the commands run.
    files: BTreeMap<String, String>,
    steps: Vec<Step>,
}

/// One line for `sh`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    id: String,
    run: String,
    /// 0 if nothing is said.
    #[serde(default)]
    exit: i32,
    /// Parts of the output, after it was normalised.
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    compare: Compare,
    /// Why the outputs cannot be equal.
    why: Option<String>,
}

/// How the embedded server's output is held against the real one's.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Compare {
    #[default]
    Equal,
    /// Each of its lines is one of the real server's.
    Subset,
    /// Only the exit code and what both must have.
    Parts,
}

/// What one command printed, normalised, both streams in the order of writing.
pub(crate) struct Output {
    exit: Option<i32>,
    text: String,
}

impl Script {
    /// Reads `kubectl.yaml`.
    pub(crate) fn load() -> Result<Self> {
        let script: Self = serde_saphyr::from_str(&data("kubectl.yaml")?).context("read kubectl.yaml")?;
        for step in &script.steps {
            let equal = step.compare == Compare::Equal;
            ensure!(equal == step.why.is_none(), "{} in kubectl.yaml: what is not compared needs a reason, and nothing else", step.id);
        }
        Ok(script)
    }

    /// The names of all commands, in their order.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.steps.iter().map(|step| step.id.clone()).collect()
    }
}

/// Starts a server of that kind and runs everything there, with the kubectl that `WHARF_KUBECTL`
/// names, or else the built one. What was printed is kept in
/// `target/api/kubectl-KIND.txt`.
pub(crate) async fn run(kind: Kind, script: &Script) -> Result<Vec<Output>> {
    let server = Server::start(kind).await?;
    let normal = Normal::of(&server)?;
    let folder = scratch("kubectl")?;
    for (name, text) in &script.files {
        fs::write(folder.path().join(name), text).with_context(|| format!("write {name}"))?;
    }
    let tools = match std::env::var_os("WHARF_KUBECTL") {
        Some(kubectl) => {
            let (tools, kubectl) = (folder.path().join(".tools"), fs::canonicalize(&kubectl).context("find what WHARF_KUBECTL names")?);
            fs::create_dir(&tools).context("make a folder for kubectl")?;
            symlink(kubectl, tools.join("kubectl")).context("link kubectl")?;
            tools
        }
        None => paths::cluster_tools(),
    };
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let (mut outputs, mut record) = (Vec::new(), String::new());
    for step in &script.steps {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1\n{}", step.run)]).current_dir(folder.path()).env_clear();
        command.env("PATH", &path).env("HOME", folder.path()).env("KUBECONFIG", &server.kubeconfig).env("TZ", "UTC").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let output = match timeout(DEADLINE, command.output()).await {
            Ok(output) => {
                let output = output.with_context(|| format!("run {}", step.run))?;
                Output { exit: output.status.code(), text: normal.text(&String::from_utf8_lossy(&output.stdout)) }
            }
            Err(_) => Output { exit: None, text: format!("no end within {} s", DEADLINE.as_secs()) },
        };
        record.push_str(&format!("### {}: exit {:?}\n$ {}\n{}\n", step.id, output.exit, step.run.trim(), output.text));
        outputs.push(output);
    }
    let records = paths::target().join("api");
    fs::create_dir_all(&records).with_context(|| format!("make {}", records.display()))?;
    fs::write(records.join(format!("kubectl-{}.txt", kind.name())), record).context("keep what kubectl printed")?;
    server.end().await;
    Ok(outputs)
}

/// Every command's verdict, held against the real server's outputs if there are any.
pub(crate) fn judge(script: &Script, outputs: &[Output], real: Option<&[Output]>) -> Report {
    let verdict = |(i, (step, output)): (usize, (&Step, &Output))| {
        let judged = alone(step, output).and_then(|()| match real.and_then(|real| real.get(i)) {
            Some(real) => beside(step, output, real),
            None => Ok(()),
        });
        Outcome::of(judged.map_err(|why| format!("$ {}\n{why}", step.run.trim())))
    };
    Report { outcomes: script.steps.iter().zip(outputs).enumerate().map(verdict).collect() }
}

fn alone(step: &Step, output: &Output) -> Result<(), String> {
    if output.exit != Some(step.exit) {
        return Err(format!("expected the exit code {}, found {:?}:\n{}", step.exit, output.exit, output.text));
    }
    match step.has.iter().find(|part| !output.text.contains(part.as_str())) {
        Some(part) => Err(format!("expected {part:?} in:\n{}", output.text)),
        None => Ok(()),
    }
}

fn beside(step: &Step, output: &Output, real: &Output) -> Result<(), String> {
    let wrong = match step.compare {
        Compare::Parts => return Ok(()),
        Compare::Subset => output.text.lines().filter(|line| !real.text.lines().any(|other| other == *line)).map(str::to_owned).collect(),
        Compare::Equal => differences(&output.text, &real.text),
    };
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("the real server's output is another one:\n{}\n--- output\n{}", wrong.join("\n"), output.text))
    }
}

/// Lines that only one of them has, marked as in a diff from the real server's; if both have the
/// same lines in another order, says so.
fn differences(text: &str, real: &str) -> Vec<String> {
    if text == real {
        return Vec::new();
    }
    let lacks = |text: &str, line: &str| !text.lines().any(|other| other == line);
    let missing = real.lines().filter(|line| lacks(text, line)).map(|line| format!("-{line}"));
    let surplus = text.lines().filter(|line| lacks(real, line)).map(|line| format!("+{line}"));
    let mut lines: Vec<_> = missing.chain(surplus).collect();
    if lines.is_empty() {
        lines.push("the same lines in another order or number".to_owned());
    }
    lines
}
