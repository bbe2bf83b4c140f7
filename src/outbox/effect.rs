//! What an error says about a call that changes something: whether it may have done so, and whether the same
//! call may work later. Pure.

use std::time::Duration;

use crate::client::ClientError;

/// How long a call whose answer was lost may still take effect. What the service does not show after this time never
/// arrived.
pub const LATE_EFFECT: Duration = Duration::from_secs(8);

/// What an error says about the effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It had none, and the same may work later without anybody changing anything.
    NotYet,
    /// It had none, and will have none as it is.
    Refused,
    /// What it was about does not exist.
    Gone,
    /// Nobody can tell: whatever it made has to be looked for.
    Unknown,
}

impl Effect {
    /// Of a call that was sent once.
    pub fn of(error: &ClientError) -> Effect {
        match error {
            ClientError::LostReply { .. }
            | ClientError::Protocol { .. }
            | ClientError::TooLarge { .. } => Effect::Unknown,
            ClientError::NotFound { .. } => Effect::Gone,
            error if error.is_transient() || error.is_about_token() => Effect::NotYet,
            _ => Effect::Refused,
        }
    }
}

/// True when a call that does no harm when it is repeated is worth repeating.
pub fn passes(error: &ClientError) -> bool {
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
                passes(&error),
                matches!(effect, Effect::NotYet | Effect::Unknown)
            );
        }
    }
}
