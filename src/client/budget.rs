//! The rate limiter: how many requests may be sent, and in which order.
//!
//! A token bucket. An interactive request takes a token at once, even if the level gets negative, and waits
//! until the level would be zero again; so interactive requests form a queue. A background request only
//! takes tokens above a reserve, so it uses what interactive requests leave. If the bucket is empty, an interactive request may
//! use a part of what the account's limit keeps in reserve. After a 429 nothing is sent
//! until the time that the service names, and a little longer, so that not all clients of an account go on at once.
//!
//! The rate never exceeds the configured one. If replies show how many requests the account has left, the client uses a
//! fair share of them ([`SharedWindow`]). If they do not, each 429 halves the rate, and then it rises slowly.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::error::ClientError;
use super::retry::random_part;
use super::window::{RateHeaders, SharedWindow};
use crate::locks::Locked;

/// Priority of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// A user or a reading program waits for the reply.
    Interactive,
    /// Nobody waits for the reply.
    Background,
}

/// Maximum wait of an interactive request.
const MAX_INTERACTIVE_WAIT: Duration = Duration::from_secs(25);
const MAX_REPEATED_WAIT: Duration = Duration::from_secs(5);
/// Maximum wait of a background request.
const MAX_BACKGROUND_WAIT: Duration = Duration::from_secs(300);
/// Pause after a 429 without `Retry-After`.
const DEFAULT_PAUSE: Duration = Duration::from_secs(2);
/// Part of a pause that is added at random, and its maximum.
const PAUSE_JITTER: f64 = 0.25;
const MAX_JITTER: Duration = Duration::from_secs(1);
/// The lowest rate after refusals without a known limit, as a part of the configured one.
const MIN_RATE_FACTOR: f64 = 0.05;
/// Part of the configured rate that is restored per second.
const RATE_RECOVERY_PER_SECOND: f64 = 0.01;
/// Tolerance for rounding errors in token counts.
const ROUNDING: f64 = 1e-6;
/// How often a waiting request looks at the rate again: a new window of the service may raise it.
const RATE_CHECK: Duration = Duration::from_secs(1);

/// State of the rate limiter, for status displays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetStatus {
    /// Requests per minute at the present rate.
    pub per_minute: u32,
    /// Requests that could be sent now without waiting.
    pub available: u32,
    /// Interactive requests that wait.
    pub waiting: u32,
    /// Requests sent so far, without those that the service does not count.
    pub taken: u64,
    /// Requests that the service refused, because there were too many (429).
    pub refused: u64,
    /// Remaining pause after a 429.
    pub paused: Option<Duration>,
}

/// The token bucket.
#[derive(Debug)]
pub(super) struct RateBudget {
    state: Mutex<BucketState>,
    /// Lets one background request at a time wait for the bucket, in order of arrival.
    background_turn: Semaphore,
    per_minute: u32,
    burst: f64,
    reserve: f64,
}

#[derive(Debug)]
struct BucketState {
    /// Tokens in the bucket; below zero, the number of waiting requests.
    level: f64,
    /// All tokens that ever came in.
    credit: f64,
    /// The limit of the account, once a reply has shown it.
    window: Option<SharedWindow>,
    /// Part of the configured rate that refusals have left.
    rate_factor: f64,
    /// Requests sent so far.
    taken: u64,
    /// Those that the service refused.
    refused: u64,
    /// Time up to which the level is computed; in the future during a pause.
    computed_at: Instant,
}

