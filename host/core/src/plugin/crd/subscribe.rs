//! `spec.subscribe` of the resource: the same fields as `entries` and `changes` know, with their
//! meaning for `kubectl explain`, and the rules that hold between entries.

use serde_json::{Value, json};

use super::part;
use super::part::{duration, flag, kind, label, namespaces, object, qualified, text, with_rules, word, words};
use super::rule::{self, naming, rule, rule_of, saying};
use crate::filter::{Expression, Filters};
use crate::plugin::changes::{
    FILTERS, LABEL_KEY_HINT, NO_SUCH_ENTRY, NO_WAY, NOTHING_TO_FILTER, NOTHING_TO_FILTER_HINT, ONLY_CACHED, ONLY_CACHED_HINT, OWNERS,
    POINTER_HINT, POINTERS_EMPTY, POINTERS_EMPTY_HINT, SEVERAL_WAYS, WAYS,
};
use crate::plugin::document::SubscribeEntry;
use crate::plugin::entries::{
    CONTENTS, DELIVERIES, EVENTS, FIELD_SELECTOR_HINT, MAX_SELECTOR, MAX_SUBSCRIPTIONS, SAME_KIND_HINT, SELECTOR_HINT,
};
use crate::plugin::read::{SUBSCRIBE_EMPTY, SUBSCRIBE_EMPTY_HINT};
use crate::pointer::Pointer;

/// The schema of `spec.subscribe`.
pub(super) fn schema() -> Value {
    let list = json!({
        "type": "array", "maxItems": MAX_SUBSCRIPTIONS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "description": "Narrows what the component asks for, by name. What is not named is not subscribed. Without subscribe: all that \
            the component asks for, in the plugin's namespace.",
        "items": entry(),
    });
    let mut rules = vec![rule("size(self) > 0", SUBSCRIBE_EMPTY, SUBSCRIBE_EMPTY_HINT), one_for_each_kind()];
    rules.extend(maps_lead_somewhere());
    with_rules(list, rules)
}

fn entry() -> Value {
    let events = EVENTS.map(|(word, _)| word);
    let properties = json!({
        "name": label("The component's own name for the subscription; `wharf inspect` lists them."),
        "apiVersion": part::api_version("Group and version of the kind; must agree with the component's. Written together with kind."),
        "kind": kind("The kind; must agree with the component's. Must be written for Secrets, unless content is redacted."),
        "namespaces": namespaces("Where; without it in the plugin's own namespace, with [\"*\"] in all, and for kinds outside of namespaces."),
        "labelSelector": selector("Labels that must match, as for kubectl: app=web,tier!=test.", &rule::selector(), SELECTOR_HINT),
        "fieldSelector": selector(
            "Fields that must match: metadata.name and metadata.namespace.", &rule::field_selector(), FIELD_SELECTOR_HINT),
        "events": words("Which calls are made. []: the kind is cached for reading, and never delivered.", &events, vec![]),
        "resync": duration("All objects are due again each time this has passed, for example 10m.", &SubscribeEntry::RESYNC),
        "delivery": word("latest: changes that wait are one call, with the last state. every-event: each change is a call.", &DELIVERIES),
        "content": word("For Secrets. redacted: they come without their data.", &CONTENTS),
        "onlyIfChanged": pointers(),
        "filter": filter(),
        "ignoreOwnWrites": flag("Changes that the plugin made itself lead to no call."),
        "map": map(),
    });
    let both = "has(self.apiVersion) == has(self.kind)";
    let mut rules = vec![saying(both, "(has(self.kind) ? 'apiVersion' : 'kind') + ' is missing'", "")];
    rules.extend(FILTERS.map(|field| {
        let holds = format!("!has(self.{field}) || !has(self.events) || size(self.events) > 0");
        rule_of(field, &holds, NOTHING_TO_FILTER, NOTHING_TO_FILTER_HINT)
    }));
    object("One thing that the plugin is told about.", &["name"], properties, rules)
}

