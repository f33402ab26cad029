//! Who is let in: without a token, as somebody else, and from a browser.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wharf_devserver::{Anonymous, Authorization, Running, Server, ServerOptions, Tls};

/// The code and the body of the answer to one request with these headers.
async fn ask(server: &Running, request: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let host = server.address().to_string();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut head = format!("{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str(&format!("Host: {host}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

/// As the command line starts it, but for TLS.
async fn start(authorization: Authorization) -> Running {
    Server::start(ServerOptions { tls: Tls::Off, authorization, ..ServerOptions::default() }).await.unwrap()
}

#[tokio::test]
async fn nobody_in_particular_is_no_administrator() {
    let server = start(Authorization::AlwaysAllow).await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version"] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[], &Value::Null).await.0, 200, "{path}");
    }
    let masters = [("Impersonate-User", "a"), ("Impersonate-Group", "system:masters")];
    for request in ["GET /", "GET /api", "GET /apis", "GET /metrics", "GET /openapi/v2", "GET /api/v1/secrets", "GET /wharf/faults"] {
        for headers in [&[][..], &masters] {
            let (code, answer) = ask(&server, request, headers, &Value::Null).await;
            assert_eq!(code, 401, "{request} {answer}");
        }
    }
    let fault = json!({"kind": "fail"});
    assert_eq!(ask(&server, "POST /wharf/faults", &masters, &fault).await.0, 401);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn an_administrator_may_be_somebody_else() {
    let server = start(Authorization::AlwaysAllow).await;
    let token = format!("Bearer {}", server.token());
    let admin = ("Authorization", token.as_str());
    assert_eq!(ask(&server, "GET /api/v1/secrets", &[admin], &Value::Null).await.0, 200);
    assert_eq!(ask(&server, "GET /wharf/faults", &[admin], &Value::Null).await.0, 200);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let headers = [admin, ("Impersonate-User", "bob"), ("Content-Type", "application/json")];
    let (code, answer) = ask(&server, "POST /apis/authentication.k8s.io/v1/selfsubjectreviews", &headers, &review).await;
    assert_eq!((code, answer.contains("\"username\":\"bob\"")), (201, true), "{answer}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn where_roles_count_nobody_in_particular_is_a_user() {
    let server = start(Authorization::Rbac).await;
    let (code, answer) = ask(&server, "GET /api/v1/secrets", &[], &Value::Null).await;
    assert_eq!((code, answer.contains("system:anonymous")), (403, true), "{answer}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn pages_of_a_browser_stay_outside() {
    let plain = ServerOptions::plain(ServerOptions::default().api);
    assert_eq!((&plain.tls, plain.anonymous), (&Tls::Off, Anonymous::Admin));
    let server = Server::start(plain).await.unwrap();
    let own = format!("http://{}", server.address());
    for (headers, code) in [
        (&[("Host", "localhost")][..], 200),
        (&[("Origin", own.as_str())], 200),
        (&[("Host", "evil.example")], 403),
        (&[("Origin", "https://evil.example")], 403),
    ] {
        assert_eq!(ask(&server, "GET /api/v1/secrets", headers, &Value::Null).await.0, code, "{headers:?}");
    }
    // What a page can send without asking before.
    let simple = [("Origin", "https://evil.example"), ("Content-Type", "text/plain")];
    let (code, answer) = ask(&server, "POST /api/v1/namespaces", &simple, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!((code, answer.contains("\"kind\":\"Status\"")), (403, true), "{answer}");
    server.stop().await.unwrap();
}
