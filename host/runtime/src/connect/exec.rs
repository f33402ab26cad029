//! Credential plugins of a kubeconfig (`user.exec`): programs that answer with a token or a
//! client certificate. Owns how they are run and how their answer is read; never shows the
//! answer, which is a secret. kube's own way of running them blocks a thread, runs them up to
//! five times for one client, and prints their output in its errors.

use std::io::IsTerminal;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::config::Secret;

/// A plugin may ask a person, but not for ever.
const DEADLINE: Duration = Duration::from_secs(120);
/// A longer answer is none, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// Of what a failing plugin says, so much is shown, in bytes.
const MAX_WORDS: u64 = 500;

/// What a plugin answered.
#[derive(Debug)]
pub(super) struct Credential {
    pub(super) token: Option<Secret>,
    /// Certificate chain and key in PEM.
    pub(super) certificate: Option<(String, Secret)>,
    pub(super) valid_until: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: String,
    kind: String,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    expiration_timestamp: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs a plugin and reads its answer. It is killed if this is dropped.
///
/// # Errors
/// It cannot be started, fails, takes more than two minutes, or answers something else. What
/// it writes to standard error is shown, what it answers never is.
pub(super) async fn ask(plugin: &ExecConfig) -> anyhow::Result<Credential> {
    let name = plugin.command.as_deref().unwrap_or_default();
    let hint = || match plugin.install_hint.as_deref().map(str::trim).filter(|hint| !hint.is_empty()) {
        Some(hint) => format!("the exec plugin {name:?} of the kubeconfig ({hint})"),
        None => format!("the exec plugin {name:?} of the kubeconfig"),
    };
    let answer = tokio::time::timeout(DEADLINE, run(plugin)).await;
    let answer = answer.map_err(|_| anyhow::anyhow!("it did not end within {} s", DEADLINE.as_secs()));
    let answer = answer.and_then(|answer| answer).with_context(hint)?;
    read(&answer, plugin.api_version.as_deref()).with_context(hint)
}

async fn run(plugin: &ExecConfig) -> anyhow::Result<Vec<u8>> {
    let command = plugin.command.as_deref().filter(|command| !command.is_empty()).context("it names no command")?;
    let terminal = std::io::stdin().is_terminal();
    let interactive = match plugin.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) => {
            ensure!(terminal, "it must be able to ask a person (interactiveMode: Always), and standard input is no terminal");
            true
        }
        Some(ExecInteractiveMode::IfAvailable) | None => terminal,
    };
    let mut process = Command::new(command);
    process.args(plugin.args.iter().flatten()).kill_on_drop(true).stdout(Stdio::piped()).stderr(Stdio::piped());
    process.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
    if interactive {
        process.stderr(Stdio::inherit());
    }
    for pair in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (pair.get("name"), pair.get("value")) {
            process.env(name, value);
        }
    }
    process.env("KUBERNETES_EXEC_INFO", request(plugin, interactive)?);
    let mut child = process.spawn().context("it cannot be started")?;
    let (out, err) = (child.stdout.take().context("it has no output")?, child.stderr.take());
    let mut answer = Vec::new();
    let mut words = Vec::new();
    let talk = async {
        let Some(mut err) = err else { return Ok(()) };
        // What it says beyond that is read and dropped, so that it is not held up.
        let _read = (&mut err).take(MAX_WORDS).read_to_end(&mut words).await;
        let _read = tokio::io::copy(&mut err, &mut tokio::io::sink()).await;
        Ok(())
    };
    let listen = async {
        let mut out = out.take(MAX_ANSWER + 1);
        out.read_to_end(&mut answer).await.context("read its answer")?;
        // Said at once: who never stops answering does not close its standard error either.
        ensure!(answer.len() as u64 <= MAX_ANSWER, "it answers with more than {MAX_ANSWER} bytes");
        Ok(())
    };
    tokio::try_join!(listen, talk)?;
    let status = child.wait().await.context("wait for it")?;
    if !status.success() {
        let words = String::from_utf8_lossy(&words);
        bail!("it failed ({status}): {}", words.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Ok(answer)
}

/// What the plugin is told in KUBERNETES_EXEC_INFO.
fn request(plugin: &ExecConfig, interactive: bool) -> anyhow::Result<String> {
    let mut spec = serde_json::json!({ "interactive": interactive });
    if let (Some(cluster), Some(spec)) = (plugin.cluster.as_ref().filter(|_| plugin.provide_cluster_info), spec.as_object_mut()) {
        spec.insert("cluster".to_owned(), serde_json::to_value(cluster).context("describe the cluster for it")?);
    }
    Ok(serde_json::json!({ "apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec }).to_string())
}

fn read(answer: &[u8], api_version: Option<&str>) -> anyhow::Result<Credential> {
    // The parser's message would quote the answer.
    let parsed: Result<Answer, _> = serde_saphyr::from_slice(answer);
    let answer = parsed.ok().filter(|answer| answer.kind == "ExecCredential").context("its answer is no ExecCredential in JSON or YAML")?;
    ensure!(
        api_version.is_none_or(|wanted| wanted == answer.api_version),
        "it answers in apiVersion {:?}, but the kubeconfig asks for {:?}",
        answer.api_version.chars().take(80).collect::<String>(),
        api_version.unwrap_or_default()
    );
    let status = answer.status.context("its answer has no status")?;
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let valid_until = text(status.expiration_timestamp)
        .map(|time| time.parse().map_err(|_| anyhow::anyhow!("its expirationTimestamp is no time in RFC 3339")))
        .transpose()?;
    let token = text(status.token).map(Secret::from);
    let certificate = text(status.client_certificate_data).zip(text(status.client_key_data).map(Secret::from));
    ensure!(token.is_some() || certificate.is_some(), "its answer has neither a token nor a certificate with its key");
    Ok(Credential { token, certificate, valid_until })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> ExecConfig {
        ExecConfig {
            api_version: Some("client.authentication.k8s.io/v1".to_owned()),
            command: Some("/bin/sh".to_owned()),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..ExecConfig::default()
        }
    }

    const HEAD: &str = "kind: ExecCredential\\napiVersion: client.authentication.k8s.io/v1\\nstatus:";

    #[tokio::test]
    async fn tokens_and_certificates() {
        let script = format!("printf '{HEAD} {{token: s3cret, expirationTimestamp: \"2030-01-01T00:00:00Z\"}}'");
        let credential = ask(&shell(&script)).await.unwrap();
        assert_eq!(credential.token.as_ref().map(Secret::expose), Some("s3cret"));
        assert_eq!(credential.valid_until, Some("2030-01-01T00:00:00Z".parse().unwrap()));
        assert!(!format!("{credential:?}").contains("s3cret"));
        let credential = ask(&shell(&format!("printf '{HEAD} {{clientCertificateData: c, clientKeyData: k}}'"))).await.unwrap();
        assert_eq!(credential.certificate.map(|(c, k)| (c, k.expose().to_owned())), Some(("c".to_owned(), "k".to_owned())));
    }

    #[tokio::test]
    async fn it_is_told_what_it_is_asked_for() {
        let script = "case \"$KUBERNETES_EXEC_INFO\" in *client.authentication.k8s.io/v1*'\"interactive\":false'*) ;; *) exit 3;; esac\n\
            printf \"{apiVersion: client.authentication.k8s.io/v1, kind: ExecCredential, status: {token: $WHO}}\"";
        let env = [("name", "WHO"), ("value", "me")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let plugin = ExecConfig { env: Some(vec![env.into()]), ..shell(script) };
        assert_eq!(ask(&plugin).await.unwrap().token.unwrap().expose(), "me");
    }

    #[tokio::test]
    async fn failures_say_why_and_never_the_answer() {
        for (script, word) in [
            ("echo s3cret; echo not today >&2; exit 1", "not today"),
            // It would go on for ever.
            ("while :; do echo s3cret; done", "more than 1048576 bytes"),
            ("echo 's3cret: ['", "no ExecCredential"),
            ("echo '{kind: Pod, apiVersion: v1, s: s3cret}'", "no ExecCredential"),
            ("echo '{kind: ExecCredential, apiVersion: v9, status: {token: s3cret}}'", "v9"),
            ("echo '{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1}'", "no status"),
            ("echo '{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1, status: {clientKeyData: s3cret}}'", "neither"),
            (
                "echo '{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1, status: {token: s3cret, expirationTimestamp: soon}}'",
                "RFC 3339",
            ),
        ] {
            let error = format!("{:#}", ask(&shell(script)).await.unwrap_err());
            assert!(error.contains(word) && !error.contains("s3cret"), "{error}");
        }
        let missing = ExecConfig { command: Some("/no/such/plugin".to_owned()), install_hint: Some("install it".to_owned()), ..shell("") };
        let error = format!("{:#}", ask(&missing).await.unwrap_err());
        assert!(error.contains("/no/such/plugin") && error.contains("install it"), "{error}");
    }
}