impl RateBudget {
    pub(super) fn new(per_minute: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            state: Mutex::new(BucketState {
                level: burst,
                credit: 0.0,
                window: None,
                rate_factor: 1.0,
                taken: 0,
                refused: 0,
                computed_at: Instant::now(),
            }),
            background_turn: Semaphore::new(1),
            per_minute: per_minute.max(1),
            burst,
            // A third of the burst is kept for interactive requests.
            reserve: (burst / 3.0).floor(),
        }
    }

    /// Waits until a request of this priority may be sent.
    pub(super) async fn take(&self, priority: Priority) -> Result<(), ClientError> {
        self.take_within(priority, MAX_INTERACTIVE_WAIT).await
    }

    /// The same for a call that is repeated. It waits less, because all attempts together have limited time.
    pub(super) async fn take_again(&self, priority: Priority) -> Result<(), ClientError> {
        self.take_within(priority, MAX_REPEATED_WAIT).await
    }

    async fn take_within(&self, priority: Priority, longest: Duration) -> Result<(), ClientError> {
        match priority {
            Priority::Interactive => self.take_interactive(longest).await,
            Priority::Background => {
                let wait = tokio::time::timeout(MAX_BACKGROUND_WAIT, self.take_background());
                wait.await
                    .map_err(|_| ClientError::RateLimited { retry_after: None })
            }
        }
    }

    /// Takes what a reply says about the limit of the account.
    pub(super) fn observe(&self, headers: RateHeaders) {
        let now = Instant::now();
        let mut state = self.state.locked();
        // What came in so far did at the old rate.
        self.refill(&mut state, now);
        match &mut state.window {
            Some(window) => window.observe(headers, now),
            None => state.window = Some(SharedWindow::new(headers, now)),
        }
    }

    /// Stops all requests for a while after a 429.
    pub(super) fn pause(&self, retry_after: Option<Duration>) {
        let now = Instant::now();
        let pause = retry_after.unwrap_or(DEFAULT_PAUSE);
        let jitter = pause.mul_f64(PAUSE_JITTER).min(MAX_JITTER);
        let until = now + pause + jitter.mul_f64(random_part());
        let mut state = self.state.locked();
        self.refill(&mut state, now);
        state.refused += 1;
        // Several requests that were refused at once are one refusal.
        if state.computed_at <= now {
            match &mut state.window {
                Some(window) => window.refused(retry_after, now),
                None => state.rate_factor = (state.rate_factor / 2.0).max(MIN_RATE_FACTOR),
            }
        }
        // The saved tokens are invalid: the service counts differently.
        state.level = state.level.min(0.0);
        state.computed_at = state.computed_at.max(until);
    }

    pub(super) fn status(&self) -> BudgetStatus {
        let now = Instant::now();
        let mut state = self.state.locked();
        self.refill(&mut state, now);
        let paused = state.computed_at.saturating_duration_since(now);
        BudgetStatus {
            per_minute: (self.per_second(&state, now) * 60.0).round() as u32,
            available: if paused.is_zero() {
                state.level.max(0.0) as u32
            } else {
                0
            },
            waiting: (-state.level).max(0.0).ceil() as u32,
            taken: state.taken,
            refused: state.refused,
            paused: (!paused.is_zero()).then_some(paused),
        }
    }

    async fn take_interactive(&self, longest: Duration) -> Result<(), ClientError> {
        let deadline = Instant::now() + longest;
        let target = {
            let now = Instant::now();
            let mut state = self.state.locked();
            self.refill(&mut state, now);
            let missing = (1.0 - state.level).max(0.0);
            if missing > ROUNDING && state.computed_at <= now && self.takes_reserved(&mut state) {
                return Ok(());
            }
            let due = self.due(&state, missing, now);
            let wait = due.saturating_duration_since(now);
            if wait > longest {
                return Err(ClientError::RateLimited {
                    retry_after: Some(wait),
                });
            }
            state.level -= 1.0;
            state.credit + missing
        };
        let guard = TokenGuard {
            budget: self,
            taken: false,
        };
        // The rate may change, and a pause may start, while the request waits.
        loop {
            let due = {
                let now = Instant::now();
                let mut state = self.state.locked();
                self.refill(&mut state, now);
                let missing = target - state.credit;
                if missing <= ROUNDING && state.computed_at <= now {
                    break;
                }
                self.due(&state, missing, now)
            };
            let now = Instant::now();
            if due > deadline + RATE_CHECK {
                return Err(ClientError::RateLimited {
                    retry_after: Some(due - now),
                });
            }
            sleep_until(due.min(now + RATE_CHECK)).await;
        }
        guard.keep();
        self.state.locked().taken += 1;
        Ok(())
    }

    /// Takes a request for an interactive one from the reserve of the account's limit.
    fn takes_reserved(&self, state: &mut BucketState) -> bool {
        let window = state.window.as_mut();
        let is_taken = window.is_some_and(SharedWindow::take_reserved);
        state.taken += u64::from(is_taken);
        is_taken
    }

    async fn take_background(&self) {
        let _turn = self
            .background_turn
            .acquire()
            .await
            .expect("the background_turn is never closed");
        loop {
            let due = {
                let now = Instant::now();
                let mut state = self.state.locked();
                self.refill(&mut state, now);
                let capacity = self.capacity(&state, now);
                let reserve = self.reserve.min(capacity / 3.0).floor();
                // The last token is for interactive requests, unless there is never a second one.
                let reserve = reserve.max(if capacity >= 2.0 { 1.0 } else { 0.0 });
                let missing = 1.0 + reserve - state.level;
                if missing <= ROUNDING && state.computed_at <= now {
                    state.level -= 1.0;
                    state.taken += 1;
                    return;
                }
                self.due(&state, missing, now)
            };
            sleep_until(due.min(Instant::now() + RATE_CHECK)).await;
        }
    }

    fn refill(&self, state: &mut BucketState, now: Instant) {
        let passed = now
            .saturating_duration_since(state.computed_at)
            .as_secs_f64();
        let came_in = passed * self.per_second(state, now);
        state.credit += came_in;
        state.level = (state.level + came_in).min(self.capacity(state, now));
        state.rate_factor = (state.rate_factor + passed * RATE_RECOVERY_PER_SECOND).min(1.0);
        state.computed_at = state.computed_at.max(now);
    }

    /// When `missing` tokens will have come in, at the present rate.
    fn due(&self, state: &BucketState, missing: f64, now: Instant) -> Instant {
        let missing = missing.max(0.0);
        // Added so that rounding never wakes the sleeper too early.
        let margin = if missing > 0.0 {
            Duration::from_micros(100)
        } else {
            Duration::ZERO
        };
        let rate = self.per_second(state, now);
        let seconds = match &state.window {
            Some(window) => window.wait(missing, rate, now),
            None => missing / rate,
        };
        state.computed_at + Duration::from_secs_f64(seconds) + margin
    }

    fn per_second(&self, state: &BucketState, now: Instant) -> f64 {
        let configured = f64::from(self.per_minute) / 60.0;
        match &state.window {
            Some(window) => configured.min(window.per_second(now)),
            None => configured * state.rate_factor,
        }
    }

    /// Tokens that the bucket holds at most.
    fn capacity(&self, state: &BucketState, now: Instant) -> f64 {
        let window = state.window.as_ref();
        window.map_or(self.burst, |window| window.burst(now).min(self.burst))
    }
}

/// Drop guard: returns the token if the waiting request is cancelled.
struct TokenGuard<'a> {
    budget: &'a RateBudget,
    taken: bool,
}

impl TokenGuard<'_> {
    fn keep(mut self) {
        self.taken = true;
    }
}

impl Drop for TokenGuard<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.budget.state.locked().level += 1.0;
        }
    }
}

#[cfg(test)]
mod tests;
