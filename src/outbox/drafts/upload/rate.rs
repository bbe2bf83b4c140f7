//! The speed of an upload, measured from samples of its progress. Pure: times are passed in.

use std::time::Duration;

/// Samples that are closer together are ignored.
const SHORTEST_SPAN: Duration = Duration::from_millis(200);
/// The weight of a new sample in the average, in percent.
const WEIGHT: u64 = 30;

/// The moving average of the speed.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateMeter {
    last: Option<(Duration, u64)>,
    bytes_per_second: Option<u64>,
}

impl RateMeter {
    /// Adds a sample: bytes sent until `now`.
    pub fn note(&mut self, now: Duration, sent: u64) {
        let Some((then, before)) = self.last else {
            self.last = Some((now, sent));
            return;
        };
        let span = now.saturating_sub(then);
        if span < SHORTEST_SPAN {
            return;
        }
        self.last = Some((now, sent));
        // When a file is sent again, the sum goes down: counted as no progress.
        let moved = sent.saturating_sub(before);
        let rate = (u128::from(moved) * 1000 / span.as_millis().max(1)) as u64;
        self.bytes_per_second = Some(match self.bytes_per_second {
            None => rate,
            Some(old) => (old * (100 - WEIGHT) + rate * WEIGHT) / 100,
        });
    }

    /// `None` before the second sample.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.bytes_per_second
    }

    /// The time that `left` bytes will take.
    pub fn time_left(&self, left: u64) -> Option<Duration> {
        let rate = self.bytes_per_second.filter(|rate| *rate > 0)?;
        Some(Duration::from_secs(left.div_ceil(rate)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_upload_tells_its_speed_and_end() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.bytes_per_second(), None);
        for second in 0..10 {
            meter.note(Duration::from_secs(second), second * 1_000_000);
        }
        assert_eq!(meter.bytes_per_second(), Some(1_000_000));
        assert_eq!(meter.time_left(5_500_000), Some(Duration::from_secs(6)));
    }

    #[test]
    fn looks_that_follow_too_closely_and_files_sent_again_do_no_harm() {
        let mut meter = RateMeter::default();
        meter.note(Duration::ZERO, 0);
        meter.note(Duration::from_millis(1), 1_000_000);
        assert_eq!(meter.bytes_per_second(), None);
        meter.note(Duration::from_secs(1), 1_000_000);
        meter.note(Duration::from_secs(2), 0);
        assert!(meter.bytes_per_second().unwrap() < 1_000_000);
        assert_eq!(RateMeter::default().time_left(5), None);
    }
}
