//! How long the steps of a job took and how much memory the process used.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::super::process_memory::status_field;

/// Measures the time of each step.
#[derive(Debug)]
pub struct Metrics {
    started_at: jiff::Timestamp,
    start: Instant,
    lap: Instant,
    laps: Map<String, Value>,
}

impl Metrics {
    pub fn start() -> Metrics {
        let now = Instant::now();
        Metrics {
            started_at: jiff::Timestamp::now(),
            start: now,
            lap: now,
            laps: Map::new(),
        }
    }

    pub fn lap(&mut self, name: &str) {
        let seconds = self.lap.elapsed().as_secs_f64();
        let known = self.laps.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        self.laps
            .insert(name.to_owned(), rounded(known + seconds).into());
        self.lap = Instant::now();
    }

    /// The content of `metrics.json`.
    pub fn json(&self, succeeded: bool) -> Value {
        json!({
            "engine": { "name": "assetfs", "version": env!("CARGO_PKG_VERSION") },
            "succeeded": succeeded,
            "startedAt": self.started_at.to_string(),
            "finishedAt": jiff::Timestamp::now().to_string(),
            "seconds": rounded(self.start.elapsed().as_secs_f64()),
            "stepSeconds": self.laps,
            "peakMemoryBytes": status_field("VmHWM"),
        })
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}
