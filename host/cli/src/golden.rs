//! Files of the repository that are made by commands. Tests only: owns the comparison, and the way
//! to write them anew (`WHARF_UPDATE=1 cargo test --workspace --lib`).

use std::path::Path;

/// Compares with a file of the repository, or writes it.
pub(crate) fn compare(relative: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(relative);
    if std::env::var_os("WHARF_UPDATE").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == actual, "{relative} is not up to date: run `WHARF_UPDATE=1 cargo test --workspace --lib` and look at the diff");
}
