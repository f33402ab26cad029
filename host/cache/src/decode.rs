//! Lists and watch events as raw JSON. Owns the split into items, borrowed from the text;
//! never keeps a text and never builds a tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use wharf_core::{Gvk, Object, Pointer};

use crate::classify::{Class, Failure};
use crate::metrics::WatchEventType;

/// One page of a list; its items are slices of the text.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The list's resourceVersion.
    pub(crate) resource_version: Box<str>,
    /// How to get the next page; `None` on the last one.
    pub(crate) next: Option<Box<str>>,
    /// The objects.
    pub(crate) items: Vec<&'a RawValue>,
}

impl<'a> Page<'a> {
    /// Reads the answer to a list.
    ///
    /// # Errors
    /// When it is no list of objects; a Table is none.
    pub(crate) fn parse(what: &str, text: &'a [u8]) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow, default)]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            metadata: Meta<'a>,
            #[serde(borrow)]
            items: Option<Vec<&'a RawValue>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta<'a> {
            #[serde(borrow, default)]
            resource_version: Cow<'a, str>,
            #[serde(borrow, default, rename = "continue")]
            next: Cow<'a, str>,
        }
        let list: List<'a> = serde_json::from_slice(text).map_err(|error| undecodable(what, &error))?;
        if list.kind == "Table" {
            return Err(undecodable(what, &"the server answered with a Table, not with a list of objects"));
        }
        Ok(Self {
            resource_version: list.metadata.resource_version.into(),
            next: Some(list.metadata.next).filter(|next| !next.is_empty()).map(Into::into),
            items: list.items.unwrap_or_default(),
        })
    }
}

/// One line of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// An object was added or changed.
    Applied(WatchEventType, Object),
    /// An object was deleted; this is its last state.
    Deleted(Object),
    /// Everything up to this resourceVersion has been sent.
    Bookmark(Box<str>),
    /// The server ends the watch.
    Error(Failure),
    /// Something that is reported and ignored: an unknown type of event, another kind.
    Foreign(WatchEventType, Box<str>),
}

impl WatchEvent {
    /// The type, for counting.
    pub(crate) const fn event_type(&self) -> WatchEventType {
        match self {
            Self::Applied(event, _) | Self::Foreign(event, _) => *event,
            Self::Deleted(_) => WatchEventType::Deleted,
            Self::Bookmark(_) => WatchEventType::Bookmark,
            Self::Error(_) => WatchEventType::Error,
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// When it is no watch event, or its object is none.
    pub(crate) fn parse(what: &str, line: &[u8], kind: &Gvk) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow, rename = "type")]
            event: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        let raw: Raw<'_> = serde_json::from_slice(line).map_err(|error| undecodable(what, &error))?;
        let text = raw.object.get();
        let event = WatchEventType::parse(&raw.event);
        match event {
            WatchEventType::Error => return Ok(Self::Error(Failure::from_event(what, text))),
            WatchEventType::Bookmark => return bookmark(what, text).map(Self::Bookmark),
            WatchEventType::Unknown => return Ok(Self::Foreign(event, format!("{what}: unknown event type {}", raw.event).into())),
            WatchEventType::Added | WatchEventType::Modified | WatchEventType::Deleted => {}
        }
        let object = Object::parse(text, kind).map_err(|error| undecodable(what, &error))?;
        if let Some(foreign) = foreign_kind(&object, kind) {
            return Ok(Self::Foreign(event, format!("{what}: got an object of another kind: {foreign}").into()));
        }
        Ok(if event == WatchEventType::Deleted { Self::Deleted(object) } else { Self::Applied(event, object) })
    }
}

/// Reads one item of a list.
///
/// # Errors
/// When it is no object.
pub(crate) fn item(what: &str, text: &RawValue, kind: &Gvk) -> Result<Object, Failure> {
    Object::parse(text.get(), kind).map_err(|error| undecodable(what, &error))
}

fn bookmark(what: &str, text: &str) -> Result<Box<str>, Failure> {
    #[derive(Deserialize)]
    struct Raw {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: Box<str>,
    }
    serde_json::from_str::<Raw>(text).map(|raw| raw.metadata.resource_version).map_err(|error| undecodable(what, &error))
}

/// The object's kind as it names it, if it is not the one that is watched.
fn foreign_kind(object: &Object, kind: &Gvk) -> Option<String> {
    let member = |pointer: &str| {
        let pointer = Pointer::parse(pointer).ok()?;
        serde_json::from_str::<String>(object.get(&pointer)?).ok()
    };
    let (api_version, name) = (member("/apiVersion").unwrap_or_default(), member("/kind").unwrap_or_default());
    let same = name == *kind.kind && api_version == kind.api_version();
    (!same).then(|| format!("{api_version} {name}"))
}

fn undecodable(what: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Class::Undecodable, format_args!("{what}: cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind() -> Gvk {
        Gvk::new("", "v1", "ConfigMap")
    }

    fn event(text: &str) -> Result<WatchEvent, Failure> {
        WatchEvent::parse("watch", text.as_bytes(), &kind())
    }

    #[test]
    fn a_page_of_a_list() {
        let text = br#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#;
        let page = Page::parse("list", text).unwrap();
        assert_eq!((&*page.resource_version, page.next.as_deref(), page.items.len()), ("7", Some("t"), 1));
        assert_eq!(item("list", page.items[0], &kind()).unwrap().key().to_string(), "a");
        let page = Page::parse("list", br#"{"metadata":{"resourceVersion":"7","continue":""},"items":null}"#).unwrap();
        assert_eq!((page.next, page.items.len()), (None, 0));
    }

    /// CR20.
    #[test]
    fn a_table_is_refused() {
        let failure = Page::parse("list", br#"{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[]}"#).unwrap_err();
        assert_eq!(failure.class, Class::Undecodable);
        assert!(failure.message.contains("Table"), "{failure}");
    }

    #[test]
    fn events_of_each_type() {
        let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"5"}}"#;
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let event = event(&format!(r#"{{"type":"{kind}","object":{object}}}"#)).unwrap();
            assert_eq!(event.event_type().as_str(), kind);
            assert!(matches!(event, WatchEvent::Applied(_, o) | WatchEvent::Deleted(o) if o.resource_version() == "5"));
        }
        let got = event(r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9"}}}"#).unwrap();
        assert!(matches!(got, WatchEvent::Bookmark(rv) if &*rv == "9"));
        let got = event(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#).unwrap();
        assert!(matches!(got, WatchEvent::Error(failure) if failure.class == Class::Expired));
    }

    #[test]
    fn foreign_events_are_told_apart_from_broken_ones() {
        for text in [
            r#"{"type":"SOMETHING","object":{}}"#,
            r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}"#,
            r#"{"type":"ADDED","object":{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"a"}}}"#,
        ] {
            assert!(matches!(event(text).unwrap(), WatchEvent::Foreign(..)), "{text}");
        }
        for text in ["", "{", "[]", r#"{"type":"ADDED"}"#, r#"{"type":"ADDED","object":null}"#, r#"{"type":"BOOKMARK","object":{}}"#] {
            assert_eq!(event(text).unwrap_err().class, Class::Undecodable, "{text}");
        }
    }

    proptest! {
        #[test]
        fn junk_never_panics(text in "[\\{\\}\\[\\]\":,a-zA-Z0-9 ]{0,60}") {
            let _ = event(&text);
            let _ = Page::parse("list", text.as_bytes());
        }
    }
}
