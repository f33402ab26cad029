//! The FIFO: the latest object of every key.

use wharf_queue::Fifo;

use crate::ends;

type Queue = Fifo<&'static str, u32>;

fn queue(objects: &[(&'static str, u32)]) -> Queue {
    let queue = Queue::new();
    for (key, object) in objects {
        assert!(queue.add(key, *object));
    }
    queue
}

async fn pop(queue: &Queue) -> Option<(&'static str, u32)> {
    ends(queue.pop()).await.expect("a pop that has something to hand out ends")
}

#[tokio::test(start_paused = true)]
async fn cs1_crud_of_a_fifo() {
    let queue = queue(&[("a", 1), ("b", 2), ("a", 3)]);
    assert_eq!((queue.keys(), queue.list(), queue.len()), (vec!["a", "b"], vec![3, 2], 2));
    assert_eq!((queue.get(&"a"), queue.get(&"x")), (Some(3), None));
    assert_eq!((queue.delete(&"a"), queue.delete(&"a"), queue.get(&"a")), (Some(3), None, None));
    queue.replace(vec![("c", 4), ("d", 5), ("c", 6)]);
    assert_eq!((queue.keys(), queue.list()), (vec!["c", "d"], vec![6, 5]));
}

#[tokio::test(start_paused = true)]
async fn a_key_is_handed_out_once_with_its_latest_object() {
    let queue = queue(&[("a", 1), ("b", 2), ("a", 3)]);
    assert_eq!((pop(&queue).await, pop(&queue).await), (Some(("a", 3)), Some(("b", 2))));
    assert!(queue.try_pop().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_full_list_takes_the_place_of_what_is_queued() {
    let queue = queue(&[("a", 1), ("b", 2)]);
    queue.replace(vec![("b", 15)]);
    assert_eq!(pop(&queue).await, Some(("b", 15)));
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_key_jumps_the_line() {
    let queue = queue(&[("a", 10), ("b", 1), ("c", 30)]);
    assert_eq!(pop(&queue).await, Some(("a", 10)));
    queue.add("a", 14);
    assert_eq!((pop(&queue).await, pop(&queue).await, pop(&queue).await), (Some(("b", 1)), Some(("c", 30)), Some(("a", 14))));
    // Nor by a deletion, as it may in client-go.
    queue.add("x", 1);
    queue.add("y", 2);
    queue.delete(&"x");
    queue.add("x", 3);
    assert_eq!(queue.keys(), ["y", "x"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_comes_back_gives_way_to_a_newer_one() {
    let queue = queue(&[("a", 1)]);
    let (key, failed) = pop(&queue).await.unwrap();
    queue.add_if_absent(key, failed);
    assert_eq!(queue.get(&"a"), Some(1));
    let (key, failed) = pop(&queue).await.unwrap();
    queue.add("a", 2);
    queue.add_if_absent(key, failed);
    assert_eq!(pop(&queue).await, Some(("a", 2)));
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_hands_out_what_it_has_and_ends() {
    let queue = queue(&[("a", 1)]);
    queue.close();
    assert!(!queue.add("b", 2) && !queue.add_if_absent("b", 2) && !queue.replace(Vec::new()));
    assert_eq!((pop(&queue).await, pop(&queue).await), (Some(("a", 1)), None));
}

#[tokio::test(start_paused = true)]
async fn pops_that_wait_are_woken_by_adds_and_by_the_end() {
    let queue = Queue::new();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            tokio::spawn({
                let queue = queue.clone();
                async move { queue.pop().await }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add("a", 1);
    queue.add("b", 2);
    tokio::task::yield_now().await;
    queue.close();
    let mut got = Vec::new();
    for task in waiting {
        got.push(ends(task).await.unwrap().unwrap());
    }
    got.sort();
    assert_eq!(got, [None, Some(("a", 1)), Some(("b", 2))]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_pop_takes_nothing_and_swallows_no_wake_up() {
    let queue = Queue::new();
    let (mut first, second) = (Box::pin(queue.pop()), queue.pop());
    tokio::pin!(second);
    assert!(futures_pending(&mut first).await && futures_pending(&mut second).await);
    queue.add("a", 1);
    drop(first);
    assert_eq!(ends(second).await.unwrap(), Some(("a", 1)));
}

async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn cd11_has_synced_of_a_fifo() {
    enum Step {
        Add(&'static str),
        Delete(&'static str),
        List(&'static [(&'static str, u32)]),
        Pop,
    }
    use Step::{Add, Delete, List, Pop};
    const TWO: Step = List(&[("a", 1), ("b", 2)]);
    let cases: [(&[Step], bool); 10] = [
        (&[], false),
        (&[Add("a")], true),
        (&[Delete("a")], true),
        (&[List(&[])], true),
        (&[TWO], false),
        (&[TWO, Pop], false),
        (&[TWO, Pop, Pop], true),
        (&[TWO, Pop, Delete("b")], true),
        (&[TWO, List(&[("c", 3)])], false),
        (&[Add("a"), TWO], true),
    ];
    for (number, (steps, synced)) in cases.into_iter().enumerate() {
        let queue = Queue::new();
        for step in steps {
            match step {
                Add(key) => assert!(queue.add(key, 1)),
                Delete(key) => assert!(queue.delete(key).is_some_and(|_| *key == "b") || *key == "a"),
                List(objects) => assert!(queue.replace(objects.to_vec())),
                Pop => assert!(queue.try_pop().is_some()),
            }
        }
        assert_eq!(queue.has_synced(), synced, "case {number}");
    }
}
