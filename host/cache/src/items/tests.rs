//! Lists in chunks.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"é\"}]"}},{"a":[1]}]}"#;

/// Reads a body in chunks of that size.
fn read(text: &[u8], size: usize, limit: usize) -> Result<(Vec<String>, Envelope), ListError> {
    let (mut reader, mut items) = (ListReader::new(limit), Vec::new());
    for chunk in text.chunks(size.max(1)) {
        reader.push(Bytes::copy_from_slice(chunk));
        while reader.advance()? {
            items.push(String::from_utf8_lossy(reader.item()).into_owned());
        }
    }
    Ok((items, reader.finish()?))
}

fn error(text: &str) -> String {
    let errors: Vec<_> = [1, 7, usize::MAX].map(|size| read(text.as_bytes(), size, 1 << 20).unwrap_err().to_string()).into();
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
    errors[0].clone()
}

#[test]
fn a_list_in_chunks_of_any_size() {
    for size in 1..=LIST.len() {
        let (items, envelope) = read(LIST.as_bytes(), size, 100).unwrap();
        assert_eq!(items, [r#"{"metadata":{"name":"é\"}]"}}"#, r#"{"a":[1]}"#], "in chunks of {size}");
        assert_eq!((&*envelope.kind, &*envelope.api_version), ("ConfigMapList", "v1"));
        assert_eq!((&*envelope.resource_version, envelope.next.as_deref()), ("7", Some("t")));
    }
}

#[test]
fn members_come_in_any_order() {
    for text in [
        r#"{"items":[1,2],"metadata":{"resourceVersion":"7"}}"#,
        r#" { "x" : [{"items":[3]}] , "\u0069tems" : [ 1 , 2 ] , "metadata" : {"resourceVersion":"7","items":[4]} } "#,
    ] {
        let (items, envelope) = read(text.as_bytes(), 3, 100).unwrap();
        assert_eq!((items, &*envelope.resource_version, envelope.next), (vec!["1".to_owned(), "2".to_owned()], "7", None));
    }
    for items in ["null", "[]", "[ ]"] {
        let text = format!(r#"{{"metadata":{{"continue":""}},"items":{items}}}"#);
        assert_eq!(read(text.as_bytes(), 2, 100).unwrap().0.len(), 0);
    }
}

/// Also with rows, which are not collected.
#[test]
fn cr20_a_table_is_refused() {
    for text in [
        r#"{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[]}"#,
        r#"{"metadata":{},"rows":[{"cells":["#,
        r#"{"columnDefinitions":["#,
    ] {
        assert_eq!(error(text), "the server answered with a Table, not with a list of objects");
    }
}

#[test]
fn what_is_no_list_says_why() {
    for (text, want) in [
        ("", "the answer ends before the list does"),
        ("<html>", "this is no list of objects in JSON: '<' where '{' should be"),
        ("[1]", "this is no list of objects in JSON: '[' where '{' should be"),
        (r#"{"metadata":{},"items":[1 2]}"#, "this is no list of objects in JSON: '2' where ',' or ']' should be"),
        (r#"{"metadata":{},"items":[1,]}"#, "this is no list of objects in JSON: ']' where an object should be"),
        (r#"{"metadata":{},"items":[,]}"#, "this is no list of objects in JSON: ',' where an object should be"),
        (r#"{"metadata":{},"items":[]}x"#, "this is no list of objects in JSON: 'x' where the end should be"),
        (r#"{"metadata":}"#, "this is no list of objects in JSON: '}' where a value should be"),
        (r#"{"metadata" 5}"#, "this is no list of objects in JSON: '5' where ':' should be"),
        (r#"{"metadata":{},"items":[1]"#, "the answer ends before the list does"),
        (r#"{"metadata":{},"items":[{"a":"#, "the answer ends before the list does"),
        (r#"{"metadata":{},"items":[],"items":[]}"#, "this is no list of objects: duplicate field `items` at line 1 column 33"),
        (r#"{"kind":"Status","items":[]}"#, "this is no list of objects: missing field `metadata` at line 1 column 28"),
        (r#"{"kind":"Status","metadata":{}}"#, "this is no list of objects: missing field `items` at line 1 column 31"),
    ] {
        assert_eq!(error(text), want, "{text}");
    }
}

/// Limits hold for what is complete and for what is still coming, and are exact.
#[test]
fn limits() {
    let item = format!(r#"{{"a":"{}"}}"#, "x".repeat(92));
    let text = format!(r#"{{"metadata":{{}},"items":[{item}]}}"#);
    for size in [1, 13, usize::MAX] {
        assert_eq!(read(text.as_bytes(), size, 100).unwrap().0, [&*item]);
        let error = read(text.as_bytes(), size, 99).unwrap_err();
        assert_eq!(error.to_string(), "an object in the list has more than 99 bytes");
    }
    let endless = format!(r#"{{"metadata":{{}},"x":"{}"#, "x".repeat(ListReader::MAX_ENVELOPE));
    let error = read(endless.as_bytes(), 4096, 99).unwrap_err();
    assert_eq!(error.to_string(), "what stands around the list's items has more than 1048576 bytes");
    let blanks = " ".repeat(ListReader::MAX_ENVELOPE + 1);
    assert!(matches!(read(blanks.as_bytes(), 4096, 99), Err(ListError::EnvelopeTooLarge)));
}

/// An item that comes in very many chunks is looked at once: were it read again with each
/// chunk, this would be 10^11 steps.
#[test]
fn an_item_in_many_chunks_is_read_once() {
    let text = format!(r#"{{"metadata":{{}},"items":[{{"a":[{}1]}}]}}"#, "1,".repeat(200_000));
    assert_eq!(read(text.as_bytes(), 1, 1 << 20).unwrap().0.len(), 1);
}

/// A chunk that says when it is dropped.
struct Tracked {
    _alive: Arc<()>,
    bytes: Vec<u8>,
}

impl AsRef<[u8]> for Tracked {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Keeping an object keeps nothing of what it came in: the chunk is free as soon as
/// the next one is there.
#[test]
fn cr17_an_object_does_not_keep_its_page() {
    let alive = Arc::new(());
    let mut reader = ListReader::new(1000);
    reader.push(Bytes::from_owner(Tracked {
        _alive: alive.clone(),
        bytes: br#"{"metadata":{},"items":[{"metadata":{"name":"a"}},{"#.to_vec(),
    }));
    assert!(reader.advance().unwrap());
    let item = std::str::from_utf8(reader.item()).unwrap();
    let kept = wharf_core::Object::parse(item, &wharf_core::Gvk::new("", "v1", "ConfigMap")).unwrap();
    assert!(!reader.advance().unwrap());
    assert_eq!(Arc::strong_count(&alive), 2);
    reader.push(Bytes::from_static(br#""metadata":{"name":"b"}}]}"#));
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(reader.advance().unwrap());
    assert_eq!((&*kept.key().name, reader.item()), ("a", &br#"{"metadata":{"name":"b"}}"#[..]));
}

#[test]
fn a_large_buffer_is_given_back() {
    let huge = format!(r#"{{"a":"{}"}}"#, "x".repeat(3 << 20));
    let text = format!(r#"{{"metadata":{{}},"items":[{huge},1]}}"#);
    let mut reader = ListReader::new(usize::MAX);
    let mut count = 0;
    for chunk in text.as_bytes().chunks(1 << 20) {
        reader.push(Bytes::copy_from_slice(chunk));
        while reader.advance().unwrap() {
            count += 1;
        }
    }
    assert_eq!(count, 2);
    assert!(reader.carry.capacity() <= ListReader::KEEP);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\\\[\\]{},:é \n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z\"\\\\]{0,3}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// However a list is written and cut, its items are those of serde_json.
    #[test]
    fn agrees_with_serde_json(items in proptest::collection::vec(any_json(), 0..6), extra in any_json(), pretty: bool, cuts in proptest::collection::vec(1usize..20, 0..40)) {
        let list = json!({"aaa": extra, "items": items, "metadata": {"resourceVersion": "5"}, "zzz": extra});
        let text = if pretty { serde_json::to_string_pretty(&list).unwrap() } else { list.to_string() };
        let (mut reader, mut got, mut rest) = (ListReader::new(usize::MAX), Vec::new(), text.as_bytes());
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (chunk, after) = rest.split_at(cut.min(rest.len()));
            reader.push(Bytes::copy_from_slice(chunk));
            while reader.advance().unwrap() {
                got.push(serde_json::from_slice::<Value>(reader.item()).unwrap());
            }
            rest = after;
        }
        prop_assert_eq!(got, items);
        prop_assert_eq!(&*reader.finish().unwrap().resource_version, "5");
    }

    /// Junk gives items and errors, and no panic; what is accepted is JSON around its items.
    #[test]
    fn junk_never_panics(text in "[\\{\\}\\[\\]\":,a-z0-9 ]{0,60}", size in 1usize..9) {
        let list = format!(r#"{{"metadata":{{}},"items":[{text}"#);
        let _ = read(text.as_bytes(), size, 20);
        let _ = read(list.as_bytes(), size, 20);
    }
}
