//! `wharf dev --watch-source`: builds a plugin again when its sources change. Owns what counts as a source and when a change is one;
//! building is `wharf build`'s, and what becomes of the component the host's.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use notify::RecursiveMode;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use wharf_core::plugin::{ComponentRef, PluginDocument};
use wharf_runtime::config::document::read_documents;

use super::changes::Changes;

/// What tools make, or keep, beside sources.
const NOT_SOURCES: [&str; 8] = ["__pycache__", "build", "dist", "gen", "node_modules", "target", "vendor", "venv"];
/// More folders than a plugin has; those beyond are looked at only when something else changes.
const MAX_FOLDERS: usize = 2_000;
const MAX_FILES: usize = 50_000;
/// Editors write several files for one save.
const QUIET: Duration = Duration::from_millis(150);

/// The plugins of a folder that can be built, and what of their sources is in their components.
pub(super) struct Builder {
    dir: PathBuf,
    tools_dir: Option<PathBuf>,
    changes: Changes,
    /// The state of the sources when they were last built, or first seen.
    known: BTreeMap<PathBuf, u64>,
}

impl Builder {
    pub(super) fn new(dir: &Path, tools_dir: Option<&Path>) -> Self {
        let changes = Changes::new("sources");
        Self { dir: dir.to_owned(), tools_dir: tools_dir.map(Path::to_owned), changes, known: BTreeMap::new() }
    }

    /// Builds whatever changes, for ever.
    pub(super) async fn follow(mut self) {
        loop {
            self.changes.next(QUIET).await;
            self.look().await;
        }
    }

    /// Builds the plugins whose sources differ from those of the last look; at the first look those that have no component.
    pub(super) async fn look(&mut self) {
        // A new plugin may come any time.
        self.changes.watch(&self.dir, RecursiveMode::NonRecursive);
        for folder in plugins(&self.dir) {
            let sources = Sources::of(&folder);
            for folder in &sources.folders {
                self.changes.watch(folder, RecursiveMode::NonRecursive);
            }
            let before = self.known.insert(folder.clone(), sources.state);
            if before.map_or_else(|| !Plugin::of(&folder).is_built(), |before| before != sources.state) {
                build(&folder, self.tools_dir.as_deref()).await;
            }
        }
    }
}

/// Folders that can be built: the one that is named, or those in it.
pub(super) fn plugins(dir: &Path) -> Vec<PathBuf> {
    let inside = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut plugins: Vec<PathBuf> = inside
        .chain([dir.to_owned()])
        .filter(|folder| folder.join("plugin.yaml").is_file() && wharf_build::detect(folder, None).is_ok())
        .collect();
    plugins.sort();
    plugins
}

/// What the document of a plugin's folder says of it.
pub(super) struct Plugin {
    /// `namespace/name`, or the folder while the document cannot be read.
    pub name: String,
    component: Option<PathBuf>,
}

impl Plugin {
    pub(super) fn of(folder: &Path) -> Self {
        let file = folder.join("plugin.yaml");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        match read_documents(&file, &text).into_iter().next() {
            Some(Ok(PluginDocument { name, component, .. })) => {
                let component = if let ComponentRef::File(file) = component { Some(folder.join(file)) } else { None };
                Self { name: name.to_string(), component }
            }
            _ => Self { name: folder.display().to_string(), component: None },
        }
    }

    /// Is its component there, as far as a file is named?
    pub(super) fn is_built(&self) -> bool {
        self.component.as_ref().is_none_or(|file| file.is_file())
    }
}

/// Runs `wharf build`, which says itself what is wrong. What serves goes on serving; the next save is the next try.
async fn build(folder: &Path, tools_dir: Option<&Path>) {
    let Plugin { name, component } = Plugin::of(folder);
    let start = Instant::now();
    tracing::info!(target: "wharf::dev", plugin = %name, "building");
    let child = match start_build(folder, tools_dir) {
        Ok(child) => child,
        Err(error) => return tracing::error!(target: "wharf::dev", plugin = %name, %error, "a build cannot be started"),
    };
    let took = || format!("{:.1} s", start.elapsed().as_secs_f64());
    match Build::new(child, component).ended().await {
        Ok(status) if status.success() => tracing::info!(target: "wharf::dev", plugin = %name, "built in {}", took()),
        Ok(_) => tracing::error!(target: "wharf::dev", plugin = %name, "not built, after {}: the next save is the next try", took()),
        Err(error) => tracing::error!(target: "wharf::dev", plugin = %name, %error, "a build cannot be waited for"),
    }
}

fn start_build(folder: &Path, tools_dir: Option<&Path>) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("build").arg(folder).arg("--debug");
    if let Some(tools) = tools_dir {
        command.arg("--tools-dir").arg(tools);
    }
    // A group of its own: with it the compiler ends too when nobody waits for it any more.
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn()
}

/// A build that runs. Dropping it ends it, with all that it has started.
struct Build {
    child: Child,
    group: Option<Pid>,
    component: Option<PathBuf>,
}

impl Build {
    fn new(child: Child, component: Option<PathBuf>) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { child, group, component }
    }

    async fn ended(mut self) -> std::io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await;
        if status.is_ok() {
            self.group = None;
        }
        status
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        let _gone = kill_process_group(group, Signal::KILL);
        // It had no time to take its draft away.
        if let Some(component) = &self.component {
            let mut name = component.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}.unfinished", group.as_raw_nonzero()));
            let _gone = std::fs::remove_file(component.with_file_name(name));
        }
    }
}

/// The sources of a plugin.
struct Sources {
    folders: Vec<PathBuf>,
    /// Changes when a file comes, goes or is written.
    state: u64,
}

impl Sources {
    fn of(plugin: &Path) -> Self {
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        let mut open = vec![plugin.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
                let Ok(metadata) = entry.metadata() else { continue };
                if name.starts_with('.') || path.extension().is_some_and(|extension| extension == "wasm" || extension == "unfinished") {
                    continue;
                }
                if metadata.is_dir() {
                    if !NOT_SOURCES.contains(&&*name) && open.len() + folders.len() < MAX_FOLDERS {
                        open.push(path);
                    }
                } else if files.len() < MAX_FILES {
                    files.push((path, metadata.len(), metadata.modified().ok()));
                }
            }
            folders.push(folder);
        }
        files.sort();
        let mut hasher = DefaultHasher::new();
        files.hash(&mut hasher);
        Self { folders, state: hasher.finish() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_source_is_what_somebody_writes() {
        let home = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "1");
        let state = || Sources::of(home.path()).state;
        let first = state();
        for made in ["target/debug/x", ".git/HEAD", "plugin.wasm", "plugin.wasm.7.unfinished", "node_modules/a/b.js"] {
            write(made, "made");
        }
        assert_eq!(state(), first);
        write("src/lib.rs", "12");
        let second = state();
        assert_ne!(second, first);
        write("src/more/mod.rs", "");
        assert_ne!(state(), second);
        assert_eq!(Sources::of(home.path()).folders.len(), 3);
    }
}
