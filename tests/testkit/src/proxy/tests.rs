//! The proxy in front of an echo.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

async fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    address
}

async fn answers(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    stream.write_all(b"x").await.is_ok() && matches!(stream.read(&mut byte).await, Ok(1))
}

/// What comes back until the end.
async fn all(stream: &mut TcpStream) -> usize {
    let (mut buffer, mut sum) = ([0; 1024], 0);
    while let Ok(size @ 1..) = stream.read(&mut buffer).await {
        sum += size;
    }
    sum
}

#[tokio::test]
async fn cut_and_restored() {
    let proxy = Proxy::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(answers(&mut stream).await);
    proxy.cut();
    assert!(!answers(&mut stream).await);
    let mut refused = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(!answers(&mut refused).await);
    proxy.restore();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(answers(&mut stream).await);
    // Over before anybody could look: the connection is cut all the same.
    proxy.cut();
    proxy.restore();
    assert!(!answers(&mut stream).await);
    let counts = proxy.counts().wait_for(|counts| counts.cut == 2).await.map(|counts| *counts).unwrap();
    assert_eq!((counts.connections, counts.refused), (2, 1));
}

#[tokio::test]
async fn cut_in_the_middle() {
    let proxy = Proxy::start(echo().await).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(answers(&mut old).await);
    proxy.cut_after(700);
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    for stream in [&mut old, &mut new] {
        stream.write_all(&[7; 1000]).await.unwrap();
        assert_eq!(all(stream).await, 700);
    }
    proxy.counts().wait_for(|counts| counts.cut_midway == 2).await.unwrap();
    proxy.restore();
    let mut healed = TcpStream::connect(proxy.address()).await.unwrap();
    healed.write_all(&[7; 1000]).await.unwrap();
    healed.shutdown().await.unwrap();
    assert_eq!(all(&mut healed).await, 1000);
}

#[tokio::test]
async fn what_hangs_is_kept() {
    let proxy = Proxy::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(answers(&mut stream).await);
    proxy.hang();
    stream.write_all(b"later").await.unwrap();
    proxy.counts().wait_for(|counts| counts.withheld == 1).await.unwrap();
    proxy.restore();
    let mut bytes = [0; 5];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"later");
    // A proxy that goes ends connections that hang.
    proxy.hang();
    stream.write_all(b"never").await.unwrap();
    drop(proxy);
    assert_eq!(all(&mut stream).await, 0);
}

#[tokio::test]
async fn slow_is_slow_and_whole() {
    let proxy = Proxy::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(answers(&mut stream).await);
    proxy.slow_down(10_000);
    stream.write_all(&[7; 2000]).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(all(&mut stream).await, 2000);
    assert_eq!(proxy.counts().borrow().slowed, 2000);
}
