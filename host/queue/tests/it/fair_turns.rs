//! Turns: weights, no credit, no starvation; and that none is lost, whoever ends how.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use wharf_queue::{Meter, Player, Turn};

use crate::ends;

const QUANTUM: Duration = Duration::from_millis(5);

fn turns_of(at_once: usize) -> wharf_queue::Turns {
    wharf_queue::Turns::new(at_once, QUANTUM, || {})
}

/// What a call has computed, in microseconds.
#[derive(Clone, Default)]
struct Spent(Arc<AtomicU64>);

impl Meter for Spent {
    fn spent(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// What a call does in a turn, after computing for so many microseconds.
#[derive(Clone, Copy, Debug)]
enum Step {
    Yield(u64),
    Sleep(u64),
    End(u64),
    Panic,
}

/// A call that does its steps, and the last one for ever.
struct Script {
    steps: VecDeque<Step>,
    spent: Spent,
    /// Of a call that sleeps.
    sleeper: Arc<Mutex<Option<Waker>>>,
}

impl Future for Script {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let step = if self.steps.len() > 1 { self.steps.pop_front() } else { self.steps.front().copied() };
        let compute = |micros| self.spent.0.fetch_add(micros, Ordering::Relaxed);
        match step.unwrap() {
            Step::Yield(micros) => {
                compute(micros);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Step::Sleep(micros) => {
                compute(micros);
                *self.sleeper.lock() = Some(cx.waker().clone());
                Poll::Pending
            }
            Step::End(micros) => {
                compute(micros);
                Poll::Ready(())
            }
            Step::Panic => panic!("a call that panics"),
        }
    }
}

/// Runs calls as one thread would, in the order in which they are woken.
#[derive(Default)]
struct Machine {
    calls: Vec<Call>,
    woken: Arc<Mutex<VecDeque<usize>>>,
}

struct Call {
    turn: Option<Turn<Script, Spent>>,
    spent: Spent,
    sleeper: Arc<Mutex<Option<Waker>>>,
}

struct Woken(usize, Arc<Mutex<VecDeque<usize>>>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.1.lock().push_back(self.0);
    }
}

impl Machine {
    fn spawn(&mut self, player: &Player, steps: impl IntoIterator<Item = Step>) -> usize {
        let (spent, sleeper) = (Spent::default(), Arc::default());
        let script = Script { steps: steps.into_iter().collect(), spent: spent.clone(), sleeper: Arc::clone(&sleeper) };
        let turn = Some(player.turns(script, spent.clone()));
        self.calls.push(Call { turn, spent, sleeper });
        self.woken.lock().push_back(self.calls.len() - 1);
        self.calls.len() - 1
    }

    /// Polls whoever was woken first; which call has computed in it, if one has.
    fn poll(&mut self) -> Option<Option<usize>> {
        let number = self.woken.lock().pop_front()?;
        let waker = Waker::from(Arc::new(Woken(number, Arc::clone(&self.woken))));
        let call = &mut self.calls[number];
        let Some(turn) = &mut call.turn else { return Some(None) };
        let before = call.spent.spent();
        let poll = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Pin::new(turn).poll(&mut Context::from_waker(&waker))));
        if !matches!(poll, Ok(Poll::Pending)) {
            call.turn = None;
        }
        Some((call.spent.spent() > before).then_some(number))
    }

    /// The calls of the next turns, in order.
    fn turns(&mut self, count: usize) -> Vec<usize> {
        let mut all = Vec::new();
        while all.len() < count {
            match self.poll() {
                Some(computed) => all.extend(computed),
                None => break,
            }
        }
        all
    }

    fn wake(&self, number: usize) {
        if let Some(waker) = self.calls[number].sleeper.lock().take() {
            waker.wake();
        }
    }

    fn spent(&self, number: usize) -> u64 {
        self.calls[number].spent.0.load(Ordering::Relaxed)
    }
}

const SPIN: Step = Step::Yield(5000);

#[test]
fn groups_compute_by_their_weights() {
    for at_once in [1, 3] {
        let (turns, mut machine) = (turns_of(at_once), Machine::default());
        for weight in [1, 2, 5] {
            for member in ["a", "b"] {
                let player = turns.player(&format!("w{weight}"), weight, member);
                // More calls are no more turns.
                for _ in 0..weight * 2 {
                    machine.spawn(&player, [SPIN]);
                }
            }
        }
        machine.turns(800);
        let mut by_group = [0; 3];
        let mut at = 0;
        for (group, weight) in [1, 2, 5].into_iter().enumerate() {
            for number in at..at + weight * 4 {
                by_group[group] += machine.spent(number) / 5000;
            }
            at += weight * 4;
        }
        for (turns, share) in by_group.into_iter().zip([100_u64, 200, 500]) {
            assert!(turns.abs_diff(share) <= at_once as u64 + 1, "{by_group:?}");
        }
    }
}

