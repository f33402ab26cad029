//! `wharf validate`: reads documents and prints every mistake, with file, line and column.

use std::io::Read;
use std::path::Path;

use wharf_core::plugin::{Changes, PluginDocument};
use wharf_runtime::config::document::{MAX_DOCUMENT_BYTES, read_documents};

use crate::args::ValidateArgs;
use crate::report::{CliError, print_data, print_error};

pub(crate) fn run(args: &ValidateArgs) -> Result<u8, CliError> {
    let mut code = crate::exit::OK;
    for file in &args.files {
        let text = match read(file) {
            Ok(text) => text,
            // The files after it are checked all the same.
            Err(error) => {
                print_error(&error);
                code = code.max(error.code);
                continue;
            }
        };
        let documents = read_documents(file, &text);
        if documents.is_empty() {
            print_error(&CliError::new(crate::exit::NO, format!("{}: no document in it", file.display())));
            code = code.max(crate::exit::NO);
        }
        for document in documents {
            let line = match document {
                Ok(document) => format!("{}: plugin {} is valid\n{}", file.display(), document.name, changes(&document)),
                Err(error) => {
                    code = code.max(crate::exit::NO);
                    format!("{}\n", error.to_string().trim_end())
                }
            };
            print_data(&line)?;
        }
    }
    Ok(code)
}

/// Which changes count, a line for each entry that says so: an expression that is valid may still
/// not be the one that was meant.
fn changes(document: &PluginDocument) -> String {
    let entries = document.subscribe.iter().flatten().filter(|entry| entry.changes != Changes::default());
    entries.map(|entry| format!("  {}: {}\n", entry.name, entry.changes)).collect()
}

/// Reads a document's text, within its size limit; `-` is standard input.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    let failed = |error: std::io::Error| CliError {
        source: Some(error.into()),
        ..CliError::new(crate::exit::USAGE, format!("read {}", file.display()))
    };
    let mut text = String::new();
    let limit = MAX_DOCUMENT_BYTES + 1;
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_string(&mut text).map_err(failed)?;
    } else {
        std::fs::File::open(file).map_err(failed)?.take(limit).read_to_string(&mut text).map_err(failed)?;
    }
    if text.len() as u64 > MAX_DOCUMENT_BYTES {
        let message = format!("{}: more than the {MAX_DOCUMENT_BYTES} bytes that a document may have", file.display());
        return Err(CliError::new(crate::exit::NO, message));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_shown() {
        let text = "
apiVersion: wharf.dev/v1alpha1
kind: Plugin
metadata: {name: a}
spec:
  component: {file: a.wasm}
  subscribe:
    - {name: main, onlyIfChanged: [/data, /metadata/labels], ignoreOwnWrites: true}
    - name: other
      filter: >
        old == null ||
        object.spec != old.spec
      map: {to: main, owner: controller}
    - {name: plain}
";
        let document = read_documents(Path::new("a.yaml"), text).remove(0).unwrap();
        assert_eq!(
            changes(&document),
            "  main: onlyIfChanged /data, /metadata/labels; ignoreOwnWrites true\n  other: filter old == null || object.spec != old.spec; map to main by owner controller\n"
        );
    }
}
