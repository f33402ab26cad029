//! The queue against a naive model, over random histories: adds of every kind, workers, time, pauses
//! and the end. And the model's rules against the histories: each of them must matter.

mod naive;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Builder, Runtime};
use tokio::task::coop::unconstrained;
use wharf_queue::{Add, Bucket, ExponentialPerKey, Item, LOW, MaxOf, NoMetrics, RateLimiter, WorkQueue};

use naive::{AGEING, Asked, BASE, BURST, INTERVAL, MAX, Model, Rule};

#[derive(Clone, Debug)]
enum Op {
    Add(Asked),
    Forget(u8),
    Get,
    Done(usize),
    Advance(u64),
    Pause,
    Resume,
    ShutDown,
}

const KEYS: std::ops::Range<u8> = 0..6;

fn op() -> impl Strategy<Value = Op> {
    let priority = || prop_oneof![3 => Just(0), 2 => Just(LOW), 1 => Just(7)];
    let add = |after, limited| move |(key, priority): (u8, i32)| Op::Add(Asked { key, priority, after, limited });
    prop_oneof![
        8 => (KEYS, priority()).prop_map(add(None, false)),
        6 => ((KEYS, priority()), 0..40u64).prop_map(move |(key, ms)| add(Some(ms), false)(key)),
        5 => (KEYS, priority()).prop_map(add(None, true)),
        2 => ((KEYS, priority()), 0..40u64).prop_map(move |(key, ms)| add(Some(ms), true)(key)),
        1 => KEYS.prop_map(Op::Forget),
        9 => Just(Op::Get),
        6 => any::<usize>().prop_map(Op::Done),
        4 => (1..30u64).prop_map(Op::Advance),
        1 => Just(Op::Pause),
        2 => Just(Op::Resume),
        1 => prop_oneof![3 => Just(Op::Resume), 1 => Just(Op::ShutDown)],
    ]
}

fn history() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..150)
}

fn queue() -> WorkQueue<u8> {
    let ms = Duration::from_millis;
    let limiters: [Box<dyn RateLimiter<u8>>; 2] =
        [Box::new(ExponentialPerKey::new(ms(BASE), ms(MAX))), Box::new(Bucket::new(ms(INTERVAL), BURST as u32))];
    WorkQueue::with("test", MaxOf::new(limiters), NoMetrics).with_ageing(ms(AGEING))
}

fn paused_clock() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// One look of a `get` that is dropped if it has to wait.
fn poll_get(queue: &WorkQueue<u8>) -> Poll<Option<Item<u8>>> {
    pin!(unconstrained(queue.get())).poll(&mut Context::from_waker(Waker::noop()))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

async fn compare(ops: &[Op], mut model: Model) -> Result<(), TestCaseError> {
    let (queue, mut items) = (queue(), Vec::<Item<u8>>::new());
    for op in ops {
        match *op {
            Op::Add(asked) => {
                let Asked { key, priority, after, limited } = asked;
                let add = Add { priority, after: after.map(Duration::from_millis), rate_limited: limited };
                prop_assert_eq!(ms(queue.add_with(key, add)), model.add(asked), "delay");
                prop_assert_eq!(queue.num_requeues(&key), model.retries(key), "failures");
            }
            Op::Forget(key) => {
                queue.forget(&key);
                model.forget(key);
                prop_assert_eq!(queue.num_requeues(&key), model.retries(key), "failures");
            }
            Op::Get => {
                let got = poll_get(&queue);
                let seen = match &got {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(item) => Poll::Ready(item.as_ref().map(|item| (*item.key(), item.priority(), ms(item.queued())))),
                };
                prop_assert_eq!(seen, model.get());
                if let Poll::Ready(Some(item)) = got {
                    prop_assert!(items.iter().all(|other| other.key() != item.key()), "one key twice in work");
                    items.push(item);
                }
            }
            Op::Done(index) if !items.is_empty() => {
                let item = items.swap_remove(index % items.len());
                model.done(*item.key());
                item.done();
            }
            Op::Done(_) => {}
            Op::Advance(ms) => {
                tokio::time::advance(Duration::from_millis(ms)).await;
                model.advance(ms);
            }
            Op::Pause => {
                queue.pause();
                model.set(true, model.shut_down);
            }
            Op::Resume => {
                queue.resume();
                model.set(false, model.shut_down);
            }
            Op::ShutDown => {
                queue.shut_down();
                model.set(model.paused, true);
            }
        }
        let stats = queue.stats();
        prop_assert_eq!((stats.depth, stats.low, stats.waiting, stats.processing), model.counts());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cp13_the_queue_does_what_the_model_does(ops in history()) {
        paused_clock().block_on(compare(&ops, Model::without(None)))?;
    }
}

/// A rule that no history tells from its absence is not tested. The histories are the same in
/// each run.
#[test]
fn cp13_each_rule_switched_off_makes_a_history_fail() {
    let (mut runner, runtime, strategy) = (TestRunner::deterministic(), paused_clock(), history());
    let histories: Vec<_> = (0..3_000).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let fails = |off| histories.iter().any(|ops| runtime.block_on(compare(ops, Model::without(off))).is_err());
    assert!(!fails(None), "with all rules, every history passes");
    for rule in Rule::ALL {
        assert!(fails(Some(rule)), "nobody noticed that {rule:?} is off");
    }
}
