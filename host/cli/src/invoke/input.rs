//! Files that people wrote, as compact JSON texts. Owns YAML and JSON, one document or several,
//! and what is said about a file that cannot be read; never knows what the texts are for.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{Fields, compact};
use crate::exit;
use crate::report::CliError;

/// A longer file is refused, in bytes. The API server itself takes 1.5 MB for an object.
const MAX_BYTES: u64 = 64 << 20;
/// What files of a folder are read.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The one document of a file; `-` is standard input where `stdin` says so.
pub(super) fn one(path: &Path, stdin: bool) -> Result<String, CliError> {
    let text = if stdin && path == Path::new("-") { read("standard input", std::io::stdin().lock())? } else { read_file(path)? };
    let mut values = parse(path, &text)?;
    match (values.pop(), values.len()) {
        (Some(value), 0) => Ok(value),
        (None, _) => Err(wrong(format!("{}: there is nothing in it", path.display()))),
        (Some(_), others) => {
            let message = format!("{}: {} documents, where one is expected", path.display(), others + 1);
            Err(wrong(message).hint("name a file with one; other objects of the cluster are given by --with"))
        }
    }
}

/// All documents of some files and folders, with the file that each is from. The items of a
/// list are documents of their own, so that what `kubectl get -o yaml` prints can be used.
pub(super) fn all(paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        let files = if path.is_dir() { in_folder(path)? } else { vec![path.clone()] };
        for file in files {
            for value in parse(&file, &read_file(&file)?)? {
                found.extend(items(value).into_iter().map(|value| (file.clone(), value)));
            }
        }
    }
    Ok(found)
}

/// An error of what was typed or written.
pub(super) fn wrong(message: impl Into<String>) -> CliError {
    CliError::new(exit::USAGE, message)
}

/// The same, with its cause.
pub(super) fn failed(message: impl Into<String>, source: impl std::error::Error + Send + Sync + 'static) -> CliError {
    CliError { source: Some(source.into()), ..wrong(message) }
}

fn read_file(path: &Path) -> Result<String, CliError> {
    let file = std::fs::File::open(path).map_err(|e| failed(format!("read {}", path.display()), e))?;
    read(&path.display().to_string(), file)
}

fn read(what: &str, from: impl Read) -> Result<String, CliError> {
    let mut text = String::new();
    from.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|e| failed(format!("read {what}"), e))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(wrong(format!("{what}: more than the {MAX_BYTES} bytes that a file may have")));
    }
    Ok(text)
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let listed = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = listed.map_err(|e| failed(format!("read the folder {}", folder.display()), e))?;
    let wanted = |path: &PathBuf| path.extension().and_then(|e| e.to_str()).is_some_and(|e| EXTENSIONS.contains(&e)) && path.is_file();
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(wanted).collect();
    if files.is_empty() {
        return Err(wrong(format!("{}: no .yaml, .yml or .json file in it", folder.display())));
    }
    files.sort();
    Ok(files)
}

/// The documents of a text. JSON is tried first where a text looks like it: it is read faster,
/// and several of them may follow each other. It stays the text that it is, since a handler
/// may read that; the numbers of YAML are read.
fn parse(path: &Path, text: &str) -> Result<Vec<String>, CliError> {
    let is_json = path.extension().is_some_and(|e| e == "json");
    if is_json || text.trim_start().starts_with('{') {
        let values: Result<Vec<Box<RawValue>>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        match values {
            Ok(values) => return Ok(values.iter().map(|value| compact(value.get())).collect()),
            Err(error) if is_json => return Err(malformed(path, "JSON", &error.to_string(), error.line(), error.column())),
            Err(_) => {}
        }
    }
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let values: Result<Vec<Value>, _> = serde_saphyr::from_multiple_with_options(text, options);
    values.map(|values| values.iter().map(Value::to_string).collect()).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
        malformed(path, "YAML", &error.to_string(), index(line), index(column))
    })
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn malformed(path: &Path, form: &str, error: &str, line: usize, column: usize) -> CliError {
    // The readers say the place too, in their own ways and at the end.
    let error = error.split_once(" at line ").map_or(error, |(what, _)| what);
    let place = if line > 0 { format!(":{line}:{column}") } else { String::new() };
    wrong(format!("{}{place}: this is not {form}: {error}", path.display()))
}