#[test]
fn members_of_a_group_compute_alike() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let (flooded, other) = (turns.player("g", 1, "flooded"), turns.player("g", 1, "other"));
    let many: Vec<usize> = (0..50).map(|_| machine.spawn(&flooded, [SPIN])).collect();
    let one = machine.spawn(&other, [Step::Yield(2500)]);
    let order = machine.turns(900);
    let of_one = order.iter().filter(|number| **number == one).count();
    assert!((590..=610).contains(&of_one), "by time, not by turns: {of_one} of 900 turns that are half as long");
    // In the order in which they want them.
    let of_many: Vec<usize> = order.into_iter().filter(|number| *number != one).collect();
    assert_eq!(of_many[..50], many);
    assert_eq!(of_many[50..100], many);
}

#[test]
fn nobody_saves_up_turns_and_nobody_pays_for_having_been_alone() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let (a, b) = (turns.player("a", 1, "m"), turns.player("b", 1, "m"));
    let sleeper = machine.spawn(&b, [Step::Sleep(1), SPIN]);
    let spinner = machine.spawn(&a, [SPIN]);
    machine.turns(1000);
    assert_eq!(machine.spent(sleeper), 1);
    machine.wake(sleeper);
    let order = machine.turns(100);
    let of_b = order.iter().filter(|number| **number == sleeper).count();
    assert!((49..=51).contains(&of_b), "{of_b}");
    assert!(order[..2].contains(&spinner) && order[..2].contains(&sleeper));
    // The same for members of a group.
    let c = turns.player("a", 1, "late");
    let late = machine.spawn(&c, [SPIN]);
    let order = machine.turns(100);
    let of_late = order.iter().filter(|number| **number == late).count();
    assert!((24..=26).contains(&of_late), "{of_late}");
}

#[test]
fn what_is_computed_outside_of_turns_counts() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let (a, b) = (turns.player("a", 2, "m"), turns.player("b", 1, "m"));
    let one = machine.spawn(&a, [SPIN]);
    machine.turns(100);
    // Who has wanted nothing pays from where it would begin.
    b.charge(50 * QUANTUM);
    let other = machine.spawn(&b, [SPIN]);
    let of_other = |order: &[usize]| order.iter().filter(|number| **number == other).count();
    let order = machine.turns(100);
    assert!(of_other(&order) <= 1, "a has twice its time first: {}", of_other(&order));
    let order = machine.turns(300);
    assert!((98..=102).contains(&of_other(&order)), "then as ever: {}", of_other(&order));
    // The same for who wants something.
    a.charge(100 * QUANTUM);
    let order = machine.turns(50);
    assert!(!order[1..].contains(&one), "{order:?}");
}

#[test]
fn what_is_computed_while_nobody_waits_leaves_no_debt() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let (a, b) = (turns.player("a", 1, "m"), turns.player("b", 1, "m"));
    // A whole day, a little at a time.
    for _ in 0..10_000 {
        b.charge(QUANTUM);
    }
    let one = machine.spawn(&a, [SPIN]);
    let other = machine.spawn(&b, [SPIN]);
    let order = machine.turns(20);
    let of_b = order.iter().filter(|number| **number == other).count();
    assert!((9..=10).contains(&of_b), "{order:?} {one}");
}

#[test]
fn a_short_call_waits_for_one_turn_at_most() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let spinners: Vec<_> = (0..20).map(|i| turns.player(&format!("spins-{i}"), 1, "m")).collect();
    for player in &spinners {
        machine.spawn(player, [SPIN]);
    }
    let victim = turns.player("victim", 1, "m");
    machine.turns(777);
    for _ in 0..50 {
        let short = machine.spawn(&victim, [Step::Sleep(20), Step::End(20)]);
        let order = machine.turns(2);
        assert_eq!(order[1], short, "{order:?}");
        machine.wake(short);
        let order = machine.turns(2);
        assert_eq!(order[1], short, "{order:?}");
        machine.turns(5);
    }
}

