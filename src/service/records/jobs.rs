//! The job table.
//!
//! A job is added in the commit that makes it necessary and ended in the commit that records its result. One
//! statement claims a job and increments its fencing token (`fence`). Every later write of the attempt names this
//! number, so an attempt that has lost its job changes nothing any more. A claim is a lease, which the process
//! renews. A job whose lease expired is claimed again, a bounded number of times.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::database::{MAX_ROWS, Result, Tx, rows};
use super::groups::JobRecords;
use super::shared::PoolKind;
use super::sql::{columns, ids, micros, record, select_from, sql, words};
use crate::service::ids::random_uuid;
use crate::service::infra_fault::InfraFault;
use crate::service::trace;
use crate::wire::{AssetId, RapidId, UserId};
use assetfs_engine::job::Progress;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

ids!(JobId);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right of an attempt to change its job until another attempt claims the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    /// The number of the claim.
    pub fence: u64,
}

/// A heartbeat of a running attempt.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    pub lease: Lease,
    /// If it has changed.
    pub progress: Option<Progress>,
}

/// How an attempt went that did not end its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// It is one of the few that a job has. The reason is shown while the job waits.
    Failed { reason: &'a str },
    /// An infrastructure fault ended it. It does not count; the job waits for `pause` at least, and shows the fault.
    Obstructed { fault: InfraFault, pause: Duration },
    /// It does not count.
    Stopped,
}

/// The running jobs that lost their process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// All: their process has ended.
    All,
    /// Those with an expired lease.
    Expired,
}

words! {
    pub enum JobKind {
        /// Unpack an uploaded archive and analyse the model.
        Analyse = "analyse",
        /// Create a rapid model.
        Optimize = "optimize",
        /// Convert an asset to other formats.
        Convert = "convert",
    }
    else Analyse
}

words! {
    pub enum JobState {
        Queued = "queued",
        Running = "running",
        Finished = "finished",
        Failed = "failed",
    }
    else Failed
}

record! {
    #[derive(Debug, Clone)]
    pub struct JobRow {
        pub id: JobId,
        /// Its id in the API.
        pub key: String,
        pub kind: JobKind,
        pub user: UserId = "user_id",
        pub asset: AssetId = "asset_id",
        /// The rapid model that it creates.
        pub rapid: Option<RapidId> = "rapid_id",
        /// The id of its conversion.
        pub conversion: Option<u64> = "conversion_id",
        pub state: JobState,
        pub attempts: u64,
        pub fence: u64,
        /// Number of attempts that an infrastructure fault ended.
        pub faults: u64,
        /// When it may be claimed again after such a fault, by the clock of the database.
        pub resume_at: Option<u64>,
        /// 0 to 100.
        pub progress: u64,
        /// The current step, as text.
        pub step: String,
        /// Exit code and error of the worker, as JSON.
        pub output: Option<String>,
        /// The trace of what queued it, as the value of the header `traceparent`.
        pub trace: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// When it was first claimed.
        pub started_at: Option<Timestamp>,
        pub finished_at: Option<Timestamp>,
    }
}

impl JobRow {
    /// Why it waits, if an infrastructure fault ended its last attempt.
    pub fn obstacle(&self) -> Option<&str> {
        let waits = self.state == JobState::Queued && self.resume_at.is_some();
        waits.then_some(self.step.as_str())
    }

    /// The lease of the attempt that claimed this row.
    pub fn lease(&self) -> Lease {
        Lease {
            job: self.id,
            fence: self.fence,
        }
    }
}

/// The jobs that have not ended.
#[derive(Debug, Clone, Copy)]
pub struct JobLoad {
    pub queued: u64,
    pub running: u64,
    /// How long the oldest queued job has existed.
    pub oldest_wait: Duration,
}

/// Work that remains after a deletion: blobs to remove, jobs whose workers must stop.
#[derive(Debug, Default)]
pub struct Removal {
    /// How many of the named records existed.
    pub records: usize,
    pub blobs: Vec<String>,
    /// Deleted jobs.
    pub jobs: Vec<JobId>,
}