/// The items of a list that kubectl printed; anything else is itself.
fn items(json: String) -> Vec<String> {
    let list = Fields::of(&json).filter(|fields| fields.text("kind").is_some_and(|kind| kind.ends_with("List")));
    let items = list.and_then(|fields| serde_json::from_str::<Vec<Box<RawValue>>>(fields.get("items")?).ok());
    items.map_or_else(|| vec![json], |items| items.into_iter().map(|item| Box::<str>::from(item).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn names(found: &[(PathBuf, String)]) -> Vec<String> {
        found.iter().filter_map(|(_, json)| Fields::of(json)?.text("n")).collect()
    }

    #[test]
    fn folders_files_lists_and_several_documents() {
        let folder = folder(&[
            ("b.yaml", "n: b1\n---\n---\nn: b2\n"),
            ("a.json", "{\"n\": \"a1\"} {\"n\": \"a2\"}\n"),
            ("c.yml", "kind: List\nitems:\n- n: c1\n- n: c2\n"),
            ("d.txt", "n: d"),
        ]);
        assert_eq!(names(&all(&[folder.path().into()]).unwrap()), ["a1", "a2", "b1", "b2", "c1", "c2"]);
        assert_eq!(names(&all(&[folder.path().join("d.txt")]).unwrap()), ["d"]);
    }

    #[test]
    fn json_flow_yaml_and_plain_words() {
        let folder = folder(&[("flow.yaml", "{a: [1, yes, \"2\"], b: null}"), ("x.json", "{\"a\": 1.50}")]);
        assert_eq!(one(&folder.path().join("flow.yaml"), false).unwrap(), r#"{"a":[1,"yes","2"],"b":null}"#);
        assert_eq!(one(&folder.path().join("x.json"), false).unwrap(), r#"{"a":1.50}"#);
    }

    /// JSON that has numbers of which a reader would make others, in a file of either name.
    #[test]
    fn the_numbers_of_json_stay_and_those_of_yaml_are_read() {
        let list = r#"{"kind": "List", "items": [{"n": 1e3}, {"n": 123456789012345678901234567890}, {"n": 1e400}]}"#;
        let folder = folder(&[
            ("a.json", list),
            ("b.yaml", list),
            ("c.yaml", "n: [1e3, 1.50, 123456789012345678901234567890]"),
            ("d.yaml", "n: 1e400"),
        ]);
        let read = |name: &str| all(&[folder.path().join(name)]).map(|found| found.into_iter().map(|(_, json)| json).collect::<Vec<_>>());
        for name in ["a.json", "b.yaml"] {
            assert_eq!(read(name).unwrap(), [r#"{"n":1e3}"#, r#"{"n":123456789012345678901234567890}"#, r#"{"n":1e400}"#]);
        }
        assert_eq!(read("c.yaml").unwrap(), [r#"{"n":[1000.0,1.5,1.2345678901234568e+29]}"#]);
        assert!(read("d.yaml").unwrap_err().message.contains("d.yaml:1:4: this is not YAML: "));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let folder = folder(&[
            ("two.yaml", "a: 1\n---\na: 2\n"),
            ("none.yaml", "# only a comment\n"),
            ("tab.yaml", "a: 1\nb: [1, 2\nc: 3\n"),
            ("twice.yaml", "a: 1\na: 2\n"),
            ("broken.json", "{\"a\":\n 1,}"),
        ]);
        for (name, expected) in [
            ("two.yaml", "two.yaml: 2 documents, where one is expected"),
            ("none.yaml", "none.yaml: there is nothing in it"),
            ("tab.yaml", "tab.yaml:3:"),
            ("twice.yaml", "twice.yaml:2:1: this is not YAML: "),
            ("broken.json", "broken.json:2:4: this is not JSON: "),
            ("missing.yaml", "missing.yaml"),
        ] {
            let error = one(&folder.path().join(name), false).unwrap_err();
            assert!(error.message.contains(expected), "{expected:?} is missing in {:?}", error.message);
            assert_eq!(error.code, exit::USAGE);
        }
    }
}
