//! JSON Patch (RFC 6902), with the real server's quirk: `replace` of an absent member of an object adds it.
//!
//! Owns the limits of a patch (operations, copied bytes, depth); the operations themselves are the library's.

use json_patch::{AddOperation, PatchOperation};
use serde_json::{Map, Value};

use crate::patch::bounds::{MAX_DEPTH, deeper_than, weight};
use crate::status::Status;

const MAX_OPERATIONS: usize = 10_000;

/// Bytes that all `copy` operations of a patch may add up to: as much as a request may have.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Bytes that all `move` operations may look at.
const MAX_MOVED: usize = 256 * 1024 * 1024;

/// Applies all operations, or none.
///
/// # Errors
/// 422 "the server rejected our request due to an error in our request" for a failing operation, 400 for a body that is no patch, 413
/// over 10,000 operations.
pub(crate) fn json_patch(object: Value, patch: &Value) -> Result<Value, Status> {
    let operations = match patch {
        Value::Array(operations) if operations.iter().all(Value::is_object) => operations,
        _ => return Err(Status::bad_request("error decoding patch: a JSON Patch is an array of operations")),
    };
    if operations.len() > MAX_OPERATIONS {
        let why = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", why));
    }
    let mut object = object;
    let mut budget = Budget { copied: 0, moved: 0 };
    for operation in operations {
        step(&mut object, operation, &mut budget).ok_or_else(rejected)?;
    }
    Ok(object)
}

struct Budget {
    copied: usize,
    moved: usize,
}

fn step(object: &mut Value, operation: &Value, budget: &mut Budget) -> Option<()> {
    // A path in a URI fragment or an unknown operation is refused here, as is a missing member.
    let operation: PatchOperation = serde_json::from_value(operation.clone()).ok()?;
    let (operation, value) = match operation {
        PatchOperation::Replace(replace) if is_absent_member(object, &replace.path) => {
            let add = AddOperation { path: replace.path, value: replace.value };
            (PatchOperation::Add(add), None)
        }
        PatchOperation::Copy(copy) => {
            let value = object.pointer(copy.from.as_str())?;
            budget.copied += weight(value);
            (budget.copied <= MAX_COPIED).then_some(())?;
            (PatchOperation::Copy(copy.clone()), Some(value))
        }
        PatchOperation::Move(moving) => {
            let value = object.pointer(moving.from.as_str())?;
            budget.moved += weight(value);
            (budget.moved <= MAX_MOVED).then_some(())?;
            (PatchOperation::Move(moving.clone()), Some(value))
        }
        other => (other, None),
    };
    let value = match &operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        _ => value,
    };
    if let Some(value) = value {
        let room = MAX_DEPTH.checked_sub(operation.path().count())?;
        (!deeper_than(value, room)).then_some(())?;
    }
    json_patch::patch_unsafe(object, std::slice::from_ref(&operation)).ok()
}

fn is_absent_member(object: &Value, path: &json_patch::jsonptr::Pointer) -> bool {
    let Some((parent, last)) = path.split_back() else { return false };
    let parent = object.pointer(parent.as_str()).and_then(Value::as_object);
    parent.is_some_and(|members| !members.contains_key(last.decoded().as_ref()))
}

