//! What the tests of this folder share: a command line with its output, and users.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;
use wharf_testkit::{Cluster, Process, paths};

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a finished command printed.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `wharf` to its end, with these environment variables and no others.
pub(crate) async fn wharf(args: &[&str], env: &[(&str, &str)]) -> Result<Said> {
    let mut command = Command::new(paths::wharf()?);
    command.args(args).env_clear().envs(env.iter().copied()).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LONG, command.output()).await.context("wharf does not end")?.context("run wharf")?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}

/// The same, which must succeed.
pub(crate) async fn shown(args: &[&str]) -> Result<String> {
    let said = wharf(args, &[]).await?;
    ensure!(said.code == Some(0), "wharf {args:?}: {said:?}");
    Ok(said.out)
}

/// A command that goes on, line by line.
pub(crate) struct Running {
    pub(crate) process: Process,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(args: &[&str]) -> Result<Self> {
        let mut process = Process::spawn(&paths::wharf()?, args, Stdio::piped(), Stdio::inherit())?;
        let out = process.child().stdout.take().context("wharf has no output")?;
        Ok(Self { process, lines: BufReader::new(out).lines() })
    }

    /// The next line.
    pub(crate) async fn line(&mut self) -> Result<String> {
        timeout(LONG, self.lines.next_line()).await.context("no further line")??.context("wharf has ended")
    }

    /// Lines up to the one that contains a text, with it.
    pub(crate) async fn until(&mut self, text: &str) -> Result<String> {
        let mut all = String::new();
        loop {
            let line = self.line().await.with_context(|| format!("waiting for {text:?} after:\n{all}"))?;
            all.push_str(&line);
            all.push('\n');
            if line.contains(text) {
                return Ok(all);
            }
        }
    }
}

/// An authority of certificates of its own.
pub(crate) struct Authority {
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Result<Self> {
        let key = rcgen::KeyPair::generate()?;
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "users of a test");
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: rcgen::Issuer::new(params, key), pem })
    }

    /// Certificate and key of a user with all rights.
    pub(crate) fn user(&self, name: &str) -> Result<(String, String)> {
        let key = rcgen::KeyPair::generate()?;
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// Writes a kubeconfig of one context; `user` and `cluster` are fields as YAML.
pub(crate) fn kubeconfig(folder: &Path, name: &str, cluster: &str, user: &str) -> Result<String> {
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    );
    write(folder, name, &text)
}

/// Fields of a kubeconfig's cluster.
pub(crate) fn cluster_fields(cluster: &Cluster) -> String {
    format!("server: 'https://{}', certificate-authority: '{}'", cluster.address(), cluster.certificate_authority().display())
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<String> {
    let file: PathBuf = folder.join(name);
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    Ok(file.display().to_string())
}
