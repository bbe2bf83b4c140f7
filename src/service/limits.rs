//! The rate limit: a maximum number of requests a minute for each user, and for each address without a valid token,
//! counted in windows of a minute.
//!
//! Memory is bounded: expired windows are removed.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::listener::Peer;
use crate::wire::UserId;

const WINDOW: Duration = Duration::from_secs(60);

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Requester {
    /// All tokens of a user.
    User(UserId),
    /// All requests without a valid token from an address.
    Peer(Peer),
}

#[derive(Debug)]
pub struct RateLimiter {
    per_window: u32,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    windows: HashMap<Requester, Window>,
    /// When expired windows were last removed.
    cleaned: Instant,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    requests: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    pub retry_after: Duration,
}

impl RateLimiter {
    /// Allows `per_minute` requests a minute.
    pub fn new(per_minute: u32) -> RateLimiter {
        RateLimiter {
            per_window: per_minute,
            counts: Mutex::new(Counts {
                windows: HashMap::new(),
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
    /// If the limit of the window is reached.
    pub fn take(&self, requester: Requester) -> Result<u32, TooMany> {
        let now = Instant::now();
        let mut counts = self.counts.lock().expect("no holder of this lock panics");
        if now.duration_since(counts.cleaned) >= WINDOW {
            counts.cleaned = now;
            let goes_on =
                |_: &Requester, window: &mut Window| now.duration_since(window.began) < WINDOW;
            counts.windows.retain(goes_on);
        }
        let window = counts.windows.entry(requester).or_insert(Window {
            began: now,
            requests: 0,
        });
        let age = now.duration_since(window.began);
        if age >= WINDOW {
            *window = Window {
                began: now,
                requests: 0,
            };
        } else if window.requests >= self.per_window {
            return Err(TooMany {
                retry_after: WINDOW - age,
            });
        }
        window.requests += 1;
        Ok(self.per_window - window.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_window_refuses_until_it_is_over() {
        let limiter = RateLimiter::new(2);
        assert_eq!(limiter.take(Requester::User(UserId(1))), Ok(1));
        assert_eq!(limiter.take(Requester::User(UserId(1))), Ok(0));
        tokio::time::advance(Duration::from_secs(10)).await;
        let refused = limiter.take(Requester::User(UserId(1))).unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(50));
        assert_eq!(limiter.take(Requester::User(UserId(2))), Ok(1));
        tokio::time::advance(refused.retry_after).await;
        assert_eq!(limiter.take(Requester::User(UserId(1))), Ok(1));
    }
}
