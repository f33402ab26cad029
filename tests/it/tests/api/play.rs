//! Plays the sequence of `checks.yaml` on one server, with one namespace, and judges every answer.
//! A check that fails does not end the sequence: what lives on it fails by itself.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use wharf_testkit::Kind;

use crate::assertion::{check, shortened};
use crate::check::{Checks, Step, Token};
use crate::http::{Answer, Http, parse};
use crate::report::{Outcome, Report};
use crate::server::Server;
use crate::text::{Names, fill, fill_value};

const AGAIN: Duration = Duration::from_millis(100);
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// Starts a server of that kind and plays everything.
pub(crate) async fn play(kind: Kind, checks: &Checks) -> Result<Report> {
    let server = Server::start(kind).await?;
    let http = Http::new(&server)?;
    let mut names = checks.names.clone();
    names.insert("bobtoken".to_owned(), server.bob.clone());
    let mut player = Player { server: &server, http, names };
    for step in &checks.before {
        let done = player.step(step).await;
        ensure!(done.is_ok(), "before all checks, {}: {}", step.request, done.err().unwrap_or_default());
    }
    let mut outcomes = Vec::new();
    for check in &checks.checks {
        let mut result = Ok(());
        for step in &check.steps {
            result = player.step(step).await.map_err(|why| format!("{}\n{}: {why}", check.about, fill(&step.request, &player.names)));
            if result.is_err() {
                break;
            }
        }
        outcomes.push(Outcome::of(result));
    }
    server.end().await;
    Ok(Report { outcomes })
}

struct Player<'a> {
    server: &'a Server,
    http: Http,
    names: Names,
}

impl Player<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.request == "COMPACT" {
            return self.server.compact().await.map_err(|error| format!("{error:#}"));
        }
        let end = Instant::now() + Duration::from_secs(step.within);
        loop {
            let answer = self.ask(step).await.map_err(|error| format!("{error:#}"))?;
            let seen = see(&answer, step, &self.names);
            match judge(step, &answer, &seen, &self.names) {
                Ok(()) => return self.capture(step, &answer, &seen),
                Err(why) if Instant::now() >= end => {
                    return Err(format!("{why}\nanswer: {} {}", answer.status, shortened(&answer.text)));
                }
                Err(_) => sleep(AGAIN).await,
            }
        }
    }

    async fn ask(&self, step: &Step) -> Result<Answer> {
        let request = fill(&step.request, &self.names);
        let (method, path, mut headers) = parse(&request)?;
        let mut body = step.body.as_ref().map(|body| fill_value(body, &self.names));
        if let Some((data, size)) = body.as_mut().and_then(|body| body.get_mut("data")).zip(step.fill) {
            *data = json!({"fill": "x".repeat(size)});
        }
        let body = body.map(|body| body.to_string()).or_else(|| step.text.as_ref().map(|text| fill(text, &self.names))).unwrap_or_default();
        headers.extend(step.headers.iter().map(|(name, value)| (name.clone(), fill(value, &self.names))));
        let has = |headers: &[(String, String)], wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !body.is_empty() && !has(&headers, "Content-Type") {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        if !has(&headers, "User-Agent") {
            headers.push(("User-Agent".to_owned(), "conf/1.0".to_owned()));
        }
        let token = match step.token {
            Token::Admin => Some(self.server.admin.as_str()),
            Token::Bob => Some(self.server.bob.as_str()),
            Token::Wrong => Some("wrong"),
            Token::None => None,
        };
        headers.extend(token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
        // A server may break the connection of a request that is too large for it.
        let start = Instant::now();
        loop {
            match self.http.send(method, path, &headers, body.clone().into_bytes()).await {
                Err(_) if step.fill.is_some() && start.elapsed() < FIRST_ANSWER => sleep(AGAIN).await,
                result => return result.with_context(|| format!("{method} {path}")),
            }
        }
    }

    fn capture(&mut self, step: &Step, answer: &Answer, seen: &Value) -> Result<(), String> {
        for (name, pointer) in &step.capture {
            let found = match pointer.strip_prefix("header:") {
                Some(header) => answer.headers.get(header).and_then(|value| value.to_str().ok()).map(str::to_owned),
                None => seen.pointer(pointer).map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned)),
            };
            self.names.insert(name.clone(), found.ok_or_else(|| format!("there is no {pointer} to remember"))?);
        }
        Ok(())
    }
}

