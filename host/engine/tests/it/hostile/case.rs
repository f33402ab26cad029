//! What a hostile case is, and how it is played beside a good neighbour on the same engine with one guest thread. Owns the
//! playing; what must come of it stands in the tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Limits, read_description};
use wharf_core::{Event, Gvk, Outcome, Reason, Verb};
use wharf_engine::{Engine, Revision, RevisionSpec};

use crate::encode;
use crate::support::{Get, OBJECT, Recorder, delivery, grants, limits, revision, spec};

/// One way of being hostile.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) guest: Guest,
    pub(super) ask: Ask,
    pub(super) limits: Limits,
    /// What the API server does.
    pub(super) get: fn() -> Get,
    /// What it may be called; nothing if it is let pass.
    pub(super) ends: &'static [Reason],
}

pub(super) enum Guest {
    /// In tests/guests/wat.
    File(&'static str),
    Made(fn() -> Vec<u8>),
}

/// What is done with it.
pub(super) enum Ask {
    /// It is loaded, and made ready for calls.
    Load,
    Validate,
    Describe,
    Call(Event),
}

impl Case {
    pub(super) fn new(name: &'static str, guest: &'static str, ask: Ask, ends: &'static [Reason]) -> Self {
        Self { name, guest: Guest::File(guest), ask, limits: limits(), get: Get::default, ends }
    }

    pub(super) fn made(name: &'static str, make: fn() -> Vec<u8>, ends: &'static [Reason]) -> Self {
        Self { guest: Guest::Made(make), ..Self::new(name, "", Ask::Load, ends) }
    }

    pub(super) fn cpu(self, millis: u64) -> Self {
        Self { limits: Limits { cpu: Duration::from_millis(millis), ..self.limits }, ..self }
    }

    pub(super) fn deadline(self, millis: u64) -> Self {
        Self { limits: Limits { deadline: Duration::from_millis(millis), ..self.limits }, ..self }
    }

    /// Makes it ready to be played again and again.
    pub(super) async fn stage(&self, engine: &Engine) -> Staged<'_> {
        let bytes: Arc<[u8]> = match self.guest {
            Guest::File(name) => encode::guest(name).unwrap().into(),
            Guest::Made(make) => make().into(),
        };
        let mut staged = Staged { case: self, engine: engine.clone(), bytes, revision: None };
        if !matches!(self.ask, Ask::Load) {
            staged.revision = Some(staged.load().await.unwrap_or_else(|end| panic!("{} is not loaded: {end:?}", self.name)));
        }
        staged
    }
}

/// How it ended: what it is called, and the message.
pub(super) type End = (Reason, String);

pub(super) struct Staged<'a> {
    case: &'a Case,
    engine: Engine,
    bytes: Arc<[u8]>,
    revision: Option<Arc<Revision>>,
}

impl Staged<'_> {
    /// Plays it once.
    pub(super) async fn play(&self) -> Result<(), End> {
        match &self.revision {
            Some(revision) => self.ask(revision).await,
            None => self.load().await.map(drop),
        }
    }

    /// What is wrong with an end: it is called by another name than it may, or its message is none that can be shown.
    pub(super) fn wrong(&self, end: &Result<(), End>) -> Option<String> {
        let case = self.case;
        let why = match end {
            Ok(()) if !case.ends.is_empty() => "passes",
            Err((reason, _)) if !case.ends.contains(reason) => "has another name",
            Err((_, message)) if message.len() > 32 << 10 => "has a long message",
            Err((_, message)) if message.chars().any(|c| c.is_control() && c != '\n') => "has a message that cannot be shown",
            Err((_, message)) if message.contains("crashed") => "is a panic",
            _ => return None,
        };
        Some(format!("{}: {why}: {end:?}, not one of {:?}", case.name, case.ends).chars().take(1000).collect())
    }

    async fn load(&self) -> Result<Arc<Revision>, End> {
        let artifact = self.engine.load(Arc::clone(&self.bytes)).await.map_err(|e| (e.reason, e.message))?;
        let reads = grants(Gvk::new("", "v1", "ConfigMap"), &[Verb::Get], Namespaces::All);
        let spec = RevisionSpec { grants: reads, ..spec(self.case.limits, &Recorder::with((self.case.get)())) };
        self.engine.prepare(artifact, spec).map_err(|e| (e.reason, e.message))
    }

    async fn ask(&self, revision: &Revision) -> Result<(), End> {
        match self.case.ask {
            Ask::Load => Ok(()),
            Ask::Validate => match revision.validate_config().await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(errors)) => Err((Reason::ConfigInvalid, errors.join("; "))),
                Err(strike) => Err((strike.reason, strike.message)),
            },
            Ask::Describe => {
                let text = revision.describe().await.map_err(|strike| (strike.reason, strike.message))?;
                let first = |problems: Vec<wharf_core::plugin::Problem>| problems.into_iter().next().map(|p| (p.reason, p.message));
                read_description(&text).map(drop).map_err(|problems| first(problems).unwrap())
            }
            Ask::Call(event) => match revision.call(delivery(event, OBJECT)).await.result {
                Ok(_) => Ok(()),
                Err(strike) => Err((strike.reason, strike.message)),
            },
        }
    }
}

/// A good guest that is called all the time.
pub(super) struct Neighbour {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Vec<Duration>>,
}

impl Neighbour {
    pub(super) async fn start(engine: &Engine) -> Self {
        let ok = revision(engine, "ok").await;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut latencies = Vec::new();
            loop {
                let begin = Instant::now();
                let result = ok.call(delivery(Event::Add, OBJECT)).await.result;
                latencies.push(begin.elapsed());
                assert_eq!(result, Ok(Ok(Outcome::Done)), "the neighbour of a hostile guest");
                if stopped.load(Ordering::Relaxed) {
                    return latencies;
                }
            }
        });
        Self { stop, task }
    }

    /// How long each of its calls took; all of them succeeded.
    pub(super) async fn stop(self) -> Vec<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}
