//! The queue against a naive model, over random histories.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::coop::unconstrained;
use wharf_queue::{Item, WorkQueue};

#[derive(Clone, Debug)]
enum Op {
    Add(u8),
    AddAfter(u8, u64),
    Get,
    Done(usize),
    Advance(u64),
    Pause,
    Resume,
    ShutDown,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..6u8).prop_map(Op::Add),
        6 => (0..6u8, 0..40u64).prop_map(|(key, ms)| Op::AddAfter(key, ms)),
        8 => Just(Op::Get),
        6 => any::<usize>().prop_map(Op::Done),
        4 => (1..30u64).prop_map(Op::Advance),
        1 => Just(Op::Pause),
        2 => Just(Op::Resume),
        1 => Just(Op::ShutDown),
    ]
}

/// Lists instead of sets, milliseconds instead of instants; slow and plain.
#[derive(Default)]
struct Model {
    now: u64,
    /// Keys in order, and since when they are ready.
    ready: Vec<(u8, u64)>,
    /// Keys in work that come back, and since when they are wanted.
    again: Vec<(u8, u64)>,
    /// Keys and due times, in order of arrival.
    waiting: Vec<(u8, u64)>,
    working: Vec<u8>,
    paused: bool,
    shut_down: bool,
}

impl Model {
    fn wants(&self, key: u8) -> bool {
        self.ready.iter().chain(&self.again).any(|(other, _)| *other == key)
    }

    fn want(&mut self, key: u8, since: u64) {
        self.waiting.retain(|(other, _)| *other != key);
        if self.wants(key) {
        } else if self.working.contains(&key) {
            self.again.push((key, since));
        } else {
            self.ready.push((key, since));
        }
    }

    fn add_after(&mut self, key: u8, ms: u64) {
        let due = self.now + ms;
        if self.shut_down || (ms > 0 && self.wants(key)) {
        } else if ms == 0 {
            self.want(key, self.now);
        } else if self.waiting.iter().all(|(other, at)| *other != key || *at > due) {
            self.waiting.retain(|(other, _)| *other != key);
            self.waiting.push((key, due));
        }
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
        self.waiting.sort_by_key(|(_, due)| *due);
        let due: Vec<_> = self.waiting.iter().copied().filter(|(_, due)| *due <= self.now).collect();
        for (key, since) in due {
            self.want(key, since);
        }
    }

    fn get(&mut self) -> Poll<Option<(u8, u64)>> {
        if self.paused && !self.shut_down {
            return Poll::Pending;
        }
        if self.ready.is_empty() {
            return if self.shut_down && self.again.is_empty() { Poll::Ready(None) } else { Poll::Pending };
        }
        let (key, since) = self.ready.remove(0);
        self.working.push(key);
        Poll::Ready(Some((key, self.now - since)))
    }

    fn done(&mut self, key: u8) {
        self.working.retain(|other| *other != key);
        let back: Vec<_> = self.again.iter().copied().filter(|(other, _)| *other == key).collect();
        self.again.retain(|(other, _)| *other != key);
        self.ready.extend(back);
    }

    fn set(&mut self, paused: bool, shut_down: bool) {
        self.paused = paused;
        self.shut_down = shut_down;
        if shut_down {
            self.waiting.clear();
        }
        if shut_down && paused {
            self.ready.clear();
            self.again.clear();
        }
    }
}

/// One look of a `get` that is dropped if it has to wait.
fn poll_get(queue: &WorkQueue<u8>) -> Poll<Option<Item<u8>>> {
    pin!(unconstrained(queue.get())).poll(&mut Context::from_waker(Waker::noop()))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

async fn compare(ops: Vec<Op>) -> Result<(), TestCaseError> {
    let (queue, mut model) = (WorkQueue::new("test"), Model::default());
    let mut items: Vec<Item<u8>> = Vec::new();
    for op in ops {
        match op {
            Op::Add(key) => {
                queue.add(key);
                model.add_after(key, 0);
            }
            Op::AddAfter(key, ms) => {
                queue.add_after(key, Duration::from_millis(ms));
                model.add_after(key, ms);
            }
            Op::Get => {
                let got = poll_get(&queue);
                let seen = match &got {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(item) => Poll::Ready(item.as_ref().map(|item| (*item.key(), ms(item.queued())))),
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
        prop_assert_eq!((stats.depth, stats.waiting, stats.processing), (model.ready.len(), model.waiting.len(), model.working.len()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_the_model_does(ops in prop::collection::vec(op(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(compare(ops))?;
    }
}