fn rejected() -> Status {
    let mut status = Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
    status.details = Some(Map::new());
    status
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::patch::tests::anything;

    #[test]
    fn operations_and_their_failures() {
        let object = json!({"metadata": {"name": "a"}, "data": {"b": "1"}, "list": [1, 2]});
        let cases = [
            (json!([{"op": "test", "path": "/data/b", "value": "9"}]), None),
            (json!([{"op": "remove", "path": "/data/x"}]), None),
            (json!([{"op": "add", "path": "/metadata/annotations/x", "value": "1"}]), None),
            (json!([{"op": "replace", "path": "/metadata/annotations/x", "value": "1"}]), None),
            (json!([{"op": "replace", "path": "/list/2", "value": 1}]), None),
            (json!([{"op": "jump", "path": "/data"}]), None),
            (json!([{"op": "add", "path": "/data/x"}]), None),
            (json!([{"op": "move", "from": "/data", "path": "/data/x"}]), None),
            (
                json!([{"op": "add", "path": "/list/-", "value": 3}]),
                Some(json!({"metadata": {"name": "a"}, "data": {"b": "1"}, "list": [1, 2, 3]})),
            ),
            (
                json!([{"op": "replace", "path": "/data/q", "value": "1"}]),
                Some(json!({"metadata": {"name": "a"}, "data": {"b": "1", "q": "1"}, "list": [1, 2]})),
            ),
            (
                json!([{"op": "replace", "path": "/data/x~1y", "value": "1"}]),
                Some(json!({"metadata": {"name": "a"}, "data": {"b": "1", "x/y": "1"}, "list": [1, 2]})),
            ),
            (
                json!([{"op": "copy", "from": "/data/b", "path": "/c"}, {"op": "remove", "path": "/list"}]),
                Some(json!({"metadata": {"name": "a"}, "data": {"b": "1"}, "c": "1"})),
            ),
        ];
        for (patch, want) in cases {
            let got = json_patch(object.clone(), &patch);
            match (got, want) {
                (Ok(got), Some(want)) => assert_eq!(got, want, "{patch}"),
                (Err(status), None) => {
                    assert_eq!((status.code, status.reason), (422, "Invalid"), "{patch}");
                    assert_eq!(status.message, "the server rejected our request due to an error in our request");
                    assert_eq!(status.details, Some(Map::new()));
                }
                (got, want) => panic!("{patch}: {got:?} instead of {want:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_patch_is_a_bad_request() {
        for patch in [json!({}), json!("x"), json!([1])] {
            assert_eq!(json_patch(json!({}), &patch).unwrap_err().code, 400, "{patch}");
        }
    }

    #[test]
    fn too_many_operations() {
        let operation = json!({"op": "add", "path": "/a", "value": 1});
        let fits = Value::Array(vec![operation.clone(); MAX_OPERATIONS]);
        assert!(json_patch(json!({}), &fits).is_ok());
        let status = json_patch(json!({}), &Value::Array(vec![operation; MAX_OPERATIONS + 1])).unwrap_err();
        assert_eq!((status.code, status.reason), (413, "RequestEntityTooLarge"));
    }

    #[test]
    fn doubling_by_copies_ends() {
        let copies: Vec<Value> = (0..60).map(|i| json!({"op": "copy", "from": "", "path": format!("/a{i}")})).collect();
        assert_eq!(json_patch(json!({"x": "0123456789"}), &Value::Array(copies)).unwrap_err().code, 422);
    }

    #[test]
    fn nesting_ends() {
        let deeper = json!([{"op": "add", "path": "", "value": {"a": {}}}, {"op": "move", "from": "/a", "path": "/b"}]);
        assert!(json_patch(json!({}), &deeper).is_ok());
        let mut patch = Vec::new();
        let mut path = String::new();
        for _ in 0..200 {
            path.push_str("/a");
            patch.push(json!({"op": "add", "path": path, "value": {}}));
        }
        assert_eq!(json_patch(json!({}), &Value::Array(patch)).unwrap_err().code, 422);
    }

    fn operation() -> impl Strategy<Value = Value> {
        let path =
            prop::collection::vec("[a-c0-2-]", 0..4).prop_map(|parts| parts.iter().fold(String::new(), |path, part| path + "/" + part));
        let name = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "x"]);
        (name, path.clone(), path, anything())
            .prop_map(|(op, from, path, value)| json!({"op": op, "from": from, "path": path, "value": value}))
    }

    proptest! {
        #[test]
        fn no_patch_panics(object in anything(), patch in prop::collection::vec(operation(), 0..8), junk in anything()) {
            if let Ok(result) = json_patch(object.clone(), &Value::Array(patch)) {
                prop_assert!(!deeper_than(&result, MAX_DEPTH));
            }
            let _ = json_patch(object, &junk);
        }
    }
}
