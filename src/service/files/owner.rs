//! Which records the stored files belong to. The janitor removes files that its records do not name. So files are
//! never opened with the records of another service, and a bucket never with a second copy of its records.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use serde::{Deserialize, Serialize};

use super::error::FilesError;
use super::{Backend, FileStore};

/// The object with the id of the records, beside the blobs.
const OWNER: &str = "owner";

/// Name of the object with the epoch.
const EPOCH: &str = "epoch";

/// Names the records that hold a bucket: those that may remove files from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Identity of the database with the records; `None` if the server or the file system gives none.
    pub database: Option<String>,
    /// A random name, which the records of this database have stored.
    pub epoch: String,
}

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

    /// The epoch of the bucket; `None` if only versions without epochs have used it.
    ///
    /// # Errors
    /// If the storage fails, or the epoch cannot be read.
    pub async fn epoch(&self) -> Result<Option<Epoch>, FilesError> {
        let Backend::Bucket(bucket) = &self.backend else {
            return Ok(None);
        };
        let Some(bytes) = self.object(&Key::from(bucket.key(EPOCH))).await? else {
            return Ok(None);
        };
        let epoch = serde_json::from_slice(&bytes).map_err(|_| FilesError::Epoch);
        epoch.map(Some)
    }

    /// Writes the epoch of the bucket. Does nothing in a folder, which one process has locked.
    ///
    /// # Errors
    /// When the storage fails.
    pub async fn set_epoch(&self, epoch: &Epoch) -> Result<(), FilesError> {
        if let Backend::Bucket(bucket) = &self.backend {
            let text = serde_json::to_vec(epoch).expect("an epoch can be written");
            let key = Key::from(bucket.key(EPOCH));
            bucket.store.put(&key, text.into()).await?;
        }
        Ok(())
    }

    async fn owner(&self) -> Result<Option<Bytes>, FilesError> {
        self.object(&self.owner_key()).await
    }

    async fn object(&self, key: &Key) -> Result<Option<Bytes>, FilesError> {
        match self.backend.store().get(key).await {
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
