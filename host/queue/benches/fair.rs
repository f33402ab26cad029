//! What a turn and a share cost: `cargo bench -p wharf-queue --bench fair`. Prints nanoseconds;
//! never asserts a time.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may end at the first error")]

use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use wharf_queue::{Meter, Shares, Turns};

const ROUNDS: u32 = 500;
const CALLS: u32 = 2_000;

#[derive(Clone, Default)]
struct Spent(Arc<AtomicU64>);

impl Meter for Spent {
    fn spent(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// Tells who was woken.
struct Woken(usize, std::sync::mpsc::Sender<usize>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let _receiver_lives = self.1.send(self.0);
    }
}

/// Wakes itself for ever.
struct Spin(Spent);

impl Future for Spin {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.0.fetch_add(10_000, Ordering::Relaxed);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

fn main() {
    let mut cx = Context::from_waker(Waker::noop());
    let turns = Turns::new(1, Duration::from_millis(5), || {});
    let player = turns.player("group", 1, "member");
    line("a call of one turn, nobody else", || {
        let mut call = pin!(player.turns(ready(()), Spent::default()));
        assert!(call.as_mut().poll(&mut cx).is_ready());
    });
    let spent = Spent::default();
    line("the same without turns", || {
        let call: Pin<Box<dyn Future<Output = ()>>> = Box::pin(ready(()));
        assert!(std::hint::black_box(call).as_mut().poll(&mut cx).is_ready());
        std::hint::black_box(Spent::default());
    });
    let mut spins = pin!(player.turns(Spin(spent.clone()), spent));
    line("a turn that is wanted again, nobody else", || assert!(spins.as_mut().poll(&mut cx).is_pending()));
    for groups in [2, 50, 1000] {
        let turns = Turns::new(1, Duration::from_millis(5), || {});
        let (woken, order) = std::sync::mpsc::channel();
        let mut all: Vec<_> = (0..groups)
            .map(|group| {
                let spent = Spent::default();
                let call = turns.player(&format!("group-{group}"), 1 + group % 3, "member").turns(Spin(spent.clone()), spent);
                (call, Waker::from(Arc::new(Woken(group as usize, woken.clone()))))
            })
            .collect();
        for (call, waker) in &mut all {
            assert!(Pin::new(call).poll(&mut Context::from_waker(waker)).is_pending());
        }
        line(&format!("a turn among {groups} groups that spin"), || {
            let (call, waker) = all.get_mut(order.recv().unwrap()).unwrap();
            assert!(Pin::new(call).poll(&mut Context::from_waker(waker)).is_pending());
        });
    }
    let shares = Shares::new(100);
    let holder = shares.holder("group", 1, "member", 1);
    line("a share, nobody waits", || {
        let mut share = pin!(holder.acquire(1));
        assert!(share.as_mut().poll(&mut cx).is_ready());
    });
}

/// The fastest of many short rounds: what else the machine does takes no part in it.
fn line(what: &str, mut act: impl FnMut()) {
    let round = |act: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..CALLS {
            act();
        }
        start.elapsed()
    };
    let best = (0..ROUNDS).map(|_| round(&mut act)).min().unwrap_or_default();
    println!("{what:<48} {:>8.1} ns", best.as_secs_f64() * 1e9 / f64::from(CALLS));
}
