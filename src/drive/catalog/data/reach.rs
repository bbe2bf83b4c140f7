//! Whether the service answers, as the requests of the drive saw it last.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::drive::error::{DriveError, DriveResult};
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

    /// Notes the reply to a request; returns the change, if there is one.
    pub(in crate::drive::catalog) fn note<T>(&self, reply: &DriveResult<T>) -> Option<ReachChange> {
        let mut away = self.away.locked();
        let now = match reply {
            Ok(_) => {
                away.take()?;
                tracing::info!("the service can be reached again");
                return Some(ReachChange::Back);
            }
            Err(error) => ServiceOutage::from_error(error)?,
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
