//! `wharf invoke` as a user types it: the real binary and real components, without a cluster.
//! Outputs are compared whole; times and sizes are masked.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use wharf_testkit::paths;

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: team-a}\ndata: {a: '1'}\n";
const MOTD: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: motd
  namespace: team-a
  labels: {wharf.dev/replicate: 'true'}
  annotations: {wharf.dev/replicate-to: team-b}
data: {greeting: hello}
";
/// One cache for all tests, so that each component is compiled once.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/invoke-cache");

fn folder(files: &[(&str, &str)]) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text)?;
    }
    Ok(folder)
}

/// Runs `wharf invoke` on a guest, in a folder.
fn invoke(folder: &Path, component: &str, args: &[&str]) -> Result<Output> {
    let mut command = Command::new(paths::wharf()?);
    command.arg("invoke").arg(component).args(args).env_clear().env("XDG_CACHE_HOME", CACHE).current_dir(folder);
    command.output().context("run wharf")
}

fn guest(name: &str) -> Result<String> {
    Ok(paths::guest(name)?.display().to_string())
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The text without what differs from run to run: the last two lines are times and sizes.
fn masked(output: &Output) -> String {
    let text = out(output);
    let kept: Vec<_> = text.lines().filter(|line| !line.starts_with("call: time ") && !line.starts_with("component: ")).collect();
    assert_eq!(kept.len() + 2, text.lines().count(), "{text}{}", err(output));
    kept.join("\n")
}

fn expect(output: &Output, code: i32, text: &str) {
    assert_eq!(masked(output), text);
    assert_eq!((output.status.code(), err(output).as_str()), (Some(code), ""));
}

#[test]
fn an_event_is_recorded_and_logged() -> Result<()> {
    let folder = folder(&[("o.yaml", SETTINGS)])?;
    let output = invoke(folder.path(), &guest("label-guard")?, &["--event", "add", "--object", "o.yaml"])?;
    let text = r#"label-guard 0.1.0: add v1 ConfigMap team-a/settings
everything is granted: there is no Plugin document (--plugin)

outcome: done

log:
  WARN  label missing label="owner"

cluster:
  1. record-event v1 ConfigMap team-a/settings
     warning MissingLabel: the label "owner" is required
"#;
    expect(&output, 0, text);
    Ok(())
}

#[test]
fn writes_go_to_the_cluster_in_memory() -> Result<()> {
    let copy = "apiVersion: v1
kind: ConfigMap
metadata: {name: motd, namespace: team-c, uid: u7, resourceVersion: '41', labels: {wharf.dev/replica-of: team-a.motd}}
";
    let folder = folder(&[("o.yaml", MOTD), ("copy.yaml", copy)])?;
    let args = ["--event", "update", "--object", "o.yaml", "--with", "copy.yaml", "--cause", "reload"];
    let output = invoke(folder.path(), &guest("configmap-replicator")?, &args)?;
    let text = r#"configmap-replicator 0.1.0: update v1 ConfigMap team-a/motd
everything is granted: there is no Plugin document (--plugin)

outcome: done

log:
  INFO  removed namespace="team-c"
  INFO  copied namespace="team-b"

cluster:
  1. list-objects v1 ConfigMap everywhere (labelSelector wharf.dev/replica-of=team-a.motd, live)
     -> 1 object: team-c/motd
  2. delete v1 ConfigMap team-c/motd (ifUid u7)
     -> deleted
  3. get v1 ConfigMap team-b/motd (live)
     -> not-found
  4. apply v1 ConfigMap team-b/motd (force)
     -> created, resourceVersion 43
       apiVersion: v1
       data:
         greeting: hello
       kind: ConfigMap
       metadata:
         annotations:
           wharf.dev/source-uid: 00000000-0000-4000-8000-000000000001
         labels:
           wharf.dev/replica-of: team-a.motd
         name: motd
         namespace: team-b
"#;
    expect(&output, 0, text);
    Ok(())
}

#[test]
fn a_failure_is_shown_with_its_reason_and_ends_with_1() -> Result<()> {
    let foreign = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: motd, namespace: team-b}\n";
    let folder = folder(&[("o.yaml", MOTD)])?;
    std::fs::create_dir(folder.path().join("cluster"))?;
    std::fs::write(folder.path().join("cluster/b.yaml"), foreign)?;
    let output = invoke(folder.path(), &guest("configmap-replicator")?, &["--event", "add", "--object", "o.yaml", "--with", "cluster"])?;
    let text = r#"configmap-replicator 0.1.0: add v1 ConfigMap team-a/motd
everything is granted: there is no Plugin document (--plugin)

failure: permanent until the object changes, reason NotACopy
  ConfigMap team-b/motd exists and is no copy of team-a/motd

log:
  WARN  not a copy namespace="team-b"

cluster:
  1. list-objects v1 ConfigMap everywhere (labelSelector wharf.dev/replica-of=team-a.motd, live)
     -> 0 objects
  2. get v1 ConfigMap team-b/motd (live)
     -> found
       apiVersion: v1
       kind: ConfigMap
       metadata:
         name: motd
         namespace: team-b
         resourceVersion: "2"
         uid: 00000000-0000-4000-8000-000000000002
"#;
    expect(&output, 1, text);
    Ok(())
}

