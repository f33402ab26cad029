//! The command line as a user types it: exit codes, what goes to which stream, messages.
//! Runs the real binary; owns no cluster.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use wharf_testkit::paths;

fn wharf(args: &[&str]) -> Result<Output> {
    let mut command = Command::new(paths::wharf()?);
    command.args(args).env_clear();
    command.output().context("run wharf")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_and_version_are_data() -> Result<()> {
    let help = wharf(&["--help"])?;
    assert_eq!((help.status.code(), err(&help).as_str()), (Some(0), ""));
    for command in [
        "run",
        "build",
        "validate",
        "inspect",
        "get",
        "explain",
        "retry",
        "describe",
        "top",
        "logs",
        "log-level",
        "pause",
        "resume",
        "drain",
        "watch",
        "rbac",
        "crd",
        "version",
    ] {
        assert!(out(&help).contains(command), "{command} is missing in:\n{}", out(&help));
    }
    let version = wharf(&["version"])?;
    assert!(out(&version).starts_with("wharf 0.1.0\ncontract wharf:plugin@0.1.0\nwasmtime 48."), "{}", out(&version));
    Ok(())
}

#[test]
fn wrong_usage_is_2() -> Result<()> {
    for args in [&["launch"][..], &["run", "--no-such-flag"], &["get"], &["watch"], &["get", "pods", "-v", "11"], &[]] {
        let output = wharf(args)?;
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
    Ok(())
}

#[test]
fn what_asks_a_host_is_checked_before_it_asks() -> Result<()> {
    for args in [
        &["drain"][..],
        &["drain", "a", "--all"],
        &["pause"],
        &["drain", "a", "--timeout", "5"],
        &["top", "--window", "1ms"],
        &["logs", "--tail", "-1"],
        &["logs", "-n", "a"],
        &["log-level", "a", "--level", "info", "--reset"],
        &["get", "plugins", "--output-watch-events"],
        &["get", "plugins", "-w", "-l", "a=b"],
        &["get", "informers", "-w", "-n", "a"],
        &["describe", "a", "-o", "wide"],
    ] {
        let output = wharf(args)?;
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
    }
    Ok(())
}

#[test]
fn validate_reports_every_mistake_with_its_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("plugin.yaml");
    std::fs::write(
        &file,
        "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: Wrong_Name}\nspec:\n  component: {file: a.wasm}\n  limits:\n    memory: 64Xi\n  subscribed: []\n",
    )?;
    let name = file.to_string_lossy().into_owned();
    let output = wharf(&["validate", &name])?;
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let text = out(&output);
    for expected in ["plugin.yaml:3:", "plugin.yaml:7:", "plugin.yaml:8:", "/spec/limits/memory", "DocumentInvalid", "subscribe"] {
        assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
    }
    for plugin in ["label-guard", "configmap-replicator"] {
        let file = paths::root().join("plugins").join(plugin).join("plugin.yaml");
        let output = wharf(&["validate", &file.to_string_lossy()])?;
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    }
    let missing = wharf(&["validate", "/no/such/file.yaml"])?;
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).starts_with("error: read /no/such/file.yaml\n  caused by: "), "{}", err(&missing));
    Ok(())
}

#[test]
fn crd_is_one_document_to_apply() -> Result<()> {
    let output = wharf(&["crd"])?;
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    let definition: serde_json::Value = serde_saphyr::from_str(&out(&output))?;
    assert_eq!((&definition["kind"], &definition["metadata"]["name"]), (&"CustomResourceDefinition".into(), &"plugins.wharf.dev".into()));
    let rbac = wharf(&["rbac", "--cluster-plugins"])?;
    assert_eq!(rbac.status.code(), Some(0), "{}", err(&rbac));
    assert!(out(&rbac).contains("plugins/status") && !out(&rbac).contains("impersonate"), "{}", out(&rbac));
    assert_eq!(wharf(&["rbac"])?.status.code(), Some(2));
    Ok(())
}

#[test]
fn inspect_shows_what_a_component_is_and_asks_for() -> Result<()> {
    let file = paths::guest("label-guard")?;
    let output = wharf(&["inspect", &file.to_string_lossy()])?;
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let text = out(&output);
    for expected in ["component", "sha256:", "wharf:plugin/cluster@0.1.0", "wharf:plugin/handler@0.1.0", "ConfigMap", "name: label-guard"] {
        assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
    }
    let json = wharf(&["inspect", "-o", "json", &file.to_string_lossy()])?;
    let value: serde_json::Value = serde_json::from_str(&out(&json))?;
    assert_eq!(value["kind"], "component");
    assert_eq!(value["description"]["subscribe"][0]["kind"], "ConfigMap");
    Ok(())
}

#[test]
fn inspect_says_what_is_wrong_with_other_files() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (name, bytes, word) in [
        ("junk.wasm", &b"not wasm at all"[..], "component"),
        ("core.wasm", &b"\0asm\x01\0\0\0"[..], "core module"),
        ("cut.wasm", &b"\0asm\x0d\0\x01\0\x07\xff"[..], "ComponentInvalid"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes)?;
        let output = wharf(&["inspect", &file.to_string_lossy()])?;
        assert_eq!(output.status.code(), Some(1), "{name}: {}{}", out(&output), err(&output));
        let text = out(&output) + &err(&output);
        assert!(text.contains(word), "{name}: {word:?} is missing in:\n{text}");
    }
    Ok(())
}

