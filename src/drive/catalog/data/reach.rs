//! Whether the service answers, as the requests of the drive saw it last.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::drive::error::{DriveError, DriveResult};

#[derive(Default)]
pub(in crate::drive::catalog) struct Reach {
    away: Mutex<Option<Away>>,
    lost: Notify,
}

/// Why the service does not help.
#[derive(Debug, Clone)]
pub(in crate::drive::catalog) enum Away {
    /// It cannot be reached.
    Unreachable(String),
    /// It takes requests and does not answer.
    Silent(String),
    /// It answers and refuses the token.
    Refusing(String),
}

impl Away {
    pub(in crate::drive::catalog) fn of(error: &DriveError) -> Option<Away> {
        match error {
            DriveError::Unreachable(why) => Some(Away::Unreachable(why.clone())),
            DriveError::TimedOut(why) => Some(Away::Silent(why.clone())),
            DriveError::AccessDenied(why) => Some(Away::Refusing(why.clone())),
            _ => None,
        }
    }

    pub(in crate::drive::catalog) fn why(&self) -> &str {
        match self {
            Away::Unreachable(why) | Away::Silent(why) | Away::Refusing(why) => why,
        }
    }
}

impl Reach {
    /// Why the service does not help; `None` while it does.
    pub(in crate::drive::catalog) fn away(&self) -> Option<Away> {
        self.lock().clone()
    }

    /// Notes what the answer to a request says.
    pub(in crate::drive::catalog) fn note<T>(&self, reply: &DriveResult<T>) {
        let mut away = self.lock();
        match reply {
            Ok(_) => {
                if away.take().is_some() {
                    tracing::info!("the service can be reached again");
                }
            }
            Err(error) => {
                let Some(now) = Away::of(error) else { return };
                if away.is_none() {
                    let why = now.why();
                    tracing::warn!(why, "the service cannot be reached; known data are shown");
                }
                *away = Some(now);
                self.lost.notify_one();
            }
        }
    }

    /// Returns when the service was found to be away.
    pub(in crate::drive::catalog) async fn lost(&self) {
        self.lost.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().expect("the lock is never poisoned")
    }
}
