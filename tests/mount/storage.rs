//! Storage that another origin serves: a plain HTTP server inside the test, with faults by chance or on
//! order. The local service signs its download URLs for it; what they name is found by its file name.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How an answer is spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the answer.
    NoHead,
    /// The body breaks off after so many bytes.
    CutAfter(usize),
    /// 503.
    Busy,
    /// 403, as for a URL that has expired.
    Refused,
    /// 200 and everything, whatever was asked for.
    Whole,
    /// Another range than was asked for.
    WrongRange,
    /// A part that is whole in itself and shorter than asked.
    Shorter,
    /// More bytes than announced.
    TooLong,
    /// A few bytes at a time.
    Drip,
    /// To another path.
    Redirect,
    /// The connection is reset in the middle of the body.
    Reset,
    /// No answer, and no end of the connection.
    Silence,
    /// Bytes in the middle of the body that are not what the protocol below it allows.
    Garbage,
}

/// What happens by chance.
const FAULTS: [Fault; 12] = [
    Fault::NoHead,
    Fault::Reset,
    Fault::CutAfter(1),
    Fault::CutAfter(100_000),
    Fault::Busy,
    Fault::Refused,
    Fault::Whole,
    Fault::WrongRange,
    Fault::Shorter,
    Fault::TooLong,
    Fault::Drip,
    Fault::Redirect,
];

/// What the server does.
#[derive(Debug, Default)]
pub struct Behaviour {
    /// Content and version by file name.
    pub files: HashMap<String, (Arc<Vec<u8>>, u32)>,
    /// Every so-manieth answer is spoiled; none where it is 0.
    pub fault_in: u64,
    /// How the next answers with a range are spoiled, besides.
    pub orders: VecDeque<Fault>,
    /// So many connections end before anything is said.
    pub hang_ups: u32,
    /// The requests, where they are noted.
    pub log: Option<Vec<Asked>>,
    /// Before each answer.
    pub latency: Duration,
    /// What one connection gives at most.
    pub bytes_per_second: Option<u64>,
    /// Requests that were answered, and bytes of bodies.
    pub requests: u64,
    pub sent: u64,
    chance: Chance,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path and query.
    pub target: String,
    pub range: Option<(usize, usize)>,
    pub if_range: Option<String>,
}

/// A connection, plain or not.
trait Connection: Read + Write {
    fn tcp(&mut self) -> &mut TcpStream;
}

impl Connection for TcpStream {
    fn tcp(&mut self) -> &mut TcpStream {
        self
    }
}

impl Connection for StreamOwned<ServerConnection, TcpStream> {
    fn tcp(&mut self) -> &mut TcpStream {
        &mut self.sock
    }
}

/// A seeded generator: the same numbers in every run.
#[derive(Debug, Clone)]
pub struct Chance(pub u64);

impl Default for Chance {
    fn default() -> Chance {
        Chance(11)
    }
}

impl Chance {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len.div_ceil(8))
            .flat_map(|_| self.below(u64::MAX).to_le_bytes())
            .take(len)
            .collect()
    }
}

#[derive(Clone)]
pub struct Storage {
    pub address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    tls: Option<Arc<ServerConfig>>,
}

impl Storage {
    pub fn start() -> Storage {
        Storage::start_with(None)
    }

