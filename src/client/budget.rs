//! The rate limiter: how many requests may be sent, and in which order.
//!
//! A token bucket. An interactive request takes a token at once, even if the level gets negative, and waits
//! until the level would be zero again; so interactive requests form a queue. A background request only
//! takes tokens above a reserve, so it uses what interactive requests leave. After a 429 nothing is sent
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
const LONGEST_REPEATED_WAIT: Duration = Duration::from_secs(5);
/// Maximum wait of a background request.
const LONGEST_BACKGROUND_WAIT: Duration = Duration::from_secs(300);
/// Pause after a 429 without `Retry-After`.
const DEFAULT_PAUSE: Duration = Duration::from_secs(2);
/// Maximum pause that is accepted from the service.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Part of a pause that is added at random, and its maximum.
const PAUSE_JITTER: f64 = 0.25;
const LONGEST_JITTER: Duration = Duration::from_secs(1);
/// The lowest rate after refusals without a known limit, as a part of the configured one.
const LEAST_PACE: f64 = 0.05;
/// How much of it comes back in a second.
const PACE_PER_SECOND: f64 = 0.01;
/// Sums of parts of tokens are not exact.
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
    pace: f64,
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
                pace: 1.0,
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
        self.take_within(priority, LONGEST_INTERACTIVE_WAIT).await
    }

    /// The same for a call that is repeated. It waits less, because all attempts together have limited time.
    pub(super) async fn take_again(&self, priority: Priority) -> Result<(), ClientError> {
        self.take_within(priority, LONGEST_REPEATED_WAIT).await
    }

    async fn take_within(&self, priority: Priority, longest: Duration) -> Result<(), ClientError> {
        match priority {
            Priority::Interactive => self.take_interactive(longest).await,
            Priority::Background => {
                let wait = tokio::time::timeout(LONGEST_BACKGROUND_WAIT, self.take_background());
                wait.await
                    .map_err(|_| ClientError::RateLimited { retry_after: None })
            }
        }
    }

    /// Takes what a reply says about the limit of the account.
    pub(super) fn observe(&self, headers: RateHeaders) {
        let now = Instant::now();
        let mut state = self.lock();
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
        let pause = retry_after.unwrap_or(DEFAULT_PAUSE).min(LONGEST_PAUSE);
        let jitter = pause.mul_f64(PAUSE_JITTER).min(LONGEST_JITTER);
        let until = now + pause + jitter.mul_f64(random_part());
        let mut state = self.lock();
        self.refill(&mut state, now);
        state.refused += 1;
        // Several requests that were refused at once are one refusal.
        if state.computed_at <= now {
            match &mut state.window {
                Some(window) => window.refused(retry_after, now),
                None => state.pace = (state.pace / 2.0).max(LEAST_PACE),
            }
        }
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
            let mut state = self.lock();
            self.refill(&mut state, now);
            let missing = (1.0 - state.level).max(0.0);
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
        let place = Place {
            budget: self,
            taken: false,
        };
        // The rate may change, and a pause may start, while the request waits.
        loop {
            let due = {
                let now = Instant::now();
                let mut state = self.lock();
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
                let reserve = self.reserve.min(self.capacity(&state, now) / 3.0).floor();
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
        state.pace = (state.pace + passed * PACE_PER_SECOND).min(1.0);
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
            None => configured * state.pace,
        }
    }

    /// Tokens that the bucket holds at most.
    fn capacity(&self, state: &BucketState, now: Instant) -> f64 {
        let window = state.window.as_ref();
        window.map_or(self.burst, |window| window.burst(now).min(self.burst))
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
        assert!((7.0..8.2).contains(&waited), "{waited}");
        let budget = RateBudget::new(1800, 150);
        budget.pause(Some(Duration::from_secs(7)));
        // The reserve comes first, at half the rate.
        let waited = seconds_for(&budget, 1, Priority::Background).await;
        assert!((7.0..12.5).contains(&waited), "{waited}");
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
        assert!((10.0..13.2).contains(&waited), "{waited}");
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

    /// A service that counts the requests of an account in windows of a minute.
    struct CountingService {
        limit: u32,
        began: Instant,
        used: u32,
        refused: u32,
    }

    impl CountingService {
        /// What the headers say, and the `Retry-After` of a refusal.
        fn ask(&mut self) -> (RateHeaders, Option<Duration>) {
            let minute = Duration::from_secs(60);
            if self.began.elapsed() >= minute {
                (self.began, self.used) = (Instant::now(), 0);
            }
            let refused = (self.used >= self.limit).then(|| minute - self.began.elapsed());
            match refused {
                Some(_) => self.refused += 1,
                None => self.used += 1,
            }
            let headers = RateHeaders {
                limit: self.limit,
                remaining: self.limit - self.used,
            };
            (headers, refused)
        }
    }

    /// Clients of one account, each with three programs that send as much as they may. Returns the requests of each
    /// client in the last two of five minutes, how many were refused, and how many failed.
    async fn share(clients: usize, limit: u32) -> (Vec<u32>, u32, u32) {
        let service = Arc::new(Mutex::new(CountingService {
            limit,
            began: Instant::now(),
            used: 0,
            refused: 0,
        }));
        let begun = Instant::now();
        let is_late = move || begun.elapsed() >= Duration::from_secs(180);
        let done = move || begun.elapsed() >= Duration::from_secs(300);
        let mut tasks = Vec::new();
        for client in 0..clients {
            let budget = Arc::new(RateBudget::new(1400, 500));
            for _ in 0..3 {
                let (budget, service) = (budget.clone(), service.clone());
                tasks.push(tokio::spawn(async move {
                    let (mut sent, mut refused, mut failed) = (0, 0, 0);
                    while !done() {
                        if budget.take(Priority::Interactive).await.is_err() {
                            failed += 1;
                            tokio::time::sleep(Duration::from_secs(1)).await;
                            continue;
                        }
                        tokio::time::sleep(Duration::from_millis(30)).await;
                        let (headers, retry_after) = service.lock().unwrap().ask();
                        budget.observe(headers);
                        if let Some(retry_after) = retry_after {
                            budget.pause(Some(retry_after));
                            refused += 1;
                        } else {
                            sent += u32::from(is_late());
                        }
                    }
                    (client, sent, refused, failed)
                }));
            }
        }
        let (mut sums, mut refused, mut failed) = (vec![0; clients], 0, 0);
        for task in tasks {
            let (client, sent, no, lost) = task.await.unwrap();
            sums[client] += sent;
            refused += no;
            failed += lost;
        }
        (sums, refused, failed)
    }

    #[tokio::test(start_paused = true)]
    async fn clients_of_one_account_share_its_limit_evenly_and_without_refusals() {
        for (clients, limit) in [(1, 600), (2, 600), (4, 300), (8, 600), (16, 2000)] {
            let (sent, refused, failed) = share(clients, limit).await;
            let what = format!("{clients} clients, {limit} a minute: {sent:?}, {refused} refused");
            assert_eq!((refused, failed), (0, 0), "{what}");
            let sum: u32 = sent.iter().sum();
            assert!(sum > limit * 2 * 8 / 10 && sum <= limit * 9 / 4, "{what}");
            let (least, most) = (sent.iter().min(), sent.iter().max());
            assert!(least.unwrap() * 2 > *most.unwrap(), "{what}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_headers_a_refusal_halves_the_rate_which_rises_again() {
        let budget = RateBudget::new(1200, 10);
        budget.pause(Some(Duration::ZERO));
        assert_eq!(budget.status().per_minute, 600);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(budget.status().per_minute, 1200);
    }
}
