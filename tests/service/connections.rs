//! Clients that keep connections without using them: other clients are still served.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{COPYING_WORKER, Fixture};
use crate::needs_own_storage;

/// Both ends of all connections are in this process.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: Some(maximum.map_or(4_096, |most| most.min(4_096))),
        maximum,
    };
    setrlimit(Resource::Nofile, wanted).unwrap();
}

async fn connect(addr: SocketAddr) -> TcpStream {
    TcpStream::connect(addr).await.unwrap()
}

/// A request on its own connection, which must get a reply in time.
async fn ask(service: &Fixture, within: Duration) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http
        .get(service.url("/api/v2/user/rapidpoints"))
        .header(
            "authorization",
            format!("Bearer {}", service.service.token()),
        )
        .header("connection", "close")
        .send();
    let answer = tokio::time::timeout(within, request).await;
    let answer = answer.expect("an answer in time").unwrap();
    assert_eq!(answer.status(), 200);
}

/// How long the service keeps a connection open.
async fn until_closed(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let closing = stream.read_to_end(&mut rest);
    // A reset also closes it.
    let _ = tokio::time::timeout(Duration::from_secs(30), closing)
        .await
        .expect("the service closes the connection");
    began.elapsed()
}

#[tokio::test]
async fn six_hundred_idle_connections_leave_room_for_a_client() {
    allow_many_files();
    let service = Fixture::start().await;
    // The older connection of this client stays, because it has sent a request.
    service.get("/api/v2/user/rapidpoints").await.expect(200);
    let mut idle = Vec::new();
    for _ in 0..600 {
        idle.push(connect(service.service.addr()).await);
    }
    for _ in 0..10 {
        ask(&service, Duration::from_secs(5)).await;
        service.get("/api/v2/user/rapidpoints").await.expect(200);
    }
    let id = service.upload("chair", &[("chair.glb", b"bytes")]).await;
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
    // The oldest was closed, the newest are still open.
    assert!(until_closed(&mut idle[0]).await < Duration::from_secs(1));
    let newest = idle.last_mut().unwrap();
    let more = tokio::time::timeout(Duration::from_millis(100), newest.read_u8()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test]
async fn a_connection_that_sends_no_request_in_time_is_closed() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.connections.head = Duration::from_secs(1);
        config.connections.idle = Duration::from_secs(2);
    })
    .await;
    let addr = service.service.addr();
    for begin in [
        &b""[..],
        b"GET /api/v2/user/rapidpoints HTTP/1.1\r\nHost:",
        b"PRI * HT",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = connect(addr).await;
        stream.write_all(begin).await.unwrap();
        let lived = until_closed(&mut stream).await;
        assert!(lived > Duration::from_millis(500), "{begin:?}: {lived:?}");
        assert!(lived < Duration::from_secs(4), "{begin:?}: {lived:?}");
    }
    // After a reply: the head of the next request has its own timeout, an idle connection another.
    for (next, least, most) in [(&b"GET /"[..], 0.5, 4.0), (b"", 1.5, 5.0)] {
        let mut stream = connect(addr).await;
        let request = b"GET /api/v2/user/rapidpoints HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 401");
        stream.write_all(next).await.unwrap();
        let lived = until_closed(&mut stream).await.as_secs_f64();
        assert!((least..most).contains(&lived), "{next:?}: {lived}");
    }
}

#[tokio::test]
async fn slow_request_heads_delay_no_other_client() {
    allow_many_files();
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.connections.head = Duration::from_secs(2);
    })
    .await;
    let addr = service.service.addr();
    let mut slow = tokio::task::JoinSet::new();
    for _ in 0..600 {
        let mut stream = connect(addr).await;
        slow.spawn(async move {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n").await;
            // One header line after the other, and never the last one.
            while stream.write_all(b"X: y\r\n").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
    }
    for _ in 0..5 {
        ask(&service, Duration::from_secs(5)).await;
    }
    let all_ended = async { while slow.join_next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(30), all_ended)
        .await
        .expect("slow heads end");
}

#[tokio::test]
async fn bodies_that_stall_make_room_for_a_client() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.connections.total = 40;
        config.connections.per_peer = 40;
        config.connections.stall = Duration::from_secs(15);
    })
    .await;
    let mut slow = Vec::new();
    for _ in 0..60 {
        let mut stream = connect(service.service.addr()).await;
        let head = b"POST /api/v2/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{";
        stream.write_all(head).await.unwrap();
        slow.push(stream);
    }
    // Requests in flight take all slots; those with silent clients are closed.
    for _ in 0..5 {
        ask(&service, Duration::from_secs(8)).await;
    }
}

#[tokio::test]
async fn an_upload_continues_while_bytes_arrive_and_times_out_without() {
    needs_own_storage!();
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.connections.stall = Duration::from_secs(1);
        config.connections.head = Duration::from_secs(1);
    })
    .await;
    let (_, started) = service.begin("chair", &["a.glb", "b.glb"]).await;
    let urls = &started["links"]["s3_upload_urls"];
    let mut streams = Vec::new();
    for name in ["a.glb", "b.glb"] {
        let url = reqwest::Url::parse(urls[name].as_str().unwrap()).unwrap();
        let path = &url[url::Position::BeforePath..];
        let mut stream = connect(service.service.addr()).await;
        let head = format!("PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    let mut stalling = streams.pop().unwrap();
    let mut moving = streams.pop().unwrap();
    stalling.write_all(&[7; 300]).await.unwrap();
    for _ in 0..20 {
        moving.write_all(&[7; 300]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let mut answer = [0; 12];
    moving.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200", "three times as long as a stall");
    until_closed(&mut stalling).await;
    let refused = service
        .get(&format!(
            "/api/v2/rawmodel/{}/api-upload/complete",
            started["id"]
        ))
        .await
        .expect(422);
    assert_eq!(refused.json()["errors"]["files"], json!(["b.glb"]));
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_loses_the_connection() {
    needs_own_storage!();
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.connections.stall = Duration::from_secs(1);
    })
    .await;
    let bytes = vec![7; 48 << 20];
    let id = service.upload("large", &[("large.glb", &bytes)]).await;
    let files = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await;
    let url = files.json()["large.glb"].as_str().unwrap().to_owned();
    let url = reqwest::Url::parse(&url).unwrap();
    let path = &url[url::Position::BeforePath..];
    let mut stream = connect(service.service.addr()).await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let mut read = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut read))
        .await
        .expect("the connection ended");
    assert!(read.len() < bytes.len(), "{}", read.len());
}

/// What a connection gets until it is closed, as text.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn clients_that_connected_before_the_end_are_answered() {
    const REQUEST: &[u8] = b"GET /api/v2/user/rapidpoints HTTP/1.1\r\nhost: a\r\n\r\n";
    let fixture = Fixture::start().await;
    let addr = fixture.service.addr();
    let mut idle = connect(addr).await;
    idle.write_all(REQUEST).await.unwrap();
    let mut start = [0; 12];
    idle.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 401");
    let mut waiting = Vec::new();
    for _ in 0..50 {
        waiting.push(connect(addr).await);
    }
    let began = Instant::now();
    let ending = tokio::spawn(fixture.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    for stream in &mut waiting {
        stream.write_all(REQUEST).await.unwrap();
    }
    for mut stream in waiting {
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
    // A connection that waits between two requests is closed.
    rest(&mut idle).await;
    ending.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
}
