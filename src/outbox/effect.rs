//! Classifies errors of requests that change something: whether the request may have taken effect, and whether it may
//! succeed later. Pure.

use std::time::Duration;

use crate::client::ClientError;

/// How long a request whose reply was lost may still take effect. Changes that the service does not show after this
/// time did not happen.
pub const LATE_EFFECT: Duration = Duration::from_secs(8);

/// The effect of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// No effect; a retry may succeed.
    NotYet,
    /// No effect; a retry would fail too.
    Refused,
    /// No effect; the object does not exist.
    Gone,
    /// Unknown: what it may have made has to be searched for.
    Unknown,
}

impl Effect {
    /// The effect of a request that was sent once.
    pub fn of(error: &ClientError) -> Effect {
        match error {
            ClientError::LostReply { .. }
            | ClientError::Protocol { .. }
            | ClientError::TooLarge { .. } => Effect::Unknown,
            ClientError::NotFound { .. } => Effect::Gone,
            ClientError::Untrusted { .. } => Effect::NotYet,
            error if error.is_transient() || error.is_about_token() => Effect::NotYet,
            _ => Effect::Refused,
        }
    }
}

/// True if an idempotent request should be retried.
pub fn is_retryable(error: &ClientError) -> bool {
    matches!(Effect::of(error), Effect::NotYet | Effect::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_says_so_counts_as_no_effect() {
        let text = || "x".to_owned();
        let table = [
            (
                ClientError::LostReply {
                    what: text(),
                    status: Some(500),
                    reason: text(),
                },
                Effect::Unknown,
            ),
            (
                ClientError::Protocol {
                    what: text(),
                    reason: text(),
                },
                Effect::Unknown,
            ),
            (
                ClientError::TooLarge {
                    what: text(),
                    limit_bytes: 1,
                },
                Effect::Unknown,
            ),
            (ClientError::NoToken, Effect::NotYet),
            (ClientError::Untrusted { reason: text() }, Effect::NotYet),
            (
                ClientError::Unauthorized { message: text() },
                Effect::NotYet,
            ),
            (
                ClientError::RateLimited { retry_after: None },
                Effect::NotYet,
            ),
            (
                ClientError::Timeout {
                    what: text(),
                    after: Duration::ZERO,
                },
                Effect::NotYet,
            ),
            (
                ClientError::NotFound {
                    what: text(),
                    message: text(),
                },
                Effect::Gone,
            ),
            (
                ClientError::Rejected {
                    status: 422,
                    message: text(),
                },
                Effect::Refused,
            ),
            (ClientError::Forbidden { message: text() }, Effect::Refused),
        ];
        for (error, effect) in table {
            assert_eq!(Effect::of(&error), effect, "{error:?}");
            assert_eq!(
                is_retryable(&error),
                matches!(effect, Effect::NotYet | Effect::Unknown)
            );
        }
    }
}
