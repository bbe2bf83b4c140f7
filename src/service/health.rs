//! Whether the service can do its work: each part, and a sentence if it cannot.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use assetfs_formats::number_text::{bytes, grouped};
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;

use super::app::App;
use super::causes::chain;
use super::config::ServiceConfig;
use super::files::{BucketError, FilesError};
use super::queue::FaultPause;
use super::records::RecordsError;
use crate::disk_room::check_room;

/// How long the records and the file store may take to answer.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Largest difference between the clock of this machine and that of the database.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A part of the service, and why it cannot do its work.
#[derive(Debug)]
pub struct Part {
    pub name: &'static str,
    pub failure: Option<String>,
}

/// Why a part did not answer.
enum ProbeFailure<E> {
    Failed(E),
    Late,
}

/// Asks all parts.
pub async fn parts(app: &App) -> [Part; 6] {
    let (time, files) = tokio::join!(database_time(app), in_time(app.files.check()),);
    let mut clock = match &time {
        Ok(time) => clock_failure(Timestamp::now(), *time),
        Err(_) => None,
    };
    let mut files = files.err();
    if let Some(ProbeFailure::Failed(FilesError::Bucket(wrong @ BucketError::Clock { .. }))) =
        &files
    {
        clock = Some(wrong.to_string());
        files = None;
    }
    let held = app.bucket_fence.is_lost().then(|| {
        "another copy of the records has taken the files over: end the processes of one copy"
            .to_owned()
    });
    let draining = app.draining.is_cancelled();
    [
        (
            "records",
            time.err()
                .map(|failure| failure.explain("the database"))
                .or_else(|| full_disk(app)),
        ),
        (
            "files",
            files
                .map(|failure| failure.explain("the file store"))
                .or(held),
        ),
        ("clock", clock),
        ("memory", memory_failure(&app.config, memory_of_machine())),
        ("jobs", jobs_failure(app)),
        (
            "process",
            draining.then(|| "this process is ending: it claims no more jobs".to_owned()),
        ),
    ]
    .map(|(name, failure)| Part { name, failure })
}

/// What is wrong with the disk of records that are in the data folder: they can be read, but nothing can be changed.
fn full_disk(app: &App) -> Option<String> {
    if app.records.is_shared() {
        return None;
    }
    let folder = &app.config.data_dir;
    let error = check_room(folder).err()?;
    Some(format!(
        "{}: {}; nothing can be changed and no job is done until there is room",
        folder.display(),
        chain(&error)
    ))
}

/// The time of the database, or why it does not say it.
async fn database_time(app: &App) -> Result<Timestamp, ProbeFailure<RecordsError>> {
    match in_time(app.records.database_time()).await {
        // It may be waiting for a connection that the server does not give.
        Err(ProbeFailure::Late) => match in_time(async { Ok(app.records.refusal().await) }).await {
            Ok(Some(error)) => Err(ProbeFailure::Failed(error)),
            Ok(None) | Err(ProbeFailure::Late | ProbeFailure::Failed(())) => {
                Err(ProbeFailure::Late)
            }
        },
        asked => asked,
    }
}

/// The result of `answer`, if it comes in time.
async fn in_time<T, E>(answer: impl Future<Output = Result<T, E>>) -> Result<T, ProbeFailure<E>> {
    match timeout(PROBE_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(ProbeFailure::Failed),
        Err(_) => Err(ProbeFailure::Late),
    }
}

impl<E: Error> ProbeFailure<E> {
    fn explain(self, what: &str) -> String {
        match self {
            ProbeFailure::Failed(error) => chain(&error),
            ProbeFailure::Late => format!(
                "{what} did not answer within {} seconds",
                PROBE_TIMEOUT.as_secs()
            ),
        }
    }
}

/// Why this process does no jobs.
fn jobs_failure(app: &App) -> Option<String> {
    let FaultPause { fault, cause, .. } = app.queue.fault_pause()?;
    Some(format!(
        "no jobs are done, because {fault} ({cause}); they continue when that is repaired"
    ))
}

/// What is wrong with the clock of this machine.
fn clock_failure(here: Timestamp, database: Timestamp) -> Option<String> {
    let ahead = here.duration_since(database);
    let direction = if ahead.is_negative() {
        "behind"
    } else {
        "ahead of"
    };
    (ahead.abs() > CLOCK_TOLERANCE).then(|| {
        format!(
            "the clock of this machine is {} minutes {direction} that of the database, so signed URLs and tokens would \
             have wrong times; set both, for example with NTP",
            ahead.abs().as_mins()
        )
    })
}

/// Why the workers have too little memory. Their limit is one of address space; about half of it is resident.
pub fn memory_failure(config: &ServiceConfig, machine: Option<u64>) -> Option<String> {
    let machine = machine?;
    let needed = (config.workers as u64).saturating_mul(config.worker_limits.memory_bytes / 2);
    (needed > machine).then(|| {
        let (mut need, mut has) = (bytes(needed), bytes(machine));
        if need == has {
            // Rounded away from each other, so that they differ.
            need = format!("{} MB", grouped(needed.div_ceil(1_000_000)));
            has = format!("{} MB", grouped(machine / 1_000_000));
        }
        format!(
            "{} jobs at a time need {need} of memory, but there are {has}; run fewer jobs at a time, or on a machine with more memory",
            config.workers,
        )
    })
}

/// The memory that the processes of this machine or container may use, in bytes.
pub fn memory_of_machine() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = memory_total(&read("/proc/meminfo")?)?;
    // Without a limit the file is missing or contains a word or a huge number.
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let container = limits
        .iter()
        .filter_map(|path| read(path)?.trim().parse().ok())
        .min();
    Some(container.map_or(machine, |limit: u64| limit.min(machine)))
}

fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::config::WorkerCommand;

    #[test]
    fn a_clock_that_is_off_is_named_with_its_direction() {
        let here = Timestamp::UNIX_EPOCH;
        let off = |minutes| clock_failure(here, here + SignedDuration::from_mins(minutes));
        assert_eq!(off(0), None);
        assert_eq!(off(5), None);
        assert!(off(60).unwrap().contains("60 minutes behind"));
        assert!(off(-61).unwrap().contains("61 minutes ahead of"));
    }

    #[test]
    fn workers_need_half_of_their_limit_each() {
        let worker = WorkerCommand {
            program: "assetfs".into(),
            args: Vec::new(),
        };
        let mut config = ServiceConfig::new("/data", worker);
        config.workers = 3;
        config.worker_limits.memory_bytes = 4 << 30;
        assert_eq!(memory_failure(&config, Some(6 << 30)), None);
        let failure = memory_failure(&config, Some(5 << 30)).unwrap();
        assert!(
            failure.contains("3 jobs at a time need 6.4 GB"),
            "{failure}"
        );
        assert!(failure.contains("there are 5.4 GB"), "{failure}");
        config.workers = 8;
        let failure = memory_failure(&config, Some(17_000_000_000)).unwrap();
        let told = "need 17,180 MB of memory, but there are 17,000 MB";
        assert!(failure.contains(told), "{failure}");
        config.workers = 0;
        assert_eq!(memory_failure(&config, Some(1)), None);
        assert_eq!(memory_failure(&config, None), None);
    }

    #[test]
    fn the_memory_of_a_machine_is_read_from_meminfo() {
        let meminfo = "MemTotal:       16307708 kB\nMemFree:  5 kB\n";
        assert_eq!(memory_total(meminfo), Some(16_307_708 << 10));
        assert!(memory_of_machine().is_some_and(|bytes| bytes > 1 << 28));
    }
}
