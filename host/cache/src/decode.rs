//! Items of lists and events of watches as objects. Owns what makes a text an object of the
//! informer's kind; never keeps a text and never builds a tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use wharf_core::{Gvk, Object, Pointer, Trim};

use crate::classify::{Class, Failure};
use crate::items::Envelope;
use crate::metrics::WatchEventType;

/// How texts become objects: of which kind, and without which members.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    kind: Gvk,
    trim: Trim,
    /// The members that say of which kind an object is, and their values as JSON.
    names: [(Pointer, String); 2],
}

/// One line of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// An object was added or changed.
    Applied(WatchEventType, Object),
    /// An object was deleted; this is its last state.
    Deleted(Object),
    /// Everything up to this resourceVersion has been sent.
    Bookmark {
        resource_version: Box<str>,
        /// It ends what a watch shows at its beginning of what exists.
        initial_end: bool,
    },
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
            Self::Bookmark { .. } => WatchEventType::Bookmark,
            Self::Error(_) => WatchEventType::Error,
        }
    }
}

impl Decoder {
    pub(crate) fn new(kind: Gvk, trim: Trim) -> Self {
        let name = |member: &str, value: &str| (Pointer::of([member]), serde_json::Value::from(value).to_string());
        let names = [name("apiVersion", &kind.api_version()), name("kind", &kind.kind)];
        Self { kind, trim, names }
    }

    /// Reads one line of a watch.
    ///
    /// # Errors
    /// When it is no watch event, or its object is none.
    pub(crate) fn event(&self, what: &str, line: &[u8]) -> Result<WatchEvent, Failure> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow, rename = "type")]
            event: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        let line = utf8(what, line)?;
        if let Some((event, text)) = split(line)
            && let Ok(object) = Object::parse_trimmed(text, &self.kind, &self.trim)
        {
            return Ok(self.changed(what, event, object));
        }
        let raw: Raw<'_> = serde_json::from_str(line).map_err(|error| undecodable(what, &error))?;
        let text = raw.object.get();
        let event = WatchEventType::parse(&raw.event);
        match event {
            WatchEventType::Error => return Ok(WatchEvent::Error(Failure::from_event(what, text))),
            WatchEventType::Bookmark => return bookmark(what, text),
            WatchEventType::Unknown => {
                return Ok(WatchEvent::Foreign(event, format!("{what}: unknown event type {}", raw.event).into()));
            }
            WatchEventType::Added | WatchEventType::Modified | WatchEventType::Deleted => {}
        }
        Ok(self.changed(what, event, self.object(what, text)?))
    }

    fn changed(&self, what: &str, event: WatchEventType, object: Object) -> WatchEvent {
        match self.foreign(&object) {
            Some(foreign) => WatchEvent::Foreign(event, format!("{what}: got an object of another kind: {foreign}").into()),
            None if event == WatchEventType::Deleted => WatchEvent::Deleted(object),
            None => WatchEvent::Applied(event, object),
        }
    }

    /// Reads one item of a list.
    ///
    /// # Errors
    /// When it is no object, or one of another kind.
    pub(crate) fn item(&self, what: &str, text: &[u8]) -> Result<Object, Failure> {
        let object = self.object(what, utf8(what, text)?)?;
        match self.foreign(&object) {
            Some(foreign) => Err(undecodable(what, &format_args!("the list has an object of another kind: {foreign}"))),
            None => Ok(object),
        }
    }

    /// Does an item of a list say of which kind it is?
    pub(crate) fn names_kind(item: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Kinded {
            kind: Option<IgnoredAny>,
        }
        serde_json::from_slice::<Kinded>(item).is_ok_and(|item| item.kind.is_some())
    }

    /// Is a list of that kind one of these objects? The items of built-in kinds do not
    /// name their kind, so the list's must be right. A CustomResourceDefinition may
    /// call its lists as it likes, but its items do, and each is judged by itself.
    /// `named` says whether the items do; `None` if there are none.
    ///
    /// # Errors
    /// When nothing says that this is a list of the kind that was asked for.
    pub(crate) fn list_kind(&self, what: &str, list_kind: &str, named: Option<bool>) -> Result<(), Failure> {
        // Only groups with a dot can be defined by users.
        let ours = named.unwrap_or_else(|| self.kind.group.contains('.'));
        if ours || list_kind.is_empty() || list_kind.strip_suffix("List") == Some(&*self.kind.kind) {
            return Ok(());
        }
        Err(undecodable(what, &format_args!("the server answered with a {list_kind}")))
    }

    /// The list is complete.
    ///
    /// # Errors
    /// When it is of another group or version.
    pub(crate) fn envelope(&self, what: &str, list: &Envelope) -> Result<(), Failure> {
        if list.api_version.is_empty() || *list.api_version == *self.kind.api_version() {
            return Ok(());
        }
        Err(undecodable(what, &format_args!("the server answered with a {} of {}", list.kind, list.api_version)))
    }

    fn object(&self, what: &str, text: &str) -> Result<Object, Failure> {
        Object::parse_trimmed(text, &self.kind, &self.trim).map_err(|error| {
            #[derive(Deserialize)]
            struct Kinded {
                kind: Box<str>,
            }
            match serde_json::from_str::<Kinded>(text) {
                Ok(Kinded { kind }) if *kind == *"Table" => undecodable(what, &"the server sent a Table, not an object"),
                _ => undecodable(what, &error),
            }
        })
    }

    /// The object's kind as it names it, if it is not the one that is asked for.
    fn foreign(&self, object: &Object) -> Option<String> {
        if self.names.iter().all(|(name, value)| object.get(name) == Some(value)) {
            return None;
        }
        let member = |pointer: &str| {
            let pointer = Pointer::parse(pointer).ok()?;
            serde_json::from_str::<String>(object.get(&pointer)?).ok()
        };
        let (api_version, name) = (member("/apiVersion").unwrap_or_default(), member("/kind").unwrap_or_default());
        let same = name == *self.kind.kind && api_version == self.kind.api_version();
        (!same).then(|| format!("{api_version} {name}"))
    }
}

