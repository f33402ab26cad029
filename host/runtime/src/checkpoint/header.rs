//! What is kept of a plugin besides its keys: which revision served, and what it was subscribed
//! to. Owns the bytes, which are JSON: there are few, and a person may have to read them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::Subscription;
use wharf_core::{Gvk, Object, Selector, TargetKey};

/// A plugin's header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Tells revisions apart: a digest of component and configuration.
    pub identity: String,
    /// Number of the revision; ledgers know it by that.
    pub number: u64,
    /// What was delivered, by kind and then in no order that matters.
    pub scopes: Vec<Scope>,
    /// How objects of one kind name those of another, in words; sorted. Their records mean nothing
    /// under other ones.
    pub maps: Vec<String>,
    /// Since when the plugin is in no source, by the time of day.
    pub absent_since: Option<Duration>,
    /// Up to which version each kind and place was told, where a leader may be followed by a host
    /// whose stores are behind.
    pub told: BTreeMap<String, u64>,
}

/// Which objects of a kind a subscription covers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The kind.
    pub kind: Gvk,
    /// Where.
    pub namespaces: Namespaces,
    /// Labels that must match.
    pub label_selector: Selector,
    /// Fields that must match.
    pub field_selector: Selector,
}

impl Scope {
    /// Of a subscription; `None` if it delivers nothing.
    pub fn of(subscription: &Subscription) -> Option<Self> {
        (!subscription.events.is_empty()).then(|| Self {
            kind: (*subscription.kind).clone(),
            namespaces: subscription.namespaces.clone(),
            label_selector: subscription.label_selector.clone(),
            field_selector: subscription.field_selector.clone(),
        })
    }

    /// Is the object covered? One of which only the name is known is not, if labels count.
    pub fn matches(&self, key: &TargetKey, object: &Object) -> bool {
        let TargetKey::Object { kind, .. } = key else { return false };
        let place = object.key().namespace.as_ref().is_none_or(|namespace| self.namespaces.contains(namespace));
        **kind == self.kind && place && object.matches_fields(&self.field_selector) && object.matches_labels(&self.label_selector)
    }

    fn to_json(&self) -> Value {
        let Gvk { group, version, kind } = &self.kind;
        let namespaces = match &self.namespaces {
            Namespaces::All => None,
            Namespaces::Some(names) => Some(names),
        };
        json!({
            "group": group, "version": version, "kind": kind, "namespaces": namespaces,
            "labels": self.label_selector.to_string(), "fields": self.field_selector.to_string(),
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str();
        let namespaces = match value.get("namespaces")? {
            Value::Null => Namespaces::All,
            names => Namespaces::Some(names.as_array()?.iter().map(|name| name.as_str().map(Arc::from)).collect::<Option<_>>()?),
        };
        Some(Self {
            kind: Gvk::new(text("group")?, text("version")?, text("kind")?),
            namespaces,
            label_selector: Selector::parse(text("labels")?).ok()?,
            field_selector: Selector::parse(text("fields")?).ok()?,
        })
    }
}

impl Header {
    /// The bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut scopes: Vec<Value> = self.scopes.iter().map(Scope::to_json).collect();
        scopes.sort_by_key(Value::to_string);
        let absent = self.absent_since.map(|since| since.as_secs());
        let told = (!self.told.is_empty()).then_some(&self.told);
        json!({
            "identity": self.identity, "number": self.number, "scopes": scopes, "maps": self.maps, "absentSince": absent, "told": told,
        })
        .to_string()
        .into_bytes()
    }

    /// Reads what [`Self::encode`] wrote; `None` if it is anything else.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            identity: value.get("identity")?.as_str()?.to_owned(),
            number: value.get("number")?.as_u64()?,
            scopes: value.get("scopes")?.as_array()?.iter().map(Scope::of_json).collect::<Option<_>>()?,
            maps: value.get("maps")?.as_array()?.iter().map(|map| map.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            absent_since: value.get("absentSince")?.as_u64().map(Duration::from_secs),
            told: value.get("told").and_then(Value::as_object).map(versions).unwrap_or_default(),
        })
    }

    /// Was it written under the same subscriptions?
    pub fn same_scopes(&self, other: &Self) -> bool {
        let texts = |header: &Self| {
            let mut texts: Vec<String> = header.scopes.iter().map(|scope| scope.to_json().to_string()).collect();
            texts.sort();
            texts
        };
        texts(self) == texts(other)
    }
}

fn versions(told: &Map<String, Value>) -> BTreeMap<String, u64> {
    told.iter().filter_map(|(place, version)| Some((place.clone(), version.as_u64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::ObjectKey;

    fn scope(kind: &str, namespaces: Namespaces, labels: &str) -> Scope {
        Scope {
            kind: Gvk::new("", "v1", kind),
            namespaces,
            label_selector: Selector::parse(labels).unwrap(),
            field_selector: Selector::parse("metadata.name=x").unwrap(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let some = Namespaces::Some(vec!["a".into(), "b".into()]);
        let scopes = vec![scope("ConfigMap", some, "team in (a,b),!skip"), scope("Node", Namespaces::All, "")];
        let absent_since = Some(Duration::from_secs(1_800_000_000));
        let told = [("v1 ConfigMap *".to_owned(), 7)].into();
        let header = Header { identity: "sha256:abc".into(), number: 7, scopes, maps: vec!["a by b".into()], absent_since, told };
        let read = Header::decode(&header.encode()).unwrap();
        assert_eq!(read, header);
        assert!(read.same_scopes(&header) && !read.same_scopes(&Header::default()));
        let turned = Header { scopes: header.scopes.iter().rev().cloned().collect(), ..Header::default() };
        assert!(turned.same_scopes(&header));
        assert_eq!(Header::decode(&Header::default().encode()), Some(Header::default()));
        for junk in [&b""[..], b"{}", b"[]", b"{\"identity\":1}", &[255, 0]] {
            assert_eq!(Header::decode(junk), None);
        }
    }

    #[test]
    fn a_scope_matches_as_its_subscription_did() {
        let kind = Gvk::new("", "v1", "ConfigMap");
        let key = TargetKey::object(Arc::new(kind.clone()), ObjectKey::new("a", "x"));
        let object = Object::parse(r#"{"metadata":{"namespace":"a","name":"x","labels":{"team":"a"}}}"#, &kind).unwrap();
        let here = Namespaces::Some(vec!["a".into()]);
        assert!(scope("ConfigMap", here.clone(), "team").matches(&key, &object));
        assert!(!scope("ConfigMap", here.clone(), "other").matches(&key, &object));
        assert!(!scope("Secret", here.clone(), "team").matches(&key, &object));
        assert!(!scope("ConfigMap", Namespaces::Some(vec!["b".into()]), "team").matches(&key, &object));
        let bare = Object::bare(ObjectKey::new("a", "x"), "u".into(), "1");
        assert!(!scope("ConfigMap", here, "team").matches(&key, &bare));
    }
}
