//! The request limit of the service as its replies show it: a number of requests in each minute, which all programs of
//! an account share.
//!
//! Each reply says how many requests the present minute still allows, whoever sent the others. A client sends at
//! `share × remaining / time left`. Its share is its part of the requests that were used up since the last look, a
//! little less, plus a constant: so the shares of busy clients become equal without knowing how many there are, and an
//! idle client keeps a small one to begin with. The fewer requests are left, the slower all send, so the limit is
//! approached and not passed.

use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::time::Instant;

/// The length of the service's windows.
const WINDOW: Duration = Duration::from_secs(60);
/// The share is computed again after so many replies, or after this time.
const REPLIES_JUDGED: u32 = 4;
const JUDGED_EVERY: Duration = Duration::from_secs(1);
/// The part of the measured share that is kept, and what every client gets in addition.
const SHARE_KEPT: f64 = 0.9;
const SHARE_ADDED: f64 = 0.05;
/// The part of the limit that is not planned: for replies on their way, and for the least rate of each client.
const RESERVE: f64 = 0.06;
/// The part of its share that a client may send at once.
const BURST: f64 = 0.25;
/// The least rate, in requests a second, whatever others use.
const MIN_RATE: f64 = 0.05;

/// What the headers of a reply say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateHeaders {
    pub(super) limit: u32,
    pub(super) remaining: u32,
}

impl RateHeaders {
    /// `X-RateLimit-Limit` and `X-RateLimit-Remaining`; `None` if one of them is missing or no number.
    pub(super) fn of(headers: &HeaderMap) -> Option<RateHeaders> {
        let number = |name| headers.get(name)?.to_str().ok()?.trim().parse().ok();
        let limit: u32 = number("x-ratelimit-limit")?;
        let remaining: u32 = number("x-ratelimit-remaining")?;
        (limit > 0).then_some(RateHeaders {
            limit,
            remaining: remaining.min(limit),
        })
    }
}

/// The present window, and this client's share of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedWindow {
    limit: f64,
    remaining: f64,
    /// When it began; a guess until a new window was seen to begin.
    began: Instant,
    share: f64,
    /// Requests of the reserve that this client has used in this window.
    reserve_used: f64,
    /// When the share was computed last, what was left then, and the replies since.
    judged: Instant,
    left_then: f64,
    replies: u32,
}

impl SharedWindow {
    pub(super) fn new(headers: RateHeaders, now: Instant) -> SharedWindow {
        SharedWindow {
            limit: headers.limit.into(),
            remaining: headers.remaining.into(),
            began: now,
            share: 1.0,
            reserve_used: 0.0,
            judged: now,
            left_then: headers.remaining.into(),
            replies: 0,
        }
    }

    /// Takes the numbers of a reply.
    pub(super) fn observe(&mut self, headers: RateHeaders, now: Instant) {
        let (limit, remaining) = (f64::from(headers.limit), f64::from(headers.remaining));
        self.limit = limit;
        // Replies may overtake each other: a small rise is no new window.
        let rose = remaining > self.remaining + (limit * 0.1).max(2.0);
        if rose || self.time_left(now).is_zero() {
            (self.began, self.remaining) = (now, remaining);
            self.reserve_used = 0.0;
            self.judge_from(now);
            return;
        }
        self.remaining = self.remaining.min(remaining);
        self.replies += 1;
        if self.replies < REPLIES_JUDGED && now.duration_since(self.judged) < JUDGED_EVERY {
            return;
        }
        let used = self.left_then - self.remaining;
        if used > 0.0 {
            let mine = (f64::from(self.replies) / used).min(1.0);
            self.share = (mine * SHARE_KEPT + SHARE_ADDED).min(1.0);
        }
        self.judge_from(now);
    }

    /// The service refused a request because there were too many. `pause` is the time until the window ends, if known.
    pub(super) fn refused(&mut self, pause: Option<Duration>, now: Instant) {
        self.remaining = 0.0;
        if let Some(pause) = pause
            && let Some(age) = WINDOW.checked_sub(pause)
            && let Some(began) = now.checked_sub(age)
        {
            self.began = began;
        }
        self.share = (self.share / 2.0).max(SHARE_ADDED);
        self.judge_from(now);
    }

