//! Files behind signed URLs, found by the last part of the path. Replies get faults by request or at random.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Asked, Bound, Ending, FaultServer, Reply, range_reply};

/// A fault of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection closes before the reply.
    NoHead,
    /// The connection closes after this many bytes of the body.
    CutAfter(usize),
    /// 503.
    Busy,
    /// 403, as for an expired URL. If URLs are numbered, only the next number is accepted from now on.
    Refused,
    /// 200 and the whole file, without regard to the range.
    Whole,
    /// A range that starts one byte later.
    WrongRange,
    /// A valid, but shorter range.
    Shorter,
    /// More bytes than announced.
    TooLong,
    /// A few bytes at a time, slowly.
    Drip,
    /// Redirect to another path on the same server.
    Redirect,
    /// The connection is reset in the middle of the body.
    Reset,
    /// No reply, and the connection stays open.
    Silence,
    /// Bytes in the middle of the body that violate the transport protocol.
    Garbage,
}

/// The faults that occur at random.
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

#[derive(Debug, Default)]
pub struct Files {
    /// Content and ETag by file name.
    pub files: HashMap<String, (Arc<Vec<u8>>, Option<String>)>,
    /// One of this many replies gets a random fault; none if 0.
    pub fault_in: u64,
    /// The faults of the next replies to ranges; `None` is a correct reply.
    pub orders: VecDeque<Option<Fault>>,
    /// Delay of each reply.
    pub latency: Duration,
    /// Speed limit of each connection.
    pub bytes_per_second: Option<usize>,
    /// Only URLs with this number as a part of their path are accepted.
    pub url_number: Option<u64>,
    /// Number of requests so far.
    pub requests: u64,
    pub sent: u64,
    chance: Chance,
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

/// A server of files.
#[derive(Clone)]
pub struct FileServer {
    pub server: FaultServer,
    files: Arc<Mutex<Files>>,
}

impl FileServer {
    pub fn start() -> FileServer {
        FileServer::on(Bound::new())
    }

    /// With `cert.pem` and `key.pem` of the folder.
    pub fn start_tls(dir: &Path) -> FileServer {
        FileServer::on(Bound::with_tls(dir))
    }

    fn on(bound: Bound) -> FileServer {
        let files: Arc<Mutex<Files>> = Arc::default();
        let served = Arc::clone(&files);
        let server = bound.serve(move |asked, _| {
            assert_eq!(asked.header("authorization"), None, "storage gets no token");
            served.lock().expect("no panic").reply(asked)
        });
        FileServer { server, files }
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    pub fn with<R>(&self, change: impl FnOnce(&mut Files) -> R) -> R {
        change(&mut self.files.lock().expect("no panic while it is held"))
    }

    /// Sets the faults of the next replies to ranges.
    pub fn order(&self, faults: impl IntoIterator<Item = Fault>) {
        self.with(|it| it.orders.extend(faults.into_iter().map(Some)));
    }

    /// Serves this content from now on, as a new version with the ETag `"vN"`.
    pub fn put(&self, name: &str, content: &[u8]) {
        self.with(|it| {
            let known = it.files.get(name).and_then(|(_, etag)| etag.as_deref());
            let version: u32 = known.map_or(0, |etag| {
                let number = etag.trim_matches(|c: char| !c.is_ascii_digit());
                number.parse().expect("a version")
            });
            it.put_as(name, content, Some(&format!("\"v{}\"", version + 1)));
        });
    }
}

impl Files {
    pub fn put_as(&mut self, name: &str, content: &[u8], etag: Option<&str>) {
        let file = (Arc::new(content.to_vec()), etag.map(str::to_owned));
        self.files.insert(name.to_owned(), file);
    }

    fn reply(&mut self, asked: &Asked) -> Reply {
        self.requests += 1;
        let parts: Vec<&str> = asked.path().split('/').collect();
        let is_moved = parts[1] == "moved";
        let mut numbers = parts.iter().filter_map(|part| part.parse::<u64>().ok());
        if let Some(number) = self.url_number
            && numbers.next() != Some(number)
        {
            return refused().after(self.latency);
        }
        let by_chance = self.fault_in > 0 && !is_moved && self.chance.below(self.fault_in) == 0;
        let fault = match asked.range() {
            _ if by_chance => Some(FAULTS[self.chance.below(FAULTS.len() as u64) as usize]),
            Some(_) if !is_moved => self.orders.pop_front().flatten(),
            _ => None,
        };
        let file = self.files.get(*parts.last().expect("a name")).cloned();
        let reply = match file {
            Some((content, etag)) => self.content(asked, &content, etag.as_deref(), fault),
            None => Reply::status(404),
        };
        match self.bytes_per_second {
            Some(speed) => reply.paced(speed / 50, Duration::from_millis(20)),
            None => reply,
        }
        .after(self.latency)
    }

    fn content(
        &mut self,
        asked: &Asked,
        content: &[u8],
        etag: Option<&str>,
        fault: Option<Fault>,
    ) -> Reply {
        let len = content.len();
        let has_changed = asked
            .header("if-range")
            .is_some_and(|known| Some(known) != etag);
        let mut range = asked.range();
        if has_changed || fault == Some(Fault::Whole) {
            range = None;
        }
        if let Some((first, last)) = &mut range
            && *first < len
        {
            let end = last.map_or(len, |last| last + 1).min(len);
            match fault {
                Some(Fault::WrongRange) => {
                    *first = (*first + 1).min(len - 1);
                    *last = Some(end.min(len - 1).max(*first));
                }
                Some(Fault::Shorter) if end - *first > 1 => {
                    *last = Some(*first + (end - *first) / 2 - 1);
                }
                _ => {}
            }
        }
        let good = range_reply(range, content, etag);
        let half = good.body_len() / 2;
        let reply = match fault {
            Some(Fault::NoHead) => return Reply::hang_up(),
            Some(Fault::Silence) => return Reply::silence(),
            Some(Fault::Busy) => return Reply::status(503),
            Some(Fault::Refused) => {
                self.url_number = self.url_number.map(|number| number + 1);
                return refused();
            }
            Some(Fault::Redirect) => {
                let to = format!("/moved{}", asked.target);
                return Reply::new(307, &[("location", &to)], "");
            }
            Some(Fault::CutAfter(len)) if len < good.body_len() => good.cut_after(len),
            Some(Fault::Reset) => good.ending_after(half, Ending::Reset),
            Some(Fault::Garbage) => good.ending_after(half, Ending::Garbage),
            Some(Fault::Drip) => good.paced(4096, Duration::ZERO),
            Some(Fault::TooLong) => good.too_long(b"more than was asked for"),
            _ => good,
        };
        self.sent += reply.body_len() as u64;
        reply
    }
}

fn refused() -> Reply {
    Reply::new(403, &[], "<Error><Code>AccessDenied</Code></Error>")
}
