//! What this process counts, as text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::infra_fault::InfraFault;
use super::records::{EventLoad, JobKind, JobLoad};
use crate::listener::Traffic;
use crate::locks::Locked;

/// Upper limits of the buckets for waiting times, in seconds.
const WAIT_BUCKETS: [f64; 9] = [0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// The metrics: name, kind and help.
const METRICS: &str = "\
jobs_queued gauge Jobs that wait
jobs_running gauge Jobs that run
oldest_queued_job_seconds gauge Age of the oldest job that waits, 0 without one
events_waiting gauge Events that no webhook has accepted yet
events_undelivered gauge Events of the last seven days that no call delivered
oldest_waiting_event_seconds gauge Age of the oldest event that waits, 0 without one
slots gauge Jobs that this process may run at the same time
leases_held gauge Jobs that run in this process
leases_kept_timestamp_seconds gauge When the database last confirmed the leases of this process, 0 before
standstill_seconds gauge How long this process has done no jobs because of an infrastructure fault, 0 if it does
draining gauge 1 while the process ends
job_attempts_total counter Jobs that were claimed, each attempt
jobs_given_back_total counter Attempts that were stopped or failed, and whose jobs went back into the queue
leases_lost_total counter Expired leases of other attempts or processes that this process recovered
events_accepted_total counter Events that a webhook accepted
events_refused_total counter Calls of webhooks that failed
events_given_up_total counter Events that no call delivered and that are not sent again
received_bytes_total counter Bytes that clients sent
sent_bytes_total counter Bytes that were sent to clients
jobs_ended_total counter Jobs that ended, by kind and result
jobs_obstructed_total counter Attempts that an infrastructure fault ended, by fault; they do not count
requests_total counter Answered requests, by class and status
job_wait_seconds histogram Time from the creation of a job to its first claim
";

/// The counters of a service.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Answered requests, by class and status.
    requests: Mutex<BTreeMap<(RequestClass, u16), u64>>,
    /// Jobs that ended here, by kind and whether they succeeded.
    ended: Mutex<BTreeMap<(&'static str, bool), u64>>,
    /// Attempts that an infrastructure fault ended.
    obstructed: Mutex<BTreeMap<InfraFault, u64>>,
    waits: Mutex<Waits>,
    attempts: AtomicU64,
    given_back: AtomicU64,
    lost_leases: AtomicU64,
    /// Calls of webhooks that were accepted, and those that were not.
    events_accepted: AtomicU64,
    events_refused: AtomicU64,
    events_given_up: AtomicU64,
    /// When the database last confirmed the leases, in milliseconds since 1970; 0 before.
    leases_kept: AtomicU64,
}

/// What a process does at a moment.
#[derive(Debug)]
pub struct Activity<'a> {
    /// The whole queue, which other processes may share.
    pub load: Option<&'a JobLoad>,
    /// The events of all webhooks, which other processes may send, too.
    pub events: Option<&'a EventLoad>,
    /// Jobs that may run at the same time.
    pub slots: usize,
    /// Jobs that run.
    pub leases: usize,
    pub traffic: &'a Traffic,
    pub draining: bool,
    /// How long this process has not been able to do jobs.
    pub stands_still: Duration,
}

/// The kinds of requests that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestClass {
    Api,
    /// Version 1 of the API.
    Legacy,
    /// Signed URLs.
    Storage,
    Embeds,
    Page,
    Other,
}

impl RequestClass {
    pub fn of(path: &str) -> RequestClass {
        let mut parts = path.trim_start_matches('/').split('/');
        match (parts.next().unwrap_or_default(), parts.next()) {
            ("api", Some("v2")) => RequestClass::Api,
            ("api" | "rawmodel", _) => RequestClass::Legacy,
            ("storage", _) => RequestClass::Storage,
            ("embed", _) => RequestClass::Embeds,
            ("" | "page", _) => RequestClass::Page,
            _ => RequestClass::Other,
        }
    }

    /// Whether such requests read or change records.
    pub fn needs_records(self) -> bool {
        !matches!(self, RequestClass::Page | RequestClass::Other)
    }

