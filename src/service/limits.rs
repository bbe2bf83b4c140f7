//! The rate limit: a maximum number of requests a minute for each user, and for each address without a valid token,
//! counted in windows of a minute.
//!
//! Services of a shared database count together: each takes small allotments of requests from the records and hands
//! them out. What a service holds at the end of a window is not used, so a client may be refused a few requests early,
//! never late. A service with records of its own has the whole window as its allotment.
//!
//! Memory is bounded: windows that have ended are removed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::records::{Allotment, RateRule, Records, RecordsError};
use crate::listener::Peer;
use crate::locks::Locked;
use crate::wire::UserId;

const WINDOW: Duration = Duration::from_secs(60);

/// The part of a window that a service of a shared database takes at once.
const ALLOTMENTS: u32 = 100;

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Requester {
    /// All tokens of a user.
    User(UserId),
    /// All requests without a valid token from an address.
    Peer(Peer),
}

/// The name in the records.
impl fmt::Display for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requester::User(user) => write!(f, "user {user}"),
            Requester::Peer(peer) => write!(f, "address {peer}"),
        }
    }
}

#[derive(Debug)]
pub struct RateLimiter {
    per_window: u32,
    windows: Mutex<Windows>,
}

#[derive(Debug)]
struct Windows {
    /// A window is locked while its next allotment is on its way.
    open: HashMap<Requester, Arc<tokio::sync::Mutex<Window>>>,
    /// When ended windows were last removed.
    cleaned: Instant,
}

/// What this service knows of a requester's current window.
#[derive(Debug)]
struct Window {
    ends: Instant,
    /// Requests that this service may hand out.
    own: u32,
    /// Requests that no service had taken when this one last asked.
    others: u32,
}

/// Why a request is refused.
#[derive(Debug)]
pub enum RateRefusal {
    /// The window is full.
    Full { retry_after: Duration },
    /// The records failed.
    Records(RecordsError),
}

impl RateLimiter {
    /// Allows `per_minute` requests a minute.
    pub fn new(per_minute: u32) -> RateLimiter {
        RateLimiter {
            per_window: per_minute,
            windows: Mutex::new(Windows {
                open: HashMap::new(),
                cleaned: Instant::now(),
            }),
        }
    }

    /// Requests that each requester may send in a minute.
    pub fn per_minute(&self) -> u32 {
        self.per_window
    }

    /// Counts a request of `requester`, or refuses it. Returns how many more requests the window allows.
    ///
    /// # Errors
    /// If the limit of the window is reached, or shared records fail.
    pub async fn take(&self, records: &Records, requester: Requester) -> Result<u32, RateRefusal> {
        let window = self.window(requester);
        let mut window = window.lock().await;
        let is_over = window.ends <= Instant::now();
        if is_over || (window.own == 0 && window.others > 0) {
            let drawn = self.draw(records, requester).await;
            *window = Window::of(drawn.map_err(RateRefusal::Records)?);
        }
        match window.own.checked_sub(1) {
            Some(own) => {
                window.own = own;
                Ok(own + window.others)
            }
            None => Err(RateRefusal::Full {
                retry_after: window.ends.saturating_duration_since(Instant::now()),
            }),
        }
    }

    async fn draw(
        &self,
        records: &Records,
        requester: Requester,
    ) -> Result<Allotment, RecordsError> {
        if !records.is_shared() {
            return Ok(Allotment {
                requests: self.per_window,
                left: 0,
                ends_in: WINDOW,
            });
        }
        let rule = RateRule {
            requester: &requester.to_string(),
            limit: self.per_window,
            window: WINDOW,
        };
        let wanted = (self.per_window / ALLOTMENTS).max(1);
        records.rates().take(rule, wanted).await
    }

    /// The window of `requester`. A new one has ended already.
    fn window(&self, requester: Requester) -> Arc<tokio::sync::Mutex<Window>> {
        let now = Instant::now();
        let mut windows = self.windows.locked();
        if now.duration_since(windows.cleaned) >= WINDOW {
            windows.cleaned = now;
            windows.open.retain(|_, window| match window.try_lock() {
                Ok(window) => window.ends > now,
                Err(_) => true,
            });
        }
        let ended = || Arc::new(tokio::sync::Mutex::new(Window::ended(now)));
        Arc::clone(windows.open.entry(requester).or_insert_with(ended))
    }
}

impl Window {
    fn of(drawn: Allotment) -> Window {
        Window {
            ends: Instant::now() + drawn.ends_in,
            own: drawn.requests,
            others: drawn.left,
        }
    }

    fn ended(now: Instant) -> Window {
        Window {
            ends: now,
            own: 0,
            others: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::clock::Clock;
    use crate::service::records::RecordsAt;

    #[tokio::test]
    async fn a_full_window_refuses_until_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("records.sqlite");
        let opened = Records::open(&RecordsAt::DataFolder, &file, Clock::default());
        let records = opened.await.unwrap();
        let limiter = RateLimiter::new(2);
        let take = async |user| limiter.take(&records, Requester::User(UserId(user))).await;
        tokio::time::pause();
        assert_eq!(take(1).await.unwrap(), 1);
        assert_eq!(take(1).await.unwrap(), 0);
        tokio::time::advance(Duration::from_secs(10)).await;
        let Err(RateRefusal::Full { retry_after }) = take(1).await else {
            panic!("the window is full");
        };
        assert_eq!(retry_after, Duration::from_secs(50));
        assert_eq!(take(2).await.unwrap(), 1);
        tokio::time::advance(retry_after).await;
        assert_eq!(take(1).await.unwrap(), 1);
    }
}
