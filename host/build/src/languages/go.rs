//! Go, by the stock go command: an ordinary main package, compiled for WASI preview 1, whose
//! few calls of WASI an adapter answers. Owns the command line.

use super::{Job, Made, warnings};
use crate::command::Tool;
use crate::encode::{self, Plan};
use crate::error::BuildError;
use crate::plugin::Reproducible;
use crate::sdk;
use crate::version::Version;
use crate::workspace::read;

const OLDEST: Version = Version(1, 26, 0);
const GET: &str = "install Go 1.26 or newer (https://go.dev/dl)";
const SDK: &str = "github.com/wharf-dev/wharf/sdk/go";
const FIX: &str = "register the plugin in package main: `func init() { wharf.Register(func() *MyPlugin { return &MyPlugin{} }) }`";

/// Names of functions and lines stay for stack traces, also without `--debug`; a build
/// identifier would differ from folder to folder.
const LINKER: &str = "-ldflags=-buildid=";

pub(super) fn build(job: &Job<'_>) -> Result<Made, BuildError> {
    // In the plugin's folder: go.mod may choose a toolchain.
    let said = go(job, "ask the go command for its version").args(["env", "GOVERSION"]).run()?;
    let version = Version::at_least("go", &said.line(), OLDEST, GET)?;
    let module = job.workspace.fresh("core.wasm")?;
    // The compiler's own messages hold no source.
    let mut tool = go(job, "compile the plugin").downloads().env("GOOS", "wasip1").env("GOARCH", "wasm").env("CGO_ENABLED", "0");
    tool = tool.args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", LINKER, "-o"]);
    let said = tool.arg(&module).arg(".").fix("correct what the go command names").run()?;
    let plan = Plan { embed_world: true, preview1: Some(sdk::go_adapter()), fix: FIX, ..Plan::default() };
    Ok(Made {
        component: encode::component(&read(&module)?, &plan)?,
        compiler: version.to_string(),
        version: None,
        sdk_version: sdk_version(job),
        tools: Vec::new(),
        reproducible: Reproducible::Yes,
        warnings: warnings(&said.err),
    })
}

fn go(job: &Job<'_>, what: &str) -> Tool {
    Tool::new("go", job.folder, what).get(GET)
}

/// The version of the SDK's module; `None` where the plugin has replaced it by something
/// without a version, or does not use it.
fn sdk_version(job: &Job<'_>) -> Option<String> {
    let said = go(job, "ask for the SDK's version").args(["list", "-m", "-f", "{{.Version}}", SDK]).run().ok()?;
    Some(said.line().trim_start_matches('v').to_owned()).filter(|version| !version.is_empty())
}
