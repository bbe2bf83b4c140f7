//! The number of connections of one reader: several at the start, more only while they help.
//!
//! A measurement covers half of what all connections fetch at once. If a reader had to wait during it, the
//! number of connections is doubled; if the next measurement is not clearly faster, the doubling is undone and
//! not tried again. Pure: times are passed in.

use std::time::{Duration, Instant};

/// Initial number of connections.
const FIRST_CONNECTIONS: u64 = 4;
const MAX_CONNECTIONS: u64 = 16;
/// Minimum speed-up for which a doubled connection count is kept.
const GAIN: f64 = 1.2;

/// The pace of one reader.
#[derive(Debug)]
pub(super) struct ConnectionTuner {
    connections: u64,
    /// Bytes per second before the last doubling.
    before: Option<f64>,
    is_settled: bool,
    measurement: SpeedMeasurement,
}

#[derive(Debug, Clone, Copy)]
struct SpeedMeasurement {
    since: Instant,
    bytes: u64,
    waited: Duration,
}

impl SpeedMeasurement {
    fn new(now: Instant) -> SpeedMeasurement {
        SpeedMeasurement {
            since: now,
            bytes: 0,
            waited: Duration::ZERO,
        }
    }
}

impl ConnectionTuner {
    pub(super) fn new(now: Instant) -> ConnectionTuner {
        ConnectionTuner {
            connections: FIRST_CONNECTIONS,
            before: None,
            is_settled: false,
            measurement: SpeedMeasurement::new(now),
        }
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections
    }

    /// The reader jumped: the measurement is discarded.
    pub(super) fn restart_measurement(&mut self, now: Instant) {
        self.measurement = SpeedMeasurement::new(now);
    }

    /// Notes a read and the time that the reader waited for it; ends a measurement if it is complete.
    pub(super) fn read(&mut self, bytes: u64, waited: Duration, request_bytes: u64, now: Instant) {
        self.measurement.bytes += bytes;
        self.measurement.waited += waited;
        if self.is_settled || self.measurement.bytes < self.connections * request_bytes / 2 {
            return;
        }
        let elapsed = now - self.measurement.since;
        let rate = self.measurement.bytes as f64 / elapsed.as_secs_f64().max(1e-6);
        let is_waiting = self.measurement.waited > elapsed / 4;
        match self.before {
            Some(before) if rate < before * GAIN => {
                self.connections /= 2;
                self.is_settled = true;
            }
            _ if is_waiting && self.connections < MAX_CONNECTIONS => {
                self.connections *= 2;
                self.before = Some(rate);
            }
            _ => {}
        }
        self.measurement = SpeedMeasurement::new(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: u64 = 8 << 20;

    /// Reads so many bytes from a server that gives each connection `each` bytes a second and all
    /// of them together `all`; gives the connections at the end.
    fn after(total: u64, each: f64, all: f64, reader: f64) -> u64 {
        let mut now = Instant::now();
        let mut tuner = ConnectionTuner::new(now);
        for _ in 0..total / (1 << 20) {
            let network = (tuner.connections() as f64 * each).min(all);
            let took = f64::from(1 << 20) / network.min(reader);
            let waited = (took - f64::from(1 << 20) / reader).max(0.0);
            now += Duration::from_secs_f64(took);
            tuner.read(1 << 20, Duration::from_secs_f64(waited), REQUEST, now);
        }
        tuner.connections()
    }

    #[test]
    fn more_connections_are_kept_where_each_is_slow() {
        assert_eq!(after(1 << 30, 80e6, 1e10, 1e10), MAX_CONNECTIONS);
    }

    #[test]
    fn more_connections_are_given_up_where_they_do_not_help() {
        assert_eq!(after(1 << 30, 1e9, 1e9, 1e10), FIRST_CONNECTIONS);
    }

    #[test]
    fn a_reader_that_does_not_wait_gets_no_more() {
        assert_eq!(after(1 << 30, 80e6, 1e10, 50e6), FIRST_CONNECTIONS);
    }
}
