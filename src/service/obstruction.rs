//! Infrastructure faults: a full bucket or disk, an unreachable database or storage, a program that cannot be started.
//!
//! Neither the model nor the job is the cause. `Display` is for users: no internal addresses, no messages of the storage.
//! The log and `/readyz` have the whole cause.

use std::fmt;

/// An infrastructure fault, which keeps a process from doing jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstruction {
    DatabaseAway,
    DatabaseFull,
    StorageAway,
    StorageFull,
    StorageRefuses,
    WorkDiskFull,
    WorkDiskFails,
    NoProgram,
}

impl Obstruction {
    /// The name in the metrics.
    pub fn text(self) -> &'static str {
        match self {
            Obstruction::DatabaseAway => "database_away",
            Obstruction::DatabaseFull => "database_full",
            Obstruction::StorageAway => "storage_away",
            Obstruction::StorageFull => "storage_full",
            Obstruction::StorageRefuses => "storage_refuses",
            Obstruction::WorkDiskFull => "work_disk_full",
            Obstruction::WorkDiskFails => "work_disk_fails",
            Obstruction::NoProgram => "no_program",
        }
    }

    /// The step of a job that waits for the end of the fault, for users.
    pub fn reason_to_wait(self) -> String {
        let until = match self {
            Obstruction::DatabaseAway | Obstruction::StorageAway => "as soon as it answers",
            Obstruction::DatabaseFull | Obstruction::StorageFull | Obstruction::WorkDiskFull => {
                "as soon as the operator of the service has made room"
            }
            Obstruction::StorageRefuses | Obstruction::WorkDiskFails | Obstruction::NoProgram => {
                "as soon as the operator of the service has repaired that"
            }
        };
        format!("Waits, because {self}; goes on by itself {until}, nothing is lost")
    }

    /// Whether every process of the service has it, and not only the one that has found it.
    pub fn is_of_all_processes(self) -> bool {
        match self {
            Obstruction::DatabaseAway
            | Obstruction::DatabaseFull
            | Obstruction::StorageAway
            | Obstruction::StorageFull
            | Obstruction::StorageRefuses => true,
            Obstruction::WorkDiskFull | Obstruction::WorkDiskFails | Obstruction::NoProgram => {
                false
            }
        }
    }
}

/// A part of a sentence for users.
impl fmt::Display for Obstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstruction::DatabaseAway => "the database of the service does not answer",
            Obstruction::DatabaseFull => "the disk of the service's database is full",
            Obstruction::StorageAway => "the file storage of the service does not answer",
            Obstruction::StorageFull => "the file storage of the service is full",
            Obstruction::StorageRefuses => "the file storage of the service refuses requests",
            Obstruction::WorkDiskFull => "the work disk of the service is full",
            Obstruction::WorkDiskFails => "the work disk of the service fails",
            Obstruction::NoProgram => "the service cannot start the program that does the work",
        })
    }
}