/// The step of a queued job.
pub(super) const QUEUED_STEP: &str = "Scheduled for processing";

/// What a job is added for.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobTarget {
    pub asset: AssetId,
    /// The rapid model that it creates.
    pub rapid: Option<RapidId>,
    /// The id of its conversion.
    pub conversion: Option<u64>,
}

impl JobTarget {
    pub(super) fn asset(asset: AssetId) -> JobTarget {
        JobTarget {
            asset,
            rapid: None,
            conversion: None,
        }
    }
}

/// Adds jobs to the queue in this order, as a part of the running trace.
pub(super) async fn add(
    tx: &mut Tx,
    kind: JobKind,
    user: UserId,
    targets: &[JobTarget],
) -> Result<()> {
    for targets in targets.chunks(MAX_ROWS) {
        let shared = "$1, $2, 'queued', 0, 0, $3, $4, $5, $5";
        let rows = rows(targets.len(), shared, 6, 4);
        let mut insert = sql!(
            format!(
                "INSERT INTO jobs (kind, user_id, state, attempts, progress, step, trace, created_at, updated_at, \
                 key, asset_id, rapid_id, conversion_id) VALUES {rows}"
            ),
            kind,
            user,
            QUEUED_STEP,
            trace::current().map(|trace| trace.to_string()),
            tx.now(),
        );
        for target in targets {
            insert = insert.bind(&random_uuid()).bind(&target.asset);
            insert = insert.bind(&target.rapid).bind(&target.conversion);
        }
        tx.run(insert).await?;
    }
    Ok(())
}

/// The last state and step of a job.
pub(super) fn outcome(has_succeeded: bool) -> (JobState, &'static str) {
    match has_succeeded {
        true => (JobState::Finished, "Done"),
        false => (JobState::Failed, "Failed"),
    }
}

/// Ends a job; false if the attempt has lost it.
pub(super) async fn end(
    tx: &mut Tx,
    lease: Lease,
    state: JobState,
    step: &str,
    output: &str,
) -> Result<bool> {
    let update = sql!(
        "UPDATE jobs SET state = $2, step = $3, output = $4, updated_at = $5, finished_at = $5, \
         progress = CASE WHEN $2 = 'finished' THEN 100 ELSE progress END \
         WHERE id = $1 AND fence = $6 AND state = 'running'",
        lease.job,
        state,
        step,
        output,
        tx.now(),
        lease.fence,
    );
    Ok(tx.run(update).await? > 0)
}

/// Whether the attempt still has its job.
pub(super) async fn is_running(tx: &mut Tx, lease: Lease) -> Result<bool> {
    let query = sql!(
        "SELECT id FROM jobs WHERE id = $1 AND fence = $2 AND state = 'running'",
        lease.job,
        lease.fence,
    );
    Ok(tx.optional::<JobId>(query).await?.is_some())
}

/// The number of jobs among which those of an account are looked for when its durations are asked for.
const RECENT: u64 = 5_000;
/// The maximum number of durations of an account.
const MAX_TIMED: u64 = 200;

record! {
    /// A job that runs or was finished, and what decides how long it takes.
    #[derive(Debug)]
    pub struct TimedJob {
        pub kind: JobKind,
        pub asset: AssetId = "asset_id",
        pub rapid: Option<RapidId> = "rapid_id",
        /// The format and the size of the source.
        pub format: String,
        pub size: u64,
        /// The configuration of an optimization.
        pub config: Option<String>,
        pub started_at: Timestamp,
        /// `None` while it runs.
        pub finished_at: Option<Timestamp>,
    }
}

