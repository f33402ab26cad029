//! The faults of one server: rules in order, each with its own dice; open watches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;
use tokio::sync::Notify;

use super::{Cut, Fault, Mangle, Match, Rule};
use crate::status::Status;
use crate::verbs::ContinueToken;

/// Rules that a server holds at most: each request looks at all of them.
const MOST_RULES: usize = 1000;

/// The faults of a server. Shared behind an `Arc`; without rules it costs a request one lock.
#[derive(Debug)]
pub struct Faults {
    seed: u64,
    rules: Mutex<BTreeMap<u64, Held>>,
    open: Mutex<BTreeMap<u64, Listed>>,
    next_rule: AtomicU64,
    next_watch: AtomicU64,
}

/// A rule and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// By which it is removed.
    pub id: u64,
    /// The rule as it was given.
    #[serde(flatten)]
    pub rule: Rule,
    /// How many requests met it.
    pub met: u64,
}

/// What a request asks for, as rules see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) path: String,
    /// The continue token of a list.
    pub(crate) continue_token: Option<String>,
}

/// What happens to a request.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) delay: Duration,
    pub(crate) refusal: Option<Status>,
    pub(crate) mangle: Mangle,
}

#[derive(Debug)]
struct Held {
    rule: Rule,
    dice: StdRng,
    met: u64,
}

#[derive(Debug)]
struct Listed {
    asked: Asked,
    cut: Option<Cut>,
    wake: Arc<Notify>,
}

/// A watch in the list of open ones, until it is dropped.
pub(crate) struct OpenWatch {
    id: u64,
    faults: Arc<Faults>,
    wake: Arc<Notify>,
}

impl Faults {
    /// No faults yet. The same seed rolls the same dice.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            seed,
            rules: Mutex::default(),
            open: Mutex::default(),
            next_rule: AtomicU64::new(1),
            next_watch: AtomicU64::new(1),
        })
    }

    /// Adds a rule; its number removes it. Of several that refuse a request the first counts.
    ///
    /// # Errors
    /// An unknown verb, a probability outside of 0 to 1, a code that is no error, or too many rules.
    pub fn add(&self, rule: Rule) -> Result<u64, String> {
        rule.on.check()?;
        if rule.probability.is_some_and(|probability| !(0.0..=1.0).contains(&probability)) {
            return Err("probability must be between 0 and 1".to_owned());
        }
        if let Fault::Fail { code } = rule.fault
            && !(400..600).contains(&code)
        {
            return Err("code must be between 400 and 599".to_owned());
        }
        let mut rules = self.rules.lock();
        if rules.len() >= MOST_RULES {
            return Err(format!("there are {MOST_RULES} rules already"));
        }
        let id = self.next_rule.fetch_add(1, Ordering::Relaxed);
        // Dice of its own: what a rule does depends on the requests that it matches and on no other rule.
        let dice = StdRng::seed_from_u64(self.seed ^ id.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        rules.insert(id, Held { rule, dice, met: 0 });
        Ok(id)
    }

    /// Removes a rule; false if there is none of this number.
    pub fn remove(&self, id: u64) -> bool {
        self.rules.lock().remove(&id).is_some()
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.rules.lock().clear();
    }

    /// All rules in order, with what became of them.
    pub fn rules(&self) -> Vec<Report> {
        self.rules.lock().iter().map(|(id, held)| Report { id: *id, rule: held.rule.clone(), met: held.met }).collect()
    }

    /// Ends open watches now; how many.
    pub fn cut_watches(&self, on: &Match, abrupt: bool) -> usize {
        let mut cut = 0_usize;
        for listed in self.open.lock().values_mut().filter(|listed| listed.asked.is_met_by(on)) {
            listed.cut = Some(if abrupt { Cut::Abrupt } else { Cut::Clean });
            listed.wake.notify_one();
            cut = cut.saturating_add(1);
        }
        cut
    }

    /// How many watches are open.
    pub fn open_watches(&self) -> usize {
        self.open.lock().len()
    }

    /// How many watches are open of each resource, by group and plural.
    pub(crate) fn open_by_resource(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for listed in self.open.lock().values() {
            *counts.entry((listed.asked.group.clone(), listed.asked.plural.clone())).or_default() += 1;
        }
        counts
    }

    /// What happens to a request. Rolls the dice of every rule that matches it.
    pub(crate) fn meet(&self, asked: &Asked) -> Effects {
        let mut effects = Effects::default();
        for held in self.rules.lock().values_mut() {
            if !held.matches(asked) {
                continue;
            }
            held.met = held.met.saturating_add(1);
            match &held.rule.fault {
                Fault::Delay { milliseconds } => effects.delay = effects.delay.saturating_add(Duration::from_millis(*milliseconds)),
                Fault::TooManyRequests { retry_after_seconds } => effects.refuse(too_many_requests(*retry_after_seconds)),
                Fault::Fail { code } => effects.refuse(Status::new(*code, reason(*code), "made by a fault")),
                Fault::ExpireContinue {} => {
                    // A token that is none is refused for that by the list.
                    if let Some(Ok(token)) = asked.continue_token.as_deref().map(ContinueToken::decode) {
                        effects.refuse(token.expired());
                    }
                }
                of_watches => effects.mangle.add(of_watches),
            }
        }
        effects
    }

    /// Lists a watch among the open ones.
    pub(crate) fn open(self: &Arc<Self>, asked: Asked) -> OpenWatch {
        let id = self.next_watch.fetch_add(1, Ordering::Relaxed);
        let wake = Arc::new(Notify::new());
        self.open.lock().insert(id, Listed { asked, cut: None, wake: Arc::clone(&wake) });
        OpenWatch { id, faults: Arc::clone(self), wake }
    }
}

