//! Reports ConfigMaps without a required label: a warning in the log, and a Kubernetes
//! Event that `kubectl describe` shows. Changes nothing.

use serde::Deserialize;
use wharf_sdk::prelude::*;

/// In every namespace, made by the cluster itself.
const ROOT_CA: &str = "kube-root-ca.crt";

/// The configuration.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelGuard {
    #[serde(default = "owner")]
    required_label: String,
}

impl Handler for LabelGuard {
    fn describe() -> Description {
        let config_maps = Subscription::new("main", "v1", "ConfigMap").events([Change::Add, Change::Update]);
        Description::new("label-guard", env!("CARGO_PKG_VERSION")).subscribe(config_maps).memory("16Mi")
    }

    fn validate(&self) -> std::result::Result<(), Vec<String>> {
        if self.required_label.is_empty() { Err(vec!["requiredLabel: must not be empty".to_owned()]) } else { Ok(()) }
    }

    fn add(&self, event: &Event) -> Result {
        if event.name() == ROOT_CA || event.delivery().deleting || event.label(&self.required_label)?.is_some() {
            return Ok(Outcome::done());
        }
        log::warn!("label missing", label = self.required_label);
        let message = format!("the label {:?} is required", self.required_label);
        cluster::record_event(event.key(), EventType::Warning, "MissingLabel", &message);
        Ok(Outcome::done())
    }
}

fn owner() -> String {
    "owner".to_owned()
}

wharf_sdk::plugin!(LabelGuard);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wharf_sdk::testing::Host;

    use super::*;

    fn config_map(name: &str, labels: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-a", "name": name, "uid": "u1", "labels": labels}})
    }

    #[test]
    fn missing_label_is_reported_in_log_and_event() {
        let mut host = Host::new();
        assert_eq!(host.add::<LabelGuard>(&config_map("settings", json!({"app": "x"}))), Ok(Outcome::Done));
        let [line] = host.logs() else { panic!("{:?}", host.logs()) };
        assert_eq!((line.level, &*line.message, &*line.fields["label"]), (log::Level::Warn, "label missing", "owner"));
        let [event] = host.events() else { panic!("{:?}", host.events()) };
        assert_eq!(
            (event.event_type, &*event.reason, &*event.message),
            (EventType::Warning, "MissingLabel", "the label \"owner\" is required")
        );
        assert_eq!((event.about.to_string().as_str(), &*event.about.uid), ("team-a/settings", "u1"));
    }

    #[test]
    fn labelled_and_the_clusters_own_are_left_alone() {
        let mut host = Host::new();
        host.add::<LabelGuard>(&config_map("settings", json!({"owner": "me"}))).unwrap();
        host.add::<LabelGuard>(&config_map(ROOT_CA, json!({}))).unwrap();
        let mut leaving = config_map("leaving", json!({}));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        host.update::<LabelGuard>(&leaving, &leaving).unwrap();
        assert!(host.logs().is_empty() && host.events().is_empty());
    }

    #[test]
    fn label_is_configurable_and_may_have_a_prefix() {
        let mut host = Host::with_config(json!({"requiredLabel": "example.com/team"}));
        let without = config_map("settings", json!({"owner": "me"}));
        host.add::<LabelGuard>(&without).unwrap();
        host.update::<LabelGuard>(&without, &config_map("settings", json!({"example.com/team": "a"}))).unwrap();
        assert_eq!(host.events().len(), 1);
    }

    #[test]
    fn wrong_configuration_is_refused() {
        for config in [json!({"requiredLabel": ""}), json!({"requiredLabels": "owner"}), json!({"requiredLabel": 1})] {
            assert!(Host::with_config(config.clone()).validate::<LabelGuard>().is_err(), "{config}");
        }
        assert_eq!(Host::new().validate::<LabelGuard>(), Ok(()));
    }
}
