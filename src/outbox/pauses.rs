//! Growing pauses between polls or retries.

use std::time::Duration;

/// Back-off: each pause is a quarter longer than the one before, up to a limit. So a change is noticed late by at
/// most a quarter of its duration.
#[derive(Debug, Clone)]
pub struct Pauses {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// Pauses from `first` to `longest`.
    pub fn new(first: Duration, longest: Duration) -> Pauses {
        Pauses {
            first,
            next: first,
            longest: longest.max(first),
        }
    }

    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 5 / 4).min(self.longest);
        pause
    }

    /// Starts with the first pause again.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}
