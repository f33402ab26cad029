//! What a fault is and which requests it meets; also the JSON in which a separate process says so.

use serde::{Deserialize, Serialize};

/// A fault, the requests it meets, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which requests; left out, all.
    #[serde(default, rename = "match", skip_serializing_if = "Match::is_any")]
    pub on: Match,
    /// What happens to them.
    pub fault: Fault,
    /// How many requests meet it before it is used up; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// How likely each matching request meets it, from 0 to 1; none: certainly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// Which requests; a part that is none matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// `configmaps`, `deployments.apps`; a group left out means any group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// How the path starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What requests do; the last ones to paths without a resource.
const VERBS: [&str; 12] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "put", "head", "options"];

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// It waits before anything else is done.
    Delay {
        /// For so long.
        milliseconds: u64,
    },
    /// 429 with Retry-After.
    TooManyRequests {
        /// After so many seconds the client may come back.
        #[serde(default)]
        retry_after_seconds: u64,
    },
    /// 500, or another code from 400 to 599, with the reason that Kubernetes gives for it.
    Fail {
        /// The status code.
        #[serde(default = "internal_server_error")]
        code: u16,
    },
    /// A list that goes on by a continue token hears that the token has expired, with a token that goes on at the latest state.
    ExpireContinue {},
    /// A watch ends.
    CutWatch {
        /// After so many events.
        #[serde(default)]
        after: u64,
        /// As a broken connection instead of a clean end.
        #[serde(default)]
        abrupt: bool,
    },
    /// A watch ends with an ERROR event of 410: its version is too old.
    ExpireWatch {
        /// After so many events.
        #[serde(default)]
        after: u64,
    },
    /// A watch writes a line that is no event.
    BrokenEvent {
        /// After so many events.
        #[serde(default)]
        after: u64,
    },
    /// A watch writes each bookmark twice.
    RepeatBookmarks {},
    /// A watch writes after each bookmark one of an older version.
    StaleBookmarks {},
}

fn internal_server_error() -> u16 {
    500
}

impl Fault {
    /// Whether it happens to watches only.
    pub(crate) fn is_of_watches(&self) -> bool {
        matches!(
            self,
            Self::CutWatch { .. }
                | Self::ExpireWatch { .. }
                | Self::BrokenEvent { .. }
                | Self::RepeatBookmarks {}
                | Self::StaleBookmarks {}
        )
    }
}

impl Match {
    /// Whether it matches everything.
    pub(crate) fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// A verb that no request has would match nothing, silently.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.verb.as_deref() {
            Some(verb) if !VERBS.contains(&verb) => Err(format!("unknown verb {verb:?}; known are {}", VERBS.join(", "))),
            _ => Ok(()),
        }
    }

    pub(crate) fn matches(&self, verb: &str, group: &str, plural: &str, path: &str) -> bool {
        let resource = |wanted: &String| match wanted.split_once('.') {
            Some((wanted_plural, wanted_group)) => wanted_plural == plural && wanted_group == group,
            None => wanted == plural,
        };
        self.verb.as_deref().is_none_or(|wanted| wanted == verb)
            && self.resource.as_ref().is_none_or(resource)
            && self.path.as_deref().is_none_or(|wanted| path.starts_with(wanted))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fault, Match, Rule};

    #[test]
    fn reads_and_writes_json() {
        for (text, want) in [
            (json!({"fault": {"fail": {}}}), Fault::Fail { code: 500 }),
            (json!({"fault": {"tooManyRequests": {"retryAfterSeconds": 2}}}), Fault::TooManyRequests { retry_after_seconds: 2 }),
            (json!({"fault": {"cutWatch": {"after": 3, "abrupt": true}}}), Fault::CutWatch { after: 3, abrupt: true }),
            (json!({"fault": {"staleBookmarks": {}}}), Fault::StaleBookmarks {}),
        ] {
            let rule: Rule = serde_json::from_value(text).unwrap();
            assert_eq!(rule, Rule { on: Match::default(), fault: want, times: None, probability: None });
            let again: Rule = serde_json::from_value(serde_json::to_value(&rule).unwrap()).unwrap();
            assert_eq!(again, rule);
        }
        for wrong in [
            json!({}),
            json!({"fault": {"explode": {}}}),
            json!({"fault": {"fail": {}}, "time": 1}),
            json!({"match": {"verbs": []}, "fault": {"fail": {}}}),
        ] {
            assert!(serde_json::from_value::<Rule>(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn matches_by_parts() {
        let on = |verb: &str, resource: &str, path: &str| Match {
            verb: (!verb.is_empty()).then(|| verb.to_owned()),
            resource: (!resource.is_empty()).then(|| resource.to_owned()),
            path: (!path.is_empty()).then(|| path.to_owned()),
        };
        for (on, want) in [
            (on("", "", ""), true),
            (on("list", "", ""), true),
            (on("watch", "", ""), false),
            (on("", "deployments", ""), true),
            (on("", "deployments.apps", ""), true),
            (on("", "deployments.extensions", ""), false),
            (on("", "", "/apis/apps/v1/"), true),
            (on("", "", "/api/"), false),
            (on("list", "deployments.apps", "/apis"), true),
        ] {
            assert_eq!(on.matches("list", "apps", "deployments", "/apis/apps/v1/deployments"), want, "{on:?}");
        }
    }
}
