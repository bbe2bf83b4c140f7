//! Everything a request can be refused with, and the one place where that becomes an HTTP status.
//!
//! What went wrong inside goes to the log, never into an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::service::files::FilesError;
use crate::service::records::RecordsError;
use crate::service::signing::SignatureError;
use crate::wire::ErrorBody;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No token, a malformed one, or one that is not (any more) known.
    #[error("Invalid token")]
    InvalidToken,
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// There is no such thing, said in plain text.
    #[error("{0}")]
    PlainNotFound(String),
    /// The path knows other methods.
    #[error("The method is not allowed here.")]
    MethodNotAllowed,
    /// The body or a parameter is not as it has to be; each field with what is wrong with it.
    #[error("{message}")]
    Invalid {
        /// In one sentence.
        message: String,
        /// Field by field.
        errors: BTreeMap<String, Vec<String>>,
    },
    /// The request cannot be, whatever its fields.
    #[error("{0}")]
    BadRequest(String),
    /// A multi-optimize request that cannot be processed; plain text.
    #[error("{reason}")]
    CouldNotProcess {
        /// The status.
        status: StatusCode,
        /// Why.
        reason: String,
    },
    /// A multi-optimize request failed inside; plain text.
    #[error("Something went wrong inside the service.")]
    ProcessingFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It belongs to another user, or is not allowed for anyone.
    #[error("{0}")]
    Forbidden(String),
    /// Something else has happened meanwhile.
    #[error("{0}")]
    Conflict(String),
    /// No point is left.
    #[error("{0}")]
    NoPoints(String),
    /// The bytes do not fit.
    #[error("{0}")]
    TooLarge(String),
    /// Too many requests.
    #[error("Too many requests.")]
    TooManyRequests {
        /// When the next is welcome.
        retry_after: Duration,
    },
    /// No byte of the range exists.
    #[error("The range lies behind the end.")]
    NoSuchRange {
        /// The bytes there are.
        size: u64,
    },
    /// The account has all the webhooks it may have.
    #[error("The maximum number of webhooks is reached.")]
    TooManyWebhooks,
    /// The client aborted the body or sent nothing for too long.
    #[error("{0}")]
    BrokeOff(String),
    /// Something failed inside.
    #[error("Something went wrong inside the service.")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
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

    /// There is no `what` with this id.
    pub fn no(what: &str) -> ApiError {
        ApiError::NotFound(format!("There is no such {what}."))
    }

    /// The same, as plain text.
    pub fn not_found_in_plain_text(self) -> ApiError {
        match self {
            ApiError::NotFound(message) => ApiError::PlainNotFound(message),
            other => other,
        }
    }

    /// The same as a multi-optimize request tells it: in plain text, and what is wrong with the request as a
    /// 400.
    pub fn in_plain_text(self) -> ApiError {
        let status = match self {
            ApiError::Internal(cause) => return ApiError::ProcessingFailed(cause),
            ApiError::Invalid { .. } | ApiError::NotFound(_) => StatusCode::BAD_REQUEST,
            ApiError::NoPoints(_) | ApiError::TooLarge(_) | ApiError::BrokeOff(_) => self.status(),
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
            ApiError::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            ApiError::NoSuchRange { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            ApiError::BrokeOff(_) => StatusCode::REQUEST_TIMEOUT,
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
            tracing::error!(error = %chain(cause.as_ref()), "a request failed inside");
        }
        let mut response = self.body();
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        match self {
            ApiError::TooManyRequests { retry_after } => {
                let secs = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                headers.insert(RETRY_AFTER, HeaderValue::from(secs.max(1)));
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

/// An error with all its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<RecordsError> for ApiError {
    fn from(error: RecordsError) -> ApiError {
        match error {
            // Its tokens are gone with it.
            RecordsError::NoAccount => ApiError::InvalidToken,
            inside => ApiError::Internal(Box::new(inside)),
        }
    }
}

impl From<FilesError> for ApiError {
    fn from(error: FilesError) -> ApiError {
        match error {
            FilesError::TooLarge { .. } => {
                ApiError::TooLarge(format!("The file does not fit: {error}."))
            }
            FilesError::BrokeOff(_) | FilesError::Silent => ApiError::BrokeOff(error.to_string()),
            inside => ApiError::Internal(Box::new(inside)),
        }
    }
}

impl From<SignatureError> for ApiError {
    fn from(error: SignatureError) -> ApiError {
        ApiError::Forbidden(error.to_string())
    }
}
