//! What a build wants of `pyproject.toml`. Owns reading it; the rest of the file is for Python's
//! own tools.

use serde::Deserialize;

/// The SDK comes with wharf: whoever depends on it gets the one that fits.
const SDK: &str = "wharf-sdk";

/// The table `[project]`.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) struct Project {
    /// The plugin's version.
    pub(crate) version: Option<String>,
    /// What it depends on besides the SDK, as pip takes it (`jmespath>=1.0`).
    #[serde(default)]
    pub(crate) dependencies: Vec<String>,
}

impl Project {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            project: Project,
        }
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut project = file.project;
        project.dependencies.retain(|dependency| name_of(dependency) != SDK);
        project.dependencies.sort();
        Ok(project)
    }
}

/// The name of a requirement, as package indexes compare names.
fn name_of(requirement: &str) -> String {
    let end = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.');
    let name = requirement.trim().split(end).next().unwrap_or_default();
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_dependencies_of_the_project_alone() {
        let text = "[build-system]\nversion = \"9\"\n[project]\nname = \"a\"\nversion = '0.2.0' # now\n\
                    dependencies = [\n  \"wharf_SDK >= 0.1\",\n  \"semver\",\n  \"jmespath>=1.0\",\n]\n[tool.x]\nversion = \"8\"\n";
        let project = Project::read(text).unwrap();
        assert_eq!(
            (project.version.as_deref(), project.dependencies),
            (Some("0.2.0"), vec!["jmespath>=1.0".to_owned(), "semver".to_owned()])
        );
        assert_eq!(Project::read("[tool]\nversion = \"1\"").unwrap(), Project::default());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = Project::read("[project]\nversion = 1").unwrap_err();
        assert!(error.contains("line 2") && error.contains("string"), "{error}");
    }
}
