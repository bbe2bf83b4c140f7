//! Why an attempt of a job failed, if the model is not the cause.

use crate::service::files::FilesError;
use crate::service::records::RecordsError;
use crate::service::workers::WorkerError;

/// Why a job could not run. The model is not the cause, so the job is tried again.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Files(#[from] FilesError),
    /// I/O on a file of the work folder failed.
    #[error("the work folder failed")]
    Disk(#[from] std::io::Error),
    #[error("the work folder cannot be made")]
    WorkFolder(#[source] std::io::Error),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The panic message is in the log.
    #[error("an error in the service itself ended the attempt")]
    Panicked,
}

impl JobError {
    /// Why an attempt failed, as a part of a sentence for users: without internal addresses and without messages of the
    /// storage. The log has the whole cause.
    pub(super) fn for_users(&self) -> &'static str {
        match self {
            JobError::Records(_) => "its database refused a change",
            JobError::Files(FilesError::Damaged { .. }) => {
                "a file of this model arrives damaged from its file storage"
            }
            JobError::Files(error) if error.is_gone() => {
                "a file of this model is missing in its file storage"
            }
            JobError::Files(_) => "its file storage failed",
            JobError::Disk(_) | JobError::WorkFolder(_) => "its work disk failed",
            JobError::Worker(WorkerError::Killed { .. }) => {
                "the program that does the work was killed, probably because memory was short"
            }
            JobError::Worker(_) => "it cannot run the program that does the work",
            JobError::Panicked => "an error in the service itself ended the attempt",
        }
    }
}
