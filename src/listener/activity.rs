//! The state of one connection, updated by its stream and its bodies, and the timeouts that follow from it.
//!
//! Time only counts while the server waits for the client. A request that is being handled has no timeout.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::limits::ConnectionLimits;
use crate::locks::Locked;

/// Number of bytes that count as progress.
const PROGRESS_BYTES: usize = 256;

/// The bytes of all connections that share their slots.
#[derive(Debug, Default)]
pub struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    /// Bytes from clients.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes to clients.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct Activity {
    state: Mutex<Doing>,
    traffic: Arc<Traffic>,
    /// Notified once for each request.
    asked: Notify,
}

#[derive(Debug)]
struct Doing {
    /// Number of started requests.
    requests: u64,
    /// Requests without a complete response.
    in_flight: u32,
    /// When the last request ended, or the connection was opened.
    idle_since: Instant,
    /// When the first byte was received since then.
    head_since: Option<Instant>,
    /// Bodies and writes that wait for the client.
    waiting: u32,
    waiting_since: Instant,
    /// Time spent waiting for the client since the last progress, before `waiting_since`.
    waited: Duration,
    /// Bytes since the last progress.
    moved: usize,
}

/// Why a connection may be closed for another, the best candidates first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It has never sent a request.
    NeverAsked,
    Idle,
    /// The client stopped sending or reading.
    Stalled,
}

impl Activity {
    /// A new connection.
    pub fn begin(traffic: Arc<Traffic>) -> Activity {
        let now = Instant::now();
        Activity {
            traffic,
            asked: Notify::new(),
            state: Mutex::new(Doing {
                requests: 0,
                in_flight: 0,
                idle_since: now,
                head_since: None,
                waiting: 0,
                waiting_since: now,
                waited: Duration::ZERO,
                moved: 0,
            }),
        }
    }

    /// Counts received bytes.
    pub fn received(&self, bytes: usize) {
        self.traffic
            .received
            .fetch_add(bytes as u64, Ordering::Relaxed);
        let mut doing = self.state.locked();
        if doing.in_flight == 0 && doing.head_since.is_none() {
            doing.head_since = Some(Instant::now());
        }
        doing.moved(bytes);
    }

    /// Counts sent bytes.
    pub fn sent(&self, bytes: usize) {
        self.traffic.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.state.locked().moved(bytes);
    }

    /// A body or a write starts waiting for the client.
    pub fn wait(&self) {
        let mut doing = self.state.locked();
        if doing.waiting == 0 {
            doing.waiting_since = Instant::now();
        }
        doing.waiting += 1;
    }

    /// A body or a write stops waiting for the client.
    pub fn go_on(&self) {
        let mut doing = self.state.locked();
        doing.waiting -= 1;
        if doing.waiting == 0 {
            let waited = doing.waiting_since.elapsed();
            doing.waited += waited;
        }
    }

    pub fn begin_request(&self) {
        let mut doing = self.state.locked();
        doing.requests += 1;
        doing.in_flight += 1;
        doing.head_since = None;
        doing.progress();
        self.asked.notify_one();
    }

    /// Returns as soon as the connection has had a request, or was open for the time `limit` without one.
    pub async fn asked(&self, limit: Duration) {
        let opened = match &*self.state.locked() {
            doing if doing.requests == 0 => doing.idle_since,
            _ => return,
        };
        // The end of the time is an answer, too.
        let _ = tokio::time::timeout_at(opened + limit, self.asked.notified()).await;
    }

    /// The response to a request is complete or was given up.
    pub fn end_request(&self) {
        let mut doing = self.state.locked();
        doing.in_flight -= 1;
        if doing.in_flight == 0 {
            doing.idle_since = Instant::now();
        }
    }

    /// When the connection will time out, in its current state.
    pub fn deadline(&self, limits: &ConnectionLimits) -> Option<Instant> {
        let doing = self.state.locked();
        if doing.waiting > 0 {
            let left = limits.stall.saturating_sub(doing.waited);
            return Some(doing.waiting_since + left);
        }
        if doing.in_flight > 0 {
            return None;
        }
        Some(match (doing.requests, doing.head_since) {
            (0, _) => doing.idle_since + limits.head,
            (_, Some(first_byte)) => first_byte + limits.head,
            (_, None) => doing.idle_since + limits.idle,
        })
    }

    /// Why this connection may be closed for another, and for how long; `None` if it is in use.
    pub fn use_of(&self, limits: &ConnectionLimits) -> Option<(Use, Duration)> {
        let doing = self.state.locked();
        if doing.waiting > 0 {
            let waited = doing.waited + doing.waiting_since.elapsed();
            return (waited >= limits.stalled()).then_some((Use::Stalled, waited));
        }
        if doing.in_flight > 0 {
            return None;
        }
        let kind = match doing.requests {
            0 => Use::NeverAsked,
            _ => Use::Idle,
        };
        Some((kind, doing.idle_since.elapsed()))
    }
}

impl Doing {
    fn moved(&mut self, bytes: usize) {
        self.moved += bytes;
        if self.moved >= PROGRESS_BYTES {
            self.progress();
        }
    }

    fn progress(&mut self) {
        self.moved = 0;
        self.waited = Duration::ZERO;
        self.waiting_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn left(activity: &Activity) -> Option<u64> {
        let limits = ConnectionLimits::new(8);
        let deadline = activity.deadline(&limits)?;
        Some(deadline.saturating_duration_since(Instant::now()).as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn only_waiting_for_the_client_counts() {
        let activity = Activity::begin(Arc::default());
        advance(Duration::from_secs(10)).await;
        assert_eq!(left(&activity), Some(20));
        activity.received(10);
        assert_eq!(left(&activity), Some(20), "a part of a head wins no time");
        activity.begin_request();
        assert_eq!(left(&activity), None);
        advance(Duration::from_secs(1_000)).await;
        activity.wait();
        assert_eq!(left(&activity), Some(75));
        advance(Duration::from_secs(70)).await;
        activity.received(100);
        activity.go_on();
        assert_eq!(left(&activity), None);
        activity.wait();
        assert_eq!(left(&activity), Some(5), "a trickle is no progress");
        activity.received(156);
        assert_eq!(left(&activity), Some(75));
        activity.go_on();
        activity.end_request();
        assert_eq!(left(&activity), Some(75));
        advance(Duration::from_secs(70)).await;
        activity.received(1);
        assert_eq!(left(&activity), Some(30));
    }
}
