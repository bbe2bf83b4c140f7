//! Files that clients send straight to the bucket: URLs to send them to, what has arrived, and copying them to keys
//! that no client can write.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use object_store::path::Path as Key;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use reqwest::StatusCode;

use super::check::NO_BUCKET;
use super::presign::Allowed;
use super::{Bucket, FETCHES};
use crate::service::files::error::FilesError;
use crate::service::records::{Arrived, FileId, FreshBlob, Stored};
use crate::wire::{AssetId, SignedUrl};

/// Result of copying a file that has arrived.
#[derive(Debug)]
pub enum TakenIn {
    Done(Stored),
    /// The client has sent other bytes since.
    Changed,
    /// The file is not there any more.
    Gone,
}

impl Bucket {
    fn incoming_key(&self, asset: AssetId, file: FileId) -> String {
        format!("{}in/{asset}/{file}", self.prefix)
    }

    /// A URL that takes the bytes of a file.
    pub fn upload_url(&self, asset: AssetId, file: FileId, lifetime: Duration) -> SignedUrl {
        let allowed = Allowed {
            method: "PUT",
            key: &self.incoming_key(asset, file),
            ..Allowed::default()
        };
        SignedUrl::new(self.public.sign(allowed, lifetime, Timestamp::now()))
    }

    /// The files of an asset that have arrived.
    pub async fn arrived(&self, asset: AssetId) -> Result<Vec<Arrived>, FilesError> {
        let folder = Key::from(format!("{}in/{asset}", self.prefix));
        let mut objects = self.store.list(Some(&folder));
        let mut arrived = Vec::new();
        while let Some(object) = objects.try_next().await? {
            let name = object.location.filename();
            let Some(file) = name.and_then(|name| name.parse().ok()) else {
                continue;
            };
            // Some storages leave the ETag out of lists.
            let etag = match object.e_tag {
                Some(etag) => Some(etag),
                None => self.store.head(&object.location).await?.e_tag,
            };
            arrived.push(Arrived {
                file: FileId(file),
                etag: bare(etag.as_deref().unwrap_or_default()).to_owned(),
                size: object.size,
            });
        }
        Ok(arrived)
    }

    /// Copies a file that has arrived to a blob, if it is still the frozen version, and puts it at `target`.
    pub async fn take_in(
        &self,
        blob: &FreshBlob,
        asset: AssetId,
        frozen: &Arrived,
        target: PathBuf,
    ) -> Result<TakenIn, FilesError> {
        let source = self.incoming_key(asset, frozen.file);
        let copy_source = format!("/{}/{source}", self.name);
        let etag = format!("\"{}\"", frozen.etag);
        let copy = Allowed {
            method: "PUT",
            key: &self.blob_key(blob.key()),
            query: &[],
            headers: &[
                ("x-amz-copy-source", &copy_source),
                ("x-amz-copy-source-if-match", &etag),
            ],
        };
        let reply = self.call(copy, "").await?;
        match reply.status {
            StatusCode::PRECONDITION_FAILED => return Ok(TakenIn::Changed),
            // If the bucket is missing, nothing is known about the file.
            StatusCode::NOT_FOUND if reply.code().as_deref() != Some(NO_BUCKET) => {
                return Ok(TakenIn::Gone);
            }
            _ => reply.succeeded("copy an uploaded file")?,
        };
        // For a storage that ignores the condition: an unchanged source had these bytes during the copy.
        match self.store.head(&Key::from(source)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(TakenIn::Gone),
            Err(error) => return Err(error.into()),
            Ok(found) if bare(found.e_tag.as_deref().unwrap_or_default()) != frozen.etag => {
                return Ok(TakenIn::Changed);
            }
            Ok(_) => {}
        }
        for _ in 0..FETCHES {
            let stored = self.fetch(blob.key(), target.clone()).await?;
            if stored.size == frozen.size {
                return Ok(TakenIn::Done(stored));
            }
        }
        let blob = blob.key().to_owned();
        Err(FilesError::Damaged { blob })
    }
}

fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}
