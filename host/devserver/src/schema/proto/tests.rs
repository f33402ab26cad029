//! Bytes of Go's own encoder against the JSON of the same objects, and bytes of nobody's.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::decode;

macro_rules! samples {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../fixtures/", $name, ".pb")) as &[u8], include_str!(concat!("../fixtures/", $name, ".json")))),*]
    };
}

const SAMPLES: [(&str, &[u8], &str); 15] = samples!(
    "configmap",
    "definition",
    "deleteoptions",
    "deployment",
    "event",
    "eviction",
    "ingress",
    "lease",
    "limitrange",
    "networkpolicy",
    "newevent",
    "review",
    "scale",
    "secret",
    "service"
);

fn type_of(value: &Value) -> Option<TypeId> {
    TypeId::of_kind(value["apiVersion"].as_str()?, value["kind"].as_str()?)
}

#[test]
fn protobuf_and_json_of_an_object_are_read_alike() {
    for (name, bytes, text) in SAMPLES {
        let read = decode_protobuf(bytes).unwrap();
        let id = type_of(&read).unwrap();
        let sent: Value = serde_json::from_str(text).unwrap();
        assert_eq!(sent["kind"], read["kind"], "{name}");
        let decoded = decode(id, read).unwrap();
        assert!(decoded.unknown.is_empty(), "{name}: {:?}", decoded.unknown);
        // What Go itself writes is a fixed point, so JSON stays as it is.
        assert_eq!(decode(id, sent.clone()).unwrap().value, sent, "{name} as JSON");
        assert_eq!(decoded.value, sent, "{name} as protobuf");
    }
}

#[test]
fn the_envelope_is_looked_at() {
    for (bytes, error) in [
        (&b""[..], "does not appear to be a protobuf message"),
        (b"{}", "does not appear to be a protobuf message"),
        (b"k8s\0", "no kind \"\" is registered for version \"\""),
        (b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Nobody", "no kind \"Nobody\" is registered for version \"v1\""),
        (b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07Service\x12\x01\xff", BROKEN),
        (b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07Service\x12\x04\x0a\x02\x0a\xff", BROKEN),
    ] {
        let got = decode_protobuf(bytes).unwrap_err();
        assert!(got.contains(error), "{bytes:?}: {got}");
    }
}

#[test]
fn numbers_come_packed_or_not() {
    let id = TypeId::of_kind("v1", "Pod").unwrap();
    let Kind::Struct(spec) = id.field("spec").unwrap().place.kind() else { panic!("no struct") };
    let Kind::Struct(security) = spec.field("securityContext").unwrap().place.kind() else { panic!("no struct") };
    // supplementalGroups is number 4.
    for bytes in [&[0x20, 1, 0x20, 2][..], &[0x22, 2, 1, 2], &[0x22, 1, 1, 0x20, 2]] {
        assert_eq!(object(security, bytes, 9).unwrap(), json!({"supplementalGroups": [1, 2]}));
    }
}

#[test]
fn deep_messages_are_refused() {
    let mut schema = Vec::new();
    for _ in 0..5_000 {
        // `not` is number 28; lengths of up to 2^21.
        let length = schema.len();
        let varint = [(length & 0x7f) as u8 | 0x80, (length >> 7 & 0x7f) as u8 | 0x80, (length >> 14) as u8];
        schema = [&[0xe2, 0x01][..], &varint, &schema].concat();
    }
    assert!(object(json_schema(), &schema, DEEPEST).unwrap_err().contains("depth"));
}

proptest! {
    #[test]
    fn junk_never_panics(bytes: Vec<u8>, which in 0_usize..15, at: prop::sample::Index, byte: u8) {
        let _ = decode_protobuf(&[MAGIC, &bytes].concat());
        for (version, kind) in [("apps/v1", "Deployment"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")] {
            let _ = object(TypeId::of_kind(version, kind).unwrap(), &bytes, DEEPEST);
        }
        // A good body with one byte changed, and cut off.
        let mut body = SAMPLES[which].1.to_vec();
        let at = at.index(body.len());
        let _ = decode_protobuf(&body[..at]);
        body[at] = byte;
        if let Ok(read) = decode_protobuf(&body)
            && let Some(id) = type_of(&read)
        {
            let _ = decode(id, read);
        }
    }
}
