//! The reasons for which a request is refused, and their HTTP statuses.
//!
//! Internal errors are logged and never sent to the client.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use axum::Json;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::service::causes::chain;
use crate::service::files::FilesError;
use crate::service::records::RecordsError;
use crate::service::signing::SignatureError;
use crate::wire::ErrorBody;

/// When a client may try again while the database or the storage does not answer.
const SOON: Duration = Duration::from_secs(2);

/// After this time an outage of the database probably lasts. Clients then try again later, and a person who waits gets
/// the error at once: mounts do not wait for so long.
const LONG_OUTAGE: Duration = Duration::from_secs(5);
const LONG_RETRY: Duration = Duration::from_secs(30);

/// The cause of an error, for the log.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No token, a malformed token, or an unknown or deleted one.
    #[error("Invalid token")]
    InvalidToken,
    #[error("{0}")]
    NotFound(String),
    /// Not found, with a plain-text body.
    #[error("{0}")]
    PlainNotFound(String),
    #[error("The method is not allowed here.")]
    MethodNotAllowed,
    /// Invalid body or parameters, with the errors of each field.
    #[error("{message}")]
    Invalid {
        message: String,
        errors: BTreeMap<String, Vec<String>>,
    },
    /// The request is impossible, whatever its fields are.
    #[error("{0}")]
    BadRequest(String),
    /// The body is compressed or encoded otherwise.
    #[error("A body with a Content-Encoding is not accepted; send the bytes as they are.")]
    EncodedBody,
    /// A multi-optimize request that cannot be processed; plain text.
    #[error("{reason}")]
    CouldNotProcess { status: StatusCode, reason: String },
    /// An internal error of a multi-optimize request; plain text.
    #[error("Internal error of the service.")]
    ProcessingFailed(#[source] Cause),
    /// The object belongs to another user, or the change is not allowed.
    #[error("{0}")]
    Forbidden(String),
    /// The state has changed meanwhile.
    #[error("{0}")]
    Conflict(String),
    /// Not enough points.
    #[error("{0}")]
    NoPoints(String),
    /// The file does not fit into the account's storage.
    #[error("{0}")]
    TooLarge(String),
    #[error("Too many requests.")]
    TooManyRequests { retry_after: Duration },
    /// The range starts behind the end of the file.
    #[error("The range starts behind the end of the file.")]
    NoSuchRange {
        /// Size of the file.
        size: u64,
    },
    #[error("The maximum number of webhooks is reached.")]
    TooManyWebhooks,
    /// The client sent its body too slowly, or nothing for too long.
    #[error("{0}")]
    TooSlow(String),
    /// The database or the storage does not answer, or is overloaded. The same request may succeed later.
    #[error("The service cannot reach its {part} at the moment; try again later.")]
    Unavailable {
        part: Dependency,
        retry_after: Duration,
        #[source]
        cause: Cause,
    },
    /// Nothing more can be stored until the operator has made room.
    #[error(
        "The {part} of the service is full. Its operator has to make room; until then nothing can be stored."
    )]
    StorageFull {
        part: Dependency,
        #[source]
        cause: Cause,
    },
    /// An internal error.
    #[error("Internal error of the service.")]
    Internal(#[source] Cause),
}

/// What the service needs to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependency {
    Database,
    Storage,
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dependency::Database => "database",
            Dependency::Storage => "file storage",
        })
    }
}

impl ApiError {
    /// A refusal of one field.
    pub fn field(name: &str, problem: impl Into<String>) -> ApiError {
        let problem = problem.into();
        ApiError::Invalid {
            message: problem.clone(),
            errors: BTreeMap::from([(name.to_owned(), vec![problem])]),
        }
    }

    /// The error for an unknown id of a `what`.
    pub fn no(what: &str) -> ApiError {
        ApiError::NotFound(format!("There is no such {what}."))
    }

    /// The reply to the deletion of a `what`.
    pub fn deleted(existed: bool, what: &str) -> Result<StatusCode, ApiError> {
        match existed {
            true => Ok(StatusCode::OK),
            false => Err(ApiError::no(what)),
        }
    }

