//! The parameters of LIST and WATCH: how they are read, and which do not go together.
//!
//! Owns the errors of `ListOptions.meta.k8s.io`. Reads nothing from the store.

use serde_json::Value;

use super::super::{Query, Request};
use crate::select::{FieldSelector, LabelSelector};
use crate::status::{About, Cause, Status};

/// `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    NotOlderThan,
}

/// The parameters, checked.
#[derive(Debug)]
pub(crate) struct ListOptions {
    /// `resourceVersion`, as sent: what is wrong with it is told differently by list and watch.
    pub(crate) version: String,
    pub(crate) version_match: Option<Match>,
    /// None without a limit; zero and negative ones are none.
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: Option<String>,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    /// Zero is absent.
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl ListOptions {
    /// Reads the parameters of a list or a watch, in the order in which the real server finds what is wrong.
    ///
    /// # Errors
    /// 400 for what cannot be read, 422 for what does not go together.
    pub(crate) fn parse(request: &Request, watch: bool) -> Result<Self, Status> {
        let query = &request.query;
        let text = |name: &str| query.get(name).unwrap_or_default();
        let limit = integer(query, "limit")?;
        let timeout_seconds = integer(query, "timeoutSeconds")?.filter(|seconds| *seconds != 0);
        let labels = LabelSelector::parse(text("labelSelector"))?;
        FieldSelector::check(text("fieldSelector"))?;

        let version = text("resourceVersion");
        let mut version_match = text("resourceVersionMatch");
        let mut send_initial_events = query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents"));
        if watch && send_initial_events.is_none() && version_match.is_empty() && matches!(version, "" | "0") {
            send_initial_events = Some(true);
            version_match = "NotOlderThan";
        }
        let asked = Asked { version, version_match, continued: !text("continue").is_empty(), send: send_initial_events.is_some() };
        let causes = if watch { asked.wrong_for_watch() } else { asked.wrong_for_list() };
        if !causes.is_empty() {
            return Err(Status::invalid(About { group: "meta.k8s.io", kind: "ListOptions" }, "", &causes));
        }
        Ok(Self {
            version: version.to_owned(),
            version_match: known_match(version_match),
            limit: limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0),
            continue_token: Some(text("continue")).filter(|token| !token.is_empty()).map(str::to_owned),
            send_initial_events,
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout_seconds,
            labels,
            fields: fields(request, text("fieldSelector"))?,
        })
    }
}

/// Reads `resourceVersion`: absent and "0" are zero.
///
/// # Errors
/// The real server's text, which callers answer with codes of their own.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().map_err(|_| "value out of range") } else { Err("invalid syntax") };
    number.map_err(|why| format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}"))
}

fn known_match(text: &str) -> Option<Match> {
    match text {
        "Exact" => Some(Match::Exact),
        "NotOlderThan" => Some(Match::NotOlderThan),
        _ => None,
    }
}

fn integer(query: &Query, name: &str) -> Result<Option<i64>, Status> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let why = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) { "invalid syntax" } else { "value out of range" };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))),
    }
}

/// The field selector; a name in the path selects like one.
fn fields(request: &Request, text: &str) -> Result<FieldSelector, Status> {
    let fields = FieldSelector::parse(text, &request.resource)?;
    match request.name.as_deref() {
        None => Ok(fields),
        Some(name) if fields.is_empty() => Ok(FieldSelector::of_name(name)),
        Some(name) if fields.name() == Some(name) => Ok(fields),
        Some(_) => Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name")),
    }
}

/// What decides which parameters go together.
struct Asked<'a> {
    version: &'a str,
    version_match: &'a str,
    continued: bool,
    send: bool,
}

impl Asked<'_> {
    fn wrong_for_list(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        if !self.version_match.is_empty() {
            if self.version.is_empty() {
                causes.push(forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if self.continued {
                causes.push(forbidden_match("resourceVersionMatch is forbidden when continue is provided"));
            }
            if known_match(self.version_match).is_none() {
                causes.push(self.unknown_match(&["Exact", "NotOlderThan", ""]));
            }
            if self.version_match == "Exact" && self.version == "0" {
                causes.push(forbidden_match("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
            }
        }
        if self.send {
            causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        causes
    }

    fn wrong_for_watch(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        if self.send && self.version_match != "NotOlderThan" {
            causes.push(forbidden_match("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !self.version_match.is_empty() {
            if !self.send {
                causes.push(forbidden_match("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
            }
            if self.version_match != "NotOlderThan" {
                causes.push(self.unknown_match(&["NotOlderThan"]));
            }
            if self.continued {
                causes.push(forbidden_match("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        causes
    }

    fn unknown_match(&self, known: &[&str]) -> Cause {
        Cause::not_supported("resourceVersionMatch", &Value::from(self.version_match), known)
    }
}

fn forbidden_match(why: &str) -> Cause {
    Cause::forbidden("resourceVersionMatch", why)
}
