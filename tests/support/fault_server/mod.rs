//! The server of all tests that need faults. It speaks HTTP/1.1 over a real socket, plain or TLS, on threads
//! of its own, and remembers every request. What it answers is a script: a function from the request to a
//! [`Reply`]. [`FileServer`] and [`Relay`] are two such servers, for signed URLs and before a service.
//!
//! It imports nothing of the crate, so that unit tests can include it as well.
#![allow(dead_code, unused_imports, reason = "each binary uses a part of it")]

mod files;
mod relay;
mod reply;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub use files::{Chance, Fault, FileServer, Files};
pub use relay::{Relay, RelayFault};
pub use reply::{Ending, Reply, range_reply};

/// A received request.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// False if the connection ended inside the body.
    pub whole: bool,
    /// The number of its connection, from 0.
    pub connection: usize,
    pub at: Instant,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn path(&self) -> &str {
        self.target
            .split_once('?')
            .map_or(&self.target, |(path, _)| path)
    }

    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// First and last byte of the requested range.
    pub fn range(&self) -> Option<(usize, Option<usize>)> {
        let range = self.header("range")?.strip_prefix("bytes=")?;
        let (first, last) = range.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

type Script = dyn Fn(&Asked, usize) -> Reply + Send + Sync;
type Incoming = BufReader<Box<dyn Connection>>;

/// A connection, plain or TLS.
pub trait Connection: Read + Write + Send {
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

/// What the server has seen.
#[derive(Debug, Default)]
struct Record {
    asked: Mutex<Vec<Asked>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
    hang_ups: AtomicUsize,
}

/// Makes a key and a self-signed certificate for this machine in `dir`, as `key.pem` and `cert.pem`. Needs `openssl`.
pub fn make_certificate(dir: &Path) {
    let config = dir.join("openssl.cnf");
    let text = "[req]\ndistinguished_name = name\nx509_extensions = ext\n[name]\n[ext]\n\
        basicConstraints = critical,CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
    std::fs::write(&config, text).expect("written");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=assetfs test", "-config"])
        .arg(config)
        .arg("-keyout")
        .arg(dir.join("key.pem"))
        .arg("-out")
        .arg(dir.join("cert.pem"))
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
}

/// A bound port without a server: connections wait.
pub struct Bound {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
}

impl Bound {
    pub fn new() -> Bound {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Bound {
            listener,
            tls: None,
        }
    }

    /// A port for TLS with `cert.pem` and `key.pem` of the folder.
    pub fn with_tls(dir: &Path) -> Bound {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cert = CertificateDer::from_pem_file(dir.join("cert.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(dir.join("key.pem")).expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert], key)
            .expect("they belong together");
        Bound {
            tls: Some(Arc::new(config)),
            ..Bound::new()
        }
    }

    pub fn addr(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    pub fn url(&self) -> String {
        let scheme = self.tls.as_ref().map_or("http", |_| "https");
        format!("{scheme}://{}", self.addr())
    }

    /// Replies with the script, which gets each request and the number of requests before it.
    pub fn serve(
        self,
        script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> FaultServer {
        let script: Arc<Script> = Arc::new(script);
        self.accept(move |reader, connection, record| serve(reader, connection, record, &*script))
    }

    fn accept(
        self,
        welcome: impl Fn(Incoming, usize, &Record) -> io::Result<()> + Send + Sync + 'static,
    ) -> FaultServer {
        let server = FaultServer {
            addr: self.addr(),
            url: self.url(),
            record: Arc::default(),
        };
        let (record, welcome) = (Arc::clone(&server.record), Arc::new(welcome));
        std::thread::spawn(move || {
            for (connection, stream) in self.listener.incoming().flatten().enumerate() {
                let hang_ups = &record.hang_ups;
                let less_one = |left: usize| left.checked_sub(1);
                if hang_ups
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less_one)
                    .is_ok()
                {
                    continue;
                }
                let (record, welcome) = (Arc::clone(&record), Arc::clone(&welcome));
                let tls = self.tls.clone();
                // A client may disconnect at any time.
                std::thread::spawn(move || {
                    welcome(BufReader::new(secured(stream, tls)?), connection, &record)
                });
            }
        });
        server
    }
}

fn secured(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> io::Result<Box<dyn Connection>> {
    stream.set_nodelay(true)?;
    Ok(match tls {
        None => Box::new(stream),
        Some(config) => {
            let session = ServerConnection::new(config).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(session, stream))
        }
    })
}

/// A server that follows a script until the process ends.
#[derive(Debug, Clone)]
pub struct FaultServer {
    pub addr: SocketAddr,
    url: String,
    record: Arc<Record>,
}

impl FaultServer {
    pub fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> FaultServer {
        Bound::new().serve(script)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.record.asked.lock().expect("no panic").clone()
    }

    pub fn count(&self) -> usize {
        self.record.asked.lock().expect("no panic").len()
    }

    /// The maximum number of parallel requests so far.
    pub fn most_open(&self) -> usize {
        self.record.most_open.load(Ordering::SeqCst)
    }

    /// Closes the next connections at once.
    pub fn hang_up(&self, connections: usize) {
        self.record.hang_ups.store(connections, Ordering::SeqCst);
    }
}

fn serve(
    mut reader: Incoming,
    connection: usize,
    record: &Record,
    script: &Script,
) -> io::Result<()> {
    while let Some(mut asked) = read_head(&mut reader, connection)? {
        read_body(&mut asked, &mut reader)?;
        let before = record.keep(asked.clone());
        let open = record.open.fetch_add(1, Ordering::SeqCst) + 1;
        record.most_open.fetch_max(open, Ordering::SeqCst);
        let kept = script(&asked, before).send(reader.get_mut().as_mut());
        record.open.fetch_sub(1, Ordering::SeqCst);
        if !kept? || !asked.whole {
            break;
        }
    }
    Ok(())
}

impl Record {
    /// Records a request; returns the number of requests before it.
    fn keep(&self, request: Asked) -> usize {
        let mut asked = self.asked.lock().expect("no panic");
        asked.push(request);
        asked.len() - 1
    }
}

fn read_head(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next(), words.next());
    let mut asked = Asked {
        method: method.unwrap_or_default(),
        target: target.unwrap_or_default(),
        headers: BTreeMap::new(),
        body: Vec::new(),
        whole: true,
        connection,
        at: Instant::now(),
    };
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            return Ok(Some(asked));
        };
        asked
            .headers
            .insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }
}

fn read_body(asked: &mut Asked, reader: &mut impl Read) -> io::Result<()> {
    let len = asked.body_len();
    // `break-at` closes the first connection in the middle of a body.
    let break_at = asked.query().split('&').find_map(|pair| {
        let bytes = pair.strip_prefix("break-at=")?;
        bytes.parse().ok()
    });
    let wanted = match break_at {
        Some(at) if asked.connection == 0 => len.min(at),
        _ => len,
    };
    let read = reader.take(wanted).read_to_end(&mut asked.body);
    asked.whole = read.is_ok() && asked.body.len() as u64 == len;
    Ok(())
}

impl Asked {
    fn body_len(&self) -> u64 {
        let len = self.header("content-length");
        len.map_or(0, |len| len.parse().expect("a length"))
    }
}