#[test]
fn who_is_due_asks_for_hurry_and_nobody_else_does() {
    let asked = Arc::new(AtomicUsize::new(0));
    let ask = Arc::clone(&asked);
    let turns = wharf_queue::Turns::new(1, QUANTUM, move || {
        ask.fetch_add(1, Ordering::Relaxed);
    });
    let news = || asked.swap(0, Ordering::Relaxed);
    let mut machine = Machine::default();
    let (a, b) = (turns.player("a", 1, "spins"), turns.player("b", 1, "m"));
    let spins = machine.spawn(&a, [SPIN]);
    assert_eq!(machine.turns(20).len() + news(), 20, "alone");
    // It has the turn again already, as if it were computing.
    let short = machine.spawn(&b, [Step::Sleep(20), Step::Sleep(20), Step::Yield(9000), Step::Sleep(20), SPIN]);
    assert_eq!(news(), 1, "another group");
    machine.spawn(&turns.player("a", 1, "other"), [Step::End(20)]);
    assert_eq!(news(), 0, "not before the one that waits");
    assert_eq!(machine.turns(2), [spins, short]);
    machine.turns(2);
    machine.wake(short);
    assert_eq!(news(), 1, "it has computed next to nothing");
    machine.turns(2);
    machine.spawn(&turns.player("a", 1, "other"), [Step::End(20)]);
    assert_eq!(news(), 1, "another member of the group that computes");
    machine.spawn(&a, [SPIN]);
    assert_eq!(news(), 0, "the member that computes");
    machine.turns(4);
    machine.wake(short);
    news();
    machine.turns(3);
    machine.wake(short);
    assert_eq!(news(), 0, "it has computed too much");
}

#[test]
fn whoever_is_dropped_gives_its_turn_back() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let player = turns.player("g", 1, "m");
    // Called, waiting, panicking, sleeping, ended.
    let called = machine.spawn(&player, [Step::End(1)]);
    let waiting = machine.spawn(&player, [Step::End(1)]);
    let panics = machine.spawn(&player, [Step::Panic]);
    let sleeps = machine.spawn(&player, [Step::Sleep(1)]);
    let last = machine.spawn(&player, [Step::End(1)]);
    assert_eq!(turns.waiting(), 4);
    machine.calls[called].turn = None;
    machine.calls[waiting].turn = None;
    assert_eq!(machine.turns(1), [sleeps], "after the one that panics");
    assert!(machine.calls[panics].turn.is_none());
    machine.calls[sleeps].turn = None;
    assert_eq!(machine.turns(9), [last]);
    assert_eq!(turns.waiting(), 0);
    machine.wake(sleeps);
    let again = machine.spawn(&player, [Step::End(1)]);
    assert_eq!(machine.turns(9), [again], "a wake-up of somebody who is gone takes no turn");
}

#[test]
fn a_member_that_comes_back_has_no_credit() {
    let (turns, mut machine) = (turns_of(1), Machine::default());
    let a = turns.player("a", 1, "m");
    machine.spawn(&a, [SPIN]);
    machine.turns(100);
    for _ in 0..10 {
        let b = turns.player("b", 1, "m");
        let spins = machine.spawn(&b, [SPIN]);
        drop(b);
        let order = machine.turns(10);
        let of_b = order.iter().filter(|number| **number == spins).count();
        assert!((4..=6).contains(&of_b), "{of_b}");
        machine.calls[spins].turn = None;
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..5000u64).prop_map(Step::Yield),
        3 => (1..2000u64).prop_map(Step::Sleep),
        1 => Just(Step::Yield(5000)),
    ]
}

/// Group, member, what it does.
type Plan = (usize, usize, Vec<Step>);

