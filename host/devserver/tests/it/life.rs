//! How servers start, stop, are killed and start again: what is kept, and that several do not meet.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use wharf_devserver::{ApiOptions, Running, Server, ServerOptions, StoreOptions, Tls};

use super::client::Http;
use super::history::{Event, version_of};
use super::operations;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PATIENCE: Duration = Duration::from_secs(20);
/// The data file of the server that is killed.
const DATA: &str = "WHARF_KILLED_SERVER_DATA";

fn options(data: Option<&Path>) -> ServerOptions {
    let store = StoreOptions { history: 100, data: data.map(Path::to_owned), first_version: None };
    ServerOptions::plain(ApiOptions { store, controllers: true })
}

async fn start(data: Option<&Path>) -> (Running, Http) {
    let server = Server::start(options(data)).await.unwrap();
    let http = Http::new(server.address());
    (server, http)
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"name": name}})
}

async fn create(http: &Http, name: &str) -> u64 {
    let made = http.post(CONFIG_MAPS, config_map(name)).await;
    assert_eq!(made.code, 201, "{}", made.value);
    version_of(&made.value).unwrap()
}

#[tokio::test]
async fn objects_and_versions_outlive_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let (server, http) = start(Some(&file)).await;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "Secrets lie in it");
    create(&http, "a").await;
    let first = create(&http, "gone").await;
    let last =
        version_of(&http.patch(&format!("{CONFIG_MAPS}/a"), "merge-patch+json", json!({"data": {"more": "1"}})).await.value).unwrap();
    assert_eq!(http.delete(&format!("{CONFIG_MAPS}/gone"), json!({})).await.code, 200);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(http.post(definitions, operations::definition()).await.code, 201);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}});
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let served = async {
        while http.post(widgets, widget.clone()).await.code != 201 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, served).await.unwrap();
    let everything = |http: Http| async move {
        let mut all = Vec::new();
        for path in [CONFIG_MAPS, widgets, definitions, "/api/v1/namespaces", "/api/v1/services", "/api/v1/serviceaccounts"] {
            all.push(http.get(path).await.value["items"].take());
        }
        all
    };
    let before = everything(http.clone()).await;
    assert_eq!(before[0].as_array().unwrap().iter().filter(|one| one["metadata"]["name"] == "a").count(), 1);
    server.stop().await.unwrap();

    let (server, http) = start(Some(&file)).await;
    assert_eq!(everything(http.clone()).await, before);
    assert!(create(&http, "b").await > last);
    // What happened in an earlier life cannot be told any more, and nobody waits for it in silence.
    let mut lines = http.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={first}")).await;
    let event = Event::read(&timeout(PATIENCE, lines.next()).await.unwrap().unwrap()).unwrap();
    assert_eq!((event.kind.as_str(), &event.object["code"]), ("ERROR", &json!(410)), "{event:?}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_dropped_stops_and_writes_everything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let (server, http) = start(Some(&file)).await;
    create(&http, "a").await;
    let address = server.address();
    let mut lines = http.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    drop(server);
    // Its watches end, its port is free, its file too.
    timeout(PATIENCE, async { while lines.next().await.is_some() {} }).await.expect("the watch ends");
    let closed = async {
        while TcpStream::connect(address).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, closed).await.expect("nobody listens");
    drop((lines, http));
    let again = async {
        loop {
            match Server::start(options(Some(&file))).await {
                Ok(server) => return server,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let server = timeout(PATIENCE, again).await.expect("the file is free");
    let reply = Http::new(server.address()).get(&format!("{CONFIG_MAPS}/a")).await;
    assert_eq!(reply.code, 200, "{}", reply.value);
    server.stop().await.unwrap();
}

/// No test by itself: the server that [`a_kill_loses_only_the_last_moment`] kills, in a process of its own.
#[tokio::test]
async fn server_that_is_killed() {
    let Some(data) = std::env::var_os(DATA) else { return };
    let (server, _) = start(Some(Path::new(&data))).await;
    writeln!(std::io::stdout(), "\naddress {}", server.address()).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_kill_loses_only_the_last_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let mut total = 0;
    for life in 0..2_u64 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["life::server_that_is_killed", "--exact", "--nocapture"])
            .env(DATA, &file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address: SocketAddr = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("address ")?.parse().ok()).unwrap();
        let http = Http::new(address);
        let mut acknowledged = Vec::new();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1200 + 37 * life) {
            let version = create(&http, &format!("life-{life}-{:05}", acknowledged.len())).await;
            acknowledged.push((Instant::now(), version));
        }
        let killed = Instant::now();
        process.kill().unwrap();
        process.wait().unwrap();

        let (server, http) = start(Some(&file)).await;
        let list = http.get(CONFIG_MAPS).await.value;
        let names: Vec<_> = list["items"].as_array().unwrap().iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        let kept: Vec<_> = names.iter().filter(|name| name.starts_with(&format!("life-{life}-"))).collect();
        // What is kept is the state at one version: everything up to some write, nothing after it.
        let want: Vec<_> = (0..kept.len()).map(|number| format!("life-{life}-{number:05}")).collect();
        assert_eq!(kept.iter().map(|name| (**name).to_owned()).collect::<Vec<_>>(), want);
        // A slow disk may need some time, but a second is not the last moment any more.
        let old = acknowledged.iter().filter(|(at, _)| killed.duration_since(*at) > Duration::from_secs(1)).count();
        assert!(kept.len() >= old, "of {} writes, {old} of them old, only {} are left", acknowledged.len(), kept.len());
        total += kept.len();
        let ours = names.iter().filter(|name| name.starts_with("life-")).count();
        assert_eq!(ours, total, "nothing of an earlier life is lost");
        // No version is given out twice, not even one that was lost.
        let version = create(&http, &format!("between-{life}")).await;
        assert!(version > acknowledged.last().unwrap().1);
        server.stop().await.unwrap();
    }
}

