//! Stands before the service: loses, refuses and delays what it is told to, and remembers what came.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the proxy does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The service never hears of it; the connection breaks.
    LostBefore,
    /// The service does it; the connection breaks before the answer.
    LostAfter,
    /// The service never hears of it; this status is answered.
    Status(u16),
    /// It goes through late.
    Late(Duration),
}

#[derive(Debug)]
struct Rule {
    method: &'static str,
    path: &'static str,
    fault: Fault,
    left: usize,
}

/// One request that came.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub body: String,
}

#[derive(Debug, Default)]
struct Plan {
    rules: Vec<Rule>,
    calls: Vec<Call>,
    dead: bool,
}

/// Stands between the outbox and the service.
#[derive(Clone)]
pub struct Proxy {
    port: u16,
    plan: Arc<Mutex<Plan>>,
}

impl Proxy {
    pub async fn bind() -> (Proxy, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let plan = Arc::default();
        (Proxy { port, plan }, listener)
    }

    pub fn serve(&self, listener: TcpListener, upstream: std::net::SocketAddr) {
        let plan = Arc::clone(&self.plan);
        tokio::spawn(async move {
            loop {
                let Ok((connection, _)) = listener.accept().await else {
                    return;
                };
                let plan = Arc::clone(&plan);
                tokio::spawn(async move {
                    let _ = relay(connection, upstream, &plan).await;
                });
            }
        });
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next `times` requests of this method whose path contains `path` fare like this.
    pub fn fault(&self, method: &'static str, path: &'static str, fault: Fault, times: usize) {
        let rule = Rule {
            method,
            path,
            fault,
            left: times,
        };
        self.plan.lock().unwrap().rules.push(rule);
    }

    /// Nobody answers any more, or again.
    pub fn set_dead(&self, dead: bool) {
        self.plan.lock().unwrap().dead = dead;
    }

    pub fn calls(&self, method: &str, path: &str) -> Vec<Call> {
        let plan = self.plan.lock().unwrap();
        let all = plan.calls.iter();
        all.filter(|it| it.method == method && it.path.contains(path))
            .cloned()
            .collect()
    }
}

async fn relay(
    mut client: TcpStream,
    upstream: std::net::SocketAddr,
    plan: &Mutex<Plan>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if client.read(&mut byte).await? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut words = head.split_whitespace();
    let (method, path) = (
        words.next().unwrap().to_owned(),
        words.next().unwrap().to_owned(),
    );
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let len: usize = header("content-length").map_or(0, |it| it.parse().unwrap());
    let fault = {
        let mut plan = plan.lock().unwrap();
        let rule = plan
            .rules
            .iter_mut()
            .find(|rule| rule.left > 0 && rule.method == method && path.contains(rule.path));
        let fault = rule.map(|rule| {
            rule.left -= 1;
            rule.fault
        });
        if plan.dead {
            Some(Fault::LostBefore)
        } else {
            fault
        }
    };
    if fault == Some(Fault::LostBefore) {
        return Ok(());
    }
    let mut body = vec![0; len];
    client.read_exact(&mut body).await?;
    plan.lock().unwrap().calls.push(Call {
        method: method.clone(),
        path,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    if let Some(Fault::Status(status)) = fault {
        let answer = format!(
            "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: 19\r\nconnection: close\r\n\r\n{{\"message\":\"by us\"}}"
        );
        client.write_all(answer.as_bytes()).await?;
        return client.shutdown().await;
    }
    if let Some(Fault::Late(time)) = fault {
        tokio::time::sleep(time).await;
    }
    let head: String = head
        .lines()
        .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\r\n"))
        .collect();
    let mut server = TcpStream::connect(upstream).await?;
    server
        .write_all(format!("{head}connection: close\r\n\r\n").as_bytes())
        .await?;
    server.write_all(&body).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    if fault == Some(Fault::LostAfter) {
        return Ok(());
    }
    client.write_all(&answer).await?;
    client.shutdown().await
}
