//! C, by zig's compiler, which brings a libc. Owns the command line; all `.c` files of the
//! plugin's folder and of the SDK belong to the plugin.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Job, Made, warnings};
use crate::command::{Said, Tool};
use crate::encode::{self, Plan};
use crate::error::BuildError;
use crate::plugin::{Reproducible, embedded_sdk};
use crate::sdk::Sdk;
use crate::tools::ZIG;
use crate::workspace::read;

const FIX: &str = "define the functions that <wharf.h> declares: `wharf_describe` and `wharf_add`";

pub(super) fn build(job: &Job<'_>) -> Result<Made, BuildError> {
    let sdk = Sdk::C.unpack(job.workspace)?;
    let module = job.workspace.fresh("core.wasm")?;
    let said = compile(job, &sdk, &module)?;
    let plan = Plan { fix: FIX, ..Plan::default() };
    Ok(Made {
        component: encode::component(&read(&module)?, &plan)?,
        compiler: "11".to_owned(),
        version: None,
        sdk_version: embedded_sdk(),
        tools: vec![("zig".to_owned(), ZIG.version.to_owned())],
        reproducible: Reproducible::Yes,
        warnings: warnings(&said.err),
    })
}

fn compile(job: &Job<'_>, sdk: &Path, module: &Path) -> Result<Said, BuildError> {
    let zig = match job.tools.on_path("zig", "version", ZIG) {
        Some(zig) => zig,
        None => job.tools.wheel(ZIG)?.join("ziglang").join("zig"),
    };
    let mut tool = Tool::new(zig, job.folder, "compile the plugin").fix("correct what the compiler names");
    // The compiled libc is kept with the tools: it takes half a minute once.
    tool = tool.env("ZIG_GLOBAL_CACHE_DIR", job.workspace.tools().join("zig-cache"));
    tool = tool.env("ZIG_LOCAL_CACHE_DIR", job.workspace.build().join("zig-cache"));
    tool = tool.args(["cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-Wall", "-Wextra", "-Os"]);
    tool = match job.options.debug {
        true => tool.arg("-g"),
        // Names of functions stay, for stack traces.
        false => tool.arg("-Wl,--strip-debug"),
    };
    // A stack as large as a page: zig's default is a megabyte of every instance's memory.
    tool = tool.arg("-Wl,-z,stack-size=65536");
    for folder in ["include", "bindings"] {
        tool = tool.arg("-I").arg(sdk.join(folder));
    }
    for (folder, name) in [(job.folder, "."), (sdk, "sdk")] {
        let mut map = OsString::from("-ffile-prefix-map=");
        map.push(folder);
        tool = tool.arg({
            map.push(format!("={name}"));
            map
        });
    }
    tool = tool.arg("-o").arg(module).args(sources(job.folder, &["c"])?);
    // The generated C file is a part of one in `src`; the object file tells the world.
    tool.args(sources(&sdk.join("src"), &["c"])?).args(sources(&sdk.join("bindings"), &["o"])?).run()
}

/// The files of a folder with one of the extensions, in an order that is the same everywhere.
fn sources(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(BuildError::files("read", folder))? {
        let path = entry.map_err(BuildError::files("read", folder))?.path();
        if path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
