//! Tools that a build needs and that the language's package manager can install without
//! root. Owns the pinned versions, finding what is there, and installing what is not, into a
//! folder of the project: nothing of the machine is changed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use sha2::{Digest as _, Sha256};

use crate::command::Tool;
use crate::error::BuildError;
use crate::version::Version;
use crate::workspace::Workspace;

/// Python to component; a wheel with a native library.
pub(crate) const COMPONENTIZE_PY: Package = Package { name: "componentize-py", version: "0.25.1" };
/// The C compiler with a WASI libc; a wheel.
pub(crate) const ZIG: Package = Package { name: "ziglang", version: "0.17.1" };
/// JavaScript to component, and the bundler; npm packages.
pub(crate) const COMPONENTIZE_QJS: Package = Package { name: "componentize-qjs", version: "0.4.5" };
pub(crate) const ESBUILD: Package = Package { name: "esbuild", version: "0.28.2" };

const PYTHON: &str = "python3";
/// The Python inside a component: componentize-py brings it.
pub(crate) const GUEST_PYTHON: &str = "3.14";
const OLDEST_PYTHON: Version = Version(3, 10, 0);
const GET_PYTHON: &str = "install Python 3.10 or newer with pip (Debian: `sudo apt-get install python3 python3-pip`)";
const OLDEST_NODE: Version = Version(20, 0, 0);
const GET_NODE: &str = "install Node.js 20 or newer with npm (https://nodejs.org)";

/// A package in the version that this wharf is tested with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Package {
    /// As metadata name tools.
    pub(crate) fn named(self) -> (String, String) {
        (self.name.to_owned(), self.version.to_owned())
    }
}

/// Finds and installs tools for one build.
pub(crate) struct Tools<'a> {
    workspace: &'a Workspace,
    tell: &'a dyn Fn(&str),
}

impl<'a> Tools<'a> {
    pub(crate) fn new(workspace: &'a Workspace, tell: &'a dyn Fn(&str)) -> Self {
        Self { workspace, tell }
    }

