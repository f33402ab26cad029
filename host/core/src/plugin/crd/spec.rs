//! `spec` of the resource but for `subscribe`: the same fields as `read` and `limits` know, with
//! their meaning for `kubectl explain`.

use serde_json::{Value, json};

use super::part::{bytes, checked, duration, flag, is_duration, kind, namespaces, object, subdomain, text, with_rules, word, words};
use super::rule::{self, rule, rule_of};
use super::{part, subscribe};
use crate::grant::Verb;
use crate::plugin::PluginDocument;
use crate::plugin::component::{FILE_HINT, KEY_HINT, MAX_KEY, MAX_PATH, NO_FILE, NO_WAY, NOT_BUILT, SEVERAL_WAYS, WAYS_HINT};
use crate::plugin::limits::{CPU_TOO_LONG, CPU_TOO_LONG_HINT, Limits};
use crate::plugin::read::{ISOLATIONS, MAX_GRANTS, REPLAYS, VERBS_EMPTY, VERBS_EMPTY_HINT};

/// The schema of `spec`.
pub(super) fn schema() -> Value {
    let config = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "description": "Anything; handed to the component as JSON. No place for secrets.",
    });
    let properties = json!({
        "component": component(),
        "serviceAccountName": subdomain(
            "ServiceAccount in the plugin's namespace whose rights the plugin's writes and live reads have. Without it: the host itself."),
        "suspend": flag("Tells the plugin of nothing, without removing it; when it is false again the plugin is told of what has happened."),
        "subscribe": subscribe::schema(),
        "grants": grants(),
        "limits": limits(),
        "rollout": object("How a new revision goes into service.", &[], json!({
            "replay": word(
                "What is delivered again when a new revision goes into service: all that the plugin knows (the default), what failed \
                 or is parked, or nothing.", &REPLAYS),
            "bake": duration(
                "For so long a new revision is compared with the one before, and withdrawn if it is worse. 0s: not at all.",
                &PluginDocument::BAKES),
        }), vec![]),
        "isolation": word(
            "reuse: an instance serves one call after the other while there is work (the default). warm: it is also kept when there is none. fresh: every call has its own.",
            &ISOLATIONS),
        "config": config,
    });
    object("What should run, what it is told, and what it may do.", &["component"], properties, vec![])
}

fn component() -> Value {
    let inside = "self != '' && !self.startsWith('/') && !self.contains('\\x00') && self.split('/').all(part, part != '..')";
    let file = text(
        "A file below the host's plugins folder: a relative path without `..`.",
        MAX_PATH,
        vec![rule::naming(inside, "self", NO_FILE, FILE_HINT)],
    );
    let key = checked("An entry of its binaryData.", MAX_KEY, rule::CONFIG_MAP_KEY, "key of a ConfigMap", KEY_HINT);
    let no_folder = rule::naming("self != '.' && !self.startsWith('..')", "self", "is no key of a ConfigMap", KEY_HINT);
    let config_map = object(
        "An entry of a ConfigMap in the plugin's namespace. When it changes, a new revision is loaded.",
        &["name", "key"],
        json!({"name": subdomain("The ConfigMap."), "key": more_rules(key, no_folder)}),
        vec![],
    );
    let mut properties = json!({"file": file, "configMap": config_map});
    let mut rules = vec![
        rule("has(self.file) || has(self.configMap) || has(self.oci)", NO_WAY, WAYS_HINT),
        rule("!(has(self.file) && has(self.configMap))", SEVERAL_WAYS, WAYS_HINT),
    ];
    for refused in NOT_BUILT {
        let (field, message) = (refused.field, format!("{} is not supported", refused.field));
        rules.push(rule_of(field, &format!("!has(self.{field})"), &message, refused.hint));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(field.to_owned(), text("Not supported yet.", MAX_PATH, vec![]));
        }
    }
    object("Where the component's bytes come from: one of file and configMap.", &[], properties, rules)
}

fn more_rules(mut schema: Value, more: Value) -> Value {
    if let Some(rules) = schema.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut) {
        rules.push(more);
    }
    schema
}

fn grants() -> Value {
    let verbs = words(
        "What may be done. create of kind Event also allows record-event.",
        &Verb::ALL.map(Verb::as_str),
        vec![rule("size(self) > 0", VERBS_EMPTY, VERBS_EMPTY_HINT)],
    );
    let cluster = object(
        "Objects of a kind that the plugin may read or write. The identity of the plugin needs the rights too.",
        &["apiVersion", "kind", "verbs"],
        json!({
            "apiVersion": part::api_version("Group and version of the kind, as in an object."),
            "kind": kind("The kind, as in an object."),
            "verbs": verbs,
            "namespaces": namespaces("Where; without it in the plugin's own namespace, with [\"*\"] in all."),
        }),
        vec![],
    );
    let item = object("One capability.", &["cluster"], json!({"cluster": cluster}), vec![]);
    json!({
        "type": "array", "description": "What the plugin may do. Without grants it is only told of events.", "maxItems": MAX_GRANTS,
        "x-kubernetes-list-type": "atomic", "items": item,
    })
}

fn limits() -> Value {
    let concurrency = json!({
        "type": "integer", "minimum": Limits::CONCURRENCY.start(), "maximum": Limits::CONCURRENCY.end(),
        "description": "Calls at the same time. Calls for one object never overlap.",
    });
    let properties = json!({
        "memory": bytes("Memory of an instance, for example 64Mi.", &Limits::MEMORY),
        "deadline": duration("Wall time of a call, host calls included, for example 2s.", &Limits::DEADLINE),
        "cpu": duration("Processor time of a call, for example 200ms; at most deadline.", &Limits::CPU),
        "concurrency": with_rules(concurrency, vec![]),
    });
    let ordered = format!(
        "!has(self.cpu) || !has(self.deadline) || !{} || !{} || duration(self.cpu) <= duration(self.deadline)",
        is_duration("self.cpu"),
        is_duration("self.deadline")
    );
    let description = "Ceilings of each call. What is not here is the component's wish, and then the host's default.";
    object(description, &[], properties, vec![rule_of("cpu", &ordered, CPU_TOO_LONG, CPU_TOO_LONG_HINT)])
}
