//! Growing pauses between two looks or two tries.

use std::time::Duration;

/// A pause that grows by a quarter each time: what it looks for is found late by a quarter of the time it took,, up to a longest one.
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

    /// The next pause.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 5 / 4).min(self.longest);
        pause
    }

    /// Starts over: something moved.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}