#[tokio::test]
async fn several_servers_in_a_process_do_not_meet() {
    let (one, http) = start(None).await;
    let (other, other_http) = start(None).await;
    assert_ne!(one.address(), other.address());
    create(&http, "a").await;
    create(&other_http, "b").await;
    let mut lines = other_http.watch(&format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dc")).await;
    assert_eq!(http.get(&format!("{CONFIG_MAPS}/b")).await.code, 404);
    assert_eq!(other_http.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
    create(&http, "c").await;
    one.stop().await.unwrap();
    let version = create(&other_http, "c").await;
    let event = Event::read(&timeout(PATIENCE, lines.next()).await.unwrap().unwrap()).unwrap();
    assert_eq!((event.kind.as_str(), event.version), ("ADDED", version));
    other.stop().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_used_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let (server, _) = start(Some(&file)).await;
    let kind = |options| async move { Server::start(options).await.map(|_| ()).unwrap_err().kind() };
    assert_eq!(kind(options(Some(&file))).await, ErrorKind::WouldBlock);
    assert_eq!(kind(ServerOptions { address: server.address(), ..options(None) }).await, ErrorKind::AddrInUse);
    assert_eq!(kind(ServerOptions { address: "0.0.0.0:0".parse().unwrap(), ..options(None) }).await, ErrorKind::InvalidInput);
    server.stop().await.unwrap();
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, "this is no database, however one looks at it".repeat(100)).unwrap();
    assert_eq!(kind(options(Some(&foreign))).await, ErrorKind::InvalidData);
    assert!(std::fs::read_to_string(&foreign).unwrap().starts_with("this is no database"), "it was left alone");
}

#[tokio::test]
async fn a_folder_keeps_the_authority() {
    let folder = tempfile::tempdir().unwrap();
    let secured = |tls| ServerOptions { tls, ..ServerOptions::new(options(None).api) };
    let mut authorities = Vec::new();
    for tls in [Tls::Folder(folder.path().to_owned()), Tls::Folder(folder.path().to_owned()), Tls::Memory] {
        let server = Server::start(secured(tls)).await.unwrap();
        authorities.push(server.ca_pem().unwrap().to_owned());
        let trusted = [trusts(&authorities[0], server.address()).await, trusts(server.ca_pem().unwrap(), server.address()).await];
        assert_eq!(trusted, [authorities.len() < 3, true]);
        server.stop().await.unwrap();
    }
    assert_eq!(authorities[0], authorities[1]);
    assert_ne!(authorities[0], authorities[2]);
}

/// Whether somebody who knows this authority connects.
async fn trusts(ca_pem: &str, address: SocketAddr) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::from(address.ip()), stream).await.is_ok()
}