    pub fn internal(cause: impl Into<Cause>) -> ApiError {
        ApiError::Internal(cause.into())
    }

    fn full(part: Dependency, cause: impl Into<Cause>) -> ApiError {
        let cause = cause.into();
        ApiError::StorageFull { part, cause }
    }

    fn unavailable(part: Dependency, retry_after: Duration, cause: impl Into<Cause>) -> ApiError {
        ApiError::Unavailable {
            part,
            retry_after,
            cause: cause.into(),
        }
    }

    /// The refusal of work whose result could not be stored.
    pub fn no_storage() -> ApiError {
        let message =
            "The account has no storage left for a result; delete models that are not needed.";
        ApiError::TooLarge(message.to_owned())
    }

    /// The same, as plain text.
    pub fn not_found_in_plain_text(self) -> ApiError {
        match self {
            ApiError::NotFound(message) => ApiError::PlainNotFound(message),
            other => other,
        }
    }

    /// The form of a multi-optimize request: plain text, and invalid fields as status 400.
    pub fn in_plain_text(self) -> ApiError {
        let status = match self {
            ApiError::Internal(cause) => return ApiError::ProcessingFailed(cause),
            ApiError::Invalid { .. } | ApiError::NotFound(_) => StatusCode::BAD_REQUEST,
            ApiError::NoPoints(_)
            | ApiError::TooLarge(_)
            | ApiError::BadRequest(_)
            | ApiError::TooSlow(_) => self.status(),
            other => return other,
        };
        ApiError::CouldNotProcess {
            status,
            reason: self.to_string(),
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            ApiError::InvalidToken => StatusCode::UNAUTHORIZED,
            ApiError::NotFound(_) | ApiError::PlainNotFound(_) => StatusCode::NOT_FOUND,
            ApiError::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ApiError::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            ApiError::BadRequest(_) => StatusCode::BAD_REQUEST,
            ApiError::CouldNotProcess { status, .. } => *status,
            ApiError::Forbidden(_) => StatusCode::FORBIDDEN,
            ApiError::Conflict(_) => StatusCode::CONFLICT,
            ApiError::NoPoints(_) => StatusCode::PAYMENT_REQUIRED,
            ApiError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            ApiError::EncodedBody => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ApiError::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            ApiError::NoSuchRange { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            ApiError::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            ApiError::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            ApiError::StorageFull { .. } => StatusCode::INSUFFICIENT_STORAGE,
            ApiError::TooManyWebhooks | ApiError::Internal(_) | ApiError::ProcessingFailed(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    fn body(&self) -> Response {
        match self {
            ApiError::InvalidToken => Json(ErrorBody::invalid_token()).into_response(),
            ApiError::Invalid { message, errors } => {
                Json(json!({ "message": message, "errors": errors })).into_response()
            }
            ApiError::PlainNotFound(message) => message.clone().into_response(),
            ApiError::CouldNotProcess { reason, .. } => {
                format!("{} {reason}", ErrorBody::COULD_NOT_PROCESS).into_response()
            }
            ApiError::ProcessingFailed(_) => {
                format!("{} {self}", ErrorBody::INTERNAL).into_response()
            }
            ApiError::TooManyWebhooks => {
                Json(ErrorBody::too_many_webhooks(&self.to_string())).into_response()
            }
            other => Json(json!({ "message": other.to_string() })).into_response(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if let ApiError::Internal(cause) | ApiError::ProcessingFailed(cause) = &self {
            tracing::error!(error = %chain(cause.as_ref()), "internal error");
        }
        if let ApiError::Unavailable { cause, .. } = &self {
            // An outage is logged once, where it is noticed.
            tracing::debug!(error = %chain(cause.as_ref()), "a request is refused for now");
        }
        if let ApiError::StorageFull { part, cause } = &self {
            tracing::error!(error = %chain(cause.as_ref()), "the {part} is full");
        }
        let mut response = self.body();
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        match self {
            ApiError::TooManyRequests { retry_after } => {
                let secs = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                headers.insert(RETRY_AFTER, HeaderValue::from(secs.max(1)));
            }
            ApiError::Unavailable { retry_after, .. } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(retry_after.as_secs()));
            }
            ApiError::StorageFull { .. } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(LONG_RETRY.as_secs()));
            }
            ApiError::EncodedBody => {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            ApiError::NoSuchRange { size } => {
                headers.remove(CONTENT_TYPE);
                let value = HeaderValue::try_from(format!("bytes */{size}"));
                headers.insert(CONTENT_RANGE, value.expect("a number is a header value"));
            }
            _ => {}
        }
        response
    }
}

impl From<RecordsError> for ApiError {
    fn from(error: RecordsError) -> ApiError {
        match error {
            // Its tokens were deleted with it.
            RecordsError::NoAccount => ApiError::InvalidToken,
            error if error.is_full() => ApiError::full(Dependency::Database, error),
            error if error.is_temporary() => {
                let retry_after = match error.outage_time() {
                    Some(time) if time >= LONG_OUTAGE => LONG_RETRY,
                    _ => SOON,
                };
                ApiError::unavailable(Dependency::Database, retry_after, error)
            }
            inside => ApiError::internal(inside),
        }
    }
}

impl From<FilesError> for ApiError {
    fn from(error: FilesError) -> ApiError {
        match error {
            FilesError::TooLarge { .. } => {
                ApiError::TooLarge(format!("The file does not fit: {error}."))
            }
            FilesError::BrokeOff(cause) => ApiError::BadRequest(format!(
                "The file was not received whole ({cause}); send it again."
            )),
            FilesError::Silent => ApiError::TooSlow(error.to_string()),
            error if error.is_full() => ApiError::full(Dependency::Storage, error),
            error if error.is_temporary() => {
                ApiError::unavailable(Dependency::Storage, SOON, error)
            }
            // The bucket is gone, or refuses: nothing was changed, and it works again when the operator has mended it.
            error if error.is_gone() || matches!(error, FilesError::Bucket(_)) => {
                ApiError::unavailable(Dependency::Storage, LONG_RETRY, error)
            }
            inside => ApiError::internal(inside),
        }
    }
}

impl From<SignatureError> for ApiError {
    fn from(error: SignatureError) -> ApiError {
        ApiError::Forbidden(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::files::BucketError;

    #[test]
    fn a_bucket_that_is_gone_is_503_and_tried_again() {
        for missing in [
            FilesError::Store(object_store::Error::NotFound {
                path: "incoming/1".to_owned(),
                source: "NoSuchBucket".into(),
            }),
            FilesError::Bucket(BucketError::NoBucket {
                bucket: "assets".to_owned(),
            }),
        ] {
            let response = ApiError::from(missing).into_response();
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert!(response.headers().contains_key(RETRY_AFTER));
        }
    }

    #[tokio::test]
    async fn a_full_disk_of_the_database_is_507_and_names_the_database() {
        let pool = sqlx::sqlite::SqlitePoolOptions::new()
            .max_connections(1)
            .connect("sqlite::memory:")
            .await
            .unwrap();
        for text in [
            "CREATE TABLE filling (bytes BLOB)",
            "PRAGMA max_page_count = 2",
        ] {
            sqlx::query(text).execute(&pool).await.unwrap();
        }
        let fill = sqlx::query("INSERT INTO filling VALUES (zeroblob(1000000))");
        let full = RecordsError::from(fill.execute(&pool).await.unwrap_err());
        let response = ApiError::from(full).into_response();
        assert_eq!(response.status(), StatusCode::INSUFFICIENT_STORAGE);
        assert!(response.headers().contains_key(RETRY_AFTER));
        let body = axum::body::to_bytes(response.into_body(), 10_000)
            .await
            .unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(
            body.contains("The database of the service is full"),
            "{body}"
        );
    }
}