fn plan() -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec((0..4usize, 0..3usize, prop::collection::vec(step(), 0..8)), 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the calls do, and whoever is dropped: every call that wants a turn gets one
    /// before the others have computed too much, and in the end all turns are there.
    #[test]
    fn nobody_starves_and_no_turn_is_lost(
        plan in plan(),
        weights in prop::collection::vec(1..6u32, 4),
        at_once in 1..4usize,
        choices in prop::collection::vec(any::<(u8, bool)>(), 40),
    ) {
        let (turns, mut machine) = (turns_of(at_once), Machine::default());
        let calls = plan.len() as u64;
        for (group, member, steps) in plan {
            let player = turns.player(&format!("g{group}"), weights[group], &format!("m{member}"));
            machine.spawn(&player, steps.into_iter().chain([Step::End(1)]));
        }
        let total = |machine: &Machine| (0..machine.calls.len()).map(|number| machine.spent(number)).sum::<u64>();
        let mut last: Vec<u64> = vec![0; machine.calls.len()];
        let mut choices = choices.into_iter();
        loop {
            let polled = machine.poll();
            if let Some(Some(number)) = polled {
                let now = total(&machine);
                let others = now - last[number];
                // Five times the weight, its own member's calls before it, and all turns at once.
                prop_assert!(others <= 5000 * calls * 6 + 5000 * at_once as u64, "{others} us before its turn");
                last[number] = now;
            }
            if polled.is_none() || machine.woken.lock().is_empty() {
                prop_assert_eq!(turns.waiting(), 0, "somebody waits while nobody computes");
                let sleeping: Vec<usize> = (0..machine.calls.len()).filter(|n| machine.calls[*n].sleeper.lock().is_some()).collect();
                let Some(number) = sleeping.first().copied() else { break };
                let (choice, dropped) = choices.next().unwrap_or((0, false));
                let number = if sleeping.len() > 1 { sleeping[usize::from(choice) % sleeping.len()] } else { number };
                let now = total(&machine);
                last[number] = now;
                if dropped && choice % 4 == 0 {
                    machine.calls[number].turn = None;
                }
                machine.wake(number);
            }
        }
        prop_assert!(machine.calls.iter().all(|call| call.turn.is_none()));
        let player = turns.player("g0", 1, "m0");
        for _ in 0..at_once {
            machine.spawn(&player, [Step::End(1)]);
        }
        prop_assert_eq!(turns.waiting(), 0, "all turns are free again");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// In the long run it is time that is shared, by the weights, and no group is ever further from
    /// its share than by some turns.
    #[test]
    fn whatever_turns_take_groups_compute_by_their_weights(
        groups in prop::collection::vec((1..8u32, prop::collection::vec(1..5000u64, 1..4)), 2..6),
        at_once in 1..4usize,
    ) {
        let (turns, mut machine) = (turns_of(at_once), Machine::default());
        let mut of_group: Vec<Vec<usize>> = Vec::new();
        for (group, (weight, lengths)) in groups.iter().enumerate() {
            let player = |member: usize| turns.player(&format!("g{group}"), *weight, &format!("m{member}"));
            // As many calls as there are turns, so that each group could use them all.
            let calls = lengths.iter().enumerate().flat_map(|(member, micros)| (0..at_once).map(move |_| (member, *micros)));
            of_group.push(calls.map(|(member, micros)| machine.spawn(&player(member), [Step::Yield(micros)])).collect());
        }
        let weights: u64 = groups.iter().map(|(weight, _)| u64::from(*weight)).sum();
        for _ in 0..20 {
            machine.turns(200);
            let spent: Vec<u64> = of_group.iter().map(|calls| calls.iter().map(|call| machine.spent(*call)).sum()).collect();
            let total: u64 = spent.iter().sum();
            for ((weight, _), spent) in groups.iter().zip(&spent) {
                let share = total * u64::from(*weight) / weights;
                let slack = 5000 * (2 + at_once as u64) * (1 + u64::from(*weight));
                prop_assert!(spent.abs_diff(share) <= slack, "{spent} us of {total}, not {share}");
            }
        }
    }
}

/// Counts who computes at the same time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
    done: AtomicBool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_threads_at_most_so_many_compute_and_all_come_to_their_end() {
    const AT_ONCE: usize = 3;
    let (turns, crowd) = (turns_of(AT_ONCE), Arc::new(Crowd::default()));
    let (send, receive) = tokio::sync::watch::channel(0_u32);
    let ticker = tokio::spawn({
        let crowd = Arc::clone(&crowd);
        async move {
            while !crowd.done.load(Ordering::SeqCst) {
                send.send_modify(|tick| *tick = tick.wrapping_add(1));
                tokio::task::yield_now().await;
            }
        }
    });
    let mut calls = Vec::new();
    for number in 0..200 {
        let player = turns.player(&format!("g{}", number % 5), 1 + number % 3, &format!("m{}", number % 7));
        let (crowd, mut ticks, spent) = (Arc::clone(&crowd), receive.clone(), Spent::default());
        let meter = spent.clone();
        let call = Box::pin(async move {
            for step in 0..50 {
                let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
                crowd.most.fetch_max(now, Ordering::SeqCst);
                spent.0.fetch_add(if step % 5 == 0 { 5000 } else { 10 }, Ordering::Relaxed);
                std::hint::spin_loop();
                crowd.now.fetch_sub(1, Ordering::SeqCst);
                if step % 2 == 0 {
                    tokio::task::yield_now().await;
                } else {
                    // Woken from other threads, now and then while it is polled.
                    ticks.changed().await.unwrap();
                }
            }
        });
        calls.push(tokio::spawn(player.turns(call, meter)));
    }
    for (number, call) in calls.into_iter().enumerate() {
        if number % 10 == 9 {
            call.abort();
            let _either = call.await;
        } else {
            ends(call).await.unwrap().unwrap();
        }
    }
    crowd.done.store(true, Ordering::SeqCst);
    ticker.await.unwrap();
    let most = crowd.most.load(Ordering::SeqCst);
    assert!(most <= AT_ONCE, "{most} computed at once");
    assert_eq!(turns.waiting(), 0);
}
