//! No text makes a reader panic, and a refusal always says where.

use std::path::Path;

use proptest::prelude::*;

use crate::config::document::read_documents;
use crate::config::{Layer, Settings};

/// Pieces that YAML cares about, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "apiVersion: wharf.dev/v1alpha1\n",
        "kind: Plugin\n",
        "metadata: {name: a}\n",
        "spec:\n",
        "  limits: ",
        "- ",
        ": ",
        "? ",
        "\n",
        "\n  ",
        "---\n",
        "...\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "\"",
        "'",
        "|\n",
        ">-\n ",
        "# c\n",
        "<<: ",
        "%YAML 1.2\n",
        "~",
        "0644",
        "1e999",
        "\t",
        "é",
        "\u{feff}",
        "\u{0}",
        "\r\n",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    for error in read_documents(Path::new("x"), text).into_iter().filter_map(Result::err) {
        prop_assert!(!error.problems.is_empty());
        prop_assert!(error.problems.iter().all(|p| p.line > 0 && p.column > 0 && !p.message.is_empty()), "{error}");
        // A message is a line, its hint one more.
        let hints = error.problems.iter().filter(|p| !p.hint.is_empty()).count();
        prop_assert_eq!(error.to_string().lines().count(), error.problems.len() + hints, "{}", error);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) { check(&text)?; }

    #[test]
    fn any_pieces(text in pieces()) { check(&text)?; }

    #[test]
    fn settings(text in pieces(), flag in ".{0,12}", env in ".{0,12}") {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("host.yaml");
        std::fs::write(&file, &text).unwrap();
        let flags = Layer { default_memory: Some(flag.clone()), metrics_bind_address: Some(flag), ..Layer::default() };
        let read = Settings::resolve(flags, &|name| (name != "WHARF_CONFIG").then(|| env.clone()), Some(&file));
        prop_assert!(read.is_err_and(|error| !error.to_string().is_empty()));
    }
}
