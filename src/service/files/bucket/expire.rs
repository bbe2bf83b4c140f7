//! What the janitor finds in a bucket besides blobs: files that clients have sent, and unfinished uploads in parts.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};
use object_store::ObjectStore as _;
use object_store::path::Path as Key;

use super::calls::texts;
use super::presign::Allowed;
use super::{Bucket, BucketError};
use crate::service::files::error::FilesError;
use crate::service::records::FileId;

/// An upload in parts that has not ended after this time is given up.
const UNFINISHED_LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// An object below `in/`.
#[derive(Debug, Clone)]
pub(in crate::service::files) struct IncomingObject {
    pub(in crate::service::files) key: String,
    /// `None` if this service did not choose the key.
    pub(in crate::service::files) file: Option<FileId>,
    pub(in crate::service::files) stored_at: Timestamp,
}

impl Bucket {
    /// All stored blobs.
    pub(in crate::service::files) fn blobs(
        &self,
    ) -> BoxStream<'static, Result<String, FilesError>> {
        let folder = self.blob_key("");
        let objects = self.store.list(Some(&Key::from(folder.as_str())));
        let blobs = objects.map_err(FilesError::from).map_ok(move |object| {
            let key = object.location.as_ref();
            key.strip_prefix(&folder).unwrap_or(key).to_owned()
        });
        blobs.boxed()
    }

    /// All objects below `in/`.
    pub(in crate::service::files) fn incoming(
        &self,
    ) -> BoxStream<'static, Result<IncomingObject, FilesError>> {
        let folder = Key::from(format!("{}in", self.prefix));
        let objects = self.store.list(Some(&folder));
        let incoming = objects.map_err(FilesError::from).map_ok(|object| {
            let name = object.location.filename();
            IncomingObject {
                file: name.and_then(|name| name.parse().ok()).map(FileId),
                key: object.location.to_string(),
                stored_at: Timestamp::from_second(object.last_modified.timestamp())
                    .unwrap_or_default(),
            }
        });
        incoming.boxed()
    }

    pub(in crate::service::files) async fn remove_incoming(
        &self,
        object: &IncomingObject,
    ) -> Result<(), FilesError> {
        self.remove_key(&object.key).await
    }

    /// Aborts uploads of blobs in parts that have not ended for a day; returns their number.
    pub(in crate::service::files) async fn abort_unfinished(
        &self,
        now: Timestamp,
    ) -> Result<usize, BucketError> {
        // Only those of blobs: without a prefix the bucket may contain files of others.
        let blobs = self.blob_key("");
        let list = Allowed {
            method: "GET",
            query: &[("prefix", &blobs), ("uploads", "")],
            ..Allowed::default()
        };
        let reply = self.call(list, "").await?;
        let reply = reply.succeeded("list unfinished uploads")?;
        let mut aborted = 0;
        for upload in texts(&reply.body, "Upload") {
            let text = |tag| texts(&upload, tag).next();
            let (Some(key), Some(id), Some(started)) =
                (text("Key"), text("UploadId"), text("Initiated"))
            else {
                continue;
            };
            let started: Option<Timestamp> = started.parse().ok();
            if started.is_some_and(|started| started < now - UNFINISHED_LIFETIME) {
                let abort = Allowed {
                    method: "DELETE",
                    key: &key,
                    query: &[("uploadId", &id)],
                    headers: &[],
                };
                self.call(abort, "").await?;
                aborted += 1;
            }
        }
        Ok(aborted)
    }
}
