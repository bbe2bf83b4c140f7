//! Back-off: growing pauses between retries and between polls, by one rule for all parts of the program.
//!
//! Invariant: a pause is never shorter than the one before and never longer than the limit. A first pause above the limit
//! becomes the limit. There is no jitter; callers that must not all retry at the same moment add it.

use std::time::Duration;

/// When something that lasts is logged: first after a while, and again whenever it has lasted twice as long.
#[derive(Debug, Default)]
pub struct LogPauses(Option<Duration>);

impl LogPauses {
    /// Whether to log it now, after it has lasted for `lasts`; `first` is when it is logged for the first time. If true, it counts as logged.
    pub fn is_due(&mut self, lasts: Duration, first: Duration) -> bool {
        let is_due = lasts >= self.0.unwrap_or(first);
        if is_due {
            self.0 = Some(lasts * 2);
        }
        is_due
    }
}

/// How the pauses grow, and how many there were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    factor: f64,
    failures: u32,
}

impl Backoff {
    /// Each pause is twice the one before, up to `longest`: for what has failed.
    pub const fn doubling(first: Duration, longest: Duration) -> Backoff {
        Backoff {
            first,
            longest,
            factor: 2.0,
            failures: 0,
        }
    }

    /// Each pause is a quarter longer than the one before, up to `longest`: for polls of running work. So a change is
    /// noticed at most a quarter of the elapsed time too late.
    pub const fn polling(first: Duration, longest: Duration) -> Backoff {
        Backoff {
            first,
            longest,
            factor: 1.25,
            failures: 0,
        }
    }

    /// The pause after this many failures in a row; 0 counts as 1.
    pub fn after(&self, failures: u32) -> Duration {
        let steps = failures.saturating_sub(1).min(i32::MAX as u32) as i32;
        let longest = self.longest.max(self.first);
        let pause = self.first.as_secs_f64() * self.factor.powi(steps);
        // Fails if the value is too large for a `Duration`.
        let pause = Duration::try_from_secs_f64(pause).unwrap_or(longest);
        pause.min(longest)
    }

    /// The pause after one more failure.
    pub fn next_pause(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.after(self.failures)
    }

    /// Starts with the first pause again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_limit_and_never_overflow() {
        let secs = Duration::from_secs;
        let mut retries = Backoff::doubling(secs(1), secs(60));
        let pauses: Vec<u64> = (0..8).map(|_| retries.next_pause().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        retries.reset();
        assert_eq!(retries.next_pause(), secs(1));
        assert_eq!(retries.after(0), secs(1));
        for failures in [1000, u32::MAX] {
            assert_eq!(retries.after(failures), secs(60));
        }
        let mut polls = Backoff::polling(secs(4), secs(10));
        let pauses: Vec<f64> = (0..6).map(|_| polls.next_pause().as_secs_f64()).collect();
        assert_eq!(pauses, [4.0, 5.0, 6.25, 7.8125, 9.765625, 10.0]);
        // A first pause above the limit is the limit.
        assert_eq!(Backoff::doubling(secs(9), secs(3)).after(5), secs(9));
        assert_eq!(
            Backoff::polling(Duration::ZERO, secs(3)).after(9),
            Duration::ZERO
        );
    }
}
