//! What one connection is doing, kept up to date by its stream and its bodies, and when that takes too
//! long.
//!
//! Time counts against the client only while the client is waited for: a request that is being worked
//! on has all the time it needs.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::limits::ConnectionLimits;

/// As many bytes have to move to count as progress.
const PROGRESS_BYTES: usize = 256;

/// What one connection is doing.
#[derive(Debug)]
pub struct Activity {
    state: Mutex<Doing>,
}

#[derive(Debug)]
struct Doing {
    /// Requests that were begun.
    requests: u64,
    /// Requests whose answer is not complete.
    in_flight: u32,
    /// Since when no request is in flight.
    idle_since: Instant,
    /// When the first byte came since then.
    head_since: Option<Instant>,
    /// Bodies and writes that wait for the client.
    waiting: u32,
    waiting_since: Instant,
    /// How long the client was waited for since the last progress, before `waiting_since`.
    waited: Duration,
    /// Bytes since the last progress.
    moved: usize,
}

/// How useful a connection is, the least first; the duration says for how long it has been so.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It has never sent a request.
    NeverAsked,
    /// It is between two requests.
    Idle,
    /// The client does not send or read what it began.
    Stalled,
}

impl Activity {
    /// A connection that was opened just now.
    pub fn begin() -> Activity {
        let now = Instant::now();
        Activity {
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

    fn doing(&self) -> std::sync::MutexGuard<'_, Doing> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// So many bytes came from the client.
    pub fn received(&self, bytes: usize) {
        let mut doing = self.doing();
        if doing.in_flight == 0 && doing.head_since.is_none() {
            doing.head_since = Some(Instant::now());
        }
        doing.moved(bytes);
    }

    /// So many bytes went to the client.
    pub fn sent(&self, bytes: usize) {
        self.doing().moved(bytes);
    }

    /// Something waits for the client from now on, beside what waits already.
    pub fn wait(&self) {
        let mut doing = self.doing();
        if doing.waiting == 0 {
            doing.waiting_since = Instant::now();
        }
        doing.waiting += 1;
    }

    /// One of what waited does not any more.
    pub fn go_on(&self) {
        let mut doing = self.doing();
        doing.waiting -= 1;
        if doing.waiting == 0 {
            let waited = doing.waiting_since.elapsed();
            doing.waited += waited;
        }
    }

    /// A request has begun.
    pub fn begin_request(&self) {
        let mut doing = self.doing();
        doing.requests += 1;
        doing.in_flight += 1;
        doing.head_since = None;
        doing.progress();
    }

    /// The answer to a request is complete, or will never be.
    pub fn end_request(&self) {
        let mut doing = self.doing();
        doing.in_flight -= 1;
        if doing.in_flight == 0 {
            doing.idle_since = Instant::now();
        }
    }

    /// When this connection has had its time, as far as can be said now.
    pub fn deadline(&self, limits: &ConnectionLimits) -> Option<Instant> {
        let doing = self.doing();
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

    /// Of what little use this connection is, and since when; none while it is of use.
    pub fn use_of(&self, limits: &ConnectionLimits) -> Option<(Use, Duration)> {
        let doing = self.doing();
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
        let activity = Activity::begin();
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
