//! Documentation that is made from the table of settings: the example file and the list of
//! environment variables. Owns only its form.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::host::CONFIG_ENV;
use super::layers::{API_VERSION, KIND};
use super::origins::{open_groups, scalar};
use super::settings::{SETTINGS, Setting};

const COLUMNS: usize = 96;

/// The text of `deploy/host.example.yaml`: every setting with its default and its meaning.
pub fn example_yaml() -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _infallible = write_example(&mut out);
    out
}

/// One line for each environment variable: its name, two spaces, its meaning.
pub fn environment_table() -> String {
    let width = SETTINGS.iter().map(|s| s.env.len()).max().unwrap_or_default();
    let mut out = format!("{CONFIG_ENV:width$}  The configuration file, of kind {KIND}.\n");
    for setting in SETTINGS {
        let _infallible = writeln!(out, "{:width$}  {}", setting.env, setting.doc);
    }
    out
}

fn write_example(out: &mut String) -> fmt::Result {
    writeln!(out, "# The host's configuration: every setting with its default. All of them are optional.")?;
    writeln!(out, "# `wharf run --config FILE` reads it, `wharf run --print-config` shows what is in force and why.")?;
    writeln!(out, "# A flag wins over the environment, the environment over this file.")?;
    writeln!(out, "apiVersion: {API_VERSION}\nkind: {KIND}")?;
    let mut groups = Vec::new();
    for setting in SETTINGS {
        let first = groups.is_empty();
        let before = groups.clone();
        let mut heads = String::new();
        let (indent, name) = open_groups(setting, &mut groups, &mut heads)?;
        if first || before != groups {
            writeln!(out)?;
        }
        out.push_str(&heads);
        comment(out, &indent, setting.doc)?;
        match setting.flag {
            Some(flag) => writeln!(out, "{indent}# Flag {flag}, environment {}.", setting.env)?,
            None => writeln!(out, "{indent}# Environment {}.", setting.env)?,
        }
        match default(setting) {
            Some(value) => writeln!(out, "{indent}{name}: {}", scalar(&value))?,
            None => writeln!(out, "{indent}# {name}: {}", scalar(&setting.example.into()))?,
        }
    }
    Ok(())
}

fn default(setting: &Setting) -> Option<Value> {
    setting.shape.read(setting.default?).ok()
}

/// A text as comment lines of at most [`COLUMNS`] columns.
fn comment(out: &mut String, indent: &str, text: &str) -> fmt::Result {
    let mut line = format!("{indent}#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS {
            writeln!(out, "{line}")?;
            line = format!("{indent}#");
        }
        write!(line, " {word}")?;
    }
    writeln!(out, "{line}")
}