#[test]
fn each_ending_has_its_words() -> Result<()> {
    let probe = guest("probe")?;
    for (word, code, expected) in [
        ("requeue:1500", 0, "outcome: requeue after 1.5 s\n"),
        ("retry", 1, "failure: retry with the queue's back-off, reason Asked\n  retry\n"),
        ("retry-after:500", 1, "failure: retry after 500 ms, reason Asked\n  retry-after:500\n"),
        ("bogus", 1, "failure: permanent until the object changes, reason Asked\n  no such word: bogus\n"),
        ("panic", 1, "strike: Trap\n"),
        ("loop", 1, "strike: CpuExceeded\n"),
        ("bomb", 1, "strike: MemoryExceeded\n"),
    ] {
        let object = SETTINGS.replace("a: '1'", &format!("do: '{word}'"));
        let folder = folder(&[("o.yaml", &object)])?;
        let output = invoke(folder.path(), &probe, &["--event", "add", "--object", "o.yaml"])?;
        let text = out(&output);
        assert!(text.contains(expected), "{word}: {expected:?} is missing in:\n{text}{}", err(&output));
        assert_eq!(output.status.code(), Some(code), "{word}");
        assert_eq!(text.contains("\n  hint: "), text.contains("strike: "), "{word}:\n{text}");
    }
    Ok(())
}

