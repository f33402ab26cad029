//! Python, by componentize-py: the interpreter, the plugin's modules and a picture of memory
//! after they were loaded. Owns the command line.

use std::ffi::OsStr;
use std::fs;

use super::{Job, Made, warnings};
use crate::command::Tool;
use crate::contract;
use crate::error::BuildError;
use crate::plugin::{Reproducible, embedded_sdk};
use crate::pyproject::Project;
use crate::sdk::Sdk;
use crate::tools::{COMPONENTIZE_PY, GUEST_PYTHON};
use crate::workspace::{make, read};

const FIX: &str = "define the plugin in plugin.py, as a class with `@wharf_sdk.plugin`";
/// The SDK's module that imports `plugin` and serves it.
const ENTRY: &str = "wharf_sdk.component";
const WHY_NOT: &str = "the picture of Python's memory differs from build to build";

pub(super) fn build(job: &Job<'_>) -> Result<Made, BuildError> {
    let manifest = job.folder.join("pyproject.toml");
    let text = fs::read_to_string(&manifest).map_err(BuildError::files("read", &manifest))?;
    let entry = job.folder.join("plugin.py");
    if !entry.is_file() {
        return Err(BuildError::Manifest {
            file: entry,
            problem: "is not there, and is where a Python plugin begins".to_owned(),
            hint: FIX.to_owned(),
        });
    }
    let project = Project::read(&text).map_err(|problem| BuildError::Manifest {
        file: manifest,
        problem,
        hint: "correct what it names".to_owned(),
    })?;
    let python = job.tools.python()?;
    let encoder = job.tools.wheel(COMPONENTIZE_PY)?;
    let packages = job.tools.python_packages(&project.dependencies)?;
    let sdk = Sdk::Python.unpack(job.workspace)?;
    let wit = job.workspace.build().join("wit");
    make(&wit)?;
    contract::write_world(&wit, job.options.cluster)?;
    let module = job.workspace.fresh("component.wasm")?;
    // Without the current folder on its path: the encoder's interpreter runs none of the plugin's files.
    let said = Tool::new(python, job.folder, "make a component of the Python modules")
        .env("PYTHONPATH", &encoder)
        // The interpreter that runs the encoder writes nothing beside the source.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args([
            "-c",
            "import sys; sys.path.pop(0); import componentize_py; sys.argv[0] = 'componentize-py'; componentize_py.script()",
            "-q",
            "-d",
        ])
        .arg(&wit)
        .args(["-w", contract::GENERATED_WORLD, "componentize", "--stub-wasi", ENTRY, "-p"])
        .arg(&sdk)
        .arg("-p")
        .arg(job.folder)
        .args(packages.iter().flat_map(|folder| [OsStr::new("-p"), folder.as_os_str()]))
        .arg("-o")
        .arg(&module)
        .fix("correct what Python names; modules that are imported are in the plugin's folder, or packages that pyproject.toml names in `dependencies`")
        .run()?;
    let component = read(&module)?;
    contract::check_component(&component, FIX)?;
    Ok(Made {
        component,
        compiler: GUEST_PYTHON.to_owned(),
        version: project.version,
        sdk_version: embedded_sdk(),
        tools: vec![COMPONENTIZE_PY.named()],
        reproducible: Reproducible::No(WHY_NOT),
        warnings: warnings(&said.err),
    })
}
