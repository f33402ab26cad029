//! Puts the SDKs that are delivered inside the binary into it: a table of their files, made
//! from the folders under `sdk/`, so that no list has to be kept.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The table's name, the folder, and the file extensions that a build needs of it.
const SDKS: [(&str, &str, &[&str]); 4] = [
    ("GO", "go", &["wat", "wit"]),
    ("PYTHON", "python", &["py", "pyi", "typed"]),
    ("JAVASCRIPT", "js", &["js", "mjs", "ts", "json"]),
    ("C", "c", &["c", "h", "o"]),
];

/// Folders that are no part of an SDK.
const LEFT_OUT: [&str; 4] = ["tests", "test", "node_modules", "__pycache__"];

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = here.ancestors().nth(2).ok_or("the crate is not in the project's folder")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut code = String::new();
    for (table, folder, extensions) in SDKS {
        let folder = root.join("sdk").join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, extensions, &mut files)?;
        files.sort();
        writeln!(code, "pub(crate) const {table}: &[(&str, &[u8])] = &[")?;
        for (number, file) in files.iter().enumerate() {
            let name = file.strip_prefix(&folder)?.to_str().ok_or("a file's name is not UTF-8")?;
            // A copy: the table fits its files even while somebody edits the SDK.
            let copy = format!("{table}-{number}");
            fs::copy(file, out.join(&copy))?;
            writeln!(code, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{copy}\"))),")?;
        }
        code.push_str("];\n");
    }
    fs::write(out.join("sdk.rs"), code)?;
    Ok(())
}

fn collect(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()) {
                collect(&path, extensions, files)?;
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)) {
            files.push(path);
        }
    }
    Ok(())
}
