//! The columns of storage: claims, volumes, classes and drivers.
//!
//! Owns nothing but cells.

use serde_json::{Value, json};

use super::column::{AGE, Column, NAME, boolean, integer, none_if_empty, plain, string, string_or, text, truth, wide};
use crate::json::Read;

pub(super) const PERSISTENT_VOLUME_CLAIMS: &[Column] = &[
    NAME,
    PHASE,
    text("Volume", "Volume that backs the claim.", |object, _| string(object, &["spec", "volumeName"])),
    text("Capacity", "Size of the volume.", |object, _| if bound(object) { capacity(object.at("status")) } else { json!("") }),
    text(
        "Access Modes",
        "How the volume can be mounted.",
        |object, _| if bound(object) { access_modes(object.at("status")) } else { json!("") },
    ),
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    AGE,
    VOLUME_MODE,
];

pub(super) const PERSISTENT_VOLUMES: &[Column] = &[
    NAME,
    text("Capacity", "Size of the volume.", |object, _| capacity(object.at("spec"))),
    text("Access Modes", "How the volume can be mounted.", |object, _| access_modes(object.at("spec"))),
    text("Reclaim Policy", "What becomes of the volume when it is released.", |object, _| {
        string(object, &["spec", "persistentVolumeReclaimPolicy"])
    }),
    PHASE,
    text("Claim", "Claim that the volume is bound to.", |object, _| match object.path(&["spec", "claimRef"]) {
        Value::Null => json!(""),
        claim => json!(format!("{}/{}", claim.text("namespace"), claim.text("name"))),
    }),
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    text("Reason", "Why the volume is in its phase.", |object, _| string(object, &["status", "reason"])),
    AGE,
    VOLUME_MODE,
];

pub(super) const STORAGE_CLASSES: &[Column] = &[
    Column {
        cell: |object, _| {
            let annotations = object.path(&["metadata", "annotations"]);
            let default = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
                .iter()
                .any(|name| annotations.text(name) == "true");
            json!(format!("{}{}", object.at("metadata").text("name"), if default { " (default)" } else { "" }))
        },
        ..NAME
    },
    text("Provisioner", "Who makes the volumes.", |object, _| string(object, &["provisioner"])),
    text("ReclaimPolicy", "What becomes of volumes that are released.", |object, _| string_or(object, &["reclaimPolicy"], "Delete")),
    text("VolumeBindingMode", "When volumes are made and bound.", |object, _| string_or(object, &["volumeBindingMode"], "Immediate")),
    text("AllowVolumeExpansion", "Whether volumes can grow.", |object, _| truth(object, &["allowVolumeExpansion"])),
    AGE,
];

pub(super) const VOLUME_ATTRIBUTES_CLASSES: &[Column] =
    &[NAME, text("DriverName", "Driver of the class.", |object, _| string(object, &["driverName"])), AGE];

pub(super) const VOLUME_ATTACHMENTS: &[Column] = &[
    NAME,
    Column { format: "name", ..text("Attacher", "Driver that attaches.", |object, _| string(object, &["spec", "attacher"])) },
    text("PV", "Volume that is attached.", |object, _| string(object, &["spec", "source", "persistentVolumeName"])),
    text("Node", "Node it is attached to.", |object, _| string(object, &["spec", "nodeName"])),
    boolean("Attached", "Whether it is attached.", |object, _| truth(object, &["status", "attached"])),
    AGE,
];

pub(super) const CSI_NODES: &[Column] =
    &[NAME, integer("Drivers", "Drivers on the node.", |object, _| json!(object.at("spec").list("drivers").len())), AGE];

pub(super) const CSI_DRIVERS: &[Column] = &[
    NAME,
    boolean("AttachRequired", "Whether volumes must be attached.", |object, _| {
        json!(object.path(&["spec", "attachRequired"]).as_bool().unwrap_or(true))
    }),
    boolean("PodInfoOnMount", "Whether the driver is told of the pod.", |object, _| truth(object, &["spec", "podInfoOnMount"])),
    boolean("StorageCapacity", "Whether the scheduler heeds capacity.", |object, _| truth(object, &["spec", "storageCapacity"])),
    text("TokenRequests", "Audiences of the tokens the driver gets.", |object, _| match object.path(&["spec", "tokenRequests"]) {
        Value::Array(requests) => json!(requests.iter().map(|one| one.text("audience")).collect::<Vec<_>>().join(",")),
        _ => json!("<unset>"),
    }),
    boolean("RequiresRepublish", "Whether volumes are published again and again.", |object, _| {
        truth(object, &["spec", "requiresRepublish"])
    }),
    text("Modes", "Kinds of volumes of the driver.", |object, _| {
        none_if_empty(&object.at("spec").list("volumeLifecycleModes").iter().map(plain).collect::<Vec<_>>().join(","))
    }),
    AGE,
];

pub(super) const CSI_STORAGE_CAPACITIES: &[Column] = &[
    NAME,
    text("StorageClassName", "Class it is about.", |object, _| string(object, &["storageClassName"])),
    text("Capacity", "How much is left.", |object, _| string_or(object, &["capacity"], "<unset>")),
];

const PHASE: Column = text("Status", "Phase of the volume or claim.", |object, _| {
    if object.at("metadata").has("deletionTimestamp") { json!("Terminating") } else { string(object, &["status", "phase"]) }
});

const STORAGE_CLASS: Column = text("StorageClass", "Class of the storage.", |object, _| {
    let annotated = object.path(&["metadata", "annotations"]).text("volume.beta.kubernetes.io/storage-class");
    if annotated.is_empty() { string(object, &["spec", "storageClassName"]) } else { json!(annotated) }
});

const ATTRIBUTES_CLASS: Column = text("VolumeAttributesClass", "Class of the volume's attributes.", |object, _| {
    string_or(object, &["spec", "volumeAttributesClassName"], "<unset>")
});

const VOLUME_MODE: Column = wide(text("VolumeMode", "Whether it is a file system or a block device.", |object, _| {
    string_or(object, &["spec", "volumeMode"], "<unset>")
}));

fn bound(claim: &Value) -> bool {
    !claim.at("spec").text("volumeName").is_empty()
}

fn capacity(holder: &Value) -> Value {
    string_or(holder, &["capacity", "storage"], "0")
}

/// The short names of `accessModes`, in a fixed order.
fn access_modes(holder: &Value) -> Value {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let modes = holder.list("accessModes");
    let short = SHORT.iter().filter(|(mode, _)| modes.iter().any(|one| one.as_str() == Some(mode))).map(|(_, short)| *short);
    json!(short.collect::<Vec<_>>().join(","))
}
