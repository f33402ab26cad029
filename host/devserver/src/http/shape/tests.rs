//! Answers in every form, from hand-made objects.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{Style, shape};
use crate::http::accept::{Form, Format, MetaVersion, PLAIN, Wanted};
use crate::http::discovery::tests::configmaps;
use crate::http::response::Outgoing;
use crate::http::rows::Include;
use crate::store::{Key, Stored};
use crate::verbs::Body;

pub(crate) fn style(form: Form) -> Style {
    Style { wanted: Wanted { form, ..PLAIN }, pretty: false, include: Include::Metadata, now: 0 }
}

pub(crate) fn stored(name: &str, version: u64) -> Arc<Stored> {
    let key = Key { storage: "configmaps".into(), namespace: "a".into(), name: name.into() };
    Arc::new(Stored::new(&key, json!({"metadata": {"name": name, "namespace": "a", "uid": "u"}, "data": {"k": "v"}}), version))
}

fn list(continue_token: Option<&str>, remaining: Option<u64>) -> Body {
    let items = vec![stored("a", 5), stored("b", 6)];
    Body::List { resource: Arc::new(configmaps()), version: 9, items, continue_token: continue_token.map(str::to_owned), remaining }
}

fn one() -> Body {
    Body::Stored { resource: Arc::new(configmaps()), object: stored("a", 5) }
}

async fn bytes(response: Response<Outgoing>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

async fn json_of(body: Body, style: Style) -> Value {
    let bytes = bytes(shape(200, body, style).unwrap()).await;
    assert!(bytes.ends_with(b"\n"));
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn a_list_is_made_of_what_is_stored() {
    let whole = json_of(list(None, None), style(Form::Whole)).await;
    assert_eq!(
        (&whole["kind"], &whole["apiVersion"], &whole["metadata"]),
        (&json!("ConfigMapList"), &json!("v1"), &json!({"resourceVersion": "9"}))
    );
    assert_eq!(
        whole["items"][1],
        json!({"metadata": {"name": "b", "namespace": "a", "uid": "u", "resourceVersion": "6"}, "data": {"k": "v"}})
    );
    let page = json_of(list(Some("t"), Some(3)), style(Form::Whole)).await;
    assert_eq!(page["metadata"], json!({"resourceVersion": "9", "continue": "t", "remainingItemCount": 3}));
    let pretty = shape(200, list(None, None), Style { pretty: true, ..style(Form::Whole) }).unwrap();
    let pretty = bytes(pretty).await;
    assert!(pretty.starts_with(b"{\n  \""));
    assert_eq!(serde_json::from_slice::<Value>(&pretty).unwrap(), whole);
}

#[tokio::test]
async fn an_object_says_what_it_is() {
    let whole = json_of(one(), style(Form::Whole)).await;
    assert_eq!(
        (&whole["kind"], &whole["apiVersion"], &whole["metadata"]["resourceVersion"]),
        (&json!("ConfigMap"), &json!("v1"), &json!("5"))
    );
    let metadata = json_of(one(), style(Form::Metadata)).await;
    assert_eq!((&metadata["kind"], &metadata["apiVersion"]), (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1")));
    assert_eq!(metadata["metadata"], whole["metadata"]);
    assert!(metadata.get("data").is_none());
    let yaml = shape(201, one(), Style { wanted: Wanted { format: Format::Yaml, ..PLAIN }, ..style(Form::Whole) }).unwrap();
    assert_eq!((yaml.status().as_u16(), &yaml.headers()["content-type"]), (201, &http::HeaderValue::from_static("application/yaml")));
    let yaml: Value = serde_saphyr::from_slice(&bytes(yaml).await).unwrap();
    assert_eq!(yaml, whole);
}

#[tokio::test]
async fn tables_have_rows_with_as_much_of_the_object_as_is_wanted() {
    let beta = Style { wanted: Wanted { form: Form::Table, meta: MetaVersion::V1Beta1, ..PLAIN }, ..style(Form::Table) };
    let table = json_of(list(Some("t"), None), beta).await;
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1beta1")));
    assert_eq!(table["metadata"], json!({"resourceVersion": "9", "continue": "t"}));
    assert_eq!(table["rows"][1]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(table["rows"][1]["cells"][0], "b");
    assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), table["rows"][0]["cells"].as_array().unwrap().len());
    for (include, want) in [(Include::None, Value::Null), (Include::Object, json!("ConfigMap"))] {
        let table = json_of(one(), Style { include, ..style(Form::Table) }).await;
        assert_eq!(table["rows"][0]["object"].get("kind").cloned().unwrap_or_default(), want);
        assert_eq!(table["metadata"], json!({"resourceVersion": "5"}));
    }
}

#[tokio::test]
async fn what_has_one_form_keeps_it() {
    let status = json!({"kind": "Status", "status": "Success"});
    assert_eq!(json_of(Body::Other(status.clone()), style(Form::Table)).await, status);
    let object = Body::Object { resource: Arc::new(configmaps()), value: status.clone() };
    assert_eq!(json_of(object, style(Form::Table)).await, status);
    for (body, form) in [(list(None, None), Form::Metadata), (one(), Form::MetadataList)] {
        let refused = shape(200, body, style(form)).err().unwrap();
        assert_eq!((refused.code, refused.reason), (406, "NotAcceptable"));
    }
}
