//! A server that follows a script: faults and counted calls for tests of the client.
//!
//! It speaks plain HTTP/1.1 over a socket, records every request, and does not know the API.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub whole: bool,
    pub connection: usize,
    pub at: Instant,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// First and last byte of the requested range.
    pub fn range(&self) -> Option<(usize, Option<usize>)> {
        let (first, last) = self
            .header("range")?
            .strip_prefix("bytes=")?
            .split_once('-')?;
        Some((first.parse().unwrap(), last.parse().ok()))
    }
}

/// A scripted reply.
#[derive(Clone)]
pub struct Reply {
    head: Vec<u8>,
    body: Vec<u8>,
    /// Bytes of the body to send before `then`.
    send: usize,
    then: Then,
    pause: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Go,
    HangUp,
    Stall,
    Drip,
}

impl Reply {
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let framed = headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !framed && status != 204 {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        Self {
            head: head.into_bytes(),
            send: body.len(),
            body,
            then: Then::Go,
            pause: Duration::ZERO,
        }
    }

    pub fn status(status: u16) -> Self {
        Self::new(status, &[], "")
    }

    pub fn json(value: serde_json::Value) -> Self {
        Self::new(
            200,
            &[("content-type", "application/json")],
            value.to_string(),
        )
    }

    /// Closes the connection without a reply.
    pub fn hang_up() -> Self {
        Self {
            head: Vec::new(),
            body: Vec::new(),
            send: 0,
            then: Then::HangUp,
            pause: Duration::ZERO,
        }
    }

    /// Sends no reply and keeps the connection.
    pub fn silence() -> Self {
        Self {
            then: Then::Stall,
            ..Self::hang_up()
        }
    }

    /// Closes the connection after so many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.send = bytes.min(self.body.len());
        self.then = Then::HangUp;
        self
    }

    /// Stalls after so many bytes of the body.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.send = bytes.min(self.body.len());
        self.then = Then::Stall;
        self
    }

    /// Sends the body one byte every 20 ms.
    pub fn drip(mut self) -> Self {
        self.then = Then::Drip;
        self
    }

    /// Delays the reply.
    pub fn after(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

/// A correct reply to a range request, with an ETag.
pub fn serve_range(seen: &Seen, content: &[u8], etag: &str) -> Reply {
    let total = content.len();
    let Some((first, last)) = seen.range() else {
        return Reply::new(200, &[("etag", etag)], content);
    };
    if first >= total {
        return Reply::new(416, &[("content-range", &format!("bytes */{total}"))], "");
    }
    let last = last.unwrap_or(total - 1).min(total - 1);
    let range = format!("bytes {first}-{last}/{total}");
    Reply::new(
        206,
        &[("content-range", &range), ("etag", etag)],
        &content[first..=last],
    )
}

type Script = dyn Fn(&Seen, usize) -> Reply + Send + Sync;

/// The server; stops when dropped.
pub struct ScriptedServer {
    pub addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl ScriptedServer {
    /// The script gets each request and the number of requests before it.
    pub async fn start(script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let script: Arc<Script> = Arc::new(script);
        let connections = AtomicUsize::new(0);
        let task = tokio::spawn({
            let seen = seen.clone();
            async move {
                let mut serving = tokio::task::JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    let connection = connections.fetch_add(1, Ordering::Relaxed);
                    serving.spawn(serve(stream, connection, seen.clone(), script.clone()));
                }
            }
        });
        Self { addr, seen, task }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// A URL that looks signed; its secret is `s3cret`.
    pub fn signed(&self, path: &str) -> assetfs::wire::SignedUrl {
        assetfs::wire::SignedUrl::new(format!(
            "http://{}/{path}?X-Amz-Signature=s3cret",
            self.addr
        ))
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Script>,
) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer, connection).await {
        let whole = request.whole;
        let before = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let reply = script(&request, before);
        if !answer(&mut stream, reply).await || !whole {
            return;
        }
    }
}

/// Sends the reply; returns whether the connection stays open.
async fn answer(stream: &mut TcpStream, reply: Reply) -> bool {
    tokio::time::sleep(reply.pause).await;
    if stream.write_all(&reply.head).await.is_err() {
        return false;
    }
    if reply.then == Then::Drip {
        for byte in &reply.body {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if stream.write_all(&[*byte]).await.is_err() {
                return false;
            }
        }
        return true;
    }
    if stream.write_all(&reply.body[..reply.send]).await.is_err() {
        return false;
    }
    match reply.then {
        Then::Go => true,
        Then::Stall => {
            let _ = stream.flush().await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            false
        }
        Then::HangUp | Then::Drip => {
            let _ = stream.shutdown().await;
            false
        }
    }
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> Option<Seen> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        let mut chunk = [0; 16 * 1024];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => buffer.extend_from_slice(&chunk[..n]),
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    buffer.drain(..head_end);
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let len = headers
        .get("content-length")
        .and_then(|len| len.parse().ok())
        .unwrap_or(0);
    // `break-at` makes the first connection break in the middle of a body.
    let break_at = target
        .split_once("break-at=")
        .and_then(|(_, n)| n.split('&').next()?.parse::<usize>().ok());
    let is_first_connection = connection == 0;
    let wanted = match break_at {
        Some(at) if is_first_connection => len.min(at),
        _ => len,
    };
    while buffer.len() < wanted {
        let mut chunk = vec![0; 64 * 1024];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(n) => buffer.extend_from_slice(&chunk[..n]),
        }
    }
    let body: Vec<u8> = buffer.drain(..wanted.min(buffer.len())).collect();
    let whole = body.len() == len;
    Some(Seen {
        method,
        target,
        headers,
        body,
        whole,
        connection,
        at: Instant::now(),
    })
}