impl OpenWatch {
    /// Waits until the watch is to be cut. Cancel safe.
    pub(crate) async fn cut(&self) -> Cut {
        self.wake.notified().await;
        self.faults.open.lock().get(&self.id).and_then(|listed| listed.cut).unwrap_or(Cut::Clean)
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.faults.open.lock().remove(&self.id);
    }
}

impl Held {
    fn matches(&mut self, asked: &Asked) -> bool {
        if self.rule.times.is_some_and(|times| self.met >= times) || !asked.is_met_by(&self.rule.on) {
            return false;
        }
        // A rule is not used up by requests to which its fault cannot happen.
        if self.rule.fault.is_of_watches() && asked.verb != "watch"
            || self.rule.fault == (Fault::ExpireContinue {}) && asked.continue_token.is_none()
        {
            return false;
        }
        self.rule.probability.is_none_or(|probability| self.dice.random_bool(probability))
    }
}

impl Asked {
    fn is_met_by(&self, on: &Match) -> bool {
        on.matches(&self.verb, &self.group, &self.plural, &self.path)
    }
}

impl Effects {
    fn refuse(&mut self, status: Status) {
        self.refusal.get_or_insert(status);
    }
}

/// As client-go reads an answer that gives no reason.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        500.. => "InternalError",
        _ => "",
    }
}

