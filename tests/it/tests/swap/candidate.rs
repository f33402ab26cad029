//! The revisions that come one after the other, good ones and broken ones. Owns what each is, and what the host
//! must make of it; writes no file.

use serde_json::{Map, Value, json};

/// The component of every second revision, and what its guest says of itself.
const COMPONENTS: [(&str, &str); 2] = [("probe.wasm", "v1"), ("probe-v2.wasm", "v2")];
/// A file that is no component.
pub(crate) const JUNK: &str = "junk.wasm";

/// What is wrong with a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// Its bytes are no component.
    Bytes,
    /// It has no grant for what it imports.
    Grants,
    /// It traps when it is asked what it wants.
    Describe,
    /// Each instance traps in its third call.
    ThirdEvent,
    /// Its calls compute for much longer.
    Slow,
    /// Each call takes memory until there is none. One that keeps a little of each call is contained by itself: its instance goes.
    Leak,
}

impl Broken {
    /// All kinds, in the order in which they come.
    pub(crate) const ALL: &[Self] = &[Self::Bytes, Self::ThirdEvent, Self::Grants, Self::Slow, Self::Describe, Self::Leak];
    /// Those that are found out within a few calls, or before any: the sample of every test run.
    pub(crate) const CERTAIN: &[Self] = &[Self::Bytes, Self::ThirdEvent, Self::Grants, Self::Describe];
}

/// What must become of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It serves, and goes on.
    Serves,
    /// It never serves, for this reason.
    Refused(&'static str),
    /// It serves, is worse, and gives way to the good one.
    Withdrawn,
}

/// A revision with a number of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) number: u64,
    pub(crate) broken: Option<Broken>,
}

impl Candidate {
    /// What must become of it.
    pub(crate) fn outcome(self) -> Outcome {
        match self.broken {
            None => Outcome::Serves,
            Some(Broken::Bytes) => Outcome::Refused("ComponentInvalid"),
            Some(Broken::Grants) => Outcome::Refused("GrantMissing"),
            Some(Broken::Describe) => Outcome::Refused("DescribeFailed"),
            Some(Broken::ThirdEvent | Broken::Slow | Broken::Leak) => Outcome::Withdrawn,
        }
    }

    /// Its document. Each has another configuration, so that no two are the same revision.
    pub(crate) fn document(self, namespace: &str, name: &str) -> Value {
        let (file, code) = if self.number.is_multiple_of(2) { COMPONENTS[0] } else { COMPONENTS[1] };
        let mut config = Map::from_iter([("tag".to_owned(), json!(format!("{}-{code}", self.number)))]);
        let (mut file, mut grants) = (file, json!([{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}]));
        let word = match self.broken {
            Some(Broken::ThirdEvent) => "trap-at:3",
            Some(Broken::Slow) => "slow:400",
            Some(Broken::Leak) => "bomb",
            _ => "done",
        };
        config.insert("word".to_owned(), json!(word));
        match self.broken {
            Some(Broken::Bytes) => file = JUNK,
            Some(Broken::Grants) => grants = json!([]),
            Some(Broken::Describe) => {
                config.insert("describe".to_owned(), json!("trap"));
            }
            _ => {}
        }
        json!({
            "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "component": {"file": file}, "grants": grants, "config": config,
                // What is told again for no other reason than the exchange would hide what is doubled. And as long as a revision
                // is on trial it can be withdrawn, so the first one stays the good one.
                "rollout": {"replay": "none", "bake": "1h"},
                "limits": {"concurrency": 4},
            },
        })
    }
}
