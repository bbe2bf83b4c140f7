//! The request rate: so many requests a minute for each token, counted in windows of a minute.
//!
//! Memory stays bounded: a token's window is forgotten once it is over.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::wire::TokenId;

const WINDOW: Duration = Duration::from_secs(60);

/// Counts requests.
#[derive(Debug)]
pub struct RateLimiter {
    per_window: u32,
    windows: Mutex<HashMap<TokenId, Window>>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    requests: u32,
}

/// There were too many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// When the next one is welcome.
    pub retry_after: Duration,
}

impl RateLimiter {
    /// Allows `per_minute` requests a minute.
    pub fn new(per_minute: u32) -> RateLimiter {
        RateLimiter {
            per_window: per_minute,
            windows: Mutex::default(),
        }
    }

    /// Counts a request of `token`, or refuses it. Returns how many more the window holds.
    ///
    /// # Errors
    /// When the window is full.
    pub fn take(&self, token: TokenId) -> Result<u32, TooMany> {
        let now = Instant::now();
        let mut windows = self.windows.lock().expect("no holder of this lock panics");
        if windows.len() >= 1_024 {
            windows.retain(|_, window| now.duration_since(window.began) < WINDOW);
        }
        let window = windows.entry(token).or_insert(Window {
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
        assert_eq!(limiter.take(TokenId(1)), Ok(1));
        assert_eq!(limiter.take(TokenId(1)), Ok(0));
        tokio::time::advance(Duration::from_secs(10)).await;
        let refused = limiter.take(TokenId(1)).unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(50));
        assert_eq!(limiter.take(TokenId(2)), Ok(1));
        tokio::time::advance(refused.retry_after).await;
        assert_eq!(limiter.take(TokenId(1)), Ok(1));
    }
}