    /// One that speaks TLS, with what `cert.pem` and `key.pem` in the folder say.
    pub fn start_tls(dir: &Path) -> Storage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cert = CertificateDer::from_pem_file(dir.join("cert.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(dir.join("key.pem")).expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert], key)
            .expect("they belong together");
        Storage::start_with(Some(Arc::new(config)))
    }

    fn start_with(tls: Option<Arc<ServerConfig>>) -> Storage {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let storage = Storage {
            address: listener.local_addr().expect("an address"),
            behaviour: Arc::default(),
            tls,
        };
        let accepting = storage.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = accepting.clone();
                // A client may hang up at any time.
                std::thread::spawn(move || drop(serving.welcome(stream)));
            }
        });
        storage
    }

    pub fn url(&self) -> String {
        let scheme = self.tls.as_ref().map_or("http", |_| "https");
        format!("{scheme}://{}", self.address)
    }

    pub fn with<R>(&self, change: impl FnOnce(&mut Behaviour) -> R) -> R {
        change(&mut self.behaviour.lock().expect("no panic while it is held"))
    }

    /// Serves this content from now on, as a new version.
    pub fn put(&self, name: &str, content: &[u8]) {
        self.with(|it| {
            let version = it.files.get(name).map_or(1, |(_, version)| version + 1);
            it.files
                .insert(name.to_owned(), (Arc::new(content.to_vec()), version));
        });
    }

    fn welcome(&self, stream: TcpStream) -> io::Result<()> {
        let hangs_up = self.with(|it| {
            let hangs_up = it.hang_ups > 0;
            it.hang_ups -= u32::from(hangs_up);
            hangs_up
        });
        if hangs_up {
            return Ok(());
        }
        stream.set_nodelay(true)?;
        match &self.tls {
            None => self.serve(stream),
            Some(config) => {
                let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                self.serve(StreamOwned::new(session, stream))
            }
        }
    }

    fn serve(&self, stream: impl Connection) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let (mut range, mut if_range) = (None, None);
            loop {
                line.clear();
                reader.read_line(&mut line)?;
                let Some((name, value)) = line.trim().split_once(": ") else {
                    break;
                };
                assert!(
                    !name.eq_ignore_ascii_case("authorization"),
                    "storage gets no token"
                );
                match name.to_ascii_lowercase().as_str() {
                    "range" => range = parse_range(value),
                    "if-range" => if_range = Some(value.to_owned()),
                    _ => {}
                }
            }
            if !self.answer(reader.get_mut(), &target, range, if_range)? {
                return Ok(());
            }
        }
    }

    /// Says whether the connection can take another request.
    fn answer(
        &self,
        stream: &mut impl Connection,
        target: &str,
        range: Option<(usize, usize)>,
        if_range: Option<String>,
    ) -> io::Result<bool> {
        let path = target.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_moved = target.starts_with("/moved/");
        let (file, fault, latency, speed) = self.with(|it| {
            it.requests += 1;
            let spoiled = it.fault_in > 0 && !is_moved && it.chance.below(it.fault_in) == 0;
            let fault = spoiled.then(|| FAULTS[it.chance.below(FAULTS.len() as u64) as usize]);
            let ordered = range.filter(|_| !is_moved);
            let fault = fault.or_else(|| ordered.and_then(|_| it.orders.pop_front()));
            if let Some(log) = &mut it.log {
                log.push(Asked {
                    target: target.to_owned(),
                    range,
                    if_range: if_range.clone(),
                });
            }
            let file = it.files.get(name).cloned();
            (file, fault, it.latency, it.bytes_per_second)
        });
        std::thread::sleep(latency);
        let Some((content, version)) = file else {
            plain(stream, "404 Not Found", &[])?;
            return Ok(true);
        };
        match fault {
            Some(Fault::NoHead) => return Ok(false),
            Some(Fault::Silence) => {
                std::thread::sleep(Duration::from_secs(120));
                return Ok(false);
            }
            Some(Fault::Busy) => return plain(stream, "503 Service Unavailable", &[]),
            Some(Fault::Refused) => return plain(stream, "403 Forbidden", &[]),
            Some(Fault::Redirect) => {
                let to = format!("Location: /moved{target}");
                return plain(stream, "307 Temporary Redirect", &[&to]);
            }
            _ => {}
        }
        let etag = format!("\"v{version}\"");
        let is_whole = fault == Some(Fault::Whole) || if_range.is_some_and(|it| it != etag);
        let asked = range.filter(|_| !is_whole);
        let (mut start, mut end) = asked.unwrap_or((0, content.len()));
        end = end.min(content.len());
        if start >= end && asked.is_some() {
            let total = format!("Content-Range: bytes */{}", content.len());
            return plain(stream, "416 Range Not Satisfiable", &[&total]);
        }
        match fault {
            Some(Fault::WrongRange) if asked.is_some() && end < content.len() => {
                (start, end) = (start + 1, end + 1);
            }
            Some(Fault::Shorter) if asked.is_some() && end - start > 1 => {
                end = start + (end - start) / 2;
            }
            _ => {}
        }
        let mut head = match asked {
            Some(_) => format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n",
                end - 1,
                content.len()
            ),
            None => "HTTP/1.1 200 OK\r\n".to_owned(),
        };
        head += &format!("Content-Length: {}\r\nETag: {etag}\r\n\r\n", end - start);
        stream.write_all(head.as_bytes())?;
        let body = &content[start..end];
        self.with(|it| it.sent += body.len() as u64);
        match fault {
            Some(Fault::CutAfter(len)) if len < body.len() => {
                stream.write_all(&body[..len])?;
                return Ok(false);
            }
            Some(Fault::Reset) => {
                stream.write_all(&body[..body.len() / 2])?;
                stream.flush()?;
                rustix::net::sockopt::set_socket_linger(stream.tcp(), Some(Duration::ZERO))?;
                return Ok(false);
            }
            Some(Fault::Garbage) => {
                stream.write_all(&body[..body.len() / 2])?;
                stream.flush()?;
                stream.tcp().write_all(&[0x55; 4096])?;
                return Ok(false);
            }
            Some(Fault::Drip) => {
                for part in body.chunks(4096) {
                    stream.write_all(part)?;
                    std::thread::yield_now();
                }
            }
            Some(Fault::TooLong) => {
                stream.write_all(body)?;
                stream.write_all(b"and more")?;
                return Ok(false);
            }
            _ => match speed {
                Some(speed) => slowly(stream, body, speed)?,
                None => stream.write_all(body)?,
            },
        }
        Ok(true)
    }
}

fn slowly(stream: &mut impl Write, body: &[u8], bytes_per_second: u64) -> io::Result<()> {
    const STEP: Duration = Duration::from_millis(20);
    let part = usize::try_from(bytes_per_second / 50)
        .expect("a speed")
        .max(1);
    for part in body.chunks(part) {
        stream.write_all(part)?;
        std::thread::sleep(STEP);
    }
    Ok(())
}

fn plain(stream: &mut impl Write, status: &str, headers: &[&str]) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n");
    for header in headers {
        head += &format!("{header}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    Ok(true)
}

fn parse_range(value: &str) -> Option<(usize, usize)> {
    let (start, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let end = last.parse().map_or(usize::MAX, |last: usize| last + 1);
    Some((start.parse().ok()?, end))
}
