//! Distinguishes an infrastructure fault from a failure of a job, and computes the pauses after both.
//!
//! An infrastructure fault costs no attempt. Instead the process claims no jobs until the fault is gone (`queue::FaultPause`).

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use super::error::JobError;
use crate::backoff::Backoff;
use crate::disk_room::{check_room, disk_error, is_disk_full};
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::files::{BucketError, FilesError};
use crate::service::infra_fault::InfraFault;
use crate::service::records::JobRow;
use crate::service::workers::WorkerError;

/// The first pause of a worker slot and of a job.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause of a worker slot whose attempts fail.
const MAX_SLOT_PAUSE: Duration = Duration::from_secs(60);

/// Timeout for the check whether the storage can be written.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// After this many faults of one job, a storage failure counts as an attempt if the storage works otherwise: probably the
/// job itself is the cause.
const MANY_FAULTS: u64 = 10;

/// The longest pause of a job after a fault.
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The infrastructure fault that caused the error of an attempt; `None` if there is none, so that the attempt counts.
pub(super) async fn fault_of(app: &App, job: &JobRow, error: &JobError) -> Option<InfraFault> {
    match error {
        JobError::Records(error) if error.is_full() => Some(InfraFault::DatabaseFull),
        JobError::Records(error) => error.is_temporary().then_some(InfraFault::DatabaseAway),
        JobError::Panicked | JobError::Worker(WorkerError::Killed { .. }) => None,
        JobError::Worker(WorkerError::NotStarted { .. }) => Some(InfraFault::NoProgram),
        JobError::Worker(WorkerError::DiskFull) => Some(InfraFault::WorkDiskFull),
        JobError::WorkFolder(error) | JobError::Disk(error) if is_disk_full(error) => {
            Some(InfraFault::WorkDiskFull)
        }
        JobError::WorkFolder(_) => Some(InfraFault::WorkDiskFails),
        JobError::Disk(error) => is_of_the_disk(error).then_some(InfraFault::WorkDiskFails),
        JobError::Files(error) => storage_fault_of(app, job, error).await,
    }
}

async fn storage_fault_of(app: &App, job: &JobRow, error: &FilesError) -> Option<InfraFault> {
    let is_work = matches!(error, FilesError::Disk { path, .. } if path.starts_with(&app.work_dir));
    if is_disk_full(error) {
        return Some(match is_work {
            true => InfraFault::WorkDiskFull,
            false => InfraFault::StorageFull,
        });
    }
    if disk_error(error).is_some_and(is_of_the_disk) {
        return Some(match is_work {
            true => InfraFault::WorkDiskFails,
            false => InfraFault::StorageRefuses,
        });
    }
    match storage_fault(app).await {
        Some((fault, _)) => Some(fault),
        // The storage failed until the last retry, but works again now.
        None if error.is_temporary() && job.faults < MANY_FAULTS => Some(InfraFault::StorageAway),
        None => None,
    }
}

/// Whether the disk, and not a single file, is the cause.
fn is_of_the_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{
        OutOfMemory, PermissionDenied, ReadOnlyFilesystem, StaleNetworkFileHandle,
    };
    let is_kind = matches!(
        error.kind(),
        PermissionDenied | ReadOnlyFilesystem | StaleNetworkFileHandle | OutOfMemory
    );
    is_kind
        || matches!(
            error.raw_os_error(),
            Some(libc::EIO | libc::EMFILE | libc::ENFILE)
        )
}

/// The infrastructure fault that exists now, with its cause. After a fault this is checked before the next claim.
pub(super) async fn find_fault(app: &App) -> Option<(InfraFault, String)> {
    if let Err(error) = check_room(&app.work_dir) {
        let fault = match is_disk_full(&error) {
            true => InfraFault::WorkDiskFull,
            false => InfraFault::WorkDiskFails,
        };
        return Some((
            fault,
            format!("{}: {}", app.work_dir.display(), chain(&error)),
        ));
    }
    if let Some(fault) = database_fault(app).await {
        return Some(fault);
    }
    storage_fault(app).await
}

async fn database_fault(app: &App) -> Option<(InfraFault, String)> {
    let data = &app.config.data_dir;
    if !app.records.is_shared()
        && let Err(error) = check_room(data)
        && is_disk_full(&error)
    {
        let cause = format!("{}: {}", data.display(), chain(&error));
        return Some((InfraFault::DatabaseFull, cause));
    }
    let error = match timeout(PROBE_TIME, app.records.check_writes()).await {
        Ok(checked) => checked.err()?,
        Err(_) => {
            let seconds = PROBE_TIME.as_secs();
            let cause = format!("the database did not answer within {seconds} seconds");
            return Some((InfraFault::DatabaseAway, cause));
        }
    };
    let fault = match error.is_full() {
        true => InfraFault::DatabaseFull,
        false => InfraFault::DatabaseAway,
    };
    Some((fault, chain(&error)))
}

async fn storage_fault(app: &App) -> Option<(InfraFault, String)> {
    let Ok(checked) = timeout(PROBE_TIME, app.files.check_writes()).await else {
        let cause = format!(
            "the storage did not answer within {} seconds",
            PROBE_TIME.as_secs()
        );
        return Some((InfraFault::StorageAway, cause));
    };
    let error = checked.err()?;
    let fault = match &error {
        FilesError::Bucket(BucketError::Full { .. }) => InfraFault::StorageFull,
        error if is_disk_full(error) => InfraFault::StorageFull,
        error if error.is_temporary() => InfraFault::StorageAway,
        _ => InfraFault::StorageRefuses,
    };
    Some((fault, chain(&error)))
}

/// The pause of a worker slot after this many failures in a row: 1 s after the first, twice as long after each further
/// one.
pub(super) fn back_off(failures: u32) -> Duration {
    Backoff::doubling(FIRST_PAUSE, MAX_SLOT_PAUSE).after(failures)
}

/// The pause of a job that had this many faults before. It grows, so that a job that is itself the cause does not stop
/// the others.
pub(super) fn pause_after(faults: u64) -> Duration {
    let faults = u32::try_from(faults).unwrap_or(u32::MAX);
    Backoff::doubling(FIRST_PAUSE, MAX_PAUSE).after(faults.saturating_add(1))
}
