//! A start against small servers and broken credentials, on a clock that does not wait.

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;
use http_body_util::{Full, StreamBody};
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use http::Request;
use kube::client::Body;

use super::reach::version;
use super::*;

const WANTED: Wanted = Wanted::Accepted { patience: Duration::from_secs(30) };

async fn answered(wanted: Wanted, status: u16, body: &'static str) -> Result<String, String> {
    let service = service_fn(move |_: Request<Body>| async move {
        Ok::<_, BoxError>(Response::builder().status(status).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap())
    });
    version(&kube::Client::new(service, "default"), wanted).await.map_err(|error| format!("{error:#}"))
}

#[tokio::test]
async fn who_asks_for_little_takes_every_answer() {
    let good = r#"{"gitVersion":"v1.2.3"}"#;
    assert_eq!(answered(WANTED, 200, good).await.as_deref(), Ok("v1.2.3"));
    assert_eq!(answered(Wanted::Answered, 200, good).await.as_deref(), Ok("v1.2.3"));
    for (status, body, word) in [
        (401, "{}", "refuses the credentials"),
        (403, "{}", "refuses the credentials"),
        (400, "", "https://"),
        (503, "{}", "503"),
        (200, "<html>", "JSON"),
    ] {
        assert!(answered(WANTED, status, body).await.unwrap_err().contains(word), "{status}");
        assert_eq!(answered(Wanted::Answered, status, body).await.as_deref(), Ok("unknown"), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_end_is_none() {
    // Without a pause, and with one between the parts: too much, and too slow.
    for (pause, word) in [(0, "length limit"), (1, "within 20 s")] {
        let service = service_fn(move |_: Request<Body>| async move {
            let parts = futures::stream::repeat(()).then(move |()| async move {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                Ok::<_, BoxError>(http_body::Frame::data(Bytes::from_static(b"        ")))
            });
            Ok::<_, BoxError>(Response::new(StreamBody::new(Box::pin(parts))))
        });
        let error = version(&kube::Client::new(service, "default"), Wanted::Answered).await.unwrap_err();
        assert!(format!("{error:#}").contains(word), "{error:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_not_there_yet_are_waited_for() {
    let way = Way { server: Some("https://127.0.0.1:1".to_owned()), token_file: Some("/no/such/token".into()), ..Way::default() };
    for (wanted, seconds) in [(WANTED, 30), (Wanted::Answered, 0)] {
        let plan = Plan::of(&way, &|_| None).unwrap();
        let begun = Instant::now();
        let Err(StartError::NoCredentials(error)) = reach(plan, &Metrics::new(), wanted).await else { panic!("not NoCredentials") };
        let error = format!("{error:#}");
        assert!(error.contains("no credentials for 127.0.0.1:1") && error.contains("/no/such/token"), "{error}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "on the paused clock");
    }
}