#[test]
fn a_deleted_object_is_seen_with_its_states() -> Result<()> {
    let old = SETTINGS.replace("a: '1'", "value: before");
    let object = SETTINGS.replace("a: '1'", "value: after");
    let folder = folder(&[("o.yaml", &object), ("p.yaml", &old)])?;
    let args = ["--object", "o.yaml", "--old", "p.yaml", "--attempt", "3", "--cause", "retry"];
    for (event, removal) in [("update", "none"), ("delete", "gone")] {
        let output = invoke(folder.path(), &guest("probe")?, &[&args[..], &["--event", event]].concat())?;
        let text = out(&output);
        for field in [
            format!(r#"event="{event}""#),
            format!(r#"removal="{removal}""#),
            r#"value="after""#.to_owned(),
            r#"previous="before""#.to_owned(),
            r#"attempt="3""#.to_owned(),
            r#"cause="retry""#.to_owned(),
            r#"subscription="main""#.to_owned(),
        ] {
            assert!(text.contains(&field), "{field} is missing in:\n{text}{}", err(&output));
        }
    }
    Ok(())
}

/// The document of configmap-replicator, but it may only read.
const READER: &str = "apiVersion: wharf.dev/v1alpha1
kind: Plugin
metadata: {name: reader, namespace: team-a}
spec:
  component: {file: configmap-replicator.wasm}
  subscribe: [{name: main, apiVersion: v1, kind: ConfigMap, namespaces: [team-z]}]
  grants:
    - cluster: {apiVersion: v1, kind: ConfigMap, verbs: [get, list], namespaces: ['*']}
";

#[test]
fn a_document_holds_what_it_grants() -> Result<()> {
    let folder = folder(&[("o.yaml", MOTD), ("plugin.yaml", READER)])?;
    let component = guest("configmap-replicator")?;
    let output = invoke(folder.path(), &component, &["--event", "add", "--object", "o.yaml", "--plugin", "plugin.yaml"])?;
    let text = masked(&output);
    // What the guest makes of the refusal is its SDK's matter.
    let (head, uses) = text.split_once("\n\ncluster:\n").with_context(|| format!("{text}{}", err(&output)))?;
    let expected = "configmap-replicator 0.1.0: add v1 ConfigMap team-a/motd
grants, limits and configuration of the Plugin document team-a/reader
note: a host would not make this call: the subscription main does not cover the namespace team-a

failure: retry with the queue's back-off, reason GrantMissing
  not granted: ";
    assert!(head.starts_with(expected), "{head}");
    let expected = r#"  1. list-objects v1 ConfigMap everywhere (labelSelector wharf.dev/replica-of=team-a.motd, live)
     -> 0 objects
  2. get v1 ConfigMap team-b/motd (live)
     -> not-found
  3. apply
     -> not-granted: apply v1 ConfigMap; to allow it, add to spec.grants: - cluster: {apiVersion: v1, kind: ConfigMap, verbs: [apply], namespaces: ["team-b"]}
"#;
    assert_eq!(uses, expected);
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

#[test]
fn a_plugins_folder_is_enough() -> Result<()> {
    let folder = folder(&[("o.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}"#)])?;
    std::fs::copy(paths::guest("label-guard")?, folder.path().join("label-guard.wasm"))?;
    std::fs::copy(paths::root().join("plugins/label-guard/plugin.yaml"), folder.path().join("plugin.yaml"))?;
    let output = invoke(folder.path(), ".", &["--event", "add", "--object", "o.json"])?;
    let text = masked(&output);
    let head =
        "label-guard 0.1.0: add v1 ConfigMap default/x\ngrants, limits and configuration of the Plugin document default/label-guard\n";
    assert!(text.starts_with(head), "{text}");
    assert_eq!(output.status.code(), Some(0));
    Ok(())
}

#[test]
fn what_a_host_would_refuse_is_refused() -> Result<()> {
    let bare = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: x}\nspec: {component: {file: label-guard.wasm}}\n";
    let unknown =
        bare.replace("spec: {", "spec: {subscribe: [{name: man}], grants: [{cluster: {apiVersion: v1, kind: Pod, verbs: [get]}}], ");
    let files = [
        ("o.yaml", SETTINGS),
        ("config.yaml", "requiredLabel: ''\n"),
        ("plugin.yaml", bare),
        ("unknown.yaml", &unknown),
        ("core.wasm", "\0asm\u{1}\0\0\0"),
        ("text.wasm", "hello"),
    ];
    let folder = folder(&files)?;
    let label_guard = guest("label-guard")?;
    for (component, args, expected) in [
        (
            &*label_guard,
            &["--config", "config.yaml"][..],
            &["refuses its configuration [ConfigInvalid]\n  requiredLabel: must not be empty\n", "correct config.yaml"][..],
        ),
        (&label_guard, &["--plugin", "plugin.yaml"], &["[GrantMissing]", "wharf:plugin/cluster@0.1.0", "add to spec.grants"]),
        (&label_guard, &["--plugin", "unknown.yaml"], &["/spec/subscribe/0/name", "did you mean main?"]),
        ("core.wasm", &[], &["core.wasm: ", "[ComponentInvalid]", "wharf build"]),
        ("text.wasm", &[], &["text.wasm: ", "[ComponentInvalid]", "wharf inspect"]),
    ] {
        let output = invoke(folder.path(), component, &[&["--event", "add", "--object", "o.yaml"], args].concat())?;
        let text = err(&output);
        for part in expected {
            assert!(text.contains(part), "{args:?}: {part:?} is missing in:\n{text}");
        }
        assert!(text.starts_with("error: ") && text.contains("\nhint: "), "{text}");
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""), "{args:?}");
    }
    Ok(())
}

#[test]
fn wrong_usage_is_2_and_says_what_is_wrong() -> Result<()> {
    let other = SETTINGS.replace("name: settings", "name: other");
    let files = [
        ("o.yaml", SETTINGS),
        ("other.yaml", &*other),
        ("two.yaml", &*format!("{SETTINGS}---\n{other}")),
        ("broken.yaml", "apiVersion: v1\nkind: [ConfigMap\nmetadata: {name: x}\n"),
        ("no-kind.yaml", "apiVersion: v1\nmetadata: {name: x}\n"),
        ("config.yaml", "- a\n"),
    ];
    let folder = folder(&files)?;
    std::fs::create_dir(folder.path().join("empty"))?;
    let label_guard = guest("label-guard")?;
    for (component, args, expected) in [
        (&*label_guard, &["--event", "add", "--object", "none.yaml"][..], "read none.yaml"),
        (&label_guard, &["--event", "add", "--object", "two.yaml"], "two.yaml: 2 documents"),
        (&label_guard, &["--event", "add", "--object", "broken.yaml"], "broken.yaml:3:"),
        (&label_guard, &["--event", "add", "--object", "no-kind.yaml"], "no-kind.yaml: the object has no kind"),
        (&label_guard, &["--event", "update", "--object", "o.yaml", "--old", "other.yaml"], "other.yaml: v1 ConfigMap team-a/other is not"),
        (&label_guard, &["--event", "add", "--object", "o.yaml", "--old", "o.yaml"], "--old: there is no earlier state in add"),
        (&label_guard, &["--event", "add", "--object", "o.yaml", "--with", "empty"], "empty: no .yaml"),
        (&label_guard, &["--event", "add", "--object", "o.yaml", "--config", "config.yaml"], "no set of fields"),
        (&label_guard, &["--event", "add", "--object", "o.yaml", "--subscription", "man"], "no subscription \"man\""),
        (&label_guard, &["--event", "add", "--object", "o.yaml", "--plugin", "none.yaml"], "read none.yaml"),
        (&label_guard, &["--event", "change", "--object", "o.yaml"], "invalid value 'change'"),
        (&label_guard, &["--object", "o.yaml"], "--event"),
        ("none.wasm", &["--event", "add", "--object", "o.yaml"], "none.wasm: there is no such component"),
        ("empty", &["--event", "add", "--object", "o.yaml"], "empty: no plugin.yaml"),
    ] {
        let output = invoke(folder.path(), component, args)?;
        assert!(err(&output).contains(expected), "{args:?}: {expected:?} is missing in:\n{}", err(&output));
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{args:?}");
    }
    Ok(())
}

#[test]
fn json_has_all_of_it() -> Result<()> {
    let folder = folder(&[("o.yaml", SETTINGS)])?;
    let component = guest("label-guard")?;
    let output = invoke(folder.path(), &component, &["--event", "update", "--object", "o.yaml", "-o", "json"])?;
    let mut value: Value = serde_json::from_str(&out(&output)).with_context(|| err(&output))?;
    for (part, fields) in
        [("usage", &["timeMicros", "cpuMicros", "ownMicros", "peakMemory", "hostCalls", "loadMicros"][..]), ("component", &["size"])]
    {
        for field in fields {
            assert!(value[part][*field].as_u64().is_some_and(|number| number > 0), "{part}.{field} in {value:#}");
            value[part][*field] = json!(0);
        }
    }
    assert!(value["component"]["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    value["component"]["digest"] = json!("");
    value["usage"]["compiled"] = json!(null);
    for field in ["waitedInstanceMicros", "waitedTurnsMicros"] {
        assert!(value["usage"][field].is_u64(), "{value:#}");
        value["usage"][field] = json!(0);
    }
    let target = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "team-a", "name": "settings"});
    let expected = json!({
        "component": {"file": component, "digest": "", "size": 0, "name": "label-guard", "version": "0.1.0"},
        "grants": "everything",
        "limits": {"memory": 16 << 20, "deadlineMs": 10_000, "cpuMs": 200},
        "event": "update",
        "object": target,
        "subscription": "main",
        "cause": "watch",
        "removal": "none",
        "attempt": 1,
        "result": {"kind": "done", "reason": null, "message": null, "afterMs": null, "hint": null},
        "log": [{"call": "update", "level": "warn", "message": "label missing", "fields": [["label", "owner"]]}],
        "cluster": [{
            "call": "record-event",
            "target": target,
            "request": {"type": "warning", "reason": "MissingLabel", "message": "the label \"owner\" is required"},
            "answer": {"ok": {}},
        }],
        "usage": {
            "timeMicros": 0, "cpuMicros": 0, "ownMicros": 0, "waitedAnswersMicros": 0, "waitedInstanceMicros": 0, "waitedTurnsMicros": 0,
            "peakMemory": 0, "hostCalls": 0, "hostCallsBy": {"cluster.record-event": 1, "config.json": 1, "event.get": 1, "log.emit": 1, "log.enabled": 1}, "requests": [], "moreRequests": 0, "logLines": 1,
            "logDropped": 0, "reused": false, "loadMicros": 0, "compiled": null,
        },
        "notes": [],
    });
    assert_eq!(value, expected, "{value:#}");
    Ok(())
}

/// What a guest passes comes back in the output, but neither as a line of its own nor as an
/// order to the terminal.
#[test]
fn a_guest_cannot_fake_lines() -> Result<()> {
    let evil = "u\n\noutcome: done\r\u{1b}[2K\u{9b}1A";
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let metadata = json!({"name": "x", "namespace": "team-a", "resourceVersion": "1", "uid": "u1"});
    for (command, args, expected) in [
        (
            "cluster-delete",
            json!({"kind": kind, "namespace": "team-a", "name": "x", "ifUid": evil}),
            r"(ifUid u\n\noutcome: done\r\u{1b}[2K\u{9b}1A)
     -> conflict: the uid of the live object is u1, not u\n\noutcome: done\r\u{1b}[2K\u{9b}1A
",
        ),
        (
            "cluster-patch",
            json!({"kind": kind, "namespace": "team-a", "name": "x", "patch": {}, "ifResourceVersion": evil}),
            r"(ifResourceVersion u\n\noutcome: done\r\u{1b}[2K\u{9b}1A)
     -> conflict: the live object has the resourceVersion 1, not u\n\noutcome: done\r\u{1b}[2K\u{9b}1A
",
        ),
    ] {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "do": command, "args": args});
        let folder = folder(&[("o.json", &object.to_string())])?;
        let output = invoke(folder.path(), &guest("conformance-rust")?, &["--event", "add", "--object", "o.json"])?;
        let text = out(&output);
        assert!(text.contains(expected), "{command}: {expected} is missing in:\n{text:?}{}", err(&output));
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{command}: {text:?}");
        assert_eq!(text.matches("\noutcome: ").count(), 1, "{text}");
    }
    Ok(())
}

/// The contract: raw reads keep the text. A number that is read and written again is another.
#[test]
fn the_numbers_of_a_json_file_are_those_that_a_handler_reads() -> Result<()> {
    let metadata = r#""apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}"#;
    let numbers = "[123456789012345678901234567890, 1e3, 1e400, 0.10]";
    let object = |which: &str| format!(r#"{{{metadata}, "do": "get", "args": {{"pointer": "/n", "which": "{which}"}}, "n": {numbers}}}"#);
    let (current, previous) = (object("current"), object("previous"));
    let files = [("current.json", &*current), ("previous.json", &previous)];
    let folder = folder(&files)?;
    let component = guest("conformance-c")?;
    for (object, args) in [("current.json", &[][..]), ("previous.json", &["--old", "current.json"])] {
        let output = invoke(folder.path(), &component, &[&["--event", "update", "--object", object, "-o", "json"], args].concat())?;
        let value: Value = serde_json::from_str(&out(&output)).with_context(|| err(&output))?;
        let reported = value["log"][0]["fields"][0][1].as_str().with_context(|| format!("{value:#}"))?;
        assert_eq!(serde_json::from_str::<String>(reported)?, numbers.replace(' ', ""), "{object}");
    }
    Ok(())
}

#[test]
fn the_object_may_come_through_a_pipe() -> Result<()> {
    let mut command = Command::new(paths::wharf()?);
    command.arg("invoke").arg(paths::guest("label-guard")?).args(["--event", "add", "--object", "-"]);
    command.env_clear().env("XDG_CACHE_HOME", CACHE).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().context("no standard input")?.write_all(SETTINGS.as_bytes())?;
    let output = child.wait_with_output()?;
    assert!(out(&output).contains("outcome: done"), "{}{}", out(&output), err(&output));
    Ok(())
}

#[test]
fn compiled_components_are_kept_for_their_owner_alone() -> Result<()> {
    let folder = folder(&[("o.yaml", SETTINGS)])?;
    let component = guest("label-guard")?;
    let run = |args: &[&str]| invoke(folder.path(), &component, &[&["--event", "add", "--object", "o.yaml"], args].concat());
    assert!(out(&run(&["--cache-dir", "kept"])?).ends_with("(compiled)\n"));
    assert!(out(&run(&["--cache-dir", "kept"])?).ends_with("(from the cache)\n"));
    assert_eq!(std::fs::metadata(folder.path().join("kept/cwasm"))?.permissions().mode() & 0o777, 0o700);
    let output = Command::new(paths::wharf()?)
        .args(["invoke", &component, "--event", "add", "--object", "o.yaml", "--no-cache"])
        .env_clear()
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()?;
    assert!(out(&output).ends_with("(compiled)\n"), "{}", err(&output));
    assert!(!folder.path().join(".cache").exists());
    Ok(())
}

/// A cache that nobody asked for must not be what a call fails by.
#[test]
fn without_a_usable_cache_the_call_is_made_and_says_so() -> Result<()> {
    let folder = folder(&[("o.yaml", SETTINGS), ("file", "")])?;
    let file = folder.path().join("file");
    let component = guest("label-guard")?;
    let args = ["invoke", &component, "--event", "add", "--object", "o.yaml"];
    let run = |command: &mut Command| command.env_clear().env("HOME", &file).current_dir(folder.path()).output();
    let output = run(Command::new(paths::wharf()?).args(args))?;
    assert!(out(&output).contains("\nnote: compiled components are not kept: "), "{}{}", out(&output), err(&output));
    assert_eq!(output.status.code(), Some(0));
    let output = run(Command::new(paths::wharf()?).args(args).args(["--cache-dir", "file"]))?;
    assert!(err(&output).starts_with("error: start the engine\n  caused by: "), "{}", err(&output));
    assert_eq!(output.status.code(), Some(2));
    Ok(())
}

#[test]
fn a_trap_leaves_a_core_dump_if_that_is_asked_for() -> Result<()> {
    let object = |word: &str| SETTINGS.replacen("a: '1'", &format!("do: {word}"), 1);
    let folder = folder(&[("trap.yaml", &object("trap")), ("done.yaml", &object("done"))])?;
    let probe = guest("probe")?;
    let asked = |file| ["--event", "add", "--object", file, "--coredump", "core"];
    let output = invoke(folder.path(), &probe, &asked("done.yaml"))?;
    assert!(
        out(&output).contains("the call did not trap: there is no core dump") && !folder.path().join("core").exists(),
        "{}",
        out(&output)
    );
    let output = invoke(folder.path(), &probe, &asked("trap.yaml"))?;
    assert!(out(&output).contains("the core dump is in core"), "{}{}", out(&output), err(&output));
    let dump = std::fs::read(folder.path().join("core"))?;
    // A module with sections of its own, one of which is the memory.
    let has = |text: &[u8]| dump.windows(text.len()).any(|part| part == text);
    assert!(dump.starts_with(b"\0asm") && has(b"corestack") && has(b"settings"), "{} bytes", dump.len());
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(folder.path().join("core"))?.permissions()) & 0o777, 0o600);
    Ok(())
}
