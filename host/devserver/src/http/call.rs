//! A request as it was sent, with what its path and method say.

use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, Method};
use std::time::Duration;

use super::authorize::Attributes;
use super::path::{self, Path, Target};
use super::{duration, percent, words};
use crate::fault::Asked;
use crate::status::Status;
use crate::verbs::{Query, Verb};

/// How long a request may take that is no watch, and the longest that a client can ask for.
const LONGEST: Duration = Duration::from_secs(60);
/// Subresources that go on for as long as both sides like.
const LONG_RUNNING: [&str; 5] = ["log", "exec", "attach", "portforward", "proxy"];
/// Browsers and the like, for whom JSON is indented unless they say otherwise.
const HUMANS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

/// A request without its body.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// The path as it was sent.
    pub(crate) raw_path: String,
    pub(crate) path: Path,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// None for a path that is no resource, and for methods that no resource has.
    pub(crate) verb: Option<Verb>,
    /// The word of the verb, else the method in lower case.
    pub(crate) word: String,
    /// The name that a field selector asks for.
    selected: Option<String>,
}

impl Call {
    pub(crate) fn new(parts: Parts) -> Self {
        let raw_path = parts.uri.path().to_owned();
        let path = path::parse(&raw_path);
        let raw_query = parts.uri.query().unwrap_or_default();
        // The old way to watch one object is a selector in the new one.
        let query = match &path {
            Path::Resource(Target { watch: true, name: Some(name), .. }) => {
                Query::parse(&format!("fieldSelector={}&{raw_query}", percent::encode(&format!("metadata.name={name}"))))
            }
            _ => Query::parse(raw_query),
        };
        let verb = match &path {
            Path::Resource(target) => words::verb(&parts.method, target, query.flag("watch")),
            _ => None,
        };
        let word = verb.map_or_else(|| parts.method.as_str().to_ascii_lowercase(), |verb| words::word(verb).to_owned());
        let selected = query.get("fieldSelector").and_then(words::selected_name).map(str::to_owned);
        Self { method: parts.method, raw_path, path, query, headers: parts.headers, verb, word, selected }
    }

    /// What is asked for, as authorization sees it.
    pub(crate) fn attributes(&self) -> Attributes<'_> {
        let Path::Resource(target) = &self.path else {
            return Attributes { verb: &self.word, path: &self.raw_path, ..Attributes::default() };
        };
        Attributes {
            verb: &self.word,
            group: &target.group,
            resource: &target.plural,
            subresource: target.subresource.as_deref().unwrap_or_default(),
            namespace: target.namespace.as_deref().unwrap_or_default(),
            name: target.name.as_deref().or(self.selected.as_deref()).unwrap_or_default(),
            path: "",
        }
    }

    /// What is asked for, as faults see it.
    pub(crate) fn asked(&self) -> Asked {
        let (group, plural) = match &self.path {
            Path::Resource(target) => (target.group.clone(), target.plural.clone()),
            _ => (String::new(), String::new()),
        };
        let token = self.query.get("continue").filter(|token| !token.is_empty() && self.verb == Some(Verb::List));
        Asked { verb: self.word.clone(), group, plural, path: self.raw_path.clone(), continue_token: token.map(str::to_owned) }
    }

    /// All Accept headers as one.
    pub(crate) fn accept(&self) -> Option<String> {
        let all: Vec<&str> = self.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        (!all.is_empty()).then(|| all.join(","))
    }

    pub(crate) fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Whether the client has the document of this tag already.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        let header = self.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
        header.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == "*" || one == tag)
    }

    /// Whether JSON is indented.
    pub(crate) fn is_pretty(&self) -> bool {
        match self.query.get("pretty").filter(|text| !text.is_empty()) {
            Some(text) => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"),
            None => HUMANS.iter().any(|human| self.user_agent().starts_with(human)),
        }
    }

    /// How long it may take; none for what has no end of its own.
    ///
    /// # Errors
    /// 400 for a parameter `timeout` that is no duration.
    pub(crate) fn deadline(&self) -> Result<Option<Duration>, Status> {
        let long_running = match &self.path {
            Path::Resource(target) => {
                self.verb == Some(Verb::Watch) || target.subresource.as_deref().is_some_and(|part| LONG_RUNNING.contains(&part))
            }
            _ => false,
        };
        if long_running {
            return Ok(None);
        }
        let asked = match self.query.get("timeout").filter(|text| !text.is_empty()) {
            Some(text) => duration::parse(text)
                .map_err(|error| Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))?,
            None => None,
        };
        Ok(Some(asked.unwrap_or(LONGEST).min(LONGEST)))
    }
}