impl JobRecords<'_> {
    /// The recent jobs of `user` that run or were finished, newest first.
    pub async fn list_timed(self, user: UserId) -> Result<Vec<TimedJob>> {
        let query = "SELECT j.kind, j.asset_id, j.rapid_id, a.format, a.size, r.config, j.started_at, j.finished_at \
             FROM jobs j JOIN assets a ON a.id = j.asset_id LEFT JOIN rapids r ON r.id = j.rapid_id \
             WHERE j.user_id = $1 AND j.id > (SELECT COALESCE(MAX(id), 0) FROM jobs) - $2 \
             AND j.state IN ('running', 'finished') AND j.started_at IS NOT NULL ORDER BY j.id DESC LIMIT $3";
        self.database
            .all(sql!(query, user, RECENT, MAX_TIMED))
            .await
    }

    /// Claims the oldest queued job, if there is one, for the time `lease`.
    pub async fn claim(self, lease: Duration) -> Result<Option<JobRow>> {
        let columns = columns::<JobRow>("");
        let update = sql!(
            format!(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, fence = fence + 1, \
                 lease_until = now_micros() + $2, updated_at = $1, started_at = COALESCE(started_at, $1) \
                 WHERE id = (SELECT id FROM jobs WHERE state = 'queued' \
                 AND COALESCE(resume_at, 0) <= now_micros() ORDER BY id LIMIT 1 \
                 FOR UPDATE SKIP LOCKED) RETURNING {columns}"
            ),
            self.database.now(),
            micros(lease),
        );
        self.database.in_pool(PoolKind::Leases).change(update).await
    }

    /// Renews a lease; false if it is lost.
    pub async fn renew_lease(self, lease: Lease, time: Duration) -> Result<bool> {
        let update = sql!(
            "UPDATE jobs SET lease_until = now_micros() + $3 \
             WHERE id = $1 AND fence = $2 AND state = 'running'",
            lease.job,
            lease.fence,
            micros(time),
        );
        Ok(self.database.in_pool(PoolKind::Leases).run(update).await? > 0)
    }

    /// Whether the end of this attempt is recorded.
    pub async fn was_ended(self, lease: Lease) -> Result<bool> {
        let query = sql!(
            "SELECT id FROM jobs WHERE id = $1 AND fence = $2 AND state IN ('finished', 'failed')",
            lease.job,
            lease.fence,
        );
        Ok(self.database.optional::<JobId>(query).await?.is_some())
    }

    /// Renews the leases of these attempts and records their progress, in one statement. Returns the jobs whose
    /// leases it renewed. The other jobs are lost, or another transaction has locked them.
    pub async fn renew_leases(
        self,
        heartbeats: &[Heartbeat],
        time: Duration,
    ) -> Result<Vec<JobId>> {
        if heartbeats.is_empty() {
            return Ok(Vec::new());
        }
        let row = |number: usize| {
            let first = 3 + 4 * number;
            format!(
                "(CAST(${} AS BIGINT), CAST(${} AS BIGINT), CAST(${} AS BIGINT), CAST(${} AS TEXT))",
                first,
                first + 1,
                first + 2,
                first + 3
            )
        };
        let rows: Vec<String> = (0..heartbeats.len()).map(row).collect();
        let text = format!(
            "WITH beat (job, mark, percent, words) AS (VALUES {}) \
             UPDATE jobs SET lease_until = now_micros() + $1, \
             updated_at = CASE WHEN percent IS NULL THEN updated_at ELSE $2 END, \
             progress = COALESCE(percent, progress), step = COALESCE(words, step) \
             FROM beat WHERE id = job AND fence = mark AND state = 'running' AND id IN \
             (SELECT id FROM jobs WHERE id IN (SELECT job FROM beat) AND state = 'running' \
             FOR UPDATE SKIP LOCKED) RETURNING id",
            rows.join(", ")
        );
        let mut update = sql!(text, micros(time), self.database.now());
        for Heartbeat { lease, progress } in heartbeats {
            let percent = progress.as_ref().map(|it| u64::from(it.percent.min(99)));
            let step = progress.as_ref().map(|it| &*it.step);
            update = update
                .bind(&lease.job)
                .bind(&lease.fence)
                .bind(&percent)
                .bind(&step);
        }
        self.database
            .in_pool(PoolKind::Leases)
            .change_all(update)
            .await
    }

    /// Puts a job back into the queue.
    pub async fn requeue(self, lease: Lease, attempt: Attempt<'_>) -> Result<()> {
        let (uncounted, step, pause): (u64, _, _) = match attempt {
            Attempt::Failed { reason } => {
                let step = format!("Tried again soon, because the service failed: {reason}");
                (0, Cow::Owned(step), None)
            }
            Attempt::Obstructed { fault, pause } => {
                let step = fault.reason_to_wait();
                (1, Cow::Owned(step), Some(micros(pause)))
            }
            Attempt::Stopped => (1, Cow::Borrowed(QUEUED_STEP), None),
        };
        let update = sql!(
            "UPDATE jobs SET state = 'queued', attempts = attempts - $5, progress = 0, step = $2, \
             updated_at = $3, lease_until = NULL, resume_at = now_micros() + $6, \
             faults = faults + CASE WHEN CAST($6 AS BIGINT) IS NULL THEN 0 ELSE 1 END \
             WHERE id = $1 AND fence = $4 AND state = 'running'",
            lease.job,
            &*step,
            self.database.now(),
            lease.fence,
            uncounted,
            pause,
        );
        let requeued = self.database.in_pool(PoolKind::Leases).run(update);
        requeued.await.map(drop)
    }

    /// Fails a job whose asset, rapid model or conversion was deleted.
    pub async fn fail(self, lease: Lease, output: &str) -> Result<()> {
        let mut tx = self.database.begin().await?;
        end(&mut tx, lease, JobState::Failed, "Failed", output).await?;
        tx.commit().await
    }

    /// Queues the running jobs that `lost` selects. Claims those that already had all their `attempts` for the time
    /// `lease` and returns them: only the caller marks them as failed. Returns the number of queued jobs, too.
    pub async fn recover(
        self,
        lost: Lost,
        attempts: u32,
        lease: Duration,
    ) -> Result<(Vec<JobRow>, u64)> {
        let is_lost = match lost {
            Lost::All => "state = 'running'",
            Lost::Expired => "state = 'running' AND COALESCE(lease_until, 0) <= now_micros()",
        };
        // A row that is locked belongs to a job that ends at this moment.
        let update = sql!(
            format!(
                "UPDATE jobs SET state = 'queued', progress = 0, step = $2, updated_at = $3, \
                 lease_until = NULL WHERE id IN (SELECT id FROM jobs WHERE {is_lost} AND attempts < $1 \
                 FOR UPDATE SKIP LOCKED)"
            ),
            attempts,
            QUEUED_STEP,
            self.database.now(),
        );
        let leases = self.database.in_pool(PoolKind::Leases);
        let queued = leases.run(update).await?;
        // If this process dies before it has marked them, another one claims them when this lease expires.
        let columns = columns::<JobRow>("");
        let claim = sql!(
            format!(
                "UPDATE jobs SET fence = fence + 1, lease_until = now_micros() + $2 WHERE id IN \
                 (SELECT id FROM jobs WHERE {is_lost} AND attempts >= $1 FOR UPDATE SKIP LOCKED) \
                 RETURNING {columns}"
            ),
            attempts,
            micros(lease),
        );
        let mut failed: Vec<JobRow> = leases.change_all(claim).await?;
        failed.sort_by_key(|job| job.id);
        Ok((failed, queued))
    }

    /// Counts the jobs that have not ended.
    pub async fn load(self) -> Result<JobLoad> {
        let count = |state| {
            sql!(
                "SELECT COUNT(*), MIN(created_at) FROM jobs WHERE state = $1",
                state
            )
        };
        let queued = self.database.one(count(JobState::Queued)).await?;
        let running = self.database.one(count(JobState::Running)).await?;
        let (queued, oldest): (u64, Option<Timestamp>) = queued;
        let (running, _): (u64, Option<Timestamp>) = running;
        let now = self.database.now();
        let waited = oldest.map_or(0, |oldest| now - oldest.as_microsecond());
        Ok(JobLoad {
            queued,
            running,
            oldest_wait: Duration::from_micros(waited.max(0) as u64),
        })
    }

    /// The newest analysis of an asset.
    pub async fn latest_analysis(self, asset: AssetId) -> Result<Option<JobRow>> {
        let query = select_from::<JobRow>(
            "jobs WHERE asset_id = $1 AND kind = 'analyse' ORDER BY id DESC LIMIT 1",
        );
        self.database.optional(sql!(query, asset)).await
    }
}
