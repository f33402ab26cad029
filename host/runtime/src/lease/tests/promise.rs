//! Random elections: candidates whose clocks differ, that crash and come back, on a server that is
//! slow, loses requests and answers, and is changed by others. Never do two lead at once, as each
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
    /// The longest way of a request, in milliseconds.
    slow: u64,
    /// Of a thousand looks, at each candidate.
    crashes: u32,
}

fn plans() -> impl Strategy<Value = Plan> {
    let timing = (1u32..=4, 2u32..=8, 1u32..=8).prop_map(|(retry, renew, margin)| {
        let renew = retry * 2 + renew;
        Timing { retry: retry * SECOND, renew: renew * SECOND, lease: (renew + margin) * SECOND }
    });
    let faults = (0u32..30, 0u32..30, 0u32..30, 0u32..10, 0u64..9000, 0u32..12);
    (any::<u64>(), timing, 2usize..=3, faults).prop_map(|(seed, timing, candidates, (lost, unheard, refused, touched, slow, crashes))| {
        Plan { seed, timing, candidates, lost, unheard, refused, touched, slow, crashes }
    })
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
        let mut way = || Duration::from_millis(random.random_range(0..=plan.slow));
        let (before, after) = (way(), way());
        How { before, after, lost, unheard, refused: refused.then(|| How::failed().refused).flatten() }
    }
}

/// A candidate whose time of day is anything.
fn start(server: &Arc<Server>, plan: &Plan, number: usize) -> Running {
    Running::start(server, Candidate { timing: plan.timing, ..candidate(&format!("candidate-{number}")) })
}

async fn play(plan: Plan) -> Result<u64, TestCaseError> {
    let server = Server::obliging();
    server.script(script(&plan, &server.kept));
    let mut random = StdRng::seed_from_u64(plan.seed.wrapping_add(1));
    let mut number = plan.candidates;
    let mut running: Vec<Running> = (0..plan.candidates).map(|number| start(&server, &plan, number)).collect();
    // Those that were, who may still write something.
    let mut former: Vec<Tenure> = Vec::new();
    let begun = Instant::now();
    let mut led = 0;
    let mut well: Option<Instant> = None;
    loop {
        let leading: Vec<usize> = running.iter().enumerate().filter(|(_, one)| one.tenure.may_deliver()).map(|(n, _)| n).collect();
        prop_assert!(leading.len() <= 1, "{} lead at {:?}", leading.len(), begun.elapsed());
        // And what another one began is over.
        former.retain(Tenure::may_act);
        let others = running.iter().enumerate().filter(|(n, one)| !leading.contains(n) && one.tenure.may_act());
        let acting = former.len() + others.count();
        prop_assert!(leading.is_empty() || acting == 0, "{acting} act beside the leader at {:?}", begun.elapsed());
        led += leading.len() as u64;
        for place in &mut running {
            let crashes = begun.elapsed() < BAD && random.random_range(0..1000) < plan.crashes;
            if crashes || place.task.is_finished() {
                match random.random_range(0..3) {
                    0 => place.stop.cancel(),
                    _ => place.task.abort(),
                }
                if place.task.is_finished() {
                    former.push(place.tenure.clone());
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
        let late = Duration::from_millis(2 * plan.slow) + 2 * plan.timing.lease + 3 * plan.timing.renew;
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
