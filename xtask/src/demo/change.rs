//! The change of a plugin's source that the demo makes: in a scratch copy under another
//! package name, so that neither the repository nor the built example is touched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use wharf_testkit::paths;

use crate::guests;

const OLD: &str = "the label {:?} is required";
const NEW: &str = "please set the label {:?} (said by the changed plugin)";
const PACKAGE: &str = "label-guard-demo";

/// Copies label-guard, changes one line of it and builds it. The stream of changes goes on
/// meanwhile: the build has a thread of its own.
///
/// # Errors
/// If the line is not there any more or the plugin does not build.
pub(super) async fn rebuild(root: &Path) -> Result<PathBuf> {
    let scratch = paths::target().join(PACKAGE);
    let from = root.join("plugins").join("label-guard");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).context("remove the last scratch copy")?;
    }
    fs::create_dir_all(scratch.join("src")).context("make the scratch copy")?;
    let name = ("name = \"label-guard\"", format!("name = \"{PACKAGE}\""));
    let sdk = ("path = \"../../sdk/rust\"", format!("path = {:?}", root.join("sdk/rust").display().to_string()));
    for (file, changes) in
        [("Cargo.toml", vec![name.clone(), sdk]), ("Cargo.lock", vec![name]), ("src/lib.rs", vec![(OLD, NEW.to_owned())])]
    {
        let mut text = fs::read_to_string(from.join(file)).with_context(|| format!("read {file} of label-guard"))?;
        for (old, new) in changes {
            ensure!(text.contains(old), "{file} of label-guard has no {old:?} any more");
            text = text.replace(old, &new);
        }
        fs::write(scratch.join(file), text).with_context(|| format!("write {file}"))?;
    }
    println!("    - {OLD:?}\n    + {NEW:?}");
    let build = tokio::task::spawn_blocking(move || guests::build_folder(&scratch, PACKAGE));
    build.await.context("the build broke off")?
}
