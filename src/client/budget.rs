//! The rate budget: how many requests may go out, and who goes first.
//!
//! A bucket fills at a steady rate up to a burst. An interactive request takes its place in line at once,
//! by letting the bucket go below zero, and waits until its place is due. A background request takes only
//! from what lies above a reserve, so it gets what interactive work leaves. When the service answers 429,
//! nothing goes out until the time that it names.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::error::ClientError;

/// Who waits for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Somebody at a keyboard, or a program that reads.
    Interactive,
    /// Nobody in particular.
    Background,
}

/// No interactive request waits longer than this for its place.
const LONGEST_INTERACTIVE_WAIT: Duration = Duration::from_secs(25);
/// No background request waits longer than this.
const LONGEST_BACKGROUND_WAIT: Duration = Duration::from_secs(300);
/// How long nothing goes out after a 429 that names no time.
const PAUSE_WITHOUT_WORD: Duration = Duration::from_secs(2);
/// No pause that a service names is taken longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// The state of the budget, for those who watch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetStatus {
    /// Requests that may go out in a minute.
    pub per_minute: u32,
    /// Requests that could go out right now.
    pub available: u32,
    /// Interactive requests that wait for their place.
    pub waiting: u32,
    /// Requests that went out so far, those that the service does not count left out.
    pub taken: u64,
    /// How long nothing goes out, because the service asked for it.
    pub paused: Option<Duration>,
}

/// The bucket and the line before it.
#[derive(Debug)]
pub(super) struct RateBudget {
    state: Mutex<State>,
    /// Lets one background request at a time watch the bucket, in order of arrival.
    turnstile: Semaphore,
    per_minute: u32,
    burst: f64,
    reserve: f64,
}

#[derive(Debug)]
struct State {
    /// Requests that may go out; below zero, how many wait in line.
    level: f64,
    /// Requests that went out so far.
    taken: u64,
    /// Until when the level is reckoned; in the future while nothing may go out.
    reckoned: Instant,
}

impl RateBudget {
    pub(super) fn new(per_minute: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            state: Mutex::new(State {
                level: burst,
                taken: 0,
                reckoned: Instant::now(),
            }),
            turnstile: Semaphore::new(1),
            per_minute: per_minute.max(1),
            burst,
            // A third of the burst always stays for interactive requests.
            reserve: (burst / 3.0).floor(),
        }
    }

    /// Waits until a request of this priority may go out.
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

    /// Lets nothing out for a while, because the service said so.
    pub(super) fn pause(&self, retry_after: Option<Duration>) {
        let pause = retry_after.unwrap_or(PAUSE_WITHOUT_WORD).min(LONGEST_PAUSE);
        let until = Instant::now() + pause;
        let mut state = self.lock();
        // What was saved up is void: the service counts differently than we do.
        state.level = state.level.min(0.0);
        state.reckoned = state.reckoned.max(until);
    }

    pub(super) fn status(&self) -> BudgetStatus {
        let now = Instant::now();
        let mut state = self.lock();
        self.refill(&mut state, now);
        let paused = state.reckoned.saturating_duration_since(now);
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
        // A pause that began meanwhile moves everybody back.
        loop {
            let resumes = self.lock().reckoned;
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
            .turnstile
            .acquire()
            .await
            .expect("the turnstile is never closed");
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

    fn refill(&self, state: &mut State, now: Instant) {
        let passed = now.saturating_duration_since(state.reckoned);
        state.level = (state.level + passed.as_secs_f64() * self.per_second()).min(self.burst);
        state.reckoned = state.reckoned.max(now);
    }

    /// When a level that is reckoned at `state.reckoned` comes up to zero.
    fn due(&self, state: &State, level: f64) -> Instant {
        let missing = (-level).max(0.0);
        // A hair more, so that rounding never makes the sleeper wake just too early.
        let hair = if missing > 0.0 {
            Duration::from_micros(100)
        } else {
            Duration::ZERO
        };
        state.reckoned + Duration::from_secs_f64(missing / self.per_second()) + hair
    }

    fn per_second(&self) -> f64 {
        f64::from(self.per_minute) / 60.0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock can panic")
    }
}

/// A place in line, given back when the one who waits goes away.
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
    async fn background_work_leaves_the_reserve_to_interactive_work() {
        let budget = RateBudget::new(600, 30);
        assert!(seconds_for(&budget, 20, Priority::Background).await < 0.01);
        // Below the reserve background work waits for the bucket to fill …
        let waited = seconds_for(&budget, 5, Priority::Background).await;
        assert!((0.4..0.7).contains(&waited), "{waited}");
        // … and interactive work does not.
        assert!(seconds_for(&budget, 9, Priority::Interactive).await < 0.01);
    }

    #[tokio::test(start_paused = true)]
    async fn interactive_work_overtakes_background_work_that_waits() {
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
    async fn after_a_429_nothing_goes_out_before_the_time_the_service_names() {
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
    async fn a_pause_holds_back_those_who_already_wait() {
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
    async fn who_gives_up_gives_its_place_back() {
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
    async fn nobody_stands_in_a_line_without_end() {
        let budget = RateBudget::new(60, 1);
        budget.pause(Some(Duration::from_secs(100)));
        let error = budget.take(Priority::Interactive).await.unwrap_err();
        assert!(
            matches!(error, ClientError::RateLimited { retry_after: Some(wait) } if wait.as_secs() >= 99)
        );
    }
}
