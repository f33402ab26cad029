//! `wharf dev` and `wharf apiserver` as somebody at a desk types them: the real process, a plugin's folder, manifests, and kubectl. Waits
//! on lines and on objects; nothing of a command outlives it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use tokio::process::Command;
use wharf_testkit::{Api, Line, Log, Process, Signal, Target, paths, scratch, until};

/// A debug build of a plugin's dependencies is in it.
const DEADLINE: Duration = Duration::from_secs(300);
const GUARD: &str = "default/label-guard";
const SAID: &str = "label missing";

/// A command of wharf that runs; its log is JSON.
struct Wharf {
    process: Process,
    log: Log,
    kubeconfig: PathBuf,
}

impl Wharf {
    /// Starts it; it is up when the kubeconfig is there.
    async fn start(command: &str, home: &Path, args: &[&str]) -> Result<Self> {
        let kubeconfig = home.join("kubeconfig");
        if kubeconfig.exists() {
            fs::remove_file(&kubeconfig)?;
        }
        let file = kubeconfig.display().to_string();
        // One target folder for what is built here: most of it is the same as for the guests.
        let cargo = format!("CARGO_TARGET_DIR={}", paths::target().join("guest-build").display());
        let wharf = paths::wharf()?.display().to_string();
        let fixed = [cargo.as_str(), &wharf, command, "--kubeconfig", &file, "--log-format", "json"];
        let mut process = Process::spawn(Path::new("/usr/bin/env"), fixed.iter().chain(args), Stdio::piped(), Stdio::piped())?;
        let log = Log::collect(process.child().stderr.take().context("no standard error")?);
        // What it tells at its start is read, so that it never waits for a reader.
        let _told = Log::collect(process.child().stdout.take().context("no standard output")?);
        let up = until("the kubeconfig", DEADLINE, async || {
            if let Some(status) = process.exited()? {
                return Ok(Some(Err(status)));
            }
            Ok(kubeconfig.exists().then_some(Ok(())))
        });
        if let Err(status) = up.await? {
            bail!("it ended with {status}: {}", log.tail());
        }
        Ok(Self { process, log, kubeconfig })
    }

    /// Waits for a call of the plugin for an object, with success.
    async fn called(&self, event: &str, name: &str, mark: usize) -> Result<Arc<Line>> {
        let call = |line: &Line| {
            line.is("message", "guest call finished") && line.is("event", event) && line.is("name", name) && line.is("outcome", "done")
        };
        self.log.wait_for(&format!("{event} of {name}"), mark, DEADLINE, call).await
    }

    async fn line(&self, message: &str, mark: usize) -> Result<Arc<Line>> {
        self.log.wait_for(message, mark, DEADLINE, |line| line.text("message").contains(message)).await
    }

    async fn api(&self) -> Result<Api> {
        Api::new(&self.kubeconfig).await
    }

    /// Ctrl-C ends it with 0, and all that it has started.
    async fn interrupt(mut self) -> Result<()> {
        let group = self.process.id();
        self.process.signal(Signal::Interrupt);
        let status = self.process.wait(DEADLINE).await?;
        ensure!(status.code() == Some(0), "it ended with {status}\n{}", self.log.tail());
        until("the end of its children", DEADLINE, async || Ok(children_of(group)?.is_empty().then_some(()))).await
    }
}

/// The processes of a session's group, or that were started by it.
fn children_of(parent: i32) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        // A process may end while it is looked at.
        let stat = fs::read_to_string(entry?.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        let parent = parent.to_string();
        if fields.get(1..3).is_some_and(|ids| ids.contains(&parent.as_str())) {
            found.push(stat);
        }
    }
    Ok(found)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Replaces a file in one step, as editors do.
fn save(file: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let next = file.with_extension("next");
    fs::write(&next, bytes)?;
    fs::rename(&next, file).with_context(|| format!("save {}", file.display()))
}

/// A folder as an author has it: the document, and the component that was built already.
fn built(home: &Path) -> Result<PathBuf> {
    let folder = home.join("plugin");
    fs::create_dir(&folder)?;
    fs::copy(paths::root().join("plugins/label-guard/plugin.yaml"), folder.join("plugin.yaml"))?;
    fs::copy(paths::guest("label-guard")?, folder.join("label-guard.wasm"))?;
    Ok(folder)
}

/// The sources of label-guard, which can be built where they are, and under another name.
fn sources(home: &Path) -> Result<PathBuf> {
    let (from, folder) = (paths::root().join("plugins/label-guard"), home.join("plugin"));
    fs::create_dir_all(folder.join("src"))?;
    let sdk = format!("path = {:?}", text(&paths::root().join("sdk/rust")));
    for file in ["plugin.yaml", "Cargo.toml", "Cargo.lock", "src/lib.rs"] {
        let source = fs::read_to_string(from.join(file)).with_context(|| format!("read {file}"))?;
        let source = source.replace("name = \"label-guard\"", "name = \"label-guard-dev\"").replace("path = \"../../sdk/rust\"", &sdk);
        fs::write(folder.join(file), source)?;
    }
    Ok(folder)
}

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: \"{value}\"}}\n")
}

