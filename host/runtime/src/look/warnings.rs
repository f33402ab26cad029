//! What the API server warns of: `Warning` headers of its answers. Owns how they are read, and that
//! each text is told once; who is told prints.

use std::collections::HashSet;
use std::sync::Arc;

use http::Request;
use http::header::WARNING;
use kube::client::Body;
use parking_lot::Mutex;
use wharf_core::printable;

/// Who is told of a warning.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Texts beyond this number are not told.
const MAX_TEXTS: usize = 100;
/// Of one header, so much is read, in bytes.
const MAX_HEADER: usize = 4 << 10;

/// A client that tells of warnings.
pub(super) fn watched(client: kube::Client, namespace: &str, tell: Tell) -> kube::Client {
    let told = Arc::new(Mutex::new(HashSet::new()));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, told, tell) = (client.clone(), Arc::clone(&told), Arc::clone(&tell));
        async move {
            let response = client.send(request).await?;
            for text in response.headers().get_all(WARNING).iter().flat_map(|header| texts(header.as_bytes())) {
                let new = {
                    let mut told = told.lock();
                    told.len() < MAX_TEXTS && told.insert(text.clone())
                };
                if new {
                    tell(&text);
                }
            }
            Ok::<_, kube::Error>(response)
        }
    });
    kube::Client::new(service, namespace)
}

/// The texts of a header: `299 AGENT "TEXT"`, several with commas; other codes are none of the API's.
fn texts(header: &[u8]) -> Vec<String> {
    let header = String::from_utf8_lossy(header.get(..MAX_HEADER).unwrap_or(header));
    let mut found = Vec::new();
    let mut rest = &*header;
    while let Some((head, quoted)) = rest.split_once('"') {
        let mut text = String::new();
        let mut letters = quoted.char_indices();
        let mut end = None;
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = Some(at);
                    break;
                }
                '\\' => text.extend(letters.next().map(|(_, letter)| letter)),
                letter => text.push(letter),
            }
        }
        let Some(end) = end else { break };
        // What stands before it, less the date behind the last one, which is quoted and has no code.
        if head.trim_start_matches([',', ' ']).starts_with("299 ") && !text.is_empty() {
            found.push(printable(&text));
        }
        rest = quoted.get(end + 1..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    #[test]
    fn headers_are_read() {
        for (header, want) in [
            (r#"299 - "v1 Endpoints is deprecated""#, &["v1 Endpoints is deprecated"][..]),
            (r#"299 - "one, two", 299 host "a \"b\" \\c" "Mon, 01 Jan 2026 00:00:00 GMT", 299 - "d""#, &["one, two", r#"a "b" \c"#, "d"]),
            (r#"199 - "other", 299 - "", 299 - "cut"#, &[]),
            ("299 - \"a\u{1b}[31m\"", &["a\\u{1b}[31m"]),
            ("", &[]),
        ] {
            assert_eq!(texts(header.as_bytes()), want, "{header}");
        }
    }

    #[tokio::test]
    async fn each_is_told_once() {
        let service = tower::service_fn(|_: Request<Body>| {
            let answer = Response::builder().header(WARNING, "299 - \"a\"").header(WARNING, "299 - \"b\"").body(Body::empty()).unwrap();
            std::future::ready(Ok::<_, std::io::Error>(answer))
        });
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let client = watched(kube::Client::new(service, "x"), "x", Arc::new(move |text: &str| heard.lock().push(text.to_owned())));
        for _ in 0..2 {
            client.send(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        }
        assert_eq!(*told.lock(), ["a", "b"]);
    }
}
