//! Which records the stored files belong to. The janitor removes what its records do not name, so files are never
//! opened with the records of another service.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;

use super::error::FilesError;
use super::{Backend, FileStore};

/// The object with the id of the records, beside the blobs.
const OWNER: &str = "owner";

/// Whose the stored files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    Ours,
    /// They belong to other records, or there are files and nothing says whose they are.
    Unknown,
}

impl FileStore {
    /// Claims the store for the records with the id `records`, if it is empty or theirs.
    ///
    /// `adopt` is for stores of versions that did not write an owner: their files are taken for ours.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim(&self, records: &str, adopt: bool) -> Result<Ownership, FilesError> {
        let mut owner = self.owner().await?;
        if owner.is_none() && (adopt || self.backend.is_empty().await?) {
            let id = Bytes::copy_from_slice(records.as_bytes());
            self.backend
                .store()
                .put(&self.owner_key(), id.into())
                .await?;
            // Another service may have claimed the store at the same time.
            owner = self.owner().await?;
        }
        match owner {
            Some(owner) if owner == records.as_bytes() => Ok(Ownership::Ours),
            _ => Ok(Ownership::Unknown),
        }
    }

    async fn owner(&self) -> Result<Option<Bytes>, FilesError> {
        match self.backend.store().get(&self.owner_key()).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn owner_key(&self) -> Key {
        match &self.backend {
            Backend::Folder(_) => Key::from(OWNER),
            Backend::Bucket(bucket) => Key::from(bucket.key(OWNER)),
        }
    }
}

impl Backend {
    async fn is_empty(&self) -> Result<bool, FilesError> {
        match self {
            Backend::Folder(folder) => Ok(folder.names().await?.is_empty()),
            Backend::Bucket(bucket) => Ok(bucket.blobs().try_next().await?.is_none()),
        }
    }
}