    fn text(self) -> &'static str {
        match self {
            RequestClass::Api => "api",
            RequestClass::Legacy => "legacy",
            RequestClass::Storage => "storage",
            RequestClass::Embeds => "embeds",
            RequestClass::Page => "page",
            RequestClass::Other => "other",
        }
    }
}

/// How long jobs waited for their first claim.
#[derive(Debug, Default)]
struct Waits {
    /// Number of waits in each bucket, without those of smaller buckets.
    buckets: [u64; WAIT_BUCKETS.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    pub fn request_answered(&self, class: RequestClass, status: u16) {
        *self.requests.locked().entry((class, status)).or_default() += 1;
    }

    /// Counts a claimed job. `waited` is how long it was queued; `None` if this is not its first attempt.
    pub fn job_claimed(&self, waited: Option<Duration>) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let Some(seconds) = waited.map(|waited| waited.as_secs_f64()) else {
            return;
        };
        let mut waits = self.waits.locked();
        waits.count += 1;
        waits.seconds += seconds;
        if let Some(bucket) = WAIT_BUCKETS.iter().position(|&limit| seconds <= limit) {
            waits.buckets[bucket] += 1;
        }
    }

    pub fn job_ended(&self, kind: JobKind, succeeded: bool) {
        *self
            .ended
            .locked()
            .entry((kind.text(), succeeded))
            .or_default() += 1;
    }

    pub fn job_obstructed(&self, fault: InfraFault) {
        *self.obstructed.locked().entry(fault).or_default() += 1;
    }

