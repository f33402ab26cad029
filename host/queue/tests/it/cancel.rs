//! A dropped `get` takes no key and swallows no wake-up.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::{advance, timeout};
use wharf_queue::{Item, WorkQueue};

const SECOND: Duration = Duration::from_secs(1);

/// A waker that counts.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Get<'a> = Pin<Box<dyn Future<Output = Option<Item<&'static str>>> + 'a>>;

/// A `get` that waits, and its waker.
fn sleeper<'a>(queue: &'a WorkQueue<&'static str>) -> (Get<'a>, Arc<Woken>) {
    let (mut get, woken): (Get<'_>, _) = (Box::pin(queue.get()), Arc::new(Woken::default()));
    assert!(poll(&mut get, &woken).is_pending());
    (get, woken)
}

fn poll(get: &mut Get<'_>, woken: &Arc<Woken>) -> Poll<Option<Item<&'static str>>> {
    get.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

fn is_woken(woken: &Woken) -> bool {
    woken.0.load(Ordering::SeqCst) > 0
}

#[tokio::test(start_paused = true)]
async fn a_get_that_is_dropped_in_any_state_takes_nothing() {
    let queue = WorkQueue::new("test");
    drop(queue.get());
    drop(sleeper(&queue));
    let (dropped_after_wake, woken) = sleeper(&queue);
    queue.add("key");
    assert!(is_woken(&woken));
    drop(dropped_after_wake);
    assert_eq!((queue.len(), queue.processing()), (1, 0));
    assert_eq!(queue.get().await.unwrap().key(), &"key");
}

#[tokio::test(start_paused = true)]
async fn the_wake_up_of_a_dropped_get_goes_to_the_next() {
    let queue = WorkQueue::new("test");
    let (first, first_woken) = sleeper(&queue);
    let (mut second, second_woken) = sleeper(&queue);
    queue.add("key");
    assert!(is_woken(&first_woken));
    drop(first);
    assert!(is_woken(&second_woken));
    assert!(poll(&mut second, &second_woken).is_ready());
}

#[tokio::test(start_paused = true)]
async fn one_key_wakes_one_worker_and_many_keys_wake_many() {
    let queue = WorkQueue::new("test");
    let mut sleepers: Vec<_> = (0..3).map(|_| sleeper(&queue)).collect();
    let woken = |sleepers: &Vec<(Get<'_>, Arc<Woken>)>| sleepers.iter().filter(|(_, woken)| is_woken(woken)).count();
    queue.add("a");
    assert_eq!(woken(&sleepers), 1);
    queue.add("b");
    queue.add("c");
    assert_eq!(woken(&sleepers), 3);
    let items: Vec<_> = sleepers.iter_mut().map(|(get, woken)| poll(get, woken)).collect();
    assert!(items.iter().all(Poll::is_ready));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_added_again_in_work_wakes_a_worker_when_the_work_ends() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    let (_get, woken) = sleeper(&queue);
    queue.add("key");
    assert!(!is_woken(&woken), "nothing can be handed out yet");
    item.done();
    assert!(is_woken(&woken));
}

#[tokio::test(start_paused = true)]
async fn keys_that_became_ready_together_wake_one_worker_after_the_other() {
    let queue = WorkQueue::new("test");
    let (mut first, first_woken) = sleeper(&queue);
    let (_second, second_woken) = sleeper(&queue);
    queue.add("a");
    let held = poll(&mut first, &first_woken);
    let before = second_woken.0.load(Ordering::SeqCst);
    queue.add("a");
    queue.add("b");
    drop(held);
    assert!(second_woken.0.load(Ordering::SeqCst) > before);
}

/// The worker that heard of an earlier due time first must not be the only one.
#[tokio::test(start_paused = true)]
async fn an_earlier_due_time_outlives_the_worker_that_heard_of_it() {
    let queue = WorkQueue::new("test");
    queue.add_after("slow", 100 * SECOND);
    let (mut first, first_woken) = sleeper(&queue);
    let (mut second, second_woken) = sleeper(&queue);
    queue.add_after("fast", SECOND);
    assert!(is_woken(&first_woken) && is_woken(&second_woken));
    assert!(poll(&mut first, &first_woken).is_pending());
    assert!(poll(&mut second, &second_woken).is_pending());
    drop(first);
    let before = second_woken.0.load(Ordering::SeqCst);
    advance(SECOND).await;
    assert!(second_woken.0.load(Ordering::SeqCst) > before);
    let Poll::Ready(Some(item)) = poll(&mut second, &second_woken) else { panic!("not handed out in time") };
    assert_eq!(item.key(), &"fast");
}

#[tokio::test(start_paused = true)]
async fn a_get_that_times_out_again_and_again_misses_nothing() {
    let queue = WorkQueue::new("test");
    queue.add_after("key", 10 * SECOND);
    let mut timeouts = 0;
    let item = loop {
        match timeout(Duration::from_millis(700), queue.get()).await {
            Ok(item) => break item.unwrap(),
            Err(_) => timeouts += 1,
        }
    };
    assert_eq!((*item.key(), timeouts), ("key", 14));
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_dropped_leaves_another_waiting() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    let mut stays = pin!(queue.shut_down_with_drain());
    assert!(timeout(SECOND, stays.as_mut()).await.is_err());
    assert!(timeout(SECOND, queue.shut_down_with_drain()).await.is_err());
    item.done();
    stays.await;
}
