//! JSON Merge Patch (RFC 7386): members are merged, null removes, everything else replaces.
//!
//! Knows no schema: what the result means is for decoding and validation to say.

use serde_json::Value;

/// Merges `patch` into `object`. A patch that is no object replaces it.
pub(crate) fn merge_patch(object: &mut Value, patch: &Value) {
    json_patch::merge(object, patch);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::patch::tests::anything;

    #[test]
    fn examples_of_the_rfc() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (mut object, patch, want) in cases {
            merge_patch(&mut object, &patch);
            assert_eq!(object, want, "{patch}");
        }
    }

    proptest! {
        #[test]
        fn any_patch_can_be_merged_and_again_changes_nothing(object in anything(), patch in anything()) {
            let mut once = object;
            merge_patch(&mut once, &patch);
            let mut twice = once.clone();
            merge_patch(&mut twice, &patch);
            prop_assert_eq!(once, twice);
        }
    }
}
