//! Whether the service answers, as the requests of the drive saw it last.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::client::ClientError;
use crate::drive::error::DriveError;
use crate::locks::Locked;

#[derive(Default)]
pub(in crate::drive::catalog) struct Reach {
    away: Mutex<Option<ServiceOutage>>,
    lost: Notify,
}

/// Why the service cannot be used.
#[derive(Debug, Clone)]
pub(in crate::drive::catalog) enum ServiceOutage {
    /// It cannot be reached.
    Unreachable(String),
    /// It takes requests and does not answer.
    Silent(String),
    /// It answers and refuses the token.
    Refusing(String),
}

/// The service became unusable, or usable again.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::drive::catalog) enum ReachChange {
    /// With the reason.
    Lost(String),
    Back,
}

impl ServiceOutage {
    pub(in crate::drive::catalog) fn from_error(error: &DriveError) -> Option<ServiceOutage> {
        match error {
            DriveError::Unreachable(why) => Some(ServiceOutage::Unreachable(why.clone())),
            DriveError::TimedOut(why) => Some(ServiceOutage::Silent(why.clone())),
            DriveError::AccessDenied(why) => Some(ServiceOutage::Refusing(why.clone())),
            _ => None,
        }
    }

    /// What a failed request says of the service. The reason names nothing of the request: it is that of all others that
    /// fail while the outage lasts.
    pub(in crate::drive::catalog) fn of_request(error: &ClientError) -> Option<ServiceOutage> {
        let why = error.about_service();
        let outage = ServiceOutage::from_error(&DriveError::from(error.clone()))?;
        Some(match outage {
            ServiceOutage::Unreachable(_) => ServiceOutage::Unreachable(why),
            ServiceOutage::Silent(_) => ServiceOutage::Silent(why),
            ServiceOutage::Refusing(_) => ServiceOutage::Refusing(why),
        })
    }

    pub(in crate::drive::catalog) fn why(&self) -> &str {
        match self {
            ServiceOutage::Unreachable(why)
            | ServiceOutage::Silent(why)
            | ServiceOutage::Refusing(why) => why,
        }
    }
}

impl Reach {
    /// Why the service cannot be used; `None` while it can.
    pub(in crate::drive::catalog) fn away(&self) -> Option<ServiceOutage> {
        self.away.locked().clone()
    }

    /// Notes the outage that a request has met, or `None` if the service has answered. Returns the change, if there is one.
    pub(in crate::drive::catalog) fn note(
        &self,
        met: Option<ServiceOutage>,
    ) -> Option<ReachChange> {
        let mut away = self.away.locked();
        let Some(now) = met else {
            away.take()?;
            tracing::info!("the service can be reached again");
            return Some(ReachChange::Back);
        };
        let why = now.why().to_owned();
        let is_new = away.replace(now).is_none();
        self.lost.notify_one();
        if !is_new {
            return None;
        }
        tracing::warn!(why, "the service cannot be reached; known data are shown");
        Some(ReachChange::Lost(why))
    }

    /// Returns when the service was found to be away.
    pub(in crate::drive::catalog) async fn until_lost(&self) {
        self.lost.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_reason_of_an_outage_names_no_file_of_the_request_that_met_it() {
        let what = || "http://host/storage/60/warning.log?…".to_owned();
        let reason = || "connection reset".to_owned();
        let after = Duration::from_secs(30);
        let errors = [
            ClientError::Timeout {
                what: what(),
                after,
            },
            ClientError::LostReply {
                what: what(),
                status: None,
                reason: reason(),
            },
            ClientError::Protocol {
                what: what(),
                reason: reason(),
            },
            ClientError::TooLarge {
                what: what(),
                limit_bytes: 9,
            },
            ClientError::Expired { what: what() },
            ClientError::CutShort {
                what: what(),
                missing_bytes: 9,
                reason: reason(),
            },
        ];
        for error in errors {
            let outage = ServiceOutage::of_request(&error).unwrap();
            assert!(
                !outage.why().contains("warning.log"),
                "{error}: {}",
                outage.why()
            );
        }
        let changed = ClientError::Changed { what: what() };
        assert!(ServiceOutage::of_request(&changed).is_none());
    }
}
