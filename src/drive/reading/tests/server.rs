//! A storage server with faults, on a real socket: it speaks just enough HTTP for ranges, counts
//! what it is asked for, and misbehaves by script.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How one request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Good,
    /// 200 with the whole content.
    Whole,
    /// The connection is reset after so many bytes of the body.
    CutAfter(usize),
    /// The connection ends before the head.
    NoHead,
    /// 503.
    Unavailable,
    /// A part from one byte further on.
    WrongRange,
    /// More bytes than the range has.
    TooLong,
    /// A part that is complete in itself but shorter than what was asked for.
    Shorter,
    /// Bytes come one kibibyte at a time.
    Drip,
    /// To another path on the same server.
    Redirect,
    /// The URL is refused until a newer one comes.
    RefuseUrl,
    /// Nothing is ever answered.
    Silence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) answer: Answer,
}

#[derive(Debug)]
pub(super) struct Storage {
    pub(super) content: Vec<u8>,
    pub(super) etag: Option<String>,
    /// The URL that is accepted; others are refused.
    pub(super) url_number: u64,
    /// The answers to the next requests; good ones when it is empty.
    pub(super) script: VecDeque<Answer>,
    pub(super) asked: Vec<Asked>,
    /// Before each answer.
    pub(super) delay: Duration,
    pub(super) open: usize,
    pub(super) most_open: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) storage: Arc<Mutex<Storage>>,
}

impl Server {
    pub(super) async fn start(content: Vec<u8>, etag: Option<&str>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            storage: Arc::new(Mutex::new(Storage {
                content,
                etag: etag.map(str::to_owned),
                url_number: 0,
                script: VecDeque::new(),
                asked: Vec::new(),
                delay: Duration::ZERO,
                open: 0,
                most_open: 0,
            })),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = accepting.clone();
                tokio::spawn(async move {
                    // A client may hang up at any time.
                    let _ = serving.serve(stream).await;
                });
            }
        });
        server
    }

    pub(super) fn with<R>(&self, look: impl FnOnce(&mut Storage) -> R) -> R {
        look(&mut self.storage.lock().unwrap())
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.with(|storage| storage.asked.clone())
    }

    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let Some(request) = read_head(&mut stream).await? else {
                return Ok(());
            };
            let plan = self.plan(&request);
            self.with(|storage| {
                storage.open += 1;
                storage.most_open = storage.most_open.max(storage.open);
            });
            let delay = self.with(|storage| storage.delay);
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let kept = plan.send(stream.get_mut()).await;
            self.with(|storage| storage.open -= 1);
            if !kept? {
                return Ok(());
            }
        }
    }

    fn plan(&self, request: &Request) -> Plan {
        let mut storage = self.storage.lock().unwrap();
        let len = storage.content.len() as u64;
        let (start, end) = request.range.unwrap_or((0, len));
        let (start, end) = (start.min(len), end.min(len));
        if request.url_number != storage.url_number {
            return Plan::text("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
        }
        let answer = if request.is_redirected {
            Answer::Good
        } else {
            storage.script.pop_front().unwrap_or(Answer::Good)
        };
        storage.asked.push(Asked { start, end, answer });
        let changed = request
            .if_range
            .as_ref()
            .is_some_and(|known| Some(known) != storage.etag.as_ref());
        let whole = request.range.is_none() || changed || answer == Answer::Whole;
        let range = if whole { 0..len } else { start..end };
        let slice =
            |from: u64, to: u64| storage.content[from as usize..to.min(len) as usize].to_vec();
        let mut plan = Plan {
            status: if whole {
                "200 OK"
            } else {
                "206 Partial Content"
            },
            headers: Vec::new(),
            announced: range.end - range.start,
            body: slice(range.start, range.end),
            answer,
        };
        let (mut first, mut last) = (range.start, range.end);
        match answer {
            Answer::WrongRange => {
                first = (first + 1).min(len - 1);
                last = (last + 1).min(len).max(first + 1);
                plan.body = slice(first, last);
                plan.announced = last - first;
            }
            Answer::Shorter if range.end - range.start > 1 => {
                last = range.start + (range.end - range.start) / 2;
                plan.body = slice(first, last);
                plan.announced = last - first;
            }
            Answer::TooLong => plan.body.extend(b"more than was asked for"),
            Answer::Unavailable => return Plan::text("503 Service Unavailable", "busy"),
            Answer::RefuseUrl => {
                storage.url_number += 1;
                return Plan::text("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
            }
            Answer::Redirect => {
                let mut plan = Plan::text("307 Temporary Redirect", "");
                let number = storage.url_number;
                plan.headers
                    .push(format!("Location: /moved/{number}?signature=moved"));
                return plan;
            }
            _ => {}
        }
        if !whole {
            plan.headers
                .push(format!("Content-Range: bytes {first}-{}/{len}", last - 1));
        }
        if let Some(etag) = &storage.etag {
            plan.headers.push(format!("ETag: {etag}"));
        }
        plan
    }
}

struct Request {
    range: Option<(u64, u64)>,
    if_range: Option<String>,
    url_number: u64,
    is_redirected: bool,
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let number = path.split(['/', '?']).nth(2).unwrap_or_default();
    let mut request = Request {
        range: None,
        if_range: None,
        url_number: number.parse().unwrap_or(u64::MAX),
        is_redirected: path.starts_with("/moved"),
    };
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            return Ok(Some(request));
        };
        assert!(
            !name.eq_ignore_ascii_case("authorization"),
            "storage gets no token"
        );
        if name.eq_ignore_ascii_case("range") {
            let (start, last) = value
                .strip_prefix("bytes=")
                .unwrap()
                .split_once('-')
                .unwrap();
            let end = last.parse().map_or(u64::MAX, |last: u64| last + 1);
            request.range = Some((start.parse().unwrap(), end));
        } else if name.eq_ignore_ascii_case("if-range") {
            request.if_range = Some(value.to_owned());
        }
    }
}

struct Plan {
    status: &'static str,
    headers: Vec<String>,
    announced: u64,
    body: Vec<u8>,
    answer: Answer,
}

impl Plan {
    fn text(status: &'static str, body: &str) -> Plan {
        Plan {
            status,
            headers: Vec::new(),
            announced: body.len() as u64,
            body: body.as_bytes().to_vec(),
            answer: Answer::Good,
        }
    }

    /// Says whether the connection can take another request.
    async fn send(&self, stream: &mut TcpStream) -> std::io::Result<bool> {
        match self.answer {
            Answer::NoHead => return Ok(false),
            Answer::Silence => std::future::pending::<()>().await,
            _ => {}
        }
        let mut head = format!(
            "HTTP/1.1 {}\r\nContent-Length: {}\r\n",
            self.status, self.announced
        );
        for header in &self.headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        match self.answer {
            Answer::CutAfter(len) if len < self.body.len() => {
                stream.write_all(&self.body[..len]).await?;
                return Ok(false);
            }
            Answer::Drip => {
                for part in self.body.chunks(1024) {
                    stream.write_all(part).await?;
                    tokio::task::yield_now().await;
                }
            }
            _ => stream.write_all(&self.body).await?,
        }
        Ok(self.answer != Answer::TooLong)
    }
}
