//! Checks of the host's health, answered in the API server's manner. Owns the list of
//! checks and the form of the answer; what a check looks at is its registrar's. A broken
//! plugin is none: it makes the plugin's state and metrics say so, not the host unready.

use std::fmt::{self, Write};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::RwLock;

/// Which endpoints a check counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `/livez`, `/healthz` and `/readyz`: if it fails, only a restart helps.
    Live,
    /// `/readyz` only: if it fails, waiting may help.
    Ready,
}

type Run = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

struct Check {
    name: &'static str,
    probe: Probe,
    run: Run,
}

/// The checks of a host. Clones share them.
#[derive(Clone, Default)]
pub struct Health {
    checks: Arc<RwLock<Vec<Check>>>,
}

impl Health {
    /// No check but `ping`, which always succeeds.
    pub fn new() -> Self {
        let health = Self::default();
        health.add("ping", Probe::Live, || Ok(()));
        health
    }

    /// Adds a check; its error says why it fails. It runs at each request and must be quick.
    pub fn add(&self, name: &'static str, probe: Probe, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.checks.write().push(Check { name, probe, run: Box::new(check) });
    }

    /// The names of the failing checks with their reasons.
    pub fn failing(&self, probe: Probe) -> Vec<(&'static str, String)> {
        let checks = self.checks.read();
        let chosen = checks.iter().filter(|check| counts(check, probe));
        chosen.filter_map(|check| (check.run)().err().map(|reason| (check.name, reason))).collect()
    }

    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/livez", get(|s: State<Self>, q: Query<Options>| async move { s.all("livez", Probe::Live, &q) }))
            .route("/healthz", get(|s: State<Self>, q: Query<Options>| async move { s.all("healthz", Probe::Live, &q) }))
            .route("/readyz", get(|s: State<Self>, q: Query<Options>| async move { s.all("readyz", Probe::Ready, &q) }))
            .route("/livez/{check}", get(|s: State<Self>, p: Path<String>| async move { s.one(Probe::Live, &p) }))
            .route("/healthz/{check}", get(|s: State<Self>, p: Path<String>| async move { s.one(Probe::Live, &p) }))
            .route("/readyz/{check}", get(|s: State<Self>, p: Path<String>| async move { s.one(Probe::Ready, &p) }))
            .with_state(self)
    }

    fn all(&self, endpoint: &str, probe: Probe, Query(options): &Query<Options>) -> Response {
        let mut excluded: Vec<&str> = options.iter().filter(|(name, _)| name == "exclude").map(|(_, value)| value.as_str()).collect();
        let verbose = options.iter().any(|(name, _)| name == "verbose");
        let mut lines = String::new();
        let mut healthy = true;
        let checks = self.checks.read();
        for check in checks.iter().filter(|check| counts(check, probe)) {
            // Writing into a String cannot fail.
            let _infallible = if let Some(at) = excluded.iter().position(|name| *name == check.name) {
                excluded.swap_remove(at);
                writeln!(lines, "[+]{} excluded: ok", check.name)
            } else if let Err(reason) = (check.run)() {
                healthy = false;
                writeln!(lines, "[-]{} failed: {}", check.name, one_line(&reason))
            } else {
                writeln!(lines, "[+]{} ok", check.name)
            };
        }
        if !excluded.is_empty() {
            lines.push_str("warn: some health checks cannot be excluded: no matches for them\n");
        }
        match (healthy, verbose) {
            (true, false) => answer(StatusCode::OK, "ok".to_owned()),
            (true, true) => answer(StatusCode::OK, format!("{lines}{endpoint} check passed\n")),
            (false, _) => answer(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{endpoint} check failed\n")),
        }
    }

    fn one(&self, probe: Probe, Path(name): &Path<String>) -> Response {
        let checks = self.checks.read();
        let Some(check) = checks.iter().find(|check| counts(check, probe) && check.name == name) else {
            return answer(StatusCode::NOT_FOUND, "no such check\n".to_owned());
        };
        match (check.run)() {
            Ok(()) => answer(StatusCode::OK, "ok".to_owned()),
            Err(reason) => answer(StatusCode::INTERNAL_SERVER_ERROR, format!("{name} failed: {}\n", one_line(&reason))),
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.read().iter().map(|check| check.name)).finish()
    }
}

/// `verbose`, and any number of `exclude=NAME`.
type Options = Vec<(String, String)>;

fn counts(check: &Check, probe: Probe) -> bool {
    probe == Probe::Ready || check.probe == Probe::Live
}

fn one_line(reason: &str) -> String {
    reason.lines().collect::<Vec<_>>().join("; ")
}

fn answer(status: StatusCode, body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache, private"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body).into_response()
}