/// The type of a change and the text of its object, if they stand as every API server writes them.
/// If that text is one JSON object, then the line is what it seems to be: one look at it is enough.
fn split(line: &str) -> Option<(WatchEventType, &str)> {
    let (event, rest) = line.strip_prefix(r#"{"type":""#)?.split_once('"')?;
    let text = rest.strip_prefix(r#","object":"#)?.trim_ascii_end().strip_suffix('}')?;
    let event = WatchEventType::parse(event);
    matches!(event, WatchEventType::Added | WatchEventType::Modified | WatchEventType::Deleted).then_some((event, text))
}

fn bookmark(what: &str, text: &str) -> Result<WatchEvent, Failure> {
    #[derive(Deserialize)]
    struct Raw {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: Box<str>,
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize)]
    struct Annotations {
        #[serde(rename = "k8s.io/initial-events-end")]
        initial_end: Option<Box<str>>,
    }
    let Raw { metadata } = serde_json::from_str(text).map_err(|error| undecodable(what, &error))?;
    let initial_end = metadata.annotations.and_then(|annotations| annotations.initial_end);
    Ok(WatchEvent::Bookmark { resource_version: metadata.resource_version, initial_end: initial_end.as_deref() == Some("true") })
}

/// All of JSON is UTF-8; half a character is said to be one.
fn utf8<'a>(what: &str, text: &'a [u8]) -> Result<&'a str, Failure> {
    std::str::from_utf8(text).map_err(|error| undecodable(what, &error))
}

