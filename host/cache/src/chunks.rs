//! Reads the body of an answer as fast as it comes, whatever is done with it. Owns the
//! task that reads and the buffer in between, which is bounded in bytes; never looks into
//! the bytes.
//!
//! An API server ends a watch whose client does not take what it sends within a fraction of a
//! second. So nothing that the informer does, nor a handler that takes its time, may stand
//! between the socket and this buffer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::coop::unconstrained;
use tokio_util::task::AbortOnDropHandle;

/// A body that is being read. Dropping it ends the reading and closes the connection.
#[derive(Debug)]
pub(crate) struct Chunks {
    receiver: mpsc::Receiver<Result<Chunk, kube::Error>>,
    /// The room that the chunk given out last takes.
    held: Option<OwnedSemaphorePermit>,
    /// The reader waits for room.
    full: Arc<AtomicBool>,
    _reader: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    room: OwnedSemaphorePermit,
}

impl Chunks {
    /// Bytes that are read ahead, at most: a few thousand objects. The reader holds one
    /// frame more, and waits while the buffer is full.
    pub(crate) const AHEAD: u32 = 16 << 20;
    /// Smaller chunks are copied.
    const SMALL: usize = 4096;
    /// What a chunk costs beside its bytes. It also bounds the number of chunks.
    const COST: u32 = 128;

    /// Begins to read. Must be called within a tokio runtime.
    pub(crate) fn read(body: Body) -> Self {
        Self::read_ahead(body, Self::AHEAD)
    }

    fn read_ahead(body: Body, ahead: u32) -> Self {
        let (sender, receiver) = mpsc::channel((ahead / Self::COST).max(1) as usize);
        let full = Arc::new(AtomicBool::new(false));
        // A task that has used up its turn is put off until its thread is at rest, however long
        // another task keeps that thread. This one does next to nothing per frame, and waits for
        // room or for the socket soon enough.
        let task = tokio::spawn(unconstrained(pump(body, sender, ahead, full.clone())));
        Self { receiver, held: None, full, _reader: AbortOnDropHandle::new(task) }
    }

    /// The next bytes; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// When the connection breaks, after all that came before.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, kube::Error> {
        if self.held.take().is_some() && self.full.load(Ordering::Relaxed) {
            // The reader, awake now, may be bound to this very thread until it is let go:
            // so it goes first, in case what follows blocks the thread.
            tokio::task::yield_now().await;
        }
        match self.receiver.recv().await.transpose()? {
            Some(Chunk { bytes, room }) => {
                self.held = Some(room);
                Ok(Some(bytes))
            }
            None => Ok(None),
        }
    }
}

/// Moves the body into the buffer until it ends, breaks, or nobody listens any more.
async fn pump(mut body: Body, sender: mpsc::Sender<Result<Chunk, kube::Error>>, ahead: u32, full: Arc<AtomicBool>) {
    let space = Arc::new(Semaphore::new(ahead as usize));
    while let Some(frame) = body.frame().await {
        let bytes = match frame.map(|frame| frame.into_data()) {
            // A small part would keep the whole buffer alive that the connection read into.
            Ok(Ok(bytes)) if !bytes.is_empty() && bytes.len() < Chunks::SMALL => Bytes::copy_from_slice(&bytes),
            Ok(Ok(bytes)) if !bytes.is_empty() => bytes,
            Ok(_) => continue,
            Err(error) => {
                // Nobody listens: then nobody needs to know either.
                let _unheard = sender.send(Err(error)).await.is_err();
                return;
            }
        };
        let needed = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(Chunks::COST).min(ahead);
        full.store(space.available_permits() < needed as usize, Ordering::Relaxed);
        // The semaphore is never closed.
        let Ok(room) = space.clone().acquire_many_owned(needed).await else { return };
        full.store(false, Ordering::Relaxed);
        if sender.send(Ok(Chunk { bytes, room })).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use futures::stream::unfold;
    use http_body::Frame;
    use http_body_util::StreamBody;

    type Feed = mpsc::Sender<Result<Bytes, std::io::Error>>;

    /// The body of an answer, as kube's client gives it, and its server's end.
    async fn body() -> (Feed, Body) {
        let (feed, stream): (Feed, _) = mpsc::channel(1);
        let mut stream = Some(stream);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let chunks = unfold(stream.take().unwrap(), |mut stream| async { stream.recv().await.map(|chunk| (chunk, stream)) });
            let body = BodyExt::boxed_unsync(StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))));
            async move { Ok::<_, std::io::Error>(http::Response::new(body)) }
        });
        let client = kube::Client::new(service, "default");
        (feed, client.send(http::Request::new(Body::empty())).await.unwrap().into_body())
    }

    /// What is sent is read without anybody taking it, up to the limit; taking goes on
    /// with the reading.
    #[tokio::test]
    async fn reading_runs_ahead_up_to_its_limit() {
        let (feed, body) = body().await;
        let mut chunks = Chunks::read_ahead(body, 2 * (Chunks::COST + 4));
        // Two are in the buffer, one in the reader's hand, one in the feed itself.
        for _ in 0..4 {
            feed.send(Ok(Bytes::from_static(b"1234"))).await.unwrap();
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(feed.try_send(Ok(Bytes::from_static(b"1234"))).is_err(), "the reader waits");
        for _ in 0..3 {
            assert_eq!(chunks.next().await.unwrap().unwrap(), "1234");
        }
        feed.send(Ok(Bytes::from_static(b"5"))).await.unwrap();
        drop(feed);
        assert_eq!(chunks.next().await.unwrap().unwrap(), "1234");
        assert_eq!(chunks.next().await.unwrap().unwrap(), "5");
        assert!(chunks.next().await.unwrap().is_none());
    }

    /// One chunk larger than the buffer passes when it is empty.
    #[tokio::test]
    async fn a_chunk_larger_than_the_buffer_passes() {
        let (feed, body) = body().await;
        let mut chunks = Chunks::read_ahead(body, 200);
        for size in [1000, 2000, 3] {
            feed.send(Ok(Bytes::from(vec![b'x'; size]))).await.unwrap();
            assert_eq!(chunks.next().await.unwrap().unwrap().len(), size);
        }
    }

    /// What came before a break is given out before it.
    #[tokio::test]
    async fn a_break_comes_last() {
        let (feed, body) = body().await;
        let mut chunks = Chunks::read(body);
        feed.send(Ok(Bytes::from_static(b"1"))).await.unwrap();
        feed.send(Err(std::io::Error::other("reset"))).await.unwrap();
        assert_eq!(chunks.next().await.unwrap().unwrap(), "1");
        assert!(chunks.next().await.is_err());
        assert!(chunks.next().await.unwrap().is_none());
    }

    /// Who drops it ends the task and closes the connection, also when the buffer is full.
    #[tokio::test]
    async fn cr9_dropping_closes_the_connection() {
        // One in the buffer, one in the reader's hand, one in the feed.
        for sent in [0, 3] {
            let (feed, body) = body().await;
            let chunks = Chunks::read_ahead(body, 200);
            for _ in 0..sent {
                feed.send(Ok(Bytes::from(vec![b'x'; 100]))).await.unwrap();
            }
            drop(chunks);
            feed.closed().await;
        }
    }
}
