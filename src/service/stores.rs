//! Opens the records and the files of a process, and refuses files that belong to other records or are held by another
//! copy of these.

use super::bucket_fence::BucketFence;
use super::clock::Clock;
use super::config::ServiceConfig;
use super::error::ServiceError;
use super::files::FileStore;
use super::files::owner::{Claim, Ownership};
use super::ids;
use super::records::{Records, RecordsAt};
use crate::durable::PrivateDir;

/// The setting of records whose files have been claimed.
const FILES_CLAIMED: &str = "files_claimed";

/// The setting with the id of the records.
const RECORDS_ID: &str = "records_id";

/// The file of SQLite in the data folder.
const RECORDS_FILE: &str = "records.sqlite";

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
    pub(super) bucket_fence: BucketFence,
    pub(super) clock: Clock,
}

/// Result of adopting the files of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    Done,
    /// These records held the files already; nothing changed.
    NotNeeded,
}

impl Stores {
    pub(super) async fn open(
        config: &ServiceConfig,
        data_dir: &PrivateDir,
        process: Process,
    ) -> Result<Stores, ServiceError> {
        let (records, files, clock) = open_both(config, data_dir).await?;
        claim_files(&files, &records, config, process).await?;
        let bucket_fence = BucketFence::new(&records, &data_dir.join(RECORDS_FILE)).await;
        if !bucket_fence.is_ours(&files, &records).await? {
            records.close().await;
            let place = place_of_files(config);
            return Err(ServiceError::HeldFiles { place });
        }
        if process == Process::Serve && config.bucket.is_some() {
            bucket_fence.renew(&files, &records).await?;
        }
        if !records.is_shared() {
            // What was being stored when the last process ended. The janitor removes the bytes.
            records.blobs().give_up_all().await?;
        }
        Ok(Stores {
            records,
            files,
            bucket_fence,
            clock,
        })
    }
}

async fn open_both(
    config: &ServiceConfig,
    data_dir: &PrivateDir,
) -> Result<(Records, FileStore, Clock), ServiceError> {
    let files = match &config.bucket {
        Some(bucket) => FileStore::in_bucket(bucket).await?,
        None => FileStore::in_folder(&data_dir.join("files"))?,
    };
    let clock = Clock::default();
    let file = data_dir.join(RECORDS_FILE);
    let records = Records::open(&config.records, &file, clock.clone()).await?;
    Ok((records, files, clock))
}

/// Makes these records, a copy of those that the files of a bucket belong to, the holder of the bucket.
pub(super) async fn adopt(
    config: &ServiceConfig,
    data_dir: &PrivateDir,
) -> Result<Adoption, ServiceError> {
    let (records, files, _) = open_both(config, data_dir).await?;
    let id = records.setting(RECORDS_ID, ids::random_name).await?;
    let place = || place_of_files(config);
    match files.claim(&id, Claim::Any).await? {
        Ownership::Ours => {}
        Ownership::Unknown => return Err(ServiceError::ForeignFiles { place: place() }),
        Ownership::Empty => return Err(ServiceError::NoFiles { place: place() }),
    }
    let bucket_fence = BucketFence::new(&records, &data_dir.join(RECORDS_FILE)).await;
    let adoption = match bucket_fence.is_ours(&files, &records).await? {
        true => Adoption::NotNeeded,
        false => {
            bucket_fence.adopt(&files, &records).await?;
            Adoption::Done
        }
    };
    records.close().await;
    Ok(adoption)
}

fn place_of_files(config: &ServiceConfig) -> String {
    match &config.bucket {
        Some(bucket) => bucket.address.to_string(),
        None => config.data_dir.join("files").display().to_string(),
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
    let id = records.setting(RECORDS_ID, ids::random_name).await?;
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
    let place = || place_of_files(config);
    match files.claim(&id, claim).await? {
        Ownership::Ours => {
            records.setting(FILES_CLAIMED, || "1".to_owned()).await?;
            Ok(())
        }
        Ownership::Unknown => Err(ServiceError::ForeignFiles { place: place() }),
        Ownership::Empty => Err(ServiceError::NoFiles { place: place() }),
    }
}
