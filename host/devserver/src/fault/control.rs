//! `/wharf/faults`: rules and actions for a separate process. JSON in, JSON out; who may ask is decided before.

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Faults, Match, Report, Rule};
use crate::status::Status;
use crate::verbs::Api;

/// What of a rule is no member of its fault.
const AROUND: [&str; 3] = ["match", "times", "probability"];
/// The kinds that are rules.
const FAULTS: [&str; 9] =
    ["delay", "tooManyRequests", "fail", "expireContinue", "cutWatch", "expireWatch", "brokenEvent", "repeatBookmarks", "staleBookmarks"];
/// The kinds that are acts.
const ACTS: [&str; 3] = ["cutWatches", "compact", "moveClock"];

/// What is done at once instead of to later requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Act {
    /// Ends open watches.
    CutWatches {
        #[serde(default, rename = "match")]
        on: Match,
        #[serde(default)]
        abrupt: bool,
    },
    /// Makes all versions before now too old, for lists and for open watches.
    Compact {},
    /// Moves the clock.
    MoveClock { seconds: i64 },
}

/// `GET` tells the rules; `POST` adds one, `{"kind": "fail", "code": 503, "match": {"verb": "list"}, "times": 1}`, or acts at once,
/// `{"kind": "compact"}`; `DELETE` removes one by `id`, or all.
///
/// # Errors
/// 400 for a body that cannot be read, 404 for a rule that is not there, 405 for another method.
pub(crate) fn control(method: &Method, id: Option<&str>, body: &[u8], faults: &Faults, api: &Api) -> Result<(u16, Value), Status> {
    match *method {
        Method::GET => Ok((
            200,
            json!({"rules": faults.rules().iter().map(written).collect::<Vec<_>>(), "openWatches": faults.open_watches(), "now": now(api)}),
        )),
        Method::POST => {
            let mut members: Map<String, Value> = serde_json::from_slice(body).map_err(unread)?;
            let Some(Value::String(kind)) = members.remove("kind") else { return Err(Status::bad_request("missing field `kind`")) };
            if ACTS.contains(&kind.as_str()) {
                let act = serde_json::from_value(json!({kind: members})).map_err(unread)?;
                return Ok((200, act_now(act, faults, api).map_err(Status::bad_request)?));
            }
            let id = faults.add(rule(kind, members)?).map_err(Status::bad_request)?;
            Ok((201, json!({"id": id})))
        }
        Method::DELETE => match id {
            None => {
                faults.clear();
                Ok((200, json!({})))
            }
            Some(id) if id.parse().is_ok_and(|id| faults.remove(id)) => Ok((200, json!({}))),
            Some(id) => Err(Status::new(404, "NotFound", format!("fault {id:?} not found"))),
        },
        _ => Err(Status::method_not_allowed()),
    }
}

/// Reads a rule: its fault's members stand beside those of the rule.
fn rule(kind: String, mut members: Map<String, Value>) -> Result<Rule, Status> {
    if !FAULTS.contains(&kind.as_str()) {
        let known = [&FAULTS[..], &ACTS[..]].concat().join(", ");
        return Err(Status::bad_request(format!("unknown kind {kind:?}; known are {known}")));
    }
    let mut rule: Map<String, Value> = AROUND.iter().filter_map(|name| members.remove_entry(*name)).collect();
    rule.insert("fault".to_owned(), json!({&kind: members}));
    serde_json::from_value(Value::Object(rule)).map_err(|error| {
        let why = error.to_string();
        let around = if why.starts_with("unknown field") { format!("; of any kind also: {}", AROUND.join(", ")) } else { String::new() };
        Status::bad_request(format!("{kind}: {why}{around}"))
    })
}

/// Writes a rule as it is read, with its number and how often it was met.
fn written(report: &Report) -> Value {
    let mut rule = json!(report);
    if let Some(members) = rule.as_object_mut()
        && let Some(Value::Object(fault)) = members.remove("fault")
        && let Some((kind, Value::Object(fault))) = fault.into_iter().next()
    {
        members.insert("kind".to_owned(), json!(kind));
        members.extend(fault);
    }
    rule
}

fn act_now(act: Act, faults: &Faults, api: &Api) -> Result<Value, String> {
    Ok(match act {
        Act::CutWatches { on, abrupt } => {
            on.check()?;
            json!({"cut": faults.cut_watches(&on, abrupt)})
        }
        Act::Compact {} => {
            api.store().forget_history();
            json!({})
        }
        Act::MoveClock { seconds } => {
            api.move_clock(seconds);
            json!({"now": now(api)})
        }
    })
}

/// The server's time in seconds since the epoch.
fn now(api: &Api) -> i64 {
    api.now().as_second()
}

fn unread(error: serde_json::Error) -> Status {
    Status::bad_request(error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{ACTS, Act, FAULTS, rule, written};
    use crate::fault::{Fault, Report};

    fn members(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_rule_is_flat() {
        let read =
            rule("cutWatch".to_owned(), members(json!({"after": 3, "abrupt": true, "times": 2, "match": {"resource": "pods"}}))).unwrap();
        assert_eq!(
            (&read.fault, read.times, read.on.resource.as_deref()),
            (&Fault::CutWatch { after: 3, abrupt: true }, Some(2), Some("pods"))
        );
        assert_eq!(
            written(&Report { id: 7, rule: read, met: 1 }),
            json!({"id": 7, "met": 1, "kind": "cutWatch", "after": 3, "abrupt": true, "times": 2, "match": {"resource": "pods"}})
        );
        assert_eq!(rule("staleBookmarks".to_owned(), Map::new()).unwrap().fault, Fault::StaleBookmarks {});
        for (kind, wrong) in [("nope", json!({})), ("fail", json!({"cod": 500})), ("fail", json!({"times": "x"}))] {
            assert_eq!(rule(kind.to_owned(), members(wrong.clone())).unwrap_err().code, 400, "{kind} {wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let why = |kind: &str, rest: Value| rule(kind.to_owned(), members(rest)).unwrap_err().message;
        let unknown = why("nope", json!({}));
        for kind in FAULTS.iter().chain(&ACTS) {
            assert!(unknown.contains(kind), "{unknown}");
        }
        for kind in FAULTS {
            let read = rule(kind.to_owned(), Map::new());
            assert!(kind == "delay" || read.is_ok(), "{read:?}");
            let unknown = why(kind, json!({"tmes": 1}));
            assert!(unknown.starts_with(&format!("{kind}: unknown field `tmes`")) && unknown.contains("times"), "{unknown}");
        }
        assert!(serde_json::from_value::<Fault>(json!({"nope": {}})).unwrap_err().to_string().matches('`').count() == 2 + 2 * FAULTS.len());
    }

    #[test]
    fn acts_are_known_by_their_kind() {
        for (kind, rest) in ACTS.into_iter().zip([json!({"abrupt": true}), json!({}), json!({"seconds": -5})]) {
            assert!(serde_json::from_value::<Act>(json!({kind: rest})).is_ok(), "{kind}");
            assert!(rule(kind.to_owned(), Map::new()).is_err(), "{kind} is no rule");
        }
    }
}