    /// The Python that runs tools, after a look at its version.
    pub(crate) fn python(&self) -> Result<&'static str, BuildError> {
        let said = Tool::new(PYTHON, self.workspace.tools(), "ask Python for its version").get(GET_PYTHON).arg("--version").run()?;
        Version::at_least(PYTHON, &said.line(), OLDEST_PYTHON, GET_PYTHON)?;
        Ok(PYTHON)
    }

    /// Makes sure that there is a Node.js that is new enough.
    pub(crate) fn node(&self) -> Result<Version, BuildError> {
        let said = Tool::new("node", self.workspace.tools(), "ask Node.js for its version").get(GET_NODE).arg("--version").run()?;
        Version::at_least("node", &said.line(), OLDEST_NODE, GET_NODE)
    }

    /// A wheel, as a folder of its own.
    pub(crate) fn wheel(&self, package: Package) -> Result<PathBuf, BuildError> {
        let name = format!("{}-{}", package.name, package.version);
        self.once(&name, &name, |folder, tell| {
            let python = self.python()?;
            tell();
            let wanted = format!("{}=={}", package.name, package.version);
            Tool::new(python, self.workspace.tools(), &format!("install {wanted} with pip"))
                .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"])
                .args(["--only-binary", ":all:", "--no-deps", "--target"])
                .arg(folder)
                .arg(&wanted)
                .get(GET_PYTHON)
                .downloads()
                .fix("read what pip says; if it has no module named pip: `sudo apt-get install python3-pip`")
                .run()
                .map(drop)
        })
    }

    /// Some npm packages, together in a folder of their own, under `node_modules`.
    pub(crate) fn npm(&self, packages: &[Package]) -> Result<PathBuf, BuildError> {
        let names = full_names(packages);
        self.once(&names.join("+"), &names.join(" and "), |folder, tell| {
            self.node()?;
            tell();
            let wanted = packages.iter().map(|package| format!("{}@{}", package.name, package.version));
            Tool::new("npm", self.workspace.tools(), "install the JavaScript tools with npm")
                .args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel", "error"])
                .args(["--fetch-retries", "1", "--fetch-retry-mintimeout", "1000", "--prefix"])
                .arg(folder)
                .args(wanted)
                .get(GET_NODE)
                .downloads()
                .fix("read what npm says")
                .run()
                .map(drop)
        })
    }

    /// A program of the pinned version that is installed on the machine.
    pub(crate) fn on_path(&self, program: &str, version_flag: &str, package: Package) -> Option<PathBuf> {
        let found = find_program(program)?;
        let said = Tool::new(&found, self.workspace.tools(), "ask for a version").arg(version_flag).run().ok()?;
        said.line().split_whitespace().any(|word| word == package.version).then_some(found)
    }

    /// What a Python plugin depends on, in a folder of its own; `None` if that is nothing. Only
    /// packages in plain Python: there is no compiler for the others.
    pub(crate) fn python_packages(&self, dependencies: &[String]) -> Result<Option<PathBuf>, BuildError> {
        if dependencies.is_empty() {
            return Ok(None);
        }
        let digest = format!("{:x}", Sha256::digest(dependencies.join("\n")));
        let name = format!("python-packages-{}", digest.get(..16).unwrap_or(&digest));
        let install = |folder: &Path, tell: &dyn Fn()| {
            let python = self.python()?;
            tell();
            Tool::new(python, self.workspace.tools(), "install the plugin's dependencies with pip")
                .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1", "--no-compile"])
                .args(["--only-binary", ":all:", "--implementation", "py", "--abi", "none", "--platform", "any"])
                .args(["--python-version", GUEST_PYTHON, "--target"])
                .arg(folder)
                .args(dependencies)
                .get(GET_PYTHON)
                .downloads()
                .fix("name packages that exist in plain Python: a component has no native libraries")
                .run()
                .map(drop)
        };
        self.once(&name, &dependencies.join(", "), install).map(Some)
    }

    /// Installs under another name, which becomes the folder's in the end: what is there under
    /// its own name is complete.
    fn once(
        &self,
        name: &str,
        what: &str,
        install: impl FnOnce(&Path, &dyn Fn()) -> Result<(), BuildError>,
    ) -> Result<PathBuf, BuildError> {
        let folder = self.workspace.tools().join(name);
        if folder.is_dir() {
            return Ok(folder);
        }
        let unfinished = self.workspace.tools().join(format!("{name}.{}.unfinished", process::id()));
        crate::workspace::make(&unfinished)?;
        let tell = || (self.tell)(&format!("installing {what} into {}", self.workspace.tools().display()));
        let done = install(&unfinished, &tell).and_then(|()| {
            match fs::rename(&unfinished, &folder) {
                // Another build was faster.
                Err(_) if folder.is_dir() => Ok(()),
                done => done.map_err(BuildError::files("write", &folder)),
            }
        });
        // After success it is gone; after a failure it may be half full.
        let _gone = fs::remove_dir_all(&unfinished);
        done.map(|()| folder)
    }
}

/// `NAME-VERSION` of each.
fn full_names(packages: &[Package]) -> Vec<String> {
    packages.iter().map(|package| format!("{}-{}", package.name, package.version)).collect()
}

/// Looks for a program where a shell would.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_once_and_whole() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(home.path(), None).unwrap();
        let told = std::cell::RefCell::new(Vec::new());
        let tell = |text: &str| told.borrow_mut().push(text.to_owned());
        let tools = Tools::new(&workspace, &tell);
        let fail = tools.once("thing-1.2.3", "thing-1.2.3", |folder, _| {
            fs::write(folder.join("half"), "").unwrap();
            Err(BuildError::NoNetwork { what: "it".to_owned(), output: String::new() })
        });
        assert!(fail.is_err());
        assert_eq!(fs::read_dir(workspace.tools()).unwrap().count(), 0);
        let folder = tools
            .once("thing-1.2.3", "thing-1.2.3", |folder, tell| {
                tell();
                fs::write(folder.join("whole"), "").map_err(BuildError::files("write", folder))
            })
            .unwrap();
        assert!(folder.join("whole").is_file() && folder.ends_with("thing-1.2.3"));
        assert_eq!(tools.once("thing-1.2.3", "thing-1.2.3", |_, _| panic!("twice")).unwrap(), folder);
        assert_eq!(told.borrow().len(), 1);
        assert!(told.borrow().concat().contains("installing thing-1.2.3 into "));
    }
}