    pub fn job_given_back(&self) {
        self.given_back.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts leases that this process found expired. Only the recoverer counts them, so the sum over all processes is
    /// exact.
    pub fn leases_lost(&self, jobs: u64) {
        self.lost_leases.fetch_add(jobs, Ordering::Relaxed);
    }

    /// Counts a call of a webhook.
    pub fn event_sent(&self, is_accepted: bool) {
        let counter = match is_accepted {
            true => &self.events_accepted,
            false => &self.events_refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts events that are not sent again although no call succeeded.
    pub fn events_given_up(&self, events: u64) {
        self.events_given_up.fetch_add(events, Ordering::Relaxed);
    }

    /// Notes that the database has just confirmed the leases of this process.
    pub fn leases_kept(&self) {
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
        self.leases_kept.store(now, Ordering::Relaxed);
    }

    /// All values in the text format of Prometheus. All but the loads describe this process only.
    pub fn text(&self, now: &Activity<'_>) -> String {
        let mut text = Text::default();
        if let Some(load) = now.load {
            text.plain("jobs_queued", load.queued);
            text.plain("jobs_running", load.running);
            text.plain("oldest_queued_job_seconds", load.oldest_wait.as_secs_f64());
        }
        if let Some(events) = now.events {
            text.plain("events_waiting", events.waiting);
            text.plain("events_undelivered", events.given_up);
            let age = events.oldest_wait.as_secs_f64();
            text.plain("oldest_waiting_event_seconds", age);
        }
        let counted = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kept = counted(&self.leases_kept) as f64 / 1000.0;
        text.plain("slots", now.slots);
        text.plain("leases_held", now.leases);
        text.plain("leases_kept_timestamp_seconds", kept);
        text.plain("standstill_seconds", now.stands_still.as_secs_f64());
        text.plain("draining", u8::from(now.draining));
        text.plain("job_attempts_total", counted(&self.attempts));
        text.plain("jobs_given_back_total", counted(&self.given_back));
        text.plain("leases_lost_total", counted(&self.lost_leases));
        text.plain("events_accepted_total", counted(&self.events_accepted));
        text.plain("events_refused_total", counted(&self.events_refused));
        text.plain("events_given_up_total", counted(&self.events_given_up));
        text.plain("received_bytes_total", now.traffic.received());
        text.plain("sent_bytes_total", now.traffic.sent());
        self.write_labelled(&mut text);
        self.waits.locked().write(&mut text);
        text.0
    }

    /// Writes the counters that have labels.
    fn write_labelled(&self, text: &mut Text) {
        const ENDED: &str = "jobs_ended_total";
        text.head(ENDED);
        for (&(kind, succeeded), count) in self.ended.locked().iter() {
            let result = if succeeded { "finished" } else { "failed" };
            let labels = format_args!("{{kind=\"{kind}\",result=\"{result}\"}}");
            text.value(ENDED, labels, *count);
        }
        const OBSTRUCTED: &str = "jobs_obstructed_total";
        text.head(OBSTRUCTED);
        for (fault, count) in self.obstructed.locked().iter() {
            let labels = format_args!("{{fault=\"{}\"}}", fault.text());
            text.value(OBSTRUCTED, labels, *count);
        }
        const REQUESTS: &str = "requests_total";
        text.head(REQUESTS);
        for (&(class, status), count) in self.requests.locked().iter() {
            let class = class.text();
            let labels = format_args!("{{class=\"{class}\",status=\"{status}\"}}");
            text.value(REQUESTS, labels, *count);
        }
    }
}

impl Waits {
    fn write(&self, text: &mut Text) {
        const NAME: &str = "job_wait_seconds";
        text.head(NAME);
        let bucket = format!("{NAME}_bucket");
        let mut below = 0;
        for (limit, count) in WAIT_BUCKETS.iter().zip(self.buckets) {
            below += count;
            text.value(&bucket, format_args!("{{le=\"{limit}\"}}"), below);
        }
        text.value(&bucket, format_args!("{{le=\"+Inf\"}}"), self.count);
        text.value(&format!("{NAME}_sum"), format_args!(""), self.seconds);
        text.value(&format!("{NAME}_count"), format_args!(""), self.count);
    }
}

/// The text format.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    /// Writes a metric with one value and no labels.
    fn plain(&mut self, name: &str, value: impl fmt::Display) {
        self.head(name);
        self.value(name, format_args!(""), value);
    }

    fn head(&mut self, name: &str) {
        let described = METRICS.lines().find_map(|line| {
            let (kind, help) = line
                .strip_prefix(name)?
                .strip_prefix(' ')?
                .split_once(' ')?;
            Some((kind, help))
        });
        let (kind, help) = described.expect("every metric is in the table");
        let name = full(name);
        self.line(format_args!(
            "# HELP {name} {help}.\n# TYPE {name} {kind}\n"
        ));
    }

    fn value(&mut self, name: &str, labels: fmt::Arguments<'_>, value: impl fmt::Display) {
        let name = full(name);
        self.line(format_args!("{name}{labels} {value}\n"));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0
            .write_fmt(line)
            .expect("writing to a String does not fail");
    }
}

fn full(name: &str) -> String {
    format!("assetfs_service_{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_contains_the_smaller_ones() {
        let metrics = Metrics::default();
        for millis in [5, 30, 30, 2_000, 9_999_000] {
            metrics.job_claimed(Some(Duration::from_millis(millis)));
        }
        metrics.job_claimed(None);
        let text = metrics.text(&Activity {
            load: None,
            events: None,
            slots: 2,
            leases: 1,
            traffic: &Traffic::default(),
            draining: false,
            stands_still: Duration::ZERO,
        });
        for line in [
            "assetfs_service_slots 2",
            "assetfs_service_leases_held 1",
            "assetfs_service_leases_kept_timestamp_seconds 0",
            "assetfs_service_job_attempts_total 6",
            "assetfs_service_job_wait_seconds_bucket{le=\"0.01\"} 1",
            "assetfs_service_job_wait_seconds_bucket{le=\"0.05\"} 3",
            "assetfs_service_job_wait_seconds_bucket{le=\"1800\"} 4",
            "assetfs_service_job_wait_seconds_bucket{le=\"+Inf\"} 5",
            "assetfs_service_job_wait_seconds_count 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn requests_are_counted_by_what_they_ask_for() {
        for (path, class) in [
            ("/api/v2/rawmodel", RequestClass::Api),
            ("/api/rawmodel/process/5", RequestClass::Legacy),
            ("/rawmodel/5", RequestClass::Legacy),
            ("/storage/5/chair.glb", RequestClass::Storage),
            ("/embed/5/model.glb", RequestClass::Embeds),
            ("/", RequestClass::Page),
            ("/favicon.ico", RequestClass::Other),
        ] {
            assert_eq!(RequestClass::of(path), class, "{path}");
        }
    }
}
