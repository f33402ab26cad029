//! Who one is, where one goes, and what happens when that changes.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::{Cluster, Host, HostOptions, paths, until};

use crate::connect_proxy::ConnectProxy;
use crate::support::{Authority, LONG, cluster_fields, kubeconfig, wharf, write};

/// Asks for the namespaces with a kubeconfig; the names, or what went wrong.
async fn namespaces(args: &[&str], env: &[(&str, &str)]) -> Result<String> {
    let said = wharf(&[&["get", "ns", "-o", "name"], args].concat(), env).await?;
    ensure!(said.code == Some(0), "{args:?}: {said:?}");
    Ok(said.out)
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_certificates_and_exec_plugins() -> Result<()> {
    let cluster = Cluster::start().await?;
    let authority = Authority::new()?;
    cluster.stop_api_server().await?;
    std::fs::write(cluster.client_authority(), &authority.pem)?;
    cluster.start_api_server().await?;
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let (certificate, key) = authority.user("jane")?;
    let (certificate_file, key_file) = (write(at, "c.crt", &certificate)?, write(at, "c.key", &key)?);
    let token_file = write(at, "token", &format!("{}\n", cluster.admin_token()))?;
    let answer =
        |status: &str| format!("{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{status}}}");
    let with_token = write(at, "token.json", &answer(&format!("{{\"token\":\"{}\"}}", cluster.admin_token())))?;
    let pair =
        serde_json::json!({ "clientCertificateData": certificate, "clientKeyData": key, "expirationTimestamp": "2099-01-01T00:00:00Z" });
    let with_certificate = write(at, "certificate.json", &answer(&pair.to_string()))?;
    let exec = |file: &str| {
        format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: cat, args: ['{file}'], interactiveMode: Never}}")
    };
    for (name, user) in [
        ("token", format!("token: '{}'", cluster.admin_token())),
        ("token file", "tokenFile: token".to_owned()),
        ("certificate", format!("client-certificate: '{certificate_file}', client-key: '{key_file}'")),
        ("exec token", exec(&with_token)),
        ("exec certificate", exec(&with_certificate)),
    ] {
        let file = kubeconfig(at, "config", &cluster_fields(&cluster), &user)?;
        let names = namespaces(&["--kubeconfig", &file], &[("PATH", "/usr/bin:/bin")]).await.context(name)?;
        assert!(names.contains("namespace/default\n"), "{name}: {names}");
    }
    // Without a kubeconfig, and over one.
    let server = format!("https://{}", cluster.address());
    let ca = cluster.certificate_authority().display().to_string();
    namespaces(&["--server", &server, "--certificate-authority", &ca, "--token-file", &token_file], &[]).await?;
    namespaces(&["-s", &server, "--insecure-skip-tls-verify", "--token", cluster.admin_token()], &[]).await?;
    let env = [("WHARF_SERVER", server.as_str()), ("WHARF_CERTIFICATE_AUTHORITY", &ca), ("WHARF_TOKEN", cluster.admin_token())];
    namespaces(&[], &env).await?;
    let wrong = kubeconfig(at, "wrong", &cluster_fields(&cluster), "token: nobody")?;
    let refused = wharf(&["get", "ns", "--kubeconfig", &wrong], &[]).await?;
    assert!(refused.code == Some(1) && refused.err.contains("401"), "{refused:?}");
    namespaces(&["--kubeconfig", &wrong, "--token", cluster.admin_token()], &[]).await?;
    // A server that is not who it should be.
    let other = write(at, "other.crt", &authority.pem)?;
    let refused = wharf(&["get", "ns", "-s", &server, "--certificate-authority", &other, "--token-file", &token_file], &[]).await?;
    assert!(refused.code == Some(1) && refused.err.contains("certificate"), "{refused:?}");
    assert!(!refused.err.contains(cluster.admin_token()));
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_environment_and_of_the_kubeconfig() -> Result<()> {
    let cluster = Cluster::start().await?;
    let proxy = ConnectProxy::start(cluster.address()).await?;
    let folder = tempfile::tempdir()?;
    let ca = cluster.certificate_authority().display().to_string();
    // A name in the server's certificate that no resolver knows: only the proxy finds it.
    let args = ["--server", "https://kubernetes.default.svc", "--certificate-authority", &ca, "--token", cluster.admin_token()];
    let url = format!("http://us%40er:pass@{}", proxy.address);
    namespaces(&args, &[("HTTPS_PROXY", &url)]).await?;
    let heads = proxy.heads();
    assert!(heads.iter().all(|head| head.starts_with("CONNECT kubernetes.default.svc:443 ")), "{heads:?}");
    // us@er:pass
    assert!(heads.iter().any(|head| head.to_lowercase().contains("proxy-authorization: basic dxnazxi6cgfzcw==")), "{heads:?}");
    let before = heads.len();
    let direct = wharf(&[&["get", "ns"], &args[..]].concat(), &[("HTTPS_PROXY", &url), ("NO_PROXY", ".svc,10.0.0.0/8")]).await?;
    assert!(direct.code == Some(1) && proxy.heads().len() == before, "{direct:?}");
    // The kubeconfig's proxy also counts for this machine.
    let fields = format!("{}, proxy-url: 'http://{}'", cluster_fields(&cluster), proxy.address);
    let file = kubeconfig(folder.path(), "config", &fields, &format!("token: '{}'", cluster.admin_token()))?;
    namespaces(&["--kubeconfig", &file], &[("NO_PROXY", "*")]).await?;
    assert!(proxy.heads().iter().skip(before).any(|head| head.starts_with(&format!("CONNECT {} ", cluster.address()))));
    cluster.stop().await
}