fn too_many_requests(seconds: u64) -> Status {
    Status::new(429, "TooManyRequests", "Too many requests, please try again later.").retry_in(seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::{Asked, Faults};
    use crate::fault::{Cut, Fault, Match, Rule};

    fn asked(verb: &str, plural: &str) -> Asked {
        Asked { verb: verb.to_owned(), plural: plural.to_owned(), path: format!("/api/v1/{plural}"), ..Asked::default() }
    }

    fn rule(fault: Fault) -> Rule {
        Rule { on: Match::default(), fault, times: None, probability: None }
    }

    #[test]
    fn counts_and_forgets() {
        let faults = Faults::new(1);
        let id = faults
            .add(Rule { times: Some(2), on: Match { verb: Some("get".to_owned()), ..Match::default() }, ..rule(Fault::Fail { code: 503 }) })
            .unwrap();
        let refused = |verb: &str| faults.meet(&asked(verb, "pods")).refusal.map(|status| status.code);
        assert_eq!([refused("list"), refused("get"), refused("get"), refused("get")], [None, Some(503), Some(503), None]);
        assert_eq!(faults.rules().iter().map(|report| (report.id, report.met)).collect::<Vec<_>>(), [(id, 2)]);
        assert!(faults.remove(id));
        assert!(!faults.remove(id));
    }

    #[test]
    fn codes_have_their_reasons() {
        for (code, reason) in [
            (400, "BadRequest"),
            (401, "Unauthorized"),
            (403, "Forbidden"),
            (404, "NotFound"),
            (409, "Conflict"),
            (418, ""),
            (429, "TooManyRequests"),
            (500, "InternalError"),
            (502, "InternalError"),
            (503, "ServiceUnavailable"),
            (504, "Timeout"),
        ] {
            let faults = Faults::new(1);
            faults.add(rule(Fault::Fail { code })).unwrap();
            let refusal = faults.meet(&asked("get", "pods")).refusal.unwrap();
            assert_eq!((refusal.code, refusal.reason), (code, reason));
        }
    }

    #[test]
    fn verbs_that_no_request_has_are_refused() {
        let of = |verb: &str| Rule { on: Match { verb: Some(verb.to_owned()), ..Match::default() }, ..rule(Fault::Fail { code: 500 }) };
        assert!(Faults::new(1).add(of("lst")).unwrap_err().starts_with("unknown verb \"lst\"; known are get, list,"));
        assert!(Faults::new(1).add(of("deletecollection")).is_ok());
    }

    #[test]
    fn the_same_seed_rolls_the_same_dice() {
        let run = |seed: u64, noise: bool| {
            let faults = Faults::new(seed);
            faults
                .add(Rule {
                    probability: Some(0.3),
                    on: Match { resource: Some("pods".to_owned()), ..Match::default() },
                    ..rule(Fault::Fail { code: 500 })
                })
                .unwrap();
            faults.add(Rule { probability: Some(0.5), ..rule(Fault::Delay { milliseconds: 1 }) }).unwrap();
            (0..200)
                .map(|_| {
                    if noise {
                        faults.meet(&asked("get", "nodes"));
                    }
                    faults.meet(&asked("get", "pods")).refusal.is_some()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(run(7, false), run(7, false));
        assert_eq!(run(7, false), run(7, true), "requests that a rule does not match leave its dice alone");
        assert_ne!(run(7, false), run(8, false));
        let met = run(7, false).iter().filter(|met| **met).count();
        assert!((30..=90).contains(&met), "{met} of 200");
    }

    #[test]
    fn watches_have_no_part_in_the_dice() {
        let run = |watches: usize| {
            let faults = Faults::new(7);
            let open: Vec<_> = (0..watches).map(|_| faults.open(asked("watch", "pods"))).collect();
            let id = faults.add(Rule { probability: Some(0.5), ..rule(Fault::Fail { code: 500 }) }).unwrap();
            let met: Vec<bool> = (0..100).map(|_| faults.meet(&asked("get", "pods")).refusal.is_some()).collect();
            drop(open);
            (id, met)
        };
        assert_eq!(run(0), run(3));
    }

    #[test]
    fn a_fault_is_not_used_up_where_it_cannot_happen() {
        let faults = Faults::new(1);
        faults.add(Rule { times: Some(1), ..rule(Fault::CutWatch { after: 0, abrupt: false }) }).unwrap();
        faults.add(Rule { times: Some(1), ..rule(Fault::ExpireContinue {}) }).unwrap();
        assert!(faults.meet(&asked("list", "pods")).refusal.is_none());
        assert!(!faults.meet(&asked("watch", "pods")).mangle.is_idle());
        assert!(faults.meet(&asked("watch", "pods")).mangle.is_idle());

        let token = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":523,"start":"/c1\u0000"}"#);
        let status = faults.meet(&Asked { continue_token: Some(token), ..asked("list", "pods") }).refusal.unwrap();
        assert_eq!((status.code, status.reason), (410, "Expired"));
        let again: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(status.continue_token.unwrap()).unwrap()).unwrap();
        assert_eq!(again, json!({"v": "meta.k8s.io/v1", "rv": -1, "start": "/c1\u{0}"}));
    }

    #[test]
    fn delays_add_up_and_the_first_refusal_counts() {
        let faults = Faults::new(1);
        for fault in [
            Fault::Delay { milliseconds: 3 },
            Fault::TooManyRequests { retry_after_seconds: 2 },
            Fault::Fail { code: 500 },
            Fault::Delay { milliseconds: 4 },
        ] {
            faults.add(rule(fault)).unwrap();
        }
        let effects = faults.meet(&asked("get", "pods"));
        assert_eq!(effects.delay, Duration::from_millis(7));
        assert_eq!(effects.refusal.map(|status| (status.code, status.retry_after())), Some((429, Some(2))));
        faults.clear();
        assert!(faults.meet(&asked("get", "pods")).refusal.is_none());
    }

    #[test]
    fn refuses_rules_that_make_no_sense() {
        let faults = Faults::new(1);
        for probability in [-0.1, 1.1, f64::NAN] {
            assert!(faults.add(Rule { probability: Some(probability), ..rule(Fault::ExpireContinue {}) }).is_err(), "{probability}");
        }
        for code in [0, 200, 600] {
            assert!(faults.add(rule(Fault::Fail { code })).is_err(), "{code}");
        }
    }

    #[tokio::test]
    async fn cuts_the_open_watches_that_match() {
        let faults = Faults::new(1);
        let pods = faults.open(asked("watch", "pods"));
        let nodes = faults.open(asked("watch", "nodes"));
        assert_eq!(faults.cut_watches(&Match { resource: Some("pods".to_owned()), ..Match::default() }, true), 1);
        assert_eq!(pods.cut().await, Cut::Abrupt);
        drop(pods);
        assert_eq!(faults.open_watches(), 1);
        assert!(tokio::time::timeout(Duration::from_millis(5), nodes.cut()).await.is_err());
        drop(nodes);
        assert_eq!(faults.open_watches(), 0);
    }
}
