//! client-go beside ours: the program `informer-dump` on the same server, behind the same
//! proxy. Owns its process and the comparison of contents.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;
use wharf_cache::View;
use wharf_testkit::{Process, paths, until};

/// Its waits grow to half a minute as well.
const DEADLINE: Duration = Duration::from_secs(120);

/// A running informer of client-go.
pub(crate) struct Peer {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    // Last: its pipes are above.
    _process: Process,
}

impl Peer {
    /// Starts it and waits until it has synced.
    ///
    /// # Errors
    /// If it was not built, or does not sync.
    pub(crate) async fn start(kubeconfig: &Path, namespace: &str) -> Result<Self> {
        let kubeconfig = kubeconfig.display().to_string();
        let args = ["-kubeconfig", &kubeconfig, "-namespace", namespace];
        let program = paths::peer("informer-dump")?;
        // What client-go says about failures is of no interest: they are made here.
        let mut process = Process::spawn_with_input(&program, args, Stdio::piped(), Stdio::piped(), Stdio::null())?;
        let input = process.child().stdin.take().context("the peer has no input")?;
        let output = process.child().stdout.take().context("the peer has no output")?;
        let mut peer = Self { input, output: BufReader::new(output).lines(), _process: process };
        peer.read().await.context("wait until client-go has synced")?;
        Ok(peer)
    }

    /// Waits until its content is that of our store, line by line.
    ///
    /// # Errors
    /// If that does not come to pass.
    pub(crate) async fn agrees(&mut self, view: &View) -> Result<()> {
        let ours = content(view)?;
        until("the same content in client-go's store", DEADLINE, async || {
            let theirs = self.dump().await?;
            ensure!(theirs == ours, "ours:\n{}\ntheirs:\n{}", ours.join("\n"), theirs.join("\n"));
            Ok(Some(()))
        })
        .await
    }

    async fn dump(&mut self) -> Result<Vec<String>> {
        self.input.write_all(b"\n").await.context("ask the peer")?;
        self.read().await
    }

    async fn read(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let line = timeout(DEADLINE, self.output.next_line()).await.context("the peer says nothing")??.context("the peer has ended")?;
            if line.is_empty() {
                return Ok(lines);
            }
            lines.push(line);
        }
    }
}

/// What the peer prints, of our store.
fn content(view: &View) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for object in view.list(None) {
        let value: Value = serde_json::from_str(object.json())?;
        let data: BTreeMap<String, String> = value.get("data").cloned().map(serde_json::from_value).transpose()?.unwrap_or_default();
        let sum = Sha256::digest(serde_json::to_vec(&data)?);
        let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push(format!("{} {} {} {sum}", object.key(), object.uid(), object.resource_version()));
    }
    lines.sort();
    Ok(lines)
}