fn host(folder: &Path, args: &[&str]) -> Result<Host> {
    let plugins = folder.join("plugins");
    std::fs::create_dir_all(&plugins)?;
    let args = args.iter().map(|arg| (*arg).to_owned()).chain(["--kubeconfig".to_owned(), folder.join("config").display().to_string()]);
    Host::start(HostOptions { plugins, data: folder.join("data"), args: args.collect(), ..HostOptions::default() })
}

/// Puts a plugin, or another revision of it, into the folder of a host that runs: it makes the host ask the server.
fn put_plugin(folder: &Path, label: &str) -> Result<()> {
    let plugins = folder.join("plugins");
    let document = std::fs::read_to_string(paths::root().join("plugins/label-guard/plugin.yaml"))?;
    std::fs::copy(paths::guest("label-guard")?, plugins.join("label-guard.wasm"))?;
    write(&plugins, "plugin.yaml", &document.replace("requiredLabel: owner", &format!("requiredLabel: {label}")))?;
    Ok(())
}

/// Waits until `wharf get WHAT` of the host shows a text.
async fn shows(host: &Host, what: &str, text: &str) -> Result<()> {
    until(&format!("the {what} show {text:?}"), LONG, async || Ok(host.get(what).await?.to_string().contains(text).then_some(()))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_authority_and_a_new_token_are_taken_while_it_runs() -> Result<()> {
    let cluster = Cluster::start().await?;
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let ca = write(at, "ca.crt", &std::fs::read_to_string(cluster.certificate_authority())?)?;
    let token = write(at, "token", cluster.admin_token())?;
    kubeconfig(at, "config", &format!("server: 'https://{}', certificate-authority: ca.crt", cluster.address()), "tokenFile: token")?;
    let mut host = host(at, &[])?;
    host.ready().await?;
    let renewed = async |what: &str, seen: usize| {
        let cause = format!("{what} has changed");
        let renewed =
            |line: &wharf_testkit::Line| line.is("message", "connection to the API server renewed") && line.text("cause").contains(&cause);
        host.log().wait_for(&format!("{cause}, and is taken"), seen, LONG, renewed).await
    };
    // A token that nobody knows, then also another authority; then both are mended.
    let seen = host.log().len();
    std::fs::write(&token, "nobody")?;
    renewed("token", seen).await?;
    put_plugin(at, "one")?;
    shows(&host, "plugins", "401").await?;
    let seen = host.log().len();
    std::fs::write(&ca, Authority::new()?.pem)?;
    renewed("ca.crt", seen).await?;
    put_plugin(at, "two")?;
    shows(&host, "plugins", "certificate").await?;
    let seen = host.log().len();
    std::fs::write(&token, format!("{}\n", cluster.admin_token()))?;
    renewed("token", seen).await?;
    let seen = host.log().len();
    std::fs::copy(cluster.certificate_authority(), &ca)?;
    renewed("ca.crt", seen).await?;
    put_plugin(at, "three")?;
    shows(&host, "informers", "Synced").await?;
    // What cannot be used changes nothing.
    let seen = host.log().len();
    std::fs::write(&ca, "half a certif")?;
    let kept = |line: &wharf_testkit::Line| line.text("message").starts_with("connection to the API server cannot be renewed");
    host.log().wait_for("the broken authority is refused", seen, LONG, kept).await?;
    assert!(
        !host.log().since(0).iter().any(|line| format!("{:?}", line.fields()).contains(cluster.admin_token())),
        "the token is in the log"
    );
    host.terminate(LONG).await?;
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exec_plugin_is_asked_again_before_its_credentials_end() -> Result<()> {
    let cluster = Cluster::start().await?;
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let script = write(
        at,
        "plugin.sh",
        &format!(
            "echo asked >> {}/calls\nend=$(date -u -d '+4 seconds' +%Y-%m-%dT%H:%M:%SZ)\n\
             echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{}\",\"expirationTimestamp\":\"'$end'\"}}}}'\n",
            at.display(),
            cluster.admin_token()
        ),
    )?;
    let exec =
        format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: ['{script}'], interactiveMode: Never}}");
    kubeconfig(at, "config", &cluster_fields(&cluster), &exec)?;
    let mut host = host(at, &[])?;
    host.ready().await?;
    let calls = || std::fs::read_to_string(at.join("calls")).map(|text| text.lines().count());
    until("the plugin is asked again", LONG, async || Ok((calls()? >= 3).then_some(()))).await?;
    let renewed = |line: &wharf_testkit::Line| line.is("cause", "the credentials end");
    host.log().wait_for("the credentials are renewed", 0, LONG, renewed).await?;
    host.terminate(LONG).await?;
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exec_plugin_is_asked_again_after_a_401() -> Result<()> {
    let cluster = Cluster::start().await?;
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let answer = |token: &str| {
        format!("{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{token}\"}}}}")
    };
    cluster.kubectl(&["create", "serviceaccount", "passing", "-n", "default"], None).await?;
    let file = write(at, "answer", &answer(&cluster.token("default", "passing").await?))?;
    let exec = format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: cat, args: ['{file}'], interactiveMode: Never}}");
    kubeconfig(at, "config", &cluster_fields(&cluster), &exec)?;
    let mut host = host(at, &[])?;
    host.ready().await?;
    // The token is of no use without its account; the plugin has another one, for whoever asks.
    cluster.kubectl(&["delete", "serviceaccount", "passing", "-n", "default"], None).await?;
    write(at, "answer", &answer(cluster.admin_token()))?;
    put_plugin(at, "one")?;
    host.log().wait_for("the plugin is asked again", 0, LONG, |line| line.is("cause", "the server refuses the credentials")).await?;
    // Its discovery may have been refused for good before that.
    put_plugin(at, "two")?;
    shows(&host, "informers", "Synced").await?;
    host.terminate(LONG).await?;
    cluster.stop().await
}