#[test]
fn without_a_host_commands_say_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for args in [
        &["get", "plugins"][..],
        &["get", "failures"],
        &["get", "plugins", "-w"],
        &["explain", "p", "cm/x"],
        &["retry", "p", "cm/x"],
        &["retry", "p", "--all"],
        &["describe", "p", "-o", "json"],
        &["top"],
        &["logs", "-f"],
        &["log-level"],
        &["log-level", "p", "--reset"],
        &["drain", "--all"],
    ] {
        let folder = folder.path().to_string_lossy();
        let output = wharf(&[args, &["--data-dir", &folder]].concat())?;
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""), "{args:?}");
        assert!(err(&output).contains("no wharf host listens at"), "{args:?}: {}", err(&output));
    }
    Ok(())
}

#[test]
fn get_without_a_cluster_says_where_it_looked() -> Result<()> {
    let output = wharf(&["get", "pods"])?;
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""));
    for word in ["error: ", "--server", "--kubeconfig", "KUBECONFIG", "hint: "] {
        assert!(err(&output).contains(word), "{word:?} is missing in:\n{}", err(&output));
    }
    // Nobody listens there.
    let output = wharf(&["get", "pods", "--server", "https://127.0.0.1:1", "--token", "s3cret"])?;
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("no answer from 127.0.0.1:1") && !err(&output).contains("s3cret"), "{}", err(&output));
    Ok(())
}

#[test]
fn get_refuses_what_does_not_go_together() -> Result<()> {
    for (args, word) in [
        (&["get", "pods", "--show-managed-fields"][..], "managedFields"),
        (&["get", "plugins", "-l", "a=b"], "--selector"),
        (&["get", "failures", "-w", "--raw"], "--raw"),
        (&["get", "failures", "p", "q"], "of one plugin"),
        (&["get", "failures", "a&b"], "is no name"),
        (&["retry", "p"], "KEY"),
        (&["retry", "p", "cm/x", "--all"], "--all"),
        (&["explain", "p"], "KEY"),
        (&["get", "pods", "a", "-l", "x"], "selectors"),
        (&["get", "pods", "--raw"], "--raw is for --watch"),
        (&["get", "pods", "-w", "--raw", "-o", "json"], "--raw"),
        (&["watch", "pods", "--raw", "-o", "table"], "--raw"),
        (&["get", "pods,", "-n", "x"], "is empty"),
        (&["get", "informers", "-n", "x"], "in no namespace"),
        (&["watch", "pods,services"], "one kind"),
        (&["watch", "pods", "--server", "10.0.0.1:6443"], "https://HOST:PORT"),
        (&["watch", "pods", "--server", "https://u:s3cret@host"], "https://HOST:PORT"),
    ] {
        let output = wharf(args)?;
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{args:?}");
        assert!(err(&output).contains(word) && !err(&output).contains("s3cret"), "{args:?}: {}", err(&output));
    }
    Ok(())
}

#[test]
fn a_token_is_never_shown() -> Result<()> {
    let output = wharf(&["run", "--print-config", "--token", "s3cret", "--server", "https://one:1", "--token-file", "/t"])?;
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for line in ["server: \"https://one:1\" # from flag --server", "tokenFile: /t # from flag --token-file", "The token is from --token"] {
        assert!(text.contains(line), "{line:?} is missing in:\n{text}");
    }
    let mut command = Command::new(paths::wharf()?);
    let output = command.args(["run", "--print-config"]).env_clear().env("WHARF_TOKEN", "s3 cret").output()?;
    assert_eq!(output.status.code(), Some(78));
    assert!(err(&output).contains("WHARF_TOKEN"), "{}", err(&output));
    for text in [text, err(&output), out(&output)] {
        assert!(!text.contains("s3cret") && !text.contains("s3 cret"), "{text}");
    }
    Ok(())
}

#[test]
fn run_without_a_usable_configuration_is_78() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (args, word) in [
        (vec!["--kubeconfig".to_owned(), path("none")], "kubeconfig"),
        (vec!["--drain-deadline".to_owned(), "soon".to_owned()], "soon"),
        (vec!["--config".to_owned(), path("none.yaml")], "none.yaml"),
    ] {
        let args: Vec<&str> = std::iter::once("run").chain(args.iter().map(String::as_str)).collect();
        let output = wharf(&args)?;
        assert_eq!(output.status.code(), Some(78), "{args:?}: {}", err(&output));
        assert!(err(&output).contains(word) && err(&output).contains("error: "), "{args:?}: {}", err(&output));
    }
    Ok(())
}

#[test]
fn print_config_names_each_origin() -> Result<()> {
    let output = wharf(&["run", "--print-config", "--plugins-dir", "/p", "--log-level", "debug"])?;
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("/p") && text.contains("flag") && text.contains("default"), "{text}");
    Ok(())
}

#[test]
fn the_committed_roles_are_what_rbac_prints() -> Result<()> {
    let root = paths::root();
    let files = ["label-guard", "configmap-replicator"].map(|name| root.join("plugins").join(name).join("plugin.yaml"));
    let [guard, replicator] = files.each_ref().map(|file| file.to_string_lossy());
    let output = wharf(&["rbac", &guard, &replicator])?;
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let golden = root.join("deploy/kustomize/examples/rbac.yaml");
    assert_same(&golden, &out(&output), "wharf rbac plugins/label-guard/plugin.yaml plugins/configmap-replicator/plugin.yaml")
}

fn assert_same(golden: &Path, now: &str, command: &str) -> Result<()> {
    let committed = std::fs::read_to_string(golden).with_context(|| format!("read {}", golden.display()))?;
    assert_eq!(committed, now, "{} is out of date; make it again with: {command}", golden.display());
    Ok(())
}
