//! Blobs in a bucket of an S3-compatible storage.
//!
//! Below the prefix are `blobs/` (never changed after their upload), `in/ASSET/FILE` (where clients send files with
//! presigned URLs), `owner` (the id of the records that the blobs belong to) and `check` (written at each start). Every request is signed with the digest of its payload, so
//! the storage refuses damaged bytes; what is read for a worker is compared with its recorded MD5.

mod calls;
mod check;
pub(super) mod error;
mod expire;
pub(super) mod incoming;
mod presign;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use object_store::aws::AmazonS3;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, ObjectStoreExt as _, RetryConfig};
use percent_encoding::utf8_percent_encode;
use url::Url;

use super::digest::Digest;
use super::error::{FilesError, blocking, disk};
use crate::bucket::{BucketAddress, Credentials};
use crate::service::records::Stored;
use crate::service::signing::UNRESERVED;
use crate::wire::SignedUrl;
use error::BucketError;
use presign::{Allowed, Presigner};

/// Size of a part of an upload. S3 refuses parts below 5 MiB and more than 10,000 parts.
pub(super) const PART_BYTES: usize = 16 << 20;

/// Bytes that are written to the disk at once.
const WRITE_BYTES: usize = 1 << 20;

/// How often a file that arrived damaged is fetched.
const FETCHES: u32 = 3;

/// A bucket and how to reach it.
#[derive(Debug, Clone)]
pub struct BucketConfig {
    pub address: BucketAddress,
    pub credentials: Credentials,
    /// Where clients reach the storage, if it differs from the endpoint.
    pub public_endpoint: Option<Url>,
}

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) store: AmazonS3,
    prefix: String,
    name: String,
    /// Signs requests of this process.
    own: Presigner,
    /// Signs URLs for clients.
    public: Presigner,
    http: reqwest::Client,
}

impl Bucket {
    /// Opens the bucket without a request.
    fn new(config: &BucketConfig) -> Result<Bucket, BucketError> {
        let BucketConfig {
            address,
            credentials,
            public_endpoint,
        } = config;
        let public = public_endpoint.as_ref().unwrap_or(&address.endpoint);
        let signer = |endpoint| Presigner::new(address, endpoint, credentials.clone());
        Ok(Bucket {
            http: calls::client().map_err(BucketError::Client)?,
            store: store(address, credentials).map_err(BucketError::Library)?,
            prefix: address.prefix.clone(),
            name: address.bucket.clone(),
            own: signer(&address.endpoint),
            public: signer(public),
        })
    }

    /// The key of an object below the prefix.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The key of a blob.
    pub(super) fn blob_key(&self, blob: &str) -> String {
        self.key(&format!("blobs/{blob}"))
    }

    /// The origin that clients send files to and read them from.
    pub(super) fn public_origin(&self) -> &str {
        self.public.origin()
    }

    /// A URL that reads a blob, with the media type and the file name that the reply shall have.
    pub(super) fn download_url(
        &self,
        blob: &str,
        name: &str,
        media_type: &str,
        lifetime: Duration,
    ) -> SignedUrl {
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = utf8_percent_encode(name, UNRESERVED);
        let disposition = format!("attachment; filename*=UTF-8''{name}");
        let allowed = Allowed {
            method: "GET",
            key: &self.blob_key(blob),
            query: &[
                ("response-content-disposition", &disposition),
                ("response-content-type", media_type),
            ],
            headers: &[],
        };
        SignedUrl::new(self.public.sign(allowed, lifetime, Timestamp::now()))
    }

    /// Puts a blob at `target` and compares it with its record.
    pub(super) async fn lay_out(&self, stored: &Stored, target: PathBuf) -> Result<(), FilesError> {
        for _ in 0..FETCHES {
            let fetched = self.fetch(&stored.blob, target.clone()).await?;
            if (fetched.size, &fetched.md5) == (stored.size, &stored.md5) {
                return Ok(());
            }
            tracing::warn!(
                blob = stored.blob,
                "a file arrived damaged from the storage"
            );
        }
        let blob = stored.blob.clone();
        Err(FilesError::Damaged { blob })
    }

    /// Writes a blob to `target`.
    async fn fetch(&self, blob: &str, target: PathBuf) -> Result<Stored, FilesError> {
        let key = Key::from(self.blob_key(blob));
        let mut parts = self.store.get(&key).await?.into_stream();
        let path = target.clone();
        let mut file = blocking(move || std::fs::File::create(&path).map_err(disk(&path))).await?;
        let mut digest = Digest::default();
        let mut held = bytes::BytesMut::new();
        loop {
            let part = parts.try_next().await?;
            let ended = part.is_none();
            if let Some(part) = part {
                held.extend_from_slice(&part);
            }
            if held.len() >= WRITE_BYTES || ended {
                let full = std::mem::take(&mut held);
                let path = target.clone();
                (file, digest) = blocking(move || {
                    use std::io::Write as _;
                    digest.update(&full);
                    file.write_all(&full).map_err(disk(&path))?;
                    Ok((file, digest))
                })
                .await?;
            }
            if ended {
                return Ok(digest.stored(blob));
            }
        }
    }

    pub(super) async fn remove(&self, blob: &str) -> Result<(), FilesError> {
        self.remove_key(&self.blob_key(blob)).await
    }

    async fn remove_key(&self, key: &str) -> Result<(), FilesError> {
        match self.store.delete(&Key::from(key)).await {
            Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn store(
    address: &BucketAddress,
    credentials: &Credentials,
) -> Result<AmazonS3, object_store::Error> {
    // No limit for a whole request: large files take long. A connection without a byte for a minute is broken.
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(5))
        .with_read_timeout(Duration::from_secs(60));
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 6,
        retry_timeout: Duration::from_secs(120),
    };
    crate::bucket::client(address, credentials, client, retry)
}
