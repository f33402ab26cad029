//! Random elections: candidates whose clocks differ, that are cut off, crash and come back, on a
//! server that is slow, loses requests and answers, and is changed by others. Never do two lead at once, as each
//! believes; and when the server is well, somebody does.

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::time::{Instant, sleep};

use super::*;

/// So long the server is bad.
const BAD: Duration = Duration::from_secs(240);

#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    timing: Timing,
    candidates: usize,
    /// Of a hundred requests.
    lost: u32,
    unheard: u32,
    refused: u32,
    touched: u32,
    /// The longest way of a request, in milliseconds, and how many of a hundred are slow at all.
    slow: (u64, u32),
    /// Of a thousand looks, at each candidate.
    crashes: u32,
    cuts: u32,
}

/// A candidate's way to the server, which may be cut for a while: then nothing is heard any more, also
/// no answer to what was asked before.
struct Way {
    server: Arc<Server>,
    cut_until: Arc<Mutex<Instant>>,
}

impl Way {
    async fn through<T>(&self, asked: impl Future<Output = T>) -> T {
        let answer = asked.await;
        if Instant::now() < *self.cut_until.lock() {
            std::future::pending::<()>().await;
        }
        answer
    }

    fn is_cut(&self) -> bool {
        Instant::now() < *self.cut_until.lock()
    }
}

#[async_trait]
impl Leases for Way {
    async fn get(&self) -> Result<Lease, LeaseError> {
        self.through(self.server.get()).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        if self.is_cut() { std::future::pending().await } else { self.through(self.server.create(lease)).await }
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        if self.is_cut() { std::future::pending().await } else { self.through(self.server.update(lease)).await }
    }
}

/// A candidate, and until when it is cut off.
struct Place {
    one: Running,
    cut_until: Arc<Mutex<Instant>>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let timing = (1u32..=4, 2u32..=8, 1u32..=8).prop_map(|(retry, renew, margin)| {
        let renew = retry * 2 + renew;
        Timing { retry: retry * SECOND, renew: renew * SECOND, lease: (renew + margin) * SECOND }
    });
    let faults = (0u32..30, 0u32..30, 0u32..30, 0u32..10, (0u64..9000, 0u32..60), 0u32..12, 0u32..8);
    (any::<u64>(), timing, 2usize..=3, faults).prop_map(
        |(seed, timing, candidates, (lost, unheard, refused, touched, slow, crashes, cuts))| Plan {
            seed,
            timing,
            candidates,
            lost,
            unheard,
            refused,
            touched,
            slow,
            crashes,
            cuts,
        },
    )
}

fn script(plan: &Plan, kept: &Arc<Mutex<Kept>>) -> impl FnMut(&'static str) -> How + Send + 'static {
    let (plan, kept) = (plan.clone(), Arc::clone(kept));
    let mut random = StdRng::seed_from_u64(plan.seed);
    move |_| {
        let mut chance = |of: u32| random.random_range(0..100) < of;
        let (lost, unheard, refused, touched) = (chance(plan.lost), chance(plan.unheard), chance(plan.refused), chance(plan.touched));
        if touched {
            let mut kept = kept.lock();
            if let Some(lease) = kept.lease.clone() {
                kept.put(lease.0);
            }
        }
        let mut way = || {
            let longest = if random.random_range(0..100) < plan.slow.1 { plan.slow.0 } else { 20 };
            Duration::from_millis(random.random_range(0..=longest))
        };
        let (before, after) = (way(), way());
        How { before, after, lost, unheard, refused: refused.then(|| How::failed().refused).flatten() }
    }
}

/// A candidate whose time of day is anything.
fn start(server: &Arc<Server>, plan: &Plan, number: usize) -> Place {
    let cut_until = Arc::new(Mutex::new(Instant::now()));
    let way = Way { server: Arc::clone(server), cut_until: Arc::clone(&cut_until) };
    let day = StdRng::seed_from_u64(plan.seed.wrapping_add(number as u64)).random_range(0..4_000_000_000);
    let candidate = Candidate { timing: plan.timing, ..candidate(&format!("candidate-{number}")) };
    Place { one: Running::begin(Arc::new(way), candidate, Clock::of_day(Duration::from_secs(day))), cut_until }
}

async fn play(plan: Plan) -> Result<u64, TestCaseError> {
    let server = Server::obliging();
    server.script(script(&plan, &server.kept));
    let mut random = StdRng::seed_from_u64(plan.seed.wrapping_add(1));
    let mut number = plan.candidates;
    let mut running: Vec<Place> = (0..plan.candidates).map(|number| start(&server, &plan, number)).collect();
    // Those that were, who may still write something.
    let mut former: Vec<Tenure> = Vec::new();
    let begun = Instant::now();
    let mut led = 0;
    let mut well: Option<Instant> = None;
    loop {
        let leading: Vec<usize> = running.iter().enumerate().filter(|(_, place)| place.one.tenure.may_deliver()).map(|(n, _)| n).collect();
        prop_assert!(leading.len() <= 1, "{} lead at {:?}", leading.len(), begun.elapsed());
        // And what another one began is over.
        former.retain(Tenure::may_act);
        let others = running.iter().enumerate().filter(|(n, place)| !leading.contains(n) && place.one.tenure.may_act());
        let acting = former.len() + others.count();
        prop_assert!(leading.is_empty() || acting == 0, "{acting} act beside the leader at {:?}", begun.elapsed());
        led += leading.len() as u64;
        for place in &mut running {
            let bad = begun.elapsed() < BAD;
            if bad && random.random_range(0..1000) < plan.cuts {
                *place.cut_until.lock() = Instant::now() + plan.timing.lease.mul_f64(random.random_range(0.1..3.0));
            }
            if !bad {
                *place.cut_until.lock() = Instant::now();
            }
            if (bad && random.random_range(0..1000) < plan.crashes) || place.one.task.is_finished() {
                match random.random_range(0..3) {
                    0 => place.one.stop.cancel(),
                    _ => place.one.task.abort(),
                }
                if place.one.task.is_finished() {
                    former.push(place.one.tenure.clone());
                    *place = start(&server, &plan, number);
                    number += 1;
                }
            }
        }
        if begun.elapsed() >= BAD && well.is_none() {
            server.script(|_| How::default());
            well = Some(Instant::now());
        }
        // What was under way when it got well may still come, and then the lease runs out once.
        let late = Duration::from_millis(2 * plan.slow.0) + 2 * plan.timing.lease + 3 * plan.timing.renew;
        if well.is_some_and(|well| well.elapsed() > late) {
            prop_assert!(!leading.is_empty(), "nobody leads although the server is well");
            return Ok(led);
        }
        sleep(Duration::from_millis(random.random_range(1..400))).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn l2_l3_never_two_leaders_and_always_one_in_the_end(plan in plans()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let led = runtime.block_on(play(plan))?;
        prop_assert!(led > 0);
    }
}
