//! Plugin documents as text: every mistake has its line.

use std::path::Path;

use wharf_core::Reason;

use crate::config::document::{MAX_DOCUMENT_BYTES, read_documents};

const GOOD: &str = "\
# A comment.
apiVersion: wharf.dev/v1alpha1
kind: Plugin
metadata: {name: label-guard, namespace: team-a}
spec:
  component:
    file: label-guard.wasm
  limits: &limits
    memory: 64Mi
    deadline: 2s
  config:
    same: *limits
    \"quoted\": 'yes'
    folded: >-
      a
      b
";

/// What is said about each document; the name of a good one.
fn say(text: &str) -> Vec<String> {
    let line = |result| match result {
        Ok(document) => format!("ok {document}"),
        Err(error) => error,
    };
    let read = read_documents(Path::new("p.yaml"), text).into_iter();
    read.map(|r| line(r.map(|d| d.name.to_string()).map_err(|e| e.to_string()))).collect()
}

#[test]
fn a_good_one() {
    let documents = read_documents(Path::new("p.yaml"), GOOD);
    let [Ok(document)] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(document.name.to_string(), "team-a/label-guard");
    assert_eq!(document.limits.memory, Some(64 << 20));
    assert_eq!(&*document.config, r#"{"folded":"a b","quoted":"yes","same":{"deadline":"2s","memory":"64Mi"}}"#);
}

#[test]
fn all_mistakes_with_lines_and_hints() {
    let text = "\
apiVersion: wharf.dev/v1alpha1
kind: Plugin
metadata:
  name: label-guard
  lables: {a: b}
spec:
  serviceAccountName: 007
  suspend: yes
  subscribe:
    - {name: main, apiVersion: v1, kind: configmap, namespaces: [team-a, '*']}
    - name: main
      fields: [/data]
  limits:
      memory: 64Xi
      memory: 64Mi
  config: !secret {a: .nan}
";
    assert_eq!(say(text).join("\n"), include_str!("mistakes.txt").trim_end());
}

#[test]
fn several_documents_are_read_one_by_one() {
    let text = format!(
        "---\n---\n{GOOD}---\n# nothing\n---\na: [1\n---\nkind: [\n{{\n---\n{}...\n---\n{{}}\n",
        GOOD.replace("label-guard", "second")
    );
    let missing = [
        ("apiVersion", "\n  hint: add apiVersion: wharf.dev/v1alpha1"),
        ("kind", "\n  hint: add kind: Plugin"),
        ("metadata", ""),
        ("spec", ""),
    ];
    let missing = missing.map(|(field, hint)| format!("p.yaml:45:1: /{field}: {field} is missing [DocumentInvalid]{hint}"));
    assert_eq!(
        say(&text),
        [
            "ok team-a/label-guard",
            "p.yaml:22:4: no YAML: unclosed bracket '[' [DocumentInvalid]",
            "p.yaml:25:1: no YAML: unclosed bracket '{' [DocumentInvalid]",
            "ok team-a/second",
            &missing.join("\n"),
        ]
    );
    assert!(say("# only a comment\n").is_empty() && say("").is_empty() && say("---\n").is_empty());
}

#[test]
fn what_yaml_can_do_and_json_cannot() {
    let table = include_str!("yaml.txt");
    let mut got = String::new();
    for line in table.lines().filter(|line| !line.starts_with("    ")) {
        got += &format!("{line}\n");
        if !line.starts_with('#') {
            for answer in say(&format!("{}\nspec: {{component: {{file: a}}, config: {}}}\n", HEAD, line.replace("\\n", "\n"))) {
                got.extend(answer.lines().map(|line| format!("    {line}\n")));
            }
        }
    }
    assert!(got == table, "\n{got}");
}

const HEAD: &str = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: a}";

#[test]
fn too_much_is_refused_quickly() {
    // Aliases of aliases: 10^9 values if they were copied.
    let levels: String = (0..9).map(|i| format!("a{}: &a{} [{}]\n", i + 1, i + 1, vec![format!("*a{i}"); 10].join(","))).collect();
    let bomb = format!("a0: &a0 x\n{levels}");
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(500_000), vec!["*a"; 50_000].join(","));
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    let wide = "- \n".repeat(300_000);
    let size = " ".repeat(usize::try_from(MAX_DOCUMENT_BYTES).unwrap() + 1);
    let too_much = "more than 50000 values or 2097152 bytes of text, aliases included [DocumentInvalid]";
    assert_eq!(say(&bomb), [format!("p.yaml:6:10: /a5/0: {too_much}")]);
    assert_eq!(say(&long), [format!("p.yaml:2:11: /b/2: {too_much}")]);
    assert_eq!(say(&wide), [format!("p.yaml:50000:3: /49999: {too_much}")]);
    assert_eq!(say(&deep), ["p.yaml:1:256: no YAML: recursion limit exceeded [DocumentInvalid]"]);
    assert_eq!(
        say(&format!("{}{}", "[".repeat(40), "]".repeat(40))),
        [
            "p.yaml:1:34: /0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: more than 32 levels inside each other [DocumentInvalid]"
        ]
    );
    assert_eq!(say(&size), ["p.yaml:1:1: 1048577 bytes are more than the 1048576 that a file may have [DocumentInvalid]"]);
    assert!(say(&"---\na\n".repeat(100_000)).len() <= 1000);
}

#[test]
fn the_name_is_known_where_it_can_be() {
    for (text, name) in [
        (GOOD.replace("64Mi", "64Xi"), Some("team-a/label-guard")),
        (GOOD.replace("64Mi", "64Xi").replace(", namespace: team-a", ""), Some("default/label-guard")),
        (GOOD.replace("kind: Plugin", "kind: Pod"), None),
        (GOOD.replace("name: label-guard", "name: a_b"), None),
        (GOOD.replace("namespace: team-a", "namespace: [a]"), None),
    ] {
        let error = read_documents(Path::new("p.yaml"), &text).remove(0).unwrap_err();
        assert_eq!(error.name.as_ref().map(ToString::to_string).as_deref(), name, "{error}");
        assert_eq!(error.reason(), Reason::DocumentInvalid);
    }
}

#[test]
fn the_documented_one_is_valid() {
    let text = include_str!("../../../../../docs/plugin-document.md");
    let example = text.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(say(example), ["ok team-a/label-guard"]);
    // Its message is the real one, too.
    let wrong = say(&example.replace("limits: {memory: 64Mi", "limits: {memory: 64Xi")).join("\n");
    let wrong = wrong.split_once("/spec").unwrap().1;
    assert!(text.contains(wrong), "{wrong}");
}
