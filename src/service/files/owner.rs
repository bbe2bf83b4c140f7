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
    /// There are none, and an empty store may not be claimed.
    Empty,
}

/// Which store may be claimed that has no owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Also one with files: versions that did not write an owner left it.
    Any,
    Empty,
    /// None: the records have their files already, or another process has to claim them.
    Nothing,
}

impl FileStore {
    /// Whether the store belongs to the records with the id `records`. One without an owner is claimed if `claim`
    /// allows it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim(&self, records: &str, claim: Claim) -> Result<Ownership, FilesError> {
        let mut owner = self.owner().await?;
        let is_empty = owner.is_none() && self.backend.is_empty().await?;
        let is_claimed = match claim {
            Claim::Any => owner.is_none(),
            Claim::Empty => is_empty,
            Claim::Nothing => false,
        };
        if is_claimed {
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
            None if is_empty => Ok(Ownership::Empty),
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
            Backend::Bucket(bucket) => Ok(bucket.blobs().try_next().await?.is_none()
                && bucket.incoming().try_next().await?.is_none()),
        }
    }
}
