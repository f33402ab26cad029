//! The one value that a build wants of `pyproject.toml`. Owns finding it; the file is checked
//! by Python's own tools.

/// `version` of the table `[project]`.
pub(crate) fn project_version(text: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[project]";
        } else if inside
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "version"
        {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| *c == '"' || *c == '\'')?;
            return value.get(1..)?.split_once(quote).map(|(version, _)| version.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_project_alone() {
        let text = "[build-system]\nversion = \"9\"\n[project]\nname = \"a\"\nversion = '0.2.0' # now\n[tool.x]\nversion = \"8\"\n";
        assert_eq!(project_version(text).as_deref(), Some("0.2.0"));
        assert_eq!(project_version("[project]\nname = \"a\"\n[tool]\nversion = \"1\""), None);
        assert_eq!(project_version("[project]\nversion = 1"), None);
    }
}
