//! Why a bucket cannot be used.

/// Why a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    #[error(
        "the storage {endpoint} cannot be reached; check that it runs and that the endpoint of --files is right"
    )]
    Unreachable {
        endpoint: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("the bucket {bucket} does not exist; create it, or name another one with --files")]
    NoBucket { bucket: String },
    #[error(
        "the storage does not know the access key; check AWS_ACCESS_KEY_ID or the credentials file"
    )]
    UnknownKey,
    #[error(
        "the secret does not belong to the access key; check AWS_SECRET_ACCESS_KEY or the credentials file"
    )]
    WrongSecret,
    #[error(
        "the credentials may not {doing} in the bucket {bucket}; allow s3:ListBucket, s3:GetObject, s3:PutObject, \
         s3:DeleteObject, s3:ListBucketMultipartUploads and s3:AbortMultipartUpload"
    )]
    Denied { doing: &'static str, bucket: String },
    #[error(
        "the clock of this machine is {minutes} minutes {direction} of the storage's clock, so signed URLs would be \
         refused; set it, for example with NTP"
    )]
    Clock {
        minutes: i64,
        direction: &'static str,
    },
    #[error(
        "the bucket {bucket} is in the region {region}; add region={region} to the URL of --files"
    )]
    Region { bucket: String, region: String },
    #[error(
        "the bucket {bucket} is full or over its quota; make room in the storage, or raise the quota"
    )]
    Full { bucket: String },
    #[error("the storage refused to {doing}: status {status} {code}")]
    Refused {
        doing: &'static str,
        status: u16,
        code: String,
    },
    #[error(
        "what was stored in the bucket {bucket} is not what is read back; check what answers at the endpoint"
    )]
    NotStored { bucket: String },
    #[error("the client for the storage cannot be set up")]
    Client(#[source] reqwest::Error),
    #[error("the client for the storage cannot be set up")]
    Library(#[source] object_store::Error),
}

impl BucketError {
    /// Whether the storage did not answer or failed, so that the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            BucketError::Unreachable { .. } => true,
            BucketError::Refused { status, .. } => *status >= 500,
            _ => false,
        }
    }
}
