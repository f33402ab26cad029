//! Reads of the event natively: typed, raw, several at once, and what counts as absent.

use serde_json::{Value, json};
use wharf_sdk::prelude::*;
use wharf_sdk::testing::Host;

#[derive(serde::Deserialize)]
struct Reader {}

impl Handler for Reader {
    fn describe() -> Description {
        Description::new("reader", "0.1.0").subscribe(Subscription::new("main", "v1", "ConfigMap"))
    }

    fn add(&self, event: &Event) -> Result {
        let now = event.current();
        assert_eq!(event.raw("/data/n"), Some("1.5".to_owned()));
        assert_eq!(now.raw_many(&["/data/text", "/none"]), [Some("\"a\"".to_owned()), None]);
        assert_eq!(now.json().map(|text| serde_json::from_str::<Value>(&text).ok()), Some(event.object()?));
        assert_eq!(event.previous().json(), None);
        assert_eq!(event.changed_each(&["/data/n", "/none"]), [true, true]);
        assert_eq!(event.get::<String>("/data/nothing")?, None, "a null is absent");
        assert_eq!(event.get::<Value>("/data/nothing")?, Some(Value::Null), "but for a type that has one");
        assert_eq!(event.get::<Option<u8>>("/data/nothing")?, Some(None));
        assert_eq!(now.get_many::<String>(&["/data/text", "/data/nothing", "/none"])?, [Some("a".to_owned()), None, None]);
        assert!(event.get::<String>("/data/n").is_err());
        assert_eq!(wharf_sdk::config_raw("/none"), None);
        Ok(Outcome::done())
    }
}

#[test]
fn values_are_typed_raw_or_absent() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"},
        "data": {"n": 1.5, "text": "a", "nothing": null},
    });
    assert_eq!(Host::new().add::<Reader>(&object), Ok(Outcome::Done));
}
