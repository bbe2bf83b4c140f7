//! Infrastructure faults: a full bucket or disk, an unreachable database or storage, a program that cannot be started.
//!
//! Neither the model nor the job is the cause. `Display` is for users: no internal addresses, no messages of the storage.
//! The log and `/readyz` have the whole cause.

use std::fmt;

/// An infrastructure fault, which keeps a process from doing jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InfraFault {
    DatabaseAway,
    DatabaseFull,
    StorageAway,
    StorageFull,
    StorageRefuses,
    WorkDiskFull,
    WorkDiskFails,
    NoProgram,
}

impl InfraFault {
    /// The name in the metrics.
    pub fn text(self) -> &'static str {
        match self {
            InfraFault::DatabaseAway => "database_away",
            InfraFault::DatabaseFull => "database_full",
            InfraFault::StorageAway => "storage_away",
            InfraFault::StorageFull => "storage_full",
            InfraFault::StorageRefuses => "storage_refuses",
            InfraFault::WorkDiskFull => "work_disk_full",
            InfraFault::WorkDiskFails => "work_disk_fails",
            InfraFault::NoProgram => "no_program",
        }
    }

    /// The step of a job that waits for the end of the fault, for users.
    pub fn reason_to_wait(self) -> String {
        let until = match self {
            InfraFault::DatabaseAway | InfraFault::StorageAway => "as soon as it answers",
            InfraFault::DatabaseFull | InfraFault::StorageFull | InfraFault::WorkDiskFull => {
                "as soon as the operator of the service has made room"
            }
            InfraFault::StorageRefuses | InfraFault::WorkDiskFails | InfraFault::NoProgram => {
                "as soon as the operator of the service has repaired that"
            }
        };
        format!("Waiting because {self}; continues automatically {until}; nothing is lost")
    }

    /// Whether every process of the service has it, and not only the one that has found it.
    pub fn is_of_all_processes(self) -> bool {
        match self {
            InfraFault::DatabaseAway
            | InfraFault::DatabaseFull
            | InfraFault::StorageAway
            | InfraFault::StorageFull
            | InfraFault::StorageRefuses => true,
            InfraFault::WorkDiskFull | InfraFault::WorkDiskFails | InfraFault::NoProgram => false,
        }
    }
}

/// A part of a sentence for users.
impl fmt::Display for InfraFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InfraFault::DatabaseAway => "the database of the service does not answer",
            InfraFault::DatabaseFull => "the disk of the service's database is full",
            InfraFault::StorageAway => "the file storage of the service does not answer",
            InfraFault::StorageFull => "the file storage of the service is full",
            InfraFault::StorageRefuses => "the file storage of the service refuses requests",
            InfraFault::WorkDiskFull => "the work disk of the service is full",
            InfraFault::WorkDiskFails => "the work disk of the service fails",
            InfraFault::NoProgram => "the service cannot start the program that does the work",
        })
    }
}
