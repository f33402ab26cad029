//! The formats of names, keys and values, and what is said of one that breaks them.
//!
//! Owns the texts of the real server. Each function returns all that is wrong; none means right. Knows no object.

/// What a name must look like.
pub(super) type Format = fn(&str) -> Vec<String>;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Letters, digits, `-` and `.`: what most names are.
pub(super) fn subdomain(name: &str) -> Vec<String> {
    let mut wrong = longer(name, 253);
    if !name.split('.').all(is_label) {
        wrong.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character (e.g. 'example.com', regex used for validation is '{LABEL}(\\.{LABEL})*')"
        ));
    }
    wrong
}

/// Letters, digits and `-`: namespaces, services, containers.
pub(super) fn label(name: &str) -> Vec<String> {
    let mut wrong = longer(name, 63);
    if !is_label(name) {
        wrong.push(if name.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
                 alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
            )
        });
    }
    wrong
}

/// What can stand in a path: names of roles and bindings.
pub(super) fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|one| name.contains(**one)).map(|one| format!("may not contain '{one}'")).collect()
}

/// A label's key: a name with an optional domain before it.
pub(super) fn qualified(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let rule = format!("{KEY_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY}')");
    let name = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(subdomain(prefix).into_iter().map(|one| format!("prefix part {one}")));
            }
            *name
        }
        _ => return vec![format!("a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")],
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(longer(name, 63).into_iter().map(|one| format!("name part {one}")));
    if !is_key(name) {
        wrong.push(format!("name part {rule}"));
    }
    wrong
}

/// A label's value.
pub(super) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = longer(value, 63);
    if !value.is_empty() && !is_key(value) {
        wrong.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({KEY})?')"
        ));
    }
    wrong
}

/// A key of a ConfigMap or a Secret.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut wrong = longer(key, 253);
    if key.is_empty() || !key.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.')) {
        wrong.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', \
             regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    if matches!(key, "." | "..") {
        wrong.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

/// The name of an environment variable.
pub(super) fn variable(name: &str) -> Vec<String> {
    if name.bytes().all(|c| (b' '..=b'~').contains(&c) && c != b'=') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// The name of a container's port.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut wrong = longer(name, 15);
    if !name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-') {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|c| c.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

/// The number of a port.
pub(super) fn port_number(number: i64) -> Vec<String> {
    if (1..=65_535).contains(&number) { Vec::new() } else { vec!["must be between 1 and 65535, inclusive".to_owned()] }
}

fn longer(text: &str, most: usize) -> Vec<String> {
    if text.len() > most { vec![format!("must be no more than {most} characters")] } else { Vec::new() }
}

/// Lower case letters, digits and, inside, `-`.
fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    is_framed(text, inner, |c| inner(c) || c == b'-')
}

/// Letters, digits and, inside, `-`, `_` and `.`.
fn is_key(text: &str) -> bool {
    is_framed(text, |c| c.is_ascii_alphanumeric(), |c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

fn is_framed(text: &str, ends: impl Fn(u8) -> bool, all: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|c| ends(*c)) && bytes.last().is_some_and(|c| ends(*c)) && bytes.iter().all(|c| all(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_and_refuse() {
        let long = "a".repeat(64);
        let cases: &[(Format, &[&str], &[&str])] = &[
            (subdomain, &["a", "a-b.c1", "1", &long], &["", "A", "-a", "a-", "a..b", ".a", "a_b", "Bad_Name"]),
            (label, &["a", "1-b"], &["", "a.b", "A", &long]),
            (path_segment, &["system:admin", "A_b", ""], &[".", "..", "a/b", "a%b"]),
            (qualified, &["a", "A_b.c", "x.test/y", "1"], &["", "/a", "a/", "a/b/c", "X.test/y", "-a", &long]),
            (label_value, &["", "a", "A_b-c.d"], &["a b", "-a", "a/b", &long]),
            (config_key, &["a", ".a", "A_b-c"], &["", ".", "..", "..a", "a b", "a/b"]),
            (variable, &["A", "a.b", "1-x y"], &["a=b", "ä"]),
            (port_name, &["http", "a1"], &["", "1", "A", "a--b", "-a", "abcdefghijklmnop"]),
        ];
        for (index, (format, right, wrong)) in cases.iter().enumerate() {
            for text in *right {
                assert_eq!(format(text), Vec::<String>::new(), "{index} {text}");
            }
            for text in *wrong {
                assert!(!format(text).is_empty(), "{index} {text}");
            }
        }
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert_eq!(port_number(0).len() + port_number(65_536).len(), 2);
        assert!(port_number(1).is_empty() && port_number(65_535).is_empty());
    }
}
