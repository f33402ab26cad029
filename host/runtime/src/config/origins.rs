//! Where each setting comes from, and the answer of `--print-config`. Owns how values are
//! written as YAML again; never decides which layer wins.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use super::layers::{API_VERSION, KIND};
use super::scalar::is_plain_text;
use super::settings::Setting;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The setting's flag.
    Flag,
    /// The setting's environment variable.
    Env,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

/// The settings as they were given, with their origins.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    entries: Vec<Entry>,
    /// Flag or variable that a token came from. The token itself never comes here.
    token: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Entry {
    setting: &'static Setting,
    value: Option<Value>,
    origin: Origin,
}

impl Origins {
    /// Where the setting of a path (`plugins.directory`) comes from.
    pub fn of(&self, path: &str) -> Option<&Origin> {
        self.entries.iter().find(|entry| entry.setting.path == path).map(|entry| &entry.origin)
    }

    pub(super) fn set_token(&mut self, from: &'static str) {
        self.token = Some(from);
    }

    pub(super) fn push(&mut self, setting: &'static Setting, value: Option<Value>, origin: Origin) {
        self.entries.push(Entry { setting, value, origin });
    }

    /// Gives a default that follows from other settings.
    pub(super) fn set_derived(&mut self, path: &str, value: Value) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.setting.path == path) {
            entry.value.get_or_insert(value);
        }
    }
}

impl fmt::Display for Origins {
    /// The whole configuration as YAML that can be used as the file again, each value with
    /// its origin behind it. Settings without a value are comments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "apiVersion: {API_VERSION}\nkind: {KIND}\n")?;
        let mut groups = Vec::new();
        for Entry { setting, value, origin } in &self.entries {
            let (indent, name) = open_groups(setting, &mut groups, f)?;
            match value {
                Some(value) => write!(f, "{indent}{name}: {}", scalar(value))?,
                None => write!(f, "{indent}# {name}: not set")?,
            }
            match origin {
                Origin::Flag => writeln!(f, " # from flag {}", setting.flag.unwrap_or(setting.path))?,
                Origin::Env => writeln!(f, " # from env {}", setting.env)?,
                Origin::File { path, line } => writeln!(f, " # from file {}:{line}", path.display())?,
                Origin::Default if value.is_some() => writeln!(f, " # from default")?,
                Origin::Default => writeln!(f)?,
            }
        }
        if let Some(from) = self.token {
            writeln!(f, "# The token is from {from}; it is a secret, and is not shown.")?;
        }
        Ok(())
    }
}

/// Writes the names of groups that begin here; the indentation and name of the setting.
pub(super) fn open_groups(
    setting: &Setting,
    open: &mut Vec<&'static str>,
    f: &mut dyn fmt::Write,
) -> Result<(String, &'static str), fmt::Error> {
    let (groups, name) = setting.path.rsplit_once('.').unwrap_or(("", setting.path));
    let groups: Vec<&'static str> = groups.split('.').filter(|group| !group.is_empty()).collect();
    let same = open.iter().zip(&groups).take_while(|(a, b)| a == b).count();
    open.truncate(same);
    for group in groups.into_iter().skip(same) {
        writeln!(f, "{}{group}:", "  ".repeat(open.len()))?;
        open.push(group);
    }
    Ok(("  ".repeat(open.len()), name))
}

/// A value on one line of YAML.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        // A JSON text is a quoted YAML text too.
        Value::String(text) if is_plain_text(text) => text.clone(),
        other => other.to_string(),
    }
}
