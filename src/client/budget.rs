//! The rate limiter: how many requests may be sent, and in which order.
//!
//! A token bucket. An interactive request takes a token at once, even if the level gets negative, and waits
//! until the level would be zero again; so interactive requests form a queue. A background request only
//! takes tokens above a reserve, so it uses what interactive requests leave. After a 429 nothing is sent
//! until the time that the service names.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::error::ClientError;

/// Priority of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// A user or a reading program waits for the reply.
    Interactive,
    /// Nobody waits for the reply.
    Background,
}

/// Maximum wait of an interactive request.
const LONGEST_INTERACTIVE_WAIT: Duration = Duration::from_secs(25);
/// Maximum wait of a background request.
const LONGEST_BACKGROUND_WAIT: Duration = Duration::from_secs(300);
/// Pause after a 429 without `Retry-After`.
const DEFAULT_PAUSE: Duration = Duration::from_secs(2);
/// Maximum pause that is accepted from the service.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// State of the rate limiter, for status displays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetStatus {
    /// Allowed requests per minute.
    pub per_minute: u32,
    /// Requests that could be sent now without waiting.
    pub available: u32,
    /// Interactive requests that wait.
    pub waiting: u32,
    /// Requests sent so far, without those that the service does not count.
    pub taken: u64,
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
    /// Requests sent so far.
    taken: u64,
    /// Time up to which the level is computed; in the future during a pause.
    computed_at: Instant,
}

impl RateBudget {
    pub(super) fn new(per_minute: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            state: Mutex::new(BucketState {
                level: burst,
                taken: 0,
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
        match priority {
            Priority::Interactive => self.take_interactive().await,
            Priority::Background => {
                let wait = tokio::time::timeout(LONGEST_BACKGROUND_WAIT, self.take_background());
                wait.await
                    .map_err(|_| ClientError::RateLimited { retry_after: None })
            }
        }
    }

    /// Stops all requests for a while after a 429.
    pub(super) fn pause(&self, retry_after: Option<Duration>) {
        let pause = retry_after.unwrap_or(DEFAULT_PAUSE).min(LONGEST_PAUSE);
        let until = Instant::now() + pause;
        let mut state = self.lock();
        // The saved tokens are invalid: the service counts differently.
        state.level = state.level.min(0.0);
        state.computed_at = state.computed_at.max(until);
    }

    pub(super) fn status(&self) -> BudgetStatus {
        let now = Instant::now();
        let mut state = self.lock();
        self.refill(&mut state, now);
        let paused = state.computed_at.saturating_duration_since(now);
        BudgetStatus {
            per_minute: self.per_minute,
            available: if paused.is_zero() {
                state.level.max(0.0) as u32
            } else {
                0
            },
            waiting: (-state.level).max(0.0).ceil() as u32,
            taken: state.taken,
            paused: (!paused.is_zero()).then_some(paused),
        }
    }

    async fn take_interactive(&self) -> Result<(), ClientError> {
        let due = {
            let now = Instant::now();
            let mut state = self.lock();
            self.refill(&mut state, now);
            let due = self.due(&state, state.level - 1.0);
            let wait = due.saturating_duration_since(now);
            if wait > LONGEST_INTERACTIVE_WAIT {
                return Err(ClientError::RateLimited {
                    retry_after: Some(wait),
                });
            }
            state.level -= 1.0;
            due
        };
        let place = Place {
            budget: self,
            taken: false,
        };
        sleep_until(due).await;
        // A pause that started meanwhile delays all waiting requests.
        loop {
            let resumes = self.lock().computed_at;
            if resumes <= Instant::now() {
                break;
            }
            sleep_until(resumes).await;
        }
        place.keep();
        self.lock().taken += 1;
        Ok(())
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
                let mut state = self.lock();
                self.refill(&mut state, now);
                let due = self.due(&state, state.level - 1.0 - self.reserve);
                if due <= now {
                    state.level -= 1.0;
                    state.taken += 1;
                    return;
                }
                due
            };
            sleep_until(due).await;
        }
    }

    fn refill(&self, state: &mut BucketState, now: Instant) {
        let passed = now.saturating_duration_since(state.computed_at);
        state.level = (state.level + passed.as_secs_f64() * self.per_second()).min(self.burst);
        state.computed_at = state.computed_at.max(now);
    }