async fn kubectl(home: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new(paths::cluster_tool("kubectl")?);
    command.arg("--kubeconfig").arg(home.join("kubeconfig")).arg("--cache-dir").arg(home.join("kubectl")).args(args);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
    ensure!(output.status.success(), "kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn home() -> Result<TempDir> {
    scratch("dev")
}

/// What is in a file is in the server: saved, changed and deleted; whatever the order of a definition and its objects; and broken text
/// deletes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_followed() -> Result<()> {
    let home = home()?;
    let (plugin, manifests) = (built(home.path())?, home.path().join("manifests"));
    fs::create_dir(&manifests)?;
    let notes = manifests.join("notes.yaml");
    fs::write(&notes, config_map("notes", "1"))?;
    let wharf = Wharf::start("dev", home.path(), &[&text(&plugin), "--manifests", &text(&manifests)]).await?;
    ensure!(fs::metadata(&wharf.kubeconfig)?.permissions().mode() & 0o777 == 0o600, "the kubeconfig is not private");
    let api = wharf.api().await?;
    wharf.called("add", "notes", 0).await?;
    save(&notes, config_map("notes", "2"))?;
    wharf.called("update", "notes", 0).await?;

    let object = Target::config_map("default", "notes");
    let before = api.get(&object).await?.context("notes is gone")?;
    save(&notes, "kind: [")?;
    wharf.line("unclosed bracket", 0).await?;
    ensure!(api.get(&object).await?.as_ref() == Some(&before), "what cannot be read changes nothing");

    // A shell empties a file at once, whoever writes it later; and what is no text, too large, or gone with its folder says nothing.
    let away = manifests.with_extension("away");
    for words in ["the file is empty", "no UTF-8", "more than 16777216 bytes", "No such file or directory"] {
        let mark = wharf.log.len();
        match words {
            "the file is empty" => fs::write(&notes, "")?,
            "no UTF-8" => fs::write(&notes, b"a: \xff")?,
            "more than 16777216 bytes" => fs::File::create(&notes)?.set_len(17 << 20)?,
            _ => fs::rename(&manifests, &away)?,
        }
        wharf.line(words, mark).await?;
        ensure!(api.get(&object).await?.as_ref() == Some(&before), "{words}");
    }
    fs::rename(&away, &manifests)?;

    save(&manifests.join("moved.yaml"), config_map("notes", "2"))?;
    fs::remove_file(&notes)?;
    save(&manifests.join("more.yaml"), config_map("more", "1"))?;
    wharf.called("add", "more", 0).await?;
    let uid = |object: &serde_json::Value| object.pointer("/metadata/uid").cloned();
    let moved = api.get(&object).await?.context("notes is gone")?;
    ensure!(uid(&moved) == uid(&before), "an object that moves to another file stays what it is");
    fs::remove_file(manifests.join("moved.yaml"))?;
    until("notes is deleted", DEADLINE, async || Ok(api.get(&object).await?.is_none().then_some(()))).await?;

    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\n";
    save(&manifests.join("a.yaml"), widget)?;
    wharf.line("no matches for kind", 0).await?;
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  \
        group: example.com\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n  - {name: v1, served: true, \
        storage: true, schema: {openAPIV3Schema: {type: object}}}\n";
    save(&manifests.join("b.yaml"), definition)?;
    until("the widget", DEADLINE, async || Ok(kubectl(home.path(), &["get", "widgets", "one"]).await.ok())).await?;
    wharf.interrupt().await
}

/// A component that is saved is what the next event meets, and one that is none is refused while the old one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_saved_component_serves() -> Result<()> {
    let home = home()?;
    let (plugin, data) = (built(home.path())?, home.path().join("objects"));
    let args = [text(&plugin), "--data".to_owned(), text(&data)];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let wharf = Wharf::start("dev", home.path(), &args).await?;
    let first = wharf.line("plugin revision serving", 0).await?.text("revision");
    kubectl(home.path(), &["create", "configmap", "one"]).await?;
    ensure!(wharf.called("add", "one", 0).await?.is("revision", &first), "not the revision that serves");

    let account = kubectl(home.path(), &["wait", "serviceaccount/label-guard", "--for=create", "--timeout=60s"]).await?;
    ensure!(account.contains("serviceaccount/label-guard"), "nobody made the plugin's account: {account}");

    let component = plugin.join("label-guard.wasm");
    save(&component, "no component")?;
    ensure!(wharf.line("plugin revision refused", 0).await?.is("serving", "true"), "nothing serves any more");
    kubectl(home.path(), &["create", "configmap", "two"]).await?;
    ensure!(wharf.called("add", "two", 0).await?.is("revision", &first), "not the revision that serves");

    // The same code with a custom section named x is another revision.
    let (mark, mut changed) = (wharf.log.len(), fs::read(paths::guest("label-guard")?)?);
    changed.extend([0, 2, 1, b'x']);
    save(&component, changed)?;
    let second = wharf.line("plugin revision serving", mark).await?.text("revision");
    ensure!(second != first, "the same revision");
    kubectl(home.path(), &["create", "configmap", "three"]).await?;
    ensure!(wharf.called("add", "three", 0).await?.is("revision", &second), "not the revision that serves");
    wharf.interrupt().await?;

    // The objects outlive it, and are told of to whoever comes next.
    save(&component, fs::read(paths::guest("label-guard")?)?)?;
    let wharf = Wharf::start("dev", home.path(), &args).await?;
    wharf.called("add", "two", 0).await?;
    let names = kubectl(home.path(), &["get", "configmaps", "-o", "name"]).await?;
    ensure!(names.contains("configmap/one") && names.contains("configmap/two"), "{names}");
    wharf.interrupt().await
}