/// Something came that is not what was asked for.
pub(crate) fn undecodable(what: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Class::Undecodable, format_args!("{what}: cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoder() -> Decoder {
        Decoder::new(Gvk::new("", "v1", "ConfigMap"), Trim::default())
    }

    fn event(text: &str) -> Result<WatchEvent, Failure> {
        decoder().event("watch", text.as_bytes())
    }

    fn item(text: &[u8]) -> Result<Object, Failure> {
        decoder().item("list", text)
    }

    #[test]
    fn cr21_items_are_objects_of_the_kind() {
        assert_eq!(item(br#"{"metadata":{"name":"a"}}"#).unwrap().key().to_string(), "a");
        for (text, want) in [
            (&br#"{"metadata":{}}"#[..], "list: cannot be read: no Kubernetes object: metadata has no name"),
            (br#"{"spec":{}}"#, "list: cannot be read: no Kubernetes object: missing field `metadata`"),
            (b"null", "list: cannot be read: no Kubernetes object: invalid type: null, expected an object at line 1 column 4"),
            (b"{\"metadata\":{\"name\":\"\xc3\"}}", "list: cannot be read: invalid utf-8 sequence of 1 bytes from index 21"),
            (
                br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#,
                "list: cannot be read: the list has an object of another kind: v1 Pod",
            ),
            (br#"{"kind":"Table","metadata":{}}"#, "list: cannot be read: the server sent a Table, not an object"),
        ] {
            let failure = item(text).unwrap_err();
            assert_eq!((failure.class, &*failure.message), (Class::Undecodable, want));
        }
    }

    /// A list of another kind is one, unless its items say themselves what they are.
    #[test]
    fn cr21_lists_are_of_the_kind() {
        assert!(Decoder::names_kind(br#"{"metadata":{},"kind":"ConfigMap"}"#));
        assert!(!Decoder::names_kind(br#"{"metadata":{}}"#));
        for (kind, bare_ok) in [("", true), ("ConfigMapList", true), ("PodList", false), ("List", false), ("Status", false)] {
            for (named, want) in [(Some(false), bare_ok), (None, bare_ok), (Some(true), true)] {
                assert_eq!(decoder().list_kind("list", kind, named).is_ok(), want, "{kind} {named:?}");
            }
        }
        let custom = Decoder::new(Gvk::new("example.com", "v1", "Widget"), Trim::default());
        assert!(custom.list_kind("list", "WidgetCollection", None).is_ok());
        assert!(custom.list_kind("list", "WidgetCollection", Some(false)).is_err());
        let list = |api_version: &str| Envelope {
            api_version: api_version.into(),
            kind: "ConfigMapList".into(),
            resource_version: "1".into(),
            next: None,
            remaining: None,
        };
        assert!(decoder().envelope("list", &list("")).is_ok());
        assert!(decoder().envelope("list", &list("v1")).is_ok());
        let failure = decoder().envelope("list", &list("meta.k8s.io/v1")).unwrap_err();
        assert_eq!(&*failure.message, "list: cannot be read: the server answered with a ConfigMapList of meta.k8s.io/v1");
    }

    #[test]
    fn events_of_each_type() {
        let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"5"}}"#;
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let event = event(&format!(r#"{{"type":"{kind}","object":{object}}}"#)).unwrap();
            assert_eq!(event.event_type().as_str(), kind);
            assert!(matches!(event, WatchEvent::Applied(_, o) | WatchEvent::Deleted(o) if o.resource_version() == "5"));
        }
        let got = event(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#).unwrap();
        assert!(matches!(got, WatchEvent::Error(failure) if failure.class == Class::Expired));
    }

    /// Only the value "true" ends the initial events.
    #[test]
    fn cw2_only_one_annotation_ends_the_initial_events() {
        for (annotations, want) in [
            ("", false),
            (r#","annotations":null"#, false),
            (r#","annotations":{"other":"true"}"#, false),
            (r#","annotations":{"k8s.io/initial-events-end":"false"}"#, false),
            (r#","annotations":{"k8s.io/initial-events-end":"True"}"#, false),
            (r#","annotations":{"x":"y","k8s.io/initial-events-end":"true"}"#, true),
        ] {
            let line =
                format!(r#"{{"type":"BOOKMARK","object":{{"kind":"ConfigMap","metadata":{{"resourceVersion":"9"{annotations}}}}}}}"#);
            let got = event(&line).unwrap();
            assert!(
                matches!(got, WatchEvent::Bookmark { resource_version, initial_end } if &*resource_version == "9" && initial_end == want),
                "{line}"
            );
        }
    }

    #[test]
    fn cr8_foreign_events_are_told_apart_from_broken_ones() {
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
            let _ = item(text.as_bytes());
        }
    }
}