    /// When a level computed at `state.computed_at` reaches zero.
    fn due(&self, state: &BucketState, level: f64) -> Instant {
        let missing = (-level).max(0.0);
        // Added so that rounding never wakes the sleeper too early.
        let margin = if missing > 0.0 {
            Duration::from_micros(100)
        } else {
            Duration::ZERO
        };
        state.computed_at + Duration::from_secs_f64(missing / self.per_second()) + margin
    }

    fn per_second(&self) -> f64 {
        f64::from(self.per_minute) / 60.0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BucketState> {
        self.state.lock().expect("the lock is never poisoned")
    }
}

/// Drop guard: returns the token if the waiting request is cancelled.
struct Place<'a> {
    budget: &'a RateBudget,
    taken: bool,
}

impl Place<'_> {
    fn keep(mut self) {
        self.taken = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.budget.lock().level += 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    async fn seconds_for(budget: &RateBudget, count: u32, priority: Priority) -> f64 {
        let start = Instant::now();
        for _ in 0..count {
            budget.take(priority).await.unwrap();
        }
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_requests_than_the_burst_and_the_rate() {
        let budget = RateBudget::new(1800, 150);
        let start = Instant::now();
        let mut sent = 0;
        while start.elapsed() < Duration::from_secs(60) {
            budget.take(Priority::Interactive).await.unwrap();
            sent += 1;
        }
        assert!((1940..=1952).contains(&sent), "{sent}");
    }

    #[tokio::test(start_paused = true)]
    async fn background_requests_leave_the_reserve_to_interactive_ones() {
        let budget = RateBudget::new(600, 30);
        assert!(seconds_for(&budget, 20, Priority::Background).await < 0.01);
        // Below the reserve background requests wait for the bucket to fill …
        let waited = seconds_for(&budget, 5, Priority::Background).await;
        assert!((0.4..0.7).contains(&waited), "{waited}");
        // … and interactive requests do not.
        assert!(seconds_for(&budget, 9, Priority::Interactive).await < 0.01);
    }

    #[tokio::test(start_paused = true)]
    async fn interactive_requests_overtake_waiting_background_requests() {
        let budget = Arc::new(RateBudget::new(60, 3));
        for _ in 0..3 {
            budget.take(Priority::Interactive).await.unwrap();
        }
        let background = tokio::spawn({
            let budget = budget.clone();
            async move {
                budget.take(Priority::Background).await.unwrap();
                Instant::now()
            }
        });
        tokio::task::yield_now().await;
        let waited = seconds_for(&budget, 5, Priority::Interactive).await;
        assert!((4.9..5.1).contains(&waited), "{waited}");
        let interactive_done = Instant::now();
        assert!(background.await.unwrap() > interactive_done);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_429_nothing_is_sent_before_the_retry_after() {
        let budget = RateBudget::new(1800, 150);
        budget.pause(Some(Duration::from_secs(7)));
        assert_eq!(budget.status().available, 0);
        let waited = seconds_for(&budget, 1, Priority::Interactive).await;
        assert!((7.0..7.2).contains(&waited), "{waited}");
        budget.pause(Some(Duration::from_secs(7)));
        let waited = seconds_for(&budget, 1, Priority::Background).await;
        assert!((7.0..9.0).contains(&waited), "{waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_delays_requests_that_already_wait() {
        let budget = Arc::new(RateBudget::new(60, 1));
        budget.take(Priority::Interactive).await.unwrap();
        let waiter = tokio::spawn({
            let budget = budget.clone();
            async move { seconds_for(&budget, 1, Priority::Interactive).await }
        });
        tokio::task::yield_now().await;
        budget.pause(Some(Duration::from_secs(10)));
        let waited = waiter.await.unwrap();
        assert!((10.0..10.2).contains(&waited), "{waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_request_returns_its_token() {
        let budget = RateBudget::new(60, 1);
        budget.take(Priority::Interactive).await.unwrap();
        for _ in 0..5 {
            let wait =
                tokio::time::timeout(Duration::from_millis(1), budget.take(Priority::Interactive));
            assert!(wait.await.is_err());
        }
        let waited = seconds_for(&budget, 1, Priority::Interactive).await;
        assert!(waited < 1.1, "{waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_fails_at_once_if_it_would_wait_too_long() {
        let budget = RateBudget::new(60, 1);
        budget.pause(Some(Duration::from_secs(100)));
        let error = budget.take(Priority::Interactive).await.unwrap_err();
        assert!(
            matches!(error, ClientError::RateLimited { retry_after: Some(wait) } if wait.as_secs() >= 99)
        );
    }
}
