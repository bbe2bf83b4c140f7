//! Opens the records and the files of a process, and refuses files that belong to other records.

use super::ServiceError;
use super::clock::Clock;
use super::config::ServiceConfig;
use super::files::{Claim, FileStore, Ownership};
use super::ids;
use super::records::{Records, RecordsAt};
use crate::durable::PrivateDir;

/// The setting of records whose files have been claimed.
const FILES_CLAIMED: &str = "files_claimed";

/// What a process of the service does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// It answers requests.
    Serve,
    /// It only does jobs.
    Worker,
}

/// Records and files that belong together.
pub(super) struct Stores {
    pub(super) records: Records,
    pub(super) files: FileStore,
    pub(super) clock: Clock,
}

impl Stores {
    pub(super) async fn open(
        config: &ServiceConfig,
        data_dir: &PrivateDir,
        process: Process,
    ) -> Result<Stores, ServiceError> {
        let files = match &config.bucket {
            Some(bucket) => FileStore::in_bucket(bucket).await?,
            None => FileStore::in_folder(&data_dir.join("files"))?,
        };
        let clock = Clock::default();
        let file = data_dir.join("records.sqlite");
        let records = Records::open(&config.records, &file, clock.clone()).await?;
        claim_files(&files, &records, config, process).await?;
        if !records.is_shared() {
            // What was being stored when the last process ended. The janitor removes the bytes.
            records.blobs().give_up_all().await?;
        }
        Ok(Stores {
            records,
            files,
            clock,
        })
    }
}

/// Refuses files of other records, because the janitor would remove them. Refuses an empty storage if the records have
/// their files elsewhere, because every job would fail.
async fn claim_files(
    files: &FileStore,
    records: &Records,
    config: &ServiceConfig,
    process: Process,
) -> Result<(), ServiceError> {
    let id = records.setting("records_id", ids::random_name).await?;
    // Earlier versions wrote no owner. They had all their records and files in the data folder.
    let one_folder = config.bucket.is_none() && matches!(config.records, RecordsAt::DataFolder);
    let claim = if one_folder && records.accounts().is_any().await? {
        Claim::Any
    } else if config.bucket.is_some()
        && (process == Process::Worker || records.has_setting(FILES_CLAIMED).await?)
    {
        Claim::Nothing
    } else {
        Claim::Empty
    };
    let place = || match &config.bucket {
        Some(bucket) => bucket.address.to_string(),
        None => config.data_dir.join("files").display().to_string(),
    };
    match files.claim(&id, claim).await? {
        Ownership::Ours => {
            records.setting(FILES_CLAIMED, || "1".to_owned()).await?;
            Ok(())
        }
        Ownership::Unknown => Err(ServiceError::ForeignFiles { place: place() }),
        Ownership::Empty => Err(ServiceError::NoFiles { place: place() }),
    }
}
