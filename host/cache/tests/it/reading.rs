//! The socket is read whatever the store and its handlers do.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use wharf_cache::{Change, ChangeHandler, Options};

use crate::fake::{Fake, Reply, by_lists, config_maps, list, object};
use crate::recorder::Recorder;

/// A handler that stands still, thread and all, until it is let go.
#[derive(Default)]
struct Blocking {
    stands: Mutex<bool>,
    went: Condvar,
}

impl Blocking {
    fn let_go(&self) {
        *self.stands.lock() = false;
        self.went.notify_all();
    }
}

/// What would never end if the client did not read.
async fn in_time(sending: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), sending).await.expect("the client reads what the server sends");
}

impl ChangeHandler for Blocking {
    fn on_change(&self, _: &Change<'_>) {
        self.went.wait_while(&mut self.stands.lock(), |stands| *stands);
    }
}

/// The server can send a thousand events while a handler blocks its thread at the first;
/// all of them are applied afterwards. The scripted connection holds 16.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_does_not_stop_the_reading_of_the_watch() {
    const EVENTS: usize = 1000;
    for watch_list in [false, true] {
        let fake = Fake::new();
        fake.lists([list("10", &[])]);
        let feed = fake.open_watch();
        let informers = fake.informers_with(Options { watch_list, ..Options::default() });
        let (blocking, recorder) = (Arc::new(Blocking::default()), Recorder::new());
        *blocking.stands.lock() = true;
        let _last = informers.attach(config_maps(), recorder.clone());
        let _first = informers.attach(config_maps(), blocking.clone());
        in_time(async {
            for n in 0..EVENTS {
                feed.event("ADDED", &object(&format!("o{n}"), &format!("{}", 100 + n))).await;
            }
        })
        .await;
        assert!(recorder.lines().len() <= 2, "the handler stands");
        blocking.let_go();
        feed.initial_end("5000").await;
        assert_eq!(recorder.take(EVENTS + 1).await.len(), EVENTS + 1);
    }
}

/// The same for the parts of a list.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_does_not_stop_the_reading_of_a_list() {
    let fake = Fake::new();
    let (send, parts) = tokio::sync::mpsc::channel(4);
    fake.lists([Reply::Stream(parts)]);
    let informers = fake.informers_with(by_lists());
    let (blocking, recorder) = (Arc::new(Blocking::default()), Recorder::new());
    *blocking.stands.lock() = true;
    let _last = informers.attach(config_maps(), recorder.clone());
    let registration = informers.attach(config_maps(), blocking.clone());
    send.send(Ok(r#"{"metadata":{"resourceVersion":"10"},"items":["#.into())).await.unwrap();
    in_time(async {
        for n in 0..500 {
            let comma = if n == 0 { "" } else { "," };
            send.send(Ok(format!("{comma}{}", object(&format!("o{n}"), "1")).into())).await.unwrap();
        }
        send.send(Ok("]}".into())).await.unwrap();
    })
    .await;
    assert!(recorder.lines().len() <= 1, "the handler stands");
    drop(send);
    blocking.let_go();
    registration.settle().await;
    assert_eq!(recorder.take(501).await.len(), 501);
}

/// A watch is closed with its informer, whatever it was doing.
#[tokio::test(start_paused = true)]
async fn cr9_stopping_closes_the_watch_in_every_phase() {
    for phase in 0..4 {
        let fake = Fake::new();
        let feed = fake.open_watch();
        let informers = fake.informers_with(Options::default());
        let recorder = Recorder::new();
        let registration = informers.attach(config_maps(), recorder.clone());
        // Right at the start, or with nothing, a part, or all of what exists.
        if phase > 0 {
            fake.wait("watch=1", 1).await;
        }
        if phase > 1 {
            feed.event("ADDED", &object("x", "1")).await;
            recorder.take(1).await;
        }
        if phase > 2 {
            feed.initial_end("10").await;
            recorder.take(1).await;
        }
        drop(registration);
        informers.shutdown().await;
        if phase > 0 {
            feed.closed().await;
        }
        assert!(fake.asked("watch=1").len() <= 1 && fake.list_queries().is_empty());
        assert_eq!(recorder.lines(), Vec::<String>::new());
    }
}
