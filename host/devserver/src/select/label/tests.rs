//! Label selectors as the real server reads them.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn labels(text: &str) -> Vec<(Box<str>, Box<str>)> {
    text.split_whitespace()
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap();
            (key.into(), value.into())
        })
        .collect()
}

#[test]
fn selectors_match() {
    for (selector, yes, no) in [
        ("", vec!["", "a=1"], vec![]),
        ("a", vec!["a=1", "a="], vec!["", "b=1"]),
        ("!a", vec!["", "b=1"], vec!["a=1", "a="]),
        ("a=1", vec!["a=1", "b=2 a=1"], vec!["", "a=2", "a=", "b=1"]),
        (" a == 1 ", vec!["a=1"], vec!["a=2"]),
        ("a!=1", vec!["", "a=2", "a="], vec!["a=1"]),
        ("i=", vec!["i="], vec!["", "i=1"]),
        ("i!=", vec!["", "i=1"], vec!["i="]),
        ("i in (0,1),g", vec!["i=0 g=", "i=1 g=x"], vec!["i=0", "i=2 g=x", "g=x"]),
        ("i notin (0,1)", vec!["", "i=2"], vec!["i=0", "i=1"]),
        ("i in ()", vec!["i="], vec!["", "i=1"]),
        ("i notin ()", vec!["", "i=1"], vec!["i="]),
        ("i in (,a)", vec!["i=", "i=a"], vec!["i=b", ""]),
        ("i in (a,)", vec!["i=", "i=a"], vec!["i=b"]),
        ("i in (a,,b)", vec!["i=", "i=a", "i=b"], vec!["i=c"]),
        ("i in (in,notin)", vec!["i=in", "i=notin"], vec!["i=a"]),
        ("in in (in)", vec!["in=in"], vec!["in=a"]),
        ("notin", vec!["notin=x"], vec![""]),
        ("i=in", vec!["i=in"], vec!["i="]),
        ("n>5", vec!["n=6", "n=100"], vec!["n=5", "n=x", "n=", ""]),
        ("n<5", vec!["n=4", "n=-1"], vec!["n=5", "n=x", ""]),
        ("n>007", vec!["n=8"], vec!["n=7"]),
        // A value must be one that a label can have.
        ("n>-1", vec![], vec![]),
        ("example.com/a=1,b", vec!["example.com/a=1 b=x"], vec!["a=1 b=x", "example.com/a=1"]),
        ("a,b,!c", vec!["a=1 b=1"], vec!["a=1", "a=1 b=1 c=1"]),
        ("a,,", vec![], vec![]),
    ] {
        let Ok(parsed) = LabelSelector::parse(selector) else {
            assert!(yes.is_empty() && no.is_empty(), "{selector}");
            continue;
        };
        assert!(!(yes.is_empty() && no.is_empty()), "{selector} is no selector");
        assert_eq!(parsed.is_empty(), selector.is_empty(), "{selector}");
        for text in yes {
            assert!(parsed.matches(&labels(text)), "{selector} matches {text}");
        }
        for text in no {
            assert!(!parsed.matches(&labels(text)), "{selector} does not match {text}");
        }
    }
}

#[test]
fn errors_are_the_real_servers() {
    for (selector, error) in [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=1 b", "found 'b', expected: ',' or 'end of string'"),
        ("!a=1", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
        (
            "a=x/y",
            "unable to parse requirement: values[0][a]: Invalid value: \"x/y\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
        (
            "_a",
            "unable to parse requirement: <nil>: Invalid value: \"_a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ] {
        let status = LabelSelector::parse(selector).unwrap_err();
        assert_eq!((status.code, status.reason, &*status.message), (400, "BadRequest", error), "{selector}");
    }
}

#[test]
fn keys_and_values_have_rules() {
    let long = "a".repeat(64);
    for (selector, part) in [
        (format!("{long}=1"), "name part must be no more than 63 bytes"),
        (format!("a={long}"), "must be no more than 63 bytes"),
        ("a/b/c".to_owned(), "a valid label key must consist of"),
        ("/a".to_owned(), "prefix part must be non-empty"),
        ("a/".to_owned(), "name part must be non-empty; name part must consist of"),
        ("A/b".to_owned(), "prefix part a lowercase RFC 1123 subdomain must consist of"),
        (format!("{}/b", "a".repeat(254)), "prefix part must be no more than 253 bytes"),
        ("a in (-,_)".to_owned(), "[values[0][a]: Invalid value: \"-\""),
        ("é".to_owned(), "<nil>: Invalid value: \"é\""),
    ] {
        let status = LabelSelector::parse(&selector).unwrap_err();
        assert!(status.message.contains(part), "{selector}: {}", status.message);
    }
}

#[test]
fn anything_is_answered() {
    for text in ["(((((", "a in in in", "\0", "a\0=", "é=é", "= = =", "a>", "a<=1", "!in", "a in (((", "))", "\u{feff}"] {
        let _ = LabelSelector::parse(text);
    }
}