    fn judge_from(&mut self, now: Instant) {
        (self.judged, self.left_then, self.replies) = (now, self.remaining, 0);
    }

    /// Requests a second that this client may send.
    pub(super) fn per_second(&self, now: Instant) -> f64 {
        let left = self.time_left(now).as_secs_f64();
        if left == 0.0 {
            return self.first_rate();
        }
        let even = self.limit * (1.0 - RESERVE) / WINDOW.as_secs_f64();
        let paced = self.share * self.planned(self.remaining) / left.max(1.0);
        // The window may end earlier than it seems.
        paced.max(MIN_RATE).min(even.max(MIN_RATE))
    }

    /// Requests that this client may send at once.
    pub(super) fn burst(&self, now: Instant) -> f64 {
        let remaining = match self.time_left(now).is_zero() {
            true => self.limit,
            false => self.remaining,
        };
        // Two, so that a background request leaves one.
        (self.share * self.planned(remaining) * BURST).max(2.0)
    }

    /// Takes a request from this client's share of the half of the reserve that interactive requests may use.
    pub(super) fn take_reserved(&mut self) -> bool {
        let half = self.limit * RESERVE / 2.0;
        let is_free = self.remaining > half && self.reserve_used + 1.0 <= self.share * half;
        if is_free {
            self.reserve_used += 1.0;
        }
        is_free
    }

    /// Seconds until `requests` may have been sent at `rate`. The next window allows its own rate.
    pub(super) fn wait(&self, requests: f64, rate: f64, now: Instant) -> f64 {
        let (wait, left) = (requests / rate, self.time_left(now).as_secs_f64());
        match left > 0.0 && left < wait {
            true => wait.min(left + (requests - left * rate) / self.first_rate()),
            false => wait,
        }
    }

    /// The rate at the beginning of a window.
    fn first_rate(&self) -> f64 {
        let even = self.planned(self.limit) / WINDOW.as_secs_f64();
        (even * self.share).max(MIN_RATE)
    }

    /// Requests without the reserve.
    fn planned(&self, requests: f64) -> f64 {
        (requests - self.limit * RESERVE).max(0.0)
    }

    fn time_left(&self, now: Instant) -> Duration {
        WINDOW.saturating_sub(now.duration_since(self.began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn the_headers_are_two_numbers_or_nothing() {
        let of = |limit: &'static str, remaining: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-ratelimit-limit", HeaderValue::from_static(limit));
            headers.insert("x-ratelimit-remaining", HeaderValue::from_static(remaining));
            RateHeaders::of(&headers).map(|it| (it.limit, it.remaining))
        };
        assert_eq!(of("2000", " 1999 "), Some((2000, 1999)));
        assert_eq!(of("100", "2000"), Some((100, 100)));
        for bad in [("0", "0"), ("many", "1"), ("10", "-1"), ("10", "")] {
            assert_eq!(of(bad.0, bad.1), None, "{bad:?}");
        }
        assert_eq!(RateHeaders::of(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_slows_down_while_others_use_the_account_and_takes_all_of_an_idle_one() {
        let headers = |remaining| RateHeaders {
            limit: 600,
            remaining,
        };
        let mut window = SharedWindow::new(headers(600), Instant::now());
        for replies in 1..=4 {
            tokio::time::advance(Duration::from_secs(1)).await;
            // Nine of ten requests are those of others.
            window.observe(headers(600 - replies * 10), Instant::now());
        }
        let slow = window.per_second(Instant::now());
        assert!((0.5..2.0).contains(&slow), "{slow}");
        for replies in 1..=4 {
            tokio::time::advance(Duration::from_secs(1)).await;
            window.observe(headers(560 - replies), Instant::now());
        }
        assert!(window.per_second(Instant::now()) > 8.0, "{window:?}");
    }
}