/// A source that is saved is what the next event meets. One that does not compile is told, and what served goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_saved_source_serves() -> Result<()> {
    let home = home()?;
    let plugin = sources(home.path())?;
    let tools = text(&paths::target().join("tools"));
    let wharf = Wharf::start("dev", home.path(), &[&text(&plugin), "--watch-source", "--tools-dir", &tools]).await?;
    wharf.line("built in", 0).await?;
    wharf.line("plugin revision serving", 0).await?;
    ensure!(!wharf.log.since(0).iter().any(|line| line.is("message", "plugin revision refused")), "refused before it was built");
    kubectl(home.path(), &["create", "configmap", "one"]).await?;
    wharf.called("add", "one", 0).await?;
    wharf.line(SAID, 0).await?;

    let source = plugin.join("src/lib.rs");
    let good = fs::read_to_string(&source)?;
    save(&source, format!("{good}\nthis is no Rust\n"))?;
    wharf.line("not built, after", 0).await?;
    ensure!(wharf.log.since(0).iter().any(|line| line.text("message").contains("src/lib.rs")), "the compiler's words are missing");
    kubectl(home.path(), &["create", "configmap", "two"]).await?;
    wharf.called("add", "two", 0).await?;

    ensure!(good.contains(SAID), "label-guard says something else now");
    let mark = wharf.log.len();
    save(&source, good.replace(SAID, "the changed plugin speaks"))?;
    wharf.line("plugin revision serving", mark).await?;
    kubectl(home.path(), &["create", "configmap", "three"]).await?;
    wharf.called("add", "three", mark).await?;
    wharf.line("the changed plugin speaks", mark).await?;

    // In the middle of a build: nothing of it stays.
    let mark = wharf.log.len();
    save(&source, format!("{good}\n"))?;
    wharf.log.wait_for("a build", mark, DEADLINE, |line| line.is("message", "building") && line.is("plugin", GUARD)).await?;
    wharf.interrupt().await?;
    let left: Vec<_> = fs::read_dir(&plugin)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    ensure!(!left.iter().any(|name| name.contains("unfinished")), "{left:?}");
    Ok(())
}

/// The server alone: kubectl works with it, over plain HTTP too, and it ends when it is asked to.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_alone() -> Result<()> {
    for flags in [&["--bind", "127.0.0.1:0", "--insecure"][..], &["--bind", "127.0.0.1:0"]] {
        let home = home()?;
        let wharf = Wharf::start("apiserver", home.path(), flags).await?;
        ensure!(fs::metadata(&wharf.kubeconfig)?.permissions().mode() & 0o777 == 0o600, "the kubeconfig is not private");
        let plain = fs::read_to_string(&wharf.kubeconfig)?.contains("http://");
        ensure!(plain == flags.contains(&"--insecure"), "{flags:?}");
        kubectl(home.path(), &["create", "namespace", "team-a"]).await?;
        kubectl(home.path(), &["create", "configmap", "one", "--namespace", "team-a"]).await?;
        let table = kubectl(home.path(), &["get", "configmaps", "--all-namespaces"]).await?;
        ensure!(table.contains("team-a") && table.contains("one"), "{table}");
        kubectl(home.path(), &["get", "namespaces", "--as", "somebody"]).await?;
        if !plain {
            nobody_may_do_nothing(&wharf, home.path()).await?;
        }
        wharf.interrupt().await?;
    }
    Ok(())
}

/// Without the token of the kubeconfig the server tells that it lives, and no more.
async fn nobody_may_do_nothing(wharf: &Wharf, home: &Path) -> Result<()> {
    let config = fs::read_to_string(&wharf.kubeconfig)?;
    let without: Vec<&str> = config.lines().map(|line| if line.contains("token: ") { "      {}" } else { line }).collect();
    let nobody = home.join("nobody");
    fs::write(&nobody, without.join("\n"))?;
    let api = Api::new(&nobody).await?;
    api.raw("/readyz").await?;
    let refused = api.raw("/api/v1/namespaces").await.err().context("somebody without a token reads namespaces")?;
    ensure!(format!("{refused:#}").contains("Unauthorized"), "{refused:#}");
    Ok(())
}