/// The answer as one JSON value.
fn see(answer: &Answer, step: &Step, names: &Names) -> Value {
    let request = fill(&step.request, names);
    let watches = ["?watch=", "&watch=", "/v1/watch/"].iter().any(|word| request.contains(word));
    if watches && answer.status == 200 {
        let events: Vec<Value> =
            answer.text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()))).collect();
        return json!({ "events": events });
    }
    serde_json::from_str(&answer.text).unwrap_or_else(|_| Value::String(answer.text.clone()))
}

fn judge(step: &Step, answer: &Answer, seen: &Value, names: &Names) -> Result<(), String> {
    if answer.status != step.status {
        return Err(format!("expected the status {}, found {}", step.status, answer.status));
    }
    let at = |pointer: &str, expected: &Value| {
        let (pointer, expected) = (fill(pointer, names), fill_value(expected, names));
        check(&expected, seen.pointer(&pointer)).map_err(|why| format!("{pointer}: {why}"))
    };
    if let Some(reason) = &step.reason {
        at("/kind", &json!("Status"))?;
        at("/reason", &if reason.is_empty() { json!({"$absent": true}) } else { json!(reason) })?;
        at("/code", &json!(step.status))?;
    }
    for part in &step.message {
        at("/message", &json!({ "$contains": part }))?;
    }
    for cause in &step.causes {
        let wanted = match cause.split_once(' ') {
            Some((reason, field)) => json!({"reason": reason, "field": field}),
            None => json!({ "reason": cause }),
        };
        at("/details/causes", &json!({ "$contains": wanted }))?;
    }
    if let Some(wanted) = &step.names {
        let items = seen.pointer("/items").and_then(Value::as_array);
        let found: Vec<_> = items.into_iter().flatten().map(|item| text_at(item, "/metadata/name")).collect();
        let wanted: Vec<_> = wanted.iter().map(|name| fill(name, names)).collect();
        if found != wanted {
            return Err(format!("expected the items {wanted:?}, found {found:?}"));
        }
    }
    if let Some(wanted) = &step.events {
        let events = seen.pointer("/events").and_then(Value::as_array);
        let found: Vec<_> = events.into_iter().flatten().filter_map(event).collect();
        let wanted: Vec<_> = wanted.iter().map(|name| fill(name, names)).collect();
        if found != wanted {
            return Err(format!("expected the events {wanted:?}, found {found:?}"));
        }
    }
    for (name, expected) in &step.answer {
        let values: Vec<_> = answer.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        let found = (!values.is_empty()).then(|| Value::String(values.join("\n")));
        check(&fill_value(expected, names), found.as_ref()).map_err(|why| format!("header {name}: {why}"))?;
    }
    step.expect.iter().try_for_each(|(pointer, expected)| at(pointer, expected))
}

/// `TYPE name`, or nothing for a plain bookmark.
fn event(event: &Value) -> Option<String> {
    let kind = text_at(event, "/type");
    match kind.as_str() {
        "BOOKMARK" => event.pointer("/object/metadata/annotations/k8s.io~1initial-events-end").map(|_| "BOOKMARK end".to_owned()),
        "ERROR" => Some(kind),
        _ => {
            let pointers = ["/object/metadata/name", "/object/rows/0/object/metadata/name"];
            let name = pointers.iter().find_map(|pointer| event.pointer(pointer)).and_then(Value::as_str);
            Some(format!("{kind} {}", name.unwrap_or_default()))
        }
    }
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
