//! A proxy of a service that loses, refuses, delays and slows down requests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Asked, Bound, FaultServer, Incoming, Record, Reply, read_body, read_head};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayFault {
    /// The request is not passed on; the connection closes.
    LostBefore,
    /// The request is passed on; the connection closes before the reply.
    LostAfter,
    /// The request is not passed on; the reply has this status.
    Status(u16),
    /// The request is not passed on; the reply is 429 and asks for a pause of so many seconds.
    Wait(&'static str),
    /// The request is not passed on; the reply is that of a service whose disk is full, and asks for a pause of so many
    /// seconds.
    Full(&'static str),
    /// The request is not passed on; the reply is the error of a storage, with this status and code.
    Storage(u16, &'static str),
    /// The request is not passed on; the reply is this JSON with status 200.
    Json(&'static str),
    /// The request is delayed.
    Late(Duration),
}

#[derive(Debug)]
struct Rule {
    method: &'static str,
    path: &'static str,
    fault: RelayFault,
    left: usize,
}

#[derive(Debug, Default)]
struct Plan {
    upstream: Option<SocketAddr>,
    rules: Vec<Rule>,
    is_dead: bool,
    dropped_headers: &'static [&'static str],
    bytes_per_second: Option<u64>,
    passed_bytes: u64,
}

/// A relay to a service. Connections end after one request.
#[derive(Clone)]
pub struct Relay {
    server: FaultServer,
    plan: Arc<Mutex<Plan>>,
}

impl Relay {
    /// Binds a port. Requests are lost until [`Relay::to`] sets the service.
    pub fn start() -> Relay {
        let plan: Arc<Mutex<Plan>> = Arc::default();
        let followed = Arc::clone(&plan);
        let server = Bound::new()
            .accept(move |reader, connection, record| pass(reader, connection, record, &followed));
        Relay { server, plan }
    }

    /// Sets the service.
    pub fn to(&self, upstream: SocketAddr) {
        self.with(|plan| plan.upstream = Some(upstream));
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Sets the fault of the next `times` requests of this method whose target contains `path`.
    pub fn fault(&self, method: &'static str, path: &'static str, fault: RelayFault, times: usize) {
        let left = times;
        self.with(|plan| {
            plan.rules.push(Rule {
                method,
                path,
                fault,
                left,
            });
        });
    }

    /// Ends all faults.
    pub fn mend(&self) {
        self.with(|plan| plan.rules.clear());
    }

    /// Stops or resumes replying.
    pub fn set_dead(&self, is_dead: bool) {
        self.with(|plan| plan.is_dead = is_dead);
    }

    /// Removes these headers from all requests and replies, as a service that does not know them ignores them.
    pub fn without(&self, headers: &'static [&'static str]) {
        self.with(|plan| plan.dropped_headers = headers);
    }

    /// Sets the speed of request bodies on each connection.
    pub fn set_speed(&self, bytes_per_second: Option<u64>) {
        self.with(|plan| plan.bytes_per_second = bytes_per_second);
    }

    /// Bytes of request bodies that were passed on.
    pub fn passed_bytes(&self) -> u64 {
        self.with(|plan| plan.passed_bytes)
    }

    /// The received requests of this method whose target contains `path`.
    pub fn calls(&self, method: &str, path: &str) -> Vec<Asked> {
        let mut calls = self.server.asked();
        calls.retain(|it| it.method == method && it.target.contains(path));
        calls
    }

    fn with<R>(&self, change: impl FnOnce(&mut Plan) -> R) -> R {
        change(&mut self.plan.lock().expect("no panic while it is held"))
    }
}

impl Plan {
    fn fault_of(&mut self, asked: &Asked) -> Option<RelayFault> {
        let rule = self.rules.iter_mut().find(|rule| {
            rule.left > 0 && rule.method == asked.method && asked.target.contains(rule.path)
        });
        let fault = rule.map(|rule| {
            rule.left -= 1;
            rule.fault
        });
        if self.is_dead {
            return Some(RelayFault::LostBefore);
        }
        fault
    }
}

fn pass(
    mut reader: Incoming,
    connection: usize,
    record: &Record,
    plan: &Mutex<Plan>,
) -> io::Result<()> {
    let Some(mut asked) = read_head(&mut reader, connection)? else {
        return Ok(());
    };
    let (fault, upstream, dropped) = {
        let mut plan = plan.lock().expect("no panic");
        (plan.fault_of(&asked), plan.upstream, plan.dropped_headers)
    };
    let (Some(upstream), false) = (upstream, fault == Some(RelayFault::LostBefore)) else {
        return Ok(());
    };
    if fault.is_some() {
        read_body(&mut asked, &mut reader)?;
        record.keep(asked.clone());
        if !asked.whole {
            return Ok(());
        }
    }
    match fault {
        Some(RelayFault::Status(status)) => {
            let headers = [
                ("content-type", "application/json"),
                ("connection", "close"),
            ];
            let reply = Reply::new(status, &headers, r#"{"message":"by us"}"#);
            reply.send(reader.get_mut().as_mut())?;
            return Ok(());
        }
        Some(RelayFault::Wait(seconds)) => {
            let headers = [("retry-after", seconds), ("connection", "close")];
            Reply::new(429, &headers, "").send(reader.get_mut().as_mut())?;
            return Ok(());
        }
        Some(RelayFault::Full(seconds)) => {
            let headers = [
                ("content-type", "application/json"),
                ("retry-after", seconds),
                ("connection", "close"),
            ];
            let text = r#"{"message":"The database of the service is full."}"#;
            Reply::new(507, &headers, text).send(reader.get_mut().as_mut())?;
            return Ok(());
        }
        Some(RelayFault::Storage(status, code)) => {
            let headers = [("content-type", "application/xml"), ("connection", "close")];
            let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
            Reply::new(status, &headers, text).send(reader.get_mut().as_mut())?;
            return Ok(());
        }
        Some(RelayFault::Json(text)) => {
            let headers = [
                ("content-type", "application/json"),
                ("connection", "close"),
            ];
            Reply::new(200, &headers, text).send(reader.get_mut().as_mut())?;
            return Ok(());
        }
        Some(RelayFault::Late(time)) => std::thread::sleep(time),
        _ => {}
    }
    let mut service = TcpStream::connect(upstream)?;
    service.write_all(head_of(&asked, dropped).as_bytes())?;
    if fault.is_some() {
        service.write_all(&asked.body)?;
    } else {
        let passed = pass_body(&mut asked, &mut reader, &mut service, plan);
        let is_whole = asked.whole;
        record.keep(asked);
        passed?;
        if !is_whole {
            return Ok(());
        }
    }
    let mut answer = Vec::new();
    service.read_to_end(&mut answer)?;
    if fault == Some(RelayFault::LostAfter) {
        return Ok(());
    }
    for name in dropped {
        answer = without_header(&answer, name);
    }
    reader.get_mut().write_all(&answer)?;
    reader.get_mut().flush()
}

/// A reply without the lines of a header.
fn without_header(answer: &[u8], name: &str) -> Vec<u8> {
    let end = answer.windows(4).position(|at| at == b"\r\n\r\n");
    let (head, rest) = answer.split_at(end.unwrap_or(answer.len()));
    let lines = String::from_utf8_lossy(head);
    let is_other = |line: &&str| !line.to_ascii_lowercase().starts_with(&format!("{name}:"));
    let kept: Vec<&str> = lines.split("\r\n").filter(is_other).collect();
    [kept.join("\r\n").as_bytes(), rest].concat()
}

/// Passes the body on while it is received.
fn pass_body(
    asked: &mut Asked,
    reader: &mut impl Read,
    service: &mut TcpStream,
    plan: &Mutex<Plan>,
) -> io::Result<()> {
    let len = asked.body_len();
    let mut buffer = [0; 16 * 1024];
    let mut body = reader.take(len);
    loop {
        let read = body.read(&mut buffer)?;
        asked.whole = asked.body.len() as u64 + read as u64 == len;
        if read == 0 {
            return Ok(());
        }
        service.write_all(&buffer[..read])?;
        asked.body.extend_from_slice(&buffer[..read]);
        let speed = {
            let mut plan = plan.lock().expect("no panic");
            plan.passed_bytes += read as u64;
            plan.bytes_per_second
        };
        if let Some(speed) = speed {
            std::thread::sleep(Duration::from_secs_f64(read as f64 / speed as f64));
        }
    }
}

fn head_of(asked: &Asked, without: &[&str]) -> String {
    let mut head = format!("{} {} HTTP/1.1\r\n", asked.method, asked.target);
    for (name, value) in &asked.headers {
        if name != "connection" && !without.contains(&name.as_str()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head + "connection: close\r\n\r\n"
}
