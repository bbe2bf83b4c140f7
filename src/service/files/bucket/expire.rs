//! What the janitor finds in a bucket besides blobs: files that clients have sent, and unfinished uploads in parts.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};
use object_store::ObjectStore as _;
use object_store::path::Path as Key;

use super::Bucket;
use super::calls::texts;
use super::error::BucketError;
use super::presign::Allowed;
use crate::service::files::error::FilesError;
use crate::service::records::FileId;

/// An upload in parts that has not ended after this time is given up.
const UNFINISHED_LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// An object whose key has the form that this service chooses for files that clients send: `in/ASSET/FILE`.
#[derive(Debug, Clone)]
pub struct IncomingObject {
    pub key: String,
    pub file: FileId,
    pub stored_at: Timestamp,
}

impl Bucket {
    /// All stored blobs.
    pub fn blobs(&self) -> BoxStream<'static, Result<String, FilesError>> {
        let folder = self.blob_key("");
        let objects = self.store.list(Some(&Key::from(folder.as_str())));
        let blobs = objects.map_err(FilesError::from).map_ok(move |object| {
            let key = object.location.as_ref();
            key.strip_prefix(&folder).unwrap_or(key).to_owned()
        });
        blobs.boxed()
    }

    /// All files that clients sent. Other objects below `in/` are not ours: without a prefix the bucket may contain
    /// files of others.
    pub fn incoming(&self) -> BoxStream<'static, Result<IncomingObject, FilesError>> {
        let folder = Key::from(format!("{}in", self.prefix));
        let objects = self.store.list(Some(&folder));
        let start = format!("{}in/", self.prefix);
        let incoming = objects.try_filter_map(move |object| {
            let key = object.location.to_string();
            let file = key.strip_prefix(&start).and_then(file_of);
            let incoming = file.map(|file| IncomingObject {
                file,
                key,
                stored_at: Timestamp::from_second(object.last_modified.timestamp())
                    .unwrap_or_default(),
            });
            std::future::ready(Ok(incoming))
        });
        incoming.map_err(FilesError::from).boxed()
    }

    pub async fn remove_incoming(&self, object: &IncomingObject) -> Result<(), FilesError> {
        self.remove_key(&object.key).await
    }

    /// Aborts uploads of blobs in parts that have not ended for a day; returns their number.
    pub async fn abort_unfinished(&self, now: Timestamp) -> Result<usize, BucketError> {
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

/// The file of `ASSET/FILE`, both decimal numbers.
fn file_of(key: &str) -> Option<FileId> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    };
    let (asset, file) = key.split_once('/')?;
    let _: u64 = number(asset)?;
    number(file).map(FileId)
}
