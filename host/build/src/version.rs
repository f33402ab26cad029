//! Versions of programs. Owns reading one out of what a program prints, and the comparison
//! with the oldest that does.

use std::fmt;

use crate::error::BuildError;

/// Three numbers. What follows them (`-beta.1`) is of no interest here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32, pub(crate) u32);

impl Version {
    /// The first version in a text: `rustc 1.95.0 (…)`, `go1.26.8`, `v20.20.2`.
    pub(crate) fn find(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut numbers = word.split('.').map(str::parse::<u32>);
            let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return None };
            let patch = numbers.next().and_then(Result::ok).unwrap_or(0);
            Some(Self(major, minor, patch))
        })
    }

    /// The version in what a program printed, if it is not older than `needed`.
    ///
    /// # Errors
    /// [`BuildError::ToolTooOld`], also for a text without a version.
    pub(crate) fn at_least(program: &str, said: &str, needed: Self, hint: &str) -> Result<Self, BuildError> {
        let found = Self::find(said);
        match found {
            Some(found) if found >= needed => Ok(found),
            _ => Err(BuildError::ToolTooOld {
                program: program.to_owned(),
                found: found.map_or_else(|| format!("of an unknown version ({said:?})"), |found| found.to_string()),
                needed: needed.to_string(),
                hint: hint.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_programs_print() {
        for (text, version) in [
            ("rustc 1.95.0 (59807616e 2026-04-14)", Some(Version(1, 95, 0))),
            ("go1.26.8", Some(Version(1, 26, 8))),
            ("go1.27", Some(Version(1, 27, 0))),
            ("v20.20.2", Some(Version(20, 20, 2))),
            ("Python 3.11.7", Some(Version(3, 11, 7))),
            ("devel", None),
        ] {
            assert_eq!(Version::find(text), version, "{text}");
        }
    }

    #[test]
    fn older_is_refused_with_both_versions() {
        let error = Version::at_least("go", "go1.21.3", Version(1, 26, 0), "install Go 1.26").unwrap_err();
        assert_eq!(error.to_string(), "go 1.21.3 is too old: 1.26.0 or newer is needed");
        assert_eq!(error.hint(), "install Go 1.26");
        assert!(Version::at_least("go", "devel", Version(1, 26, 0), "").is_err());
        assert!(Version::at_least("go", "go1.26", Version(1, 26, 0), "").is_ok());
    }
}
