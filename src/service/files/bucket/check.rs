//! What is checked before a service uses a bucket: that it answers, that the credentials may read and write, that
//! the clocks agree, and that browsers may send files to it.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::Method;
use reqwest::header::DATE;

use super::calls::{Reply, texts};
use super::error::BucketError;
use super::presign::Allowed;
use super::{Bucket, BucketConfig};

/// Largest difference of the clocks. The storage refuses requests that are 15 minutes off.
const CLOCK_TOLERANCE_SECS: i64 = 5 * 60;

const LISTING: &str = "list objects";
const STORING: &str = "store objects";

/// The status and the error codes with which storages report a full bucket.
const FULL_STATUS: u16 = 507;
const FULL_CODES: [&str; 5] = [
    "XMinioStorageFull",
    "XMinioAdminBucketQuotaExceeded",
    "QuotaExceeded",
    "InsufficientStorage",
    "ServiceQuotaExceeded",
];

/// The error code for a bucket that does not exist.
pub(super) const NO_BUCKET: &str = "NoSuchBucket";

/// The content of the object `check`.
const CHECK: &str = "assetfs writes this object at each start.\n";

impl Bucket {
    /// Opens a bucket and checks that it can be used.
    pub async fn open(config: &BucketConfig) -> Result<Bucket, BucketError> {
        let bucket = Bucket::new(config)?;
        let query = bucket.one_key();
        let list = bucket.call(listing(&query), "").await?;
        bucket.judge(list, LISTING)?;
        let key = bucket.key("check");
        let object = |method| Allowed {
            method,
            key: &key,
            ..Allowed::default()
        };
        match bucket.probe(object("PUT"), CHECK, STORING).await {
            // What is stored can be read, so the service starts.
            Err(full @ BucketError::Full { .. }) => {
                tracing::error!("{full}; until then uploads and jobs wait");
                return Ok(bucket);
            }
            stored => stored?,
        };
        let read = bucket.probe(object("GET"), "", "read objects").await?;
        match read.body == CHECK {
            true => Ok(bucket),
            false => Err(BucketError::NotStored {
                bucket: bucket.name.clone(),
            }),
        }
    }

    /// Lists one object, once: whether the bucket can be used now.
    pub async fn check(&self) -> Result<(), BucketError> {
        let query = self.one_key();
        self.probe_once(listing(&query), "", LISTING).await
    }

    /// Checks whether the bucket takes objects now: stores the object `check`, without retries.
    pub async fn check_writes(&self) -> Result<(), BucketError> {
        let key = self.key("check");
        let store = Allowed {
            method: "PUT",
            key: &key,
            ..Allowed::default()
        };
        self.probe_once(store, CHECK, STORING).await
    }

    /// The query of a listing of one object.
    fn one_key(&self) -> [(&'static str, &str); 3] {
        [
            ("list-type", "2"),
            ("max-keys", "1"),
            ("prefix", &self.prefix),
        ]
    }

    async fn probe(
        &self,
        allowed: Allowed<'_>,
        body: &'static str,
        doing: &'static str,
    ) -> Result<Reply, BucketError> {
        let reply = self.call(allowed, body).await?;
        self.judge(reply, doing)
    }

    async fn probe_once(
        &self,
        allowed: Allowed<'_>,
        body: &'static str,
        doing: &'static str,
    ) -> Result<(), BucketError> {
        let reply = self.call_once(allowed, body).await;
        let reply = reply.map_err(|error| self.unreachable(error))?;
        self.judge(reply, doing).map(drop)
    }

    /// The reply, or what it says about the bucket, the credentials or the clock.
    fn judge(&self, reply: Reply, doing: &'static str) -> Result<Reply, BucketError> {
        check_clock(&reply)?;
        let bucket = self.name.clone();
        Err(match reply.code().unwrap_or_default().as_str() {
            "" if reply.status.is_success() => return Ok(reply),
            code if reply.status.as_u16() == FULL_STATUS || FULL_CODES.contains(&code) => {
                BucketError::Full { bucket }
            }
            NO_BUCKET => BucketError::NoBucket { bucket },
            "InvalidAccessKeyId" | "NotSignedUp" => BucketError::UnknownKey,
            "SignatureDoesNotMatch" => BucketError::WrongSecret,
            "PermanentRedirect"
            | "AuthorizationHeaderMalformed"
            | "AuthorizationQueryParametersError"
                if region_of(&reply).is_some() =>
            {
                let region = region_of(&reply).unwrap_or_default();
                BucketError::Region { bucket, region }
            }
            "AccessDenied" => BucketError::Denied { doing, bucket },
            code => BucketError::Refused {
                doing,
                status: reply.status.as_u16(),
                code: code.to_owned(),
            },
        })
    }

    /// Whether pages of `origin` may send files to the bucket and read them; otherwise what to set.
    pub async fn check_cors(&self, origin: &str) -> Option<String> {
        for method in ["PUT", "GET"] {
            if !self.allows_browsers(origin, method).await {
                return Some(format!(
                    "the bucket {bucket} does not let the page {origin} send and read files in browsers; set its \
                     CORS rule: {{\"AllowedOrigins\": [\"*\"], \"AllowedMethods\": [\"GET\", \"PUT\"], \
                     \"AllowedHeaders\": [\"*\"], \"ExposeHeaders\": [\"ETag\", \"Content-Range\"]}}",
                    bucket = self.name
                ));
            }
        }
        None
    }

    async fn allows_browsers(&self, origin: &str, method: &'static str) -> bool {
        let key = format!("{}in/1/1", self.prefix);
        let allowed = Allowed {
            method,
            key: &key,
            ..Allowed::default()
        };
        let url = self
            .public
            .sign(allowed, Duration::from_secs(60), Timestamp::now());
        let request = self
            .http
            .request(Method::OPTIONS, url)
            .header("origin", origin)
            .header("access-control-request-method", method)
            .header("access-control-request-headers", "content-type");
        match request.send().await {
            Ok(reply) => {
                let allowed = reply.headers().get("access-control-allow-origin");
                allowed.is_some_and(|allowed| allowed == "*" || allowed == origin)
            }
            Err(_) => false,
        }
    }
}

fn listing<'a>(query: &'a [(&'a str, &'a str)]) -> Allowed<'a> {
    Allowed {
        method: "GET",
        query,
        ..Allowed::default()
    }
}

/// The region in which a bucket is, if the reply names it.
fn region_of(reply: &Reply) -> Option<String> {
    let header = reply.headers.get("x-amz-bucket-region");
    let header = header.and_then(|value| value.to_str().ok().map(str::to_owned));
    header.or_else(|| texts(&reply.body, "Region").next())
}

/// Compares the clock of this machine with the time of a reply.
fn check_clock(reply: &Reply) -> Result<(), BucketError> {
    let date = reply.headers.get(DATE).and_then(|date| date.to_str().ok());
    let Some(date) = date.and_then(|date| rfc2822::parse(date).ok()) else {
        return Ok(());
    };
    let ahead = Timestamp::now().as_second() - date.timestamp().as_second();
    match ahead.abs() > CLOCK_TOLERANCE_SECS {
        true => Err(BucketError::Clock {
            minutes: ahead.abs() / 60,
            direction: if ahead > 0 { "ahead" } else { "behind" },
        }),
        false => Ok(()),
    }
}
