//! Why a service could not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::bucket_fence::FenceError;
use super::files::{BucketError, FilesError};
use super::records::RecordsError;
use super::tls::TlsError;
use crate::disk_room::is_disk_full;
use crate::durable::DurableError;

/// Why a service could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("cannot listen on {addr}")]
    Listen {
        addr: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("the data folder of the service cannot be used")]
    DataDir(#[from] DurableError),
    #[error("the records of the service cannot be used")]
    Records(#[from] RecordsError),
    #[error("the file store of the service cannot be used")]
    Files(#[from] FilesError),
    #[error("the bucket of the service cannot be used")]
    Bucket(#[from] BucketError),
    #[error(
        "the files in {place} belong to other records; start the service with the records that they belong to, or \
         choose an empty folder with --data or an empty prefix of a bucket with --files"
    )]
    ForeignFiles { place: String },
    #[error(
        "the records have no files in {place}: check --files, which must be the same for all processes; a new storage \
         is prepared by the first `assetfs serve`"
    )]
    NoFiles { place: String },
    #[error(
        "the files in {place} are held by another copy of these records: these are a backup, or another copy has taken \
         the files over. If the other copy is in use, give this one its own copy of the bucket with --files. If it is gone \
         for good, end its processes and run `assetfs serve` once with --adopt-files. Nothing was changed"
    )]
    HeldFiles { place: String },
    #[error("it is unknown which records hold the files")]
    Fence(#[from] FenceError),
    #[error("{path}: {source}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} is damaged: {reason}", path = path.display())]
    Account { path: PathBuf, reason: String },
    #[error("TLS cannot be offered")]
    Tls(#[from] TlsError),
    #[error("the workers cannot be started")]
    Workers(#[source] std::io::Error),
}

impl ServiceError {
    /// Whether the disk of the data folder is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, ServiceError::Records(RecordsError::DiskFull { .. })) || is_disk_full(self)
    }
}
