//! The types of `k8s-openapi` go in and out of the SDK as any serde type does.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use wharf_sdk::prelude::*;
use wharf_sdk::testing::{Host, Operation};

#[derive(serde::Deserialize)]
struct Mirror {}

impl Handler for Mirror {
    fn describe() -> Description {
        Description::new("mirror", "0.1.0").subscribe(Subscription::new("main", "v1", "ConfigMap"))
    }

    fn add(&self, event: &Event) -> Result {
        let Some(mut map) = event.object::<ConfigMap>()? else { return Ok(Outcome::done()) };
        map.metadata.name = Some("mirrored".to_owned());
        map.metadata.uid = None;
        cluster::apply(&map)?;
        Ok(Outcome::done())
    }
}

#[test]
fn typed_objects_are_read_and_applied() {
    let mut host = Host::new();
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b", "uid": "u"}, "data": {"k": "v"}});
    assert_eq!(host.add::<Mirror>(&object), Ok(Outcome::Done));
    let [write] = host.writes() else { panic!("{:?}", host.writes()) };
    assert_eq!(write.operation, Operation::Apply);
    assert_eq!(
        write.body,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "mirrored"}, "data": {"k": "v"}})
    );
}