fn selector(description: &str, pattern: &str, hint: &str) -> Value {
    text(description, MAX_SELECTOR, vec![naming(&rule::matches("self", &rule::whole(pattern)), "self", "is no selector", hint)])
}

fn pointers() -> Value {
    let good = rule::matches("self", &rule::whole(rule::POINTER));
    let item = json!({"type": "string", "maxLength": Pointer::MAX_BYTES});
    let list = json!({
        "type": "array", "maxItems": Filters::MAX_POINTERS, "x-kubernetes-list-type": "set",
        "description": "Changes of other values lead to no call. Pointers as in RFC 6901, for example /spec.",
        "items": with_rules(item, vec![naming(&good, "self", "is no pointer", POINTER_HINT)]),
    });
    with_rules(list, vec![rule("size(self) > 0", POINTERS_EMPTY, POINTERS_EMPTY_HINT)])
}

/// Whether it is an expression is seen by the host: a server cannot tell.
fn filter() -> Value {
    let max = Expression::MAX_BYTES;
    let long = format!("size(bytes(self)) <= {max}");
    let rules = vec![
        rule(&long, "the text has too many bytes for an expression", &format!("at most {max}")),
        rule(r"self.matches(r'\S')", "the expression is empty", "write one, for example object.spec != old.spec, or remove the field"),
    ];
    text("An expression in CEL over object and old. Changes for which it is false lead to no call.", max, rules)
}

fn map() -> Value {
    let key = |description: &str, what: &str| qualified(description, &rule::label_key(), what, LABEL_KEY_HINT);
    let pointer = naming(&rule::matches("self", &rule::whole(rule::POINTER)), "self", "is no pointer", POINTER_HINT);
    let properties = json!({
        "to": label("Name of the subscription whose object is called for."),
        "owner": word("The object's owner: any, or only the one that controls it.", &OWNERS),
        "label": key("The label whose value is the other object's name.", "key of a label"),
        "annotation": key("The annotation whose value is the other object's name.", "key of an annotation"),
        "field": text("Pointer to the field with the other object's name.", Pointer::MAX_BYTES, vec![pointer]),
    });
    let ways = WAYS.map(|way| format!("has(self.{way})")).join(", ");
    let holds = format!("[{ways}].filter(way, way).size() == 1");
    let message = format!("([{ways}].exists(way, way) ? {} : {})", rule::literal(SEVERAL_WAYS), rule::literal(NO_WAY));
    let rules = vec![saying(&holds, &message, &format!("write one of {}", WAYS.join(", ")))];
    object("A change of an object calls the handler for another one that it names, in one of four ways.", &["to"], properties, rules)
}

/// Two versions of one kind are the same kind. The message names none of the entries: an expression
/// that did would cost more than a server allows.
fn one_for_each_kind() -> Value {
    let named = |entry: &str| format!("has({entry}.kind) && has({entry}.apiVersion)");
    let group = |entry: &str| format!("({entry}.apiVersion.contains('/') ? {entry}.apiVersion.split('/')[0] : '')");
    let same = format!("{} && {} && a.kind == b.kind && {} == {}", named("a"), named("b"), group("a"), group("b"));
    rule(&format!("!self.exists(a, self.exists(b, b.name != a.name && {same}))"), "one kind is subscribed twice", SAME_KIND_HINT)
}

/// The target of a map is there, and is called.
fn maps_lead_somewhere() -> [Value; 2] {
    let target = "b.name == a.map.to";
    let there = format!("self.all(a, !has(a.map) || self.exists(b, {target}))");
    let called = format!("self.all(a, !has(a.map) || !self.exists(b, {target} && has(b.events) && size(b.events) == 0))");
    [
        rule(&there, &format!("{NO_SUCH_ENTRY} that map.to names"), "name another one, or add an entry for it"),
        rule(&called, &format!("the subscription that map.to names {ONLY_CACHED}"), ONLY_CACHED_HINT),
    ]
}
