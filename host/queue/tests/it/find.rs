//! Where a queue has a key.

use std::time::Duration;

use wharf_queue::{Found, WorkQueue};

#[tokio::test(start_paused = true)]
async fn a_key_is_found_wherever_it_is() {
    let queue = WorkQueue::new("q");
    assert_eq!(queue.find(&"a"), None);
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    queue.add_after("d", Duration::from_secs(9));
    assert_eq!((queue.find(&"a"), queue.find(&"c")), (Some(Found::Ready { ahead: 0 }), Some(Found::Ready { ahead: 2 })));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(queue.find(&"d"), Some(Found::Later(Duration::from_secs(5))));
    let item = queue.get().await.unwrap();
    queue.add("a");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(queue.find(&"a"), Some(Found::Working(Duration::from_secs(1))));
    assert_eq!(queue.find(&"c"), Some(Found::Ready { ahead: 1 }));
    drop(item);
    assert_eq!(queue.find(&"a"), Some(Found::Ready { ahead: 2 }));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(queue.find(&"d"), Some(Found::Ready { ahead: 3 }), "its time has come");
    while let Some(item) = queue.try_get() {
        item.done();
    }
    assert_eq!(queue.find(&"a"), None);
}
